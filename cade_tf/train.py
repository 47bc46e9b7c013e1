"""`cade train`: train a model, embed the graph, score the embeddings."""

import sys
from pathlib import Path

from cade_tf.cli import app, logs
from cade_tf.config import Config
from cade_tf.errors import InputError

OPTIONS = Config
USAGE = "cade train [--dataset=NAME | --graph=PATH] [--model=...] [--run_dir=DIR] [--flags]"


def run(config: Config, words: list[str]) -> int:
    """Runs the command."""
    if words:
        raise InputError("arguments", "flags only", " ".join(words), "See cade train --help.")
    logs.configure(config.verbosity)
    from cade_tf.experiments import comparison

    run_dir = Path(config.run_dir or comparison.default_run_dir(config))
    rows = comparison.run_methods(config, run_dir, progress=config.verbosity != "error")
    if not rows:
        return 0
    print(comparison.table(rows))
    print(f"Embeddings: {run_dir / 'embeddings.npy'} (rows as in {run_dir / 'node_ids.txt'})")
    print(f"TensorBoard: tensorboard --logdir {run_dir}")
    return 0


if __name__ == "__main__":
    sys.exit(app.run_command("train"))
