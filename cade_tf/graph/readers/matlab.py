"""MATLAB `.mat` with a network, attributes and labels (BlogCatalog, Flickr)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cade_tf import problems
from cade_tf.errors import InputError
from cade_tf.graph.graph import Graph
from cade_tf.graph.interop import from_scipy
from cade_tf.graph.naming import matrix_labels
from cade_tf.graph.readers.mat_file import Other, read_variables

_NETWORK = ("network", "adj", "adjacency", "a", "net", "graph", "w")
_ATTRIBUTES = ("attributes", "features", "feature", "attr", "attrb", "x")
_LABELS = ("label", "labels", "group", "groups", "class", "gnd", "y")


def read(path: Path) -> Graph:
    """Reads `Network`, `Attributes` and `Label`, under these names or those of other copies.

    Labels may be numbers from any start, or a 0/1 matrix. Attributes and labels may be absent.

    Raises:
        InputError: The file is damaged, or its matrices do not fit.
    """
    variables = {name: value for name, value in read_variables(path).items() if name}
    network = _pick(variables, _NETWORK, path)
    if network is None:
        raise InputError(
            str(path),
            "a matrix named Network (or network, A, adj)",
            ", ".join(variables) or "nothing",
            "Rename the adjacency matrix.",
        )
    labels = _pick(variables, _LABELS, path)
    fields: dict[str, Any] = {"features": _pick(variables, _ATTRIBUTES, path)}
    with problems.within(path):
        if labels is not None:
            with problems.part():
                fields |= matrix_labels(labels, network.shape[0])
        return from_scipy(network, name=path.stem.lower(), **fields)


def _pick(variables: Mapping[str, Any], names: tuple[str, ...], path: Path) -> Any:
    lower = {name.lower(): (name, value) for name, value in variables.items()}
    name, value = next((lower[name] for name in names if name in lower), ("", None))
    if isinstance(value, Other):
        raise InputError(f"{path}, {name}", "a matrix of numbers", value.kind, "Convert it.")
    return value
