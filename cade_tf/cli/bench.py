"""`cade bench`: measure speed and memory, and write the report."""

import json

from cade_tf import environment
from cade_tf.benchmark.options import BenchOptions
from cade_tf.cli import checks, logs
from cade_tf.errors import InputError

OPTIONS = BenchOptions
USAGE = (
    "cade bench [--quick] [--cases=NAME,...] [--dataset=NAME] [--device=gpu]\n"
    "       cade bench --peer=SCRIPT --peer_python=PATH"
)


def run(options: BenchOptions) -> int:
    """Runs the command."""
    if "peer" in options.cases and options.peer is None:
        raise InputError("peer", "a script to compare with", "none", "Give --peer.")
    if options.dataset is None and options.graph is None and not options.quick:
        options = options.replace(dataset="pubmed")
    options = options.sized()
    checks.data(options)
    for name in ("peer", "peer_python"):
        if getattr(options, name) is not None:
            checks.readable(name, getattr(options, name))
    if options.device == "gpu":
        _require_gpu()
    default = "runs/quick/bench" if options.quick else "runs/reports/bench"
    folder = checks.writable_folder("output", options.output or default)
    logs.configure("info")
    from cade_tf.benchmark import report, suite
    from cade_tf.graph import datasets

    # A mistake in the data should be told now and not by every process.
    datasets.load(options)
    header = {"machine": report.describe_machine(), "options": json.loads(options.to_json())}
    for name in ("data_dir", "output", "peer", "peer_python", "peer_pythonpath"):
        # Where things lie on this machine tells a reader of the report nothing.
        del header["options"][name]
    results = suite.run(options, keep=lambda found: report.write(header, found, folder))
    path = report.write(header, results, folder)
    print(path.read_text())
    print(f"Report: {path}")
    return 1 if results.failures else 0


def _require_gpu() -> None:
    """Raises an InputError where TensorFlow finds no GPU."""
    environment.quiet_import_tensorflow()
    import tensorflow as tf

    if not tf.config.list_physical_devices("GPU"):
        raise InputError(
            "device",
            "a GPU that TensorFlow finds",
            "none",
            'Install the driver and pip install "cade_tf[gpu]", or choose --device=cpu.',
        )
