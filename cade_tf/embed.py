"""`cade embed`: embed a graph with a trained run."""

import dataclasses
import sys
from pathlib import Path

from cade_tf.cli import app
from cade_tf.config import LARGEST_SEED, Config, DataOptions, EmbeddingOptions
from cade_tf.errors import InputError
from cade_tf.options import option

USAGE = "cade embed --run_dir=DIR [--dataset=NAME | --graph=PATH] [--output=DIR]"


@dataclasses.dataclass(frozen=True, kw_only=True)
class EmbedOptions(DataOptions, EmbeddingOptions):
    """Embed."""

    run_dir: str | None = option(None, "Folder of the trained run.")
    output: str | None = option(
        None, "Folder for embeddings.npy and node_ids.txt. Default: the run directory."
    )
    seed: int = option(0, "Seed of walks and neighbours.", minimum=0, maximum=LARGEST_SEED)


OPTIONS = EmbedOptions


def run(options: EmbedOptions, words: list[str]) -> int:
    """Runs the command."""
    if words:
        raise InputError("arguments", "flags only", " ".join(words), "See cade embed --help.")
    if options.run_dir is None:
        raise InputError("run_dir", "the folder of a trained run", "none", "Give --run_dir.")
    from cade_tf.experiments import single_run
    from cade_tf.graph import loading
    from cade_tf.inference.encoder import Encoder
    from cade_tf.training import run_folder

    run_dir = Path(options.run_dir)
    config = run_folder.read_config(run_dir)
    encoder = Encoder.load(run_dir / single_run.ENCODER_FOLDER)
    graph = loading.load(_data(options, config))
    embeddings = encoder.embed(
        graph,
        walks=options.embed_walks,
        seed=options.seed,
        batch_size=options.embed_batch_size,
    )
    output = Path(options.output or run_dir)
    single_run.write_embeddings(output, embeddings, graph.ids)
    print(f"{len(embeddings):,} embeddings: {output / single_run.EMBEDDINGS_FILE}")
    return 0


def _data(options: EmbedOptions, config: Config) -> DataOptions:
    """The graph to embed: the one named, else the run's own."""
    named = options.dataset or options.graph
    source: DataOptions = options if named else config
    values = {name: getattr(source, name) for name in DataOptions.field_names()}
    if options.data_dir:
        values["data_dir"] = options.data_dir
    return DataOptions(**values)


if __name__ == "__main__":
    sys.exit(app.run_command("embed"))
