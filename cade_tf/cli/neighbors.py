"""`cade neighbors`: the nodes nearest to a node."""

import dataclasses

from cade_tf.cli import checks
from cade_tf.cli.trained_run import TrainedRunOptions, existing_run
from cade_tf.errors import InputError
from cade_tf.options import option

USAGE = "cade neighbors --run_dir=DIR --node=ID [--top=10]"


@dataclasses.dataclass(frozen=True, kw_only=True)
class NeighborsOptions(TrainedRunOptions):
    """Neighbors."""

    embeddings: str | None = option(
        None,
        "Folder with embeddings.npy and node_ids.txt, or an npz, as cade embed writes them. "
        "Default: the run directory.",
    )
    node: tuple[str, ...] = option((), "Id of a node, or several.")
    top: int = option(10, "How many nodes are shown.", minimum=1)
    method: str = option(
        "exact",
        "exact (all cosines), or faiss (an index, for many nodes of a very large graph).",
        choices=("exact", "faiss"),
    )


OPTIONS = NeighborsOptions


def run(options: NeighborsOptions) -> int:
    """Runs the command."""
    if not options.node:
        raise InputError("node", "the id of a node", "none", "Give --node.")
    if options.method == "faiss":
        checks.extra("faiss", "--method=faiss")
    if options.embeddings is not None:
        source = checks.readable("embeddings", options.embeddings)
    else:
        source = existing_run(options.run_dir)
    import numpy as np

    from cade_tf.graph.naming import known_rows
    from cade_tf.inference.neighbors import nearest
    from cade_tf.inference.outputs import read_embeddings

    embeddings, ids = read_embeddings(source)
    asked = np.array(options.node)
    rows = known_rows(asked, ids)
    if (rows < 0).any():
        unknown = ", ".join(asked[rows < 0])
        raise InputError("node", f"ids in {source}, such as {ids[0]}", unknown, "Check the ids.")
    found, cosines = nearest(embeddings, rows, options.top, method=options.method)
    width = max(len(str(node)) for node in [*ids[found].flat, *asked])
    for node, others, values in zip(asked, ids[found], cosines, strict=True):
        print(f"{node:<{width}}  cosine")
        for other, value in zip(others, values, strict=True):
            print(f"{other!s:<{width}}  {value:.4f}")
    return 0
