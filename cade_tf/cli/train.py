"""`cade train`: train a model, embed the graph, score the embeddings."""

from pathlib import Path

from cade_tf.cli import checks, logs
from cade_tf.config import Config

OPTIONS = Config
USAGE = "cade train [--dataset=NAME | --graph=PATH] [--model=...] [--run_dir=DIR] [--flags]"


def run(config: Config) -> int:
    """Runs the command."""
    checks.data(config)
    run_dir = checks.writable_folder("run_dir", config.run_dir or default_run_dir(config))
    logs.configure(config.verbosity)
    from cade_tf.experiments import side_by_side

    progress = config.verbosity != "error"
    if config.cluster or config.memory_map:
        from cade_tf.scale import sharded_run

        work = sharded_run.run_cluster if config.cluster else sharded_run.run_mapped
        rows = side_by_side.rows_of(config, work(config, run_dir, progress=progress))
    else:
        rows = side_by_side.run_methods(config, run_dir, progress=progress)
    if not rows:
        return 0
    print(side_by_side.table(rows))
    print(f"Embeddings: {run_dir / 'embeddings.npy'} (rows as in {run_dir / 'node_ids.txt'})")
    print(f"TensorBoard: tensorboard --logdir {run_dir}")
    return 0


def default_run_dir(config: Config, task: str = "") -> str:
    """runs/<data>-<model>, and what else the run is for."""
    if config.dataset or config.graph:
        data = config.dataset or "-".join(Path(path).stem for path in config.graph_paths())
    else:
        from cade_tf.graph.datasets import DEFAULT_DATASET as data
    return f"runs/{data}-{config.model}" + (f"-{task}" if task else "")
