"""`cade bench`: measure speed and memory, and write the report."""

import json
import sys
from pathlib import Path

from cade_tf.benchmark.options import BenchOptions
from cade_tf.cli import app, flags, logs
from cade_tf.config import Config
from cade_tf.errors import InputError

ROOT = Path(__file__).resolve().parent.parent
OPTIONS = BenchOptions
USAGE = (
    "cade bench [--quick] [--cases=NAME,...] [--dataset=NAME]\n"
    "       cade bench --peer=SCRIPT --peer_python=PATH --peer_data=FILE"
)


def run(options: BenchOptions, words: list[str]) -> int:
    """Runs the command."""
    if words:
        raise InputError("arguments", "flags only", " ".join(words), "See cade bench --help.")
    if "peer" in options.cases and options.peer is None:
        raise InputError("peer", "a script to compare with", "none", "Give --peer.")
    logs.configure("info")
    from cade_tf.benchmark import machine, report, suite
    from cade_tf.evaluation.pictures import require_matplotlib
    from cade_tf.graph import loading

    require_matplotlib()
    if options.dataset is None and options.graph is None and not options.quick:
        options = options.replace(dataset="pubmed")
    options = options.sized()
    # A mistake in the data should be told now and not by every process.
    loading.load(options)
    default = "runs/quick/bench" if options.quick else "runs/reports/bench"
    folder = Path(options.output or default)
    header = {"machine": machine.describe(), "options": json.loads(options.to_json())}
    for name in ("data_dir", "output", "peer", "peer_python", "peer_pythonpath", "peer_data"):
        # Where things lie on this machine tells a reader of the report nothing.
        del header["options"][name]
    results = suite.run(
        options, quickstart(), keep=lambda found: report.write_lines(header, found, folder)
    )
    path = report.write_report(folder)
    print(path.read_text())
    print(f"Report: {path}")
    return 1 if results.failures else 0


def quickstart() -> Config:
    """Options of the quickstart; outside a clone those of `cade train`."""
    path = ROOT / "flags" / "quickstart.flags"
    return flags.parse(Config, [f"--flagfile={path}"])[0] if path.is_file() else Config()


if __name__ == "__main__":
    sys.exit(app.run_command("bench"))
