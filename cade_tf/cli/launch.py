"""`cade launch`: `cade train --cluster` with all its processes on this machine."""

import dataclasses
from pathlib import Path

from cade_tf.cli import checks, logs
from cade_tf.cli.train import default_run_dir
from cade_tf.config import Config
from cade_tf.files import write_text
from cade_tf.options import option

USAGE = "cade launch [--workers=N] [--ps=N] [flags of cade train]"
SHARDS_FOLDER = "graph"
FLAGS_FILE = "launch_flags.txt"


@dataclasses.dataclass(frozen=True, kw_only=True)
class LaunchOptions(Config):
    """Processes."""

    workers: int = option(2, "Workers: processes that compute steps.", minimum=1)
    ps: int = option(2, "Parameter servers: processes that hold tables and weights.", minimum=1)
    restarts: int = option(
        3,
        "How often in a row the chief is started again after a failure without a new checkpoint.",
        minimum=0,
    )
    frozen_seconds: float = option(
        60.0,
        "Seconds without a sign of life after which a process counts as frozen, and is ended and "
        "started again.",
        positive=True,
    )


OPTIONS = LaunchOptions


def run(options: LaunchOptions) -> int:
    """Runs the command."""
    checks.data(options)
    run_dir = checks.writable_folder("run_dir", options.run_dir or default_run_dir(options))
    logs.configure(options.verbosity)
    from cade_tf.scale.local_cluster import LocalCluster, train_command
    from cade_tf.training import checkpoints, run_folder, run_lock

    if options.fresh:
        run_folder.set_aside(run_dir)
    # Until the chief takes over: it holds the folder while it lives.
    with run_lock.hold(run_dir):
        flags = _write_flags(options, run_dir)
    return LocalCluster(
        train_command(flags),
        workers=options.workers,
        servers=options.ps,
        folder=run_dir,
        restarts=options.restarts,
        progress=lambda: checkpoints.saved(run_dir / run_folder.CHECKPOINT_FOLDER)[-1:],
        frozen_seconds=options.frozen_seconds,
    ).run()


def _write_flags(options: LaunchOptions, run_dir: Path) -> Path:
    """The flags of all processes, in a file; writes the graph as shards first."""
    values = {name: getattr(options, name) for name in Config.field_names()}
    config = Config(**values).replace(
        fresh=False, run_dir=str(run_dir), graph=_shards(options, run_dir), dataset=None
    )
    flags = run_dir / FLAGS_FILE
    write_text(flags, config.to_flagfile())
    return flags


def _shards(options: LaunchOptions, run_dir: Path) -> str:
    """The graph as shards: the given ones, else made in the run directory."""
    from cade_tf.graph import datasets
    from cade_tf.graph.readers import shards
    from cade_tf.graph.splits import node_split
    from cade_tf.scale.sharding import write_shards

    if options.graph is not None and (Path(options.graph) / shards.INFO_FILE).is_file():
        return options.graph
    folder = run_dir / SHARDS_FOLDER
    if not (folder / shards.INFO_FILE).is_file():
        graph = datasets.load(options)
        write_shards(graph, node_split(graph, options).seen, folder, options.ps)
    return str(folder)
