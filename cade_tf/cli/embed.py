"""`cade embed`: embed a graph with a trained run."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from cade_tf.cli import checks, logs
from cade_tf.cli.trained_run import TrainedRunOptions, existing_run, open_run
from cade_tf.config import LARGEST_SEED, DataOptions
from cade_tf.errors import InputError
from cade_tf.options import option

if TYPE_CHECKING:
    import numpy as np

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
        False, "Embed from all neighbours instead of samples; the result is the same every time."
    )
    compare_sampled: bool = option(
        False, "With --full_neighborhood: say how far sampled embeddings are from these."
    )
    merge: bool = option(
        False, "Join the shards of embeddings that a cluster wrote, instead of embedding again."
    )
    embed_walks: int | None = option(
        None, "Random walks from each node. Default: as in the run.", minimum=1
    )
    embed_batch_size: int | None = option(
        None, "Walks that are embedded together. Default: as in the run.", minimum=1
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
                "compare_sampled", "--full_neighborhood together with it", "none", "Give both."
            )


OPTIONS = EmbedOptions


def run(options: EmbedOptions) -> int:
    """Runs the command."""
    run_dir = existing_run(options.run_dir)
    if options.output_format == "parquet":
        checks.extra("pyarrow", "--output_format=parquet")
    checks.writable_folder("output", options.output or run_dir)
    return _merge(options, run_dir) if options.merge else _embed(options, run_dir)


def _merge(options: EmbedOptions, run_dir: Path) -> int:
    logs.configure("info")
    from cade_tf.scale.cluster_embedding import SHARDS_FOLDER, merge

    embeddings, ids = merge(run_dir / SHARDS_FOLDER)
    _write(options, Path(options.output or run_dir), embeddings, ids)
    return 0


def _embed(options: EmbedOptions, run_dir: Path) -> int:
    config, data = open_run(run_dir, options)
    logs.configure("info")
    from cade_tf.graph import datasets
    from cade_tf.inference.agreement import agreement
    from cade_tf.training.run_folder import load_run_model

    model = load_run_model(run_dir)
    graph = datasets.load(data)
    known = int((model.prepared().bias_rows(graph) >= 0).sum())
    print(f"{graph.name}: {graph.num_nodes:,} nodes, {known:,} of them known from training")
    if options.full_neighborhood:
        embeddings = model.embed_full(graph)
    if not options.full_neighborhood or options.compare_sampled:
        sampled = model.embed(
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
    _write(options, output, embeddings, graph.ids)
    return 0


def _write(
    options: EmbedOptions, output: Path, embeddings: "np.ndarray", ids: "np.ndarray"
) -> None:
    from cade_tf.inference.outputs import EMBEDDINGS_FILE, NODE_IDS_FILE, write_embeddings
    from cade_tf.training import manifest, run_lock
    from cade_tf.training.metrics import equal_embeddings

    equal_embeddings(embeddings)
    with run_lock.hold(output):
        listed = (EMBEDDINGS_FILE, NODE_IDS_FILE)
        renewed = options.output_format == "npy" and manifest.exists(output)
        if renewed:
            manifest.withdraw(output, listed)
        files = write_embeddings(output, embeddings, ids, options.output_format)
        if renewed:
            manifest.record(output, listed)
    print(f"{len(embeddings):,} embeddings: {', '.join(map(str, files))}")
