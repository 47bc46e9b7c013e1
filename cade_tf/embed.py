"""`cade embed`: embed a graph with a trained run."""

import dataclasses
import sys
from pathlib import Path

from cade_tf.cli import app
from cade_tf.cli.trained_run import TrainedRunOptions, data_of, run_folder
from cade_tf.config import LARGEST_SEED, DataOptions
from cade_tf.errors import InputError
from cade_tf.options import option

USAGE = "cade embed --run_dir=DIR [--dataset=NAME | --graph=PATH] [--output=DIR]"


@dataclasses.dataclass(frozen=True, kw_only=True)
class EmbedOptions(TrainedRunOptions, DataOptions):
    """Embed."""

    output: str | None = option(
        None,
        "Folder for the files. Default: the run directory for the run's own graph, "
        "<run_dir>/<graph> for another.",
    )
    output_format: str = option(
        "npy",
        "npy (embeddings.npy and node_ids.txt), npz, csv, tsv, parquet, word2vec (text), "
        "projector (TensorBoard).",
        choices=("npy", "npz", "csv", "tsv", "parquet", "word2vec", "projector"),
    )
    full_neighborhood: bool = option(
        False, "Embed from all neighbours instead of samples: exact, the same every time."
    )
    compare_sampled: bool = option(
        False, "With --full_neighborhood: say how far sampled embeddings are from these."
    )
    merge: bool = option(
        False, "Join the shards of embeddings that a cluster wrote, instead of embedding anew."
    )
    embed_walks: int | None = option(
        None, "Random walks from each node. Default: as in the run.", minimum=1
    )
    embed_batch_size: int | None = option(
        None, "Walks embedded at a time. Default: as in the run.", minimum=1
    )
    seed: int | None = option(
        None,
        "Seed of walks and neighbours. Default: the run's.",
        minimum=0,
        maximum=LARGEST_SEED,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.compare_sampled and not self.full_neighborhood:
            raise InputError(
                "compare_sampled", "--full_neighborhood beside it", "none", "Give both."
            )


OPTIONS = EmbedOptions


def run(options: EmbedOptions, words: list[str]) -> int:
    """Runs the command."""
    run_dir = run_folder(options, words, "embed")
    from cade_tf.experiments import single_run
    from cade_tf.graph import loading
    from cade_tf.inference.agreement import agreement
    from cade_tf.inference.cluster_embedding import SHARDS_FOLDER, merge
    from cade_tf.inference.encoder import Encoder
    from cade_tf.inference.outputs import write_embeddings
    from cade_tf.training.run_folder import read_config

    if options.merge:
        embeddings, ids = merge(run_dir / SHARDS_FOLDER)
        output = Path(options.output or run_dir)
        files = write_embeddings(output, embeddings, ids, options.output_format)
        print(f"{len(embeddings):,} embeddings: {', '.join(map(str, files))}")
        return 0
    config = read_config(run_dir)
    encoder = Encoder.load(run_dir / single_run.ENCODER_FOLDER)
    graph = loading.load(data_of(options, config))
    known = int((encoder.bias_rows(graph) >= 0).sum())
    print(f"{graph.name}: {graph.num_nodes:,} nodes, {known:,} of them known from training")
    if options.full_neighborhood:
        embeddings = encoder.embed_full(graph)
    if not options.full_neighborhood or options.compare_sampled:
        sampled = encoder.embed(
            graph,
            walks=options.embed_walks or config.embed_walks,
            seed=config.seed if options.seed is None else options.seed,
            batch_size=options.embed_batch_size or config.embed_batch_size,
        )
        if options.full_neighborhood:
            print(f"Sampled against full neighbourhoods: {agreement(sampled, embeddings)}")
        else:
            embeddings = sampled
    own = not (options.dataset or options.graph)
    output = Path(options.output or (run_dir if own else run_dir / graph.name))
    files = write_embeddings(output, embeddings, graph.ids, options.output_format)
    print(f"{len(embeddings):,} embeddings: {', '.join(map(str, files))}")
    return 0


if __name__ == "__main__":
    sys.exit(app.run_command("embed"))
