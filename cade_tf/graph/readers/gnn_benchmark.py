"""npz of Graph2Gauss, gnn-benchmark (`adj_*`, `attr_*`, `labels`) and GraphData.

GraphData (Amazon, Coauthor, DBLP) stores `adj_matrix` and `node_attr` as pickled matrices.
"""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from cade_tf import problems
from cade_tf.errors import InputError
from cade_tf.graph import arrays
from cade_tf.graph.graph import Graph
from cade_tf.graph.interop import from_scipy
from cade_tf.graph.naming import matrix_labels
from cade_tf.graph.readers.unpickling import unpickle
from cade_tf.graph.validation import sparse_matrix

_PARTS = ("data", "indices", "indptr", "shape")
_ADJACENCY = ("adj_", "adj_matrix.", "adj_matrix_")
_ATTRIBUTES = ("attr_", "attr_matrix.", "attr_matrix_")
_LABELS = ("labels_", "labels.")
_WHOLE_ADJACENCY = ("adj_matrix", "adj")
_WHOLE_ATTRIBUTES = ("attr_matrix", "node_attr", "features")
_WHOLE_LABELS = ("labels", "node_label", "label")


def read(path: Path) -> Graph:
    """Reads the graph; attributes, labels and names may be absent.

    Only the arrays that are needed are read. Those that are pickled are read without running
    anything.

    Raises:
        InputError: The file is damaged or its arrays do not fit.
    """
    with arrays.open_archive(path) as archive:
        npz = _Npz(archive, path)
        adjacency = npz.matrix(_ADJACENCY, _WHOLE_ADJACENCY)
        if adjacency is None:
            raise InputError(
                str(path),
                "adj_data, adj_indices, adj_indptr and adj_shape, or adj_matrix",
                ", ".join(sorted(npz.names)),
                "Save the adjacency matrix as CSR.",
            )
        fields: dict[str, Any] = {"name": path.stem}
        fields["features"] = npz.matrix(_ATTRIBUTES, _WHOLE_ATTRIBUTES)
        labels = npz.matrix(_LABELS, _WHOLE_LABELS)
        names = npz.array("node_names")
        if names is not None:
            # The names of Cora-ML still have the line ends of the file they came from.
            fields["node_ids"] = np.char.strip(names.astype(str))
    with problems.within(path):
        if labels is not None:
            with problems.part():
                fields |= matrix_labels(labels, adjacency.shape[0])
        return from_scipy(adjacency, **fields)


class _Npz:
    """An open npz."""

    def __init__(self, archive: zipfile.ZipFile, path: Path) -> None:
        self.archive = archive
        self.path = path
        self.names = {name.removesuffix(".npy") for name in archive.namelist()}

    def array(self, name: str) -> np.ndarray | None:
        """An array, None where it is absent."""
        if name not in self.names:
            return None
        return arrays.read_member(self.archive, self.path, name, unpickle)

    def matrix(self, prefixes: tuple[str, ...], whole: tuple[str, ...]) -> Any:
        """A matrix, None where it is absent.

        Args:
            prefixes: Names before the parts of a CSR matrix.
            whole: Names of a dense array, or of an array that holds one pickled matrix.
        """
        for prefix in prefixes:
            if f"{prefix}indptr" in self.names:
                return self._of_parts(prefix)
        name = next((name for name in whole if name in self.names), "")
        array = self.array(name)
        if array is None or array.ndim:
            return array
        value = array.item()
        if not (sp.issparse(value) or np.ndim(value)):
            raise InputError(
                f"{self.path}, {name}", "a matrix", repr(value)[:60], "Write it again."
            )
        return value if sp.issparse(value) else np.asarray(value)

    def _of_parts(self, prefix: str) -> sp.csr_array | None:
        parts = [self.array(prefix + part) for part in _PARTS]
        if any(part is None for part in parts):
            return None
        data, indices, indptr, shape = parts
        return sparse_matrix(f"{self.path}, {prefix}*", (data, indices, indptr), shape)
