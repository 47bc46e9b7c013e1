"""npz of Graph2Gauss and gnn-benchmark: `adj_*`, `attr_*`, `labels`."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from cade_tf import problems
from cade_tf.errors import InputError
from cade_tf.graph import arrays
from cade_tf.graph.converters import class_indices, classes_of_matrix, from_scipy
from cade_tf.graph.graph import Graph
from cade_tf.graph.readers.unpickling import unpickle

_PARTS = ("data", "indices", "indptr", "shape")
_ADJACENCY = ("adj_", "adj_matrix.", "adj_matrix_")
_ATTRIBUTES = ("attr_", "attr_matrix.", "attr_matrix_")
_LABELS = ("labels_", "labels.")


def recognises(path: Path) -> bool:
    """Whether a file is of this format."""
    if not (path.is_file() and zipfile.is_zipfile(path)):
        return False
    with arrays.open_archive(path) as archive:
        names = archive.namelist()
    return any(f"{prefix}indptr.npy" in names for prefix in _ADJACENCY)


def files(path: Path) -> list[Path]:
    """The files that `read` reads."""
    return [path]


def read(path: Path) -> Graph:
    """Reads the graph; attributes, labels and names may be absent.

    Only the arrays that are needed are read. Those that are pickled are read without running
    anything.

    Args:
        path: The file.

    Raises:
        InputError: The file is damaged or its arrays do not fit.
    """
    with arrays.open_archive(path) as archive:
        npz = _Npz(archive, path)
        adjacency = npz.matrix(_ADJACENCY)
        if adjacency is None:
            raise InputError(
                str(path),
                "adj_data, adj_indices, adj_indptr and adj_shape",
                ", ".join(sorted(npz.names)),
                "Save the adjacency matrix as CSR.",
            )
        fields: dict[str, Any] = {"name": path.stem}
        fields["features"] = npz.matrix(_ATTRIBUTES)
        if fields["features"] is None:
            fields["features"] = npz.array("attr_matrix")
        matrix = npz.matrix(_LABELS)
        labels = npz.array("labels") if matrix is None else matrix.toarray()
        names = npz.array("node_names")
        if names is not None:
            fields["node_ids"] = names.astype(str)
    with problems.within(path):
        if labels is not None:
            with problems.part():
                fields |= _labels(labels)
        return from_scipy(adjacency, **fields)


def _labels(labels: np.ndarray) -> dict[str, Any]:
    if labels.ndim == 1:
        return class_indices(labels)
    if labels.ndim != 2 or not np.isin(labels, (0, 1)).all():
        raise InputError("labels", "classes or a 0/1 matrix", "others", "Recode them.")
    return {"labels": classes_of_matrix(labels.astype(np.int64))}


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

    def matrix(self, prefixes: tuple[str, ...]) -> sp.csr_array | None:
        """A CSR matrix stored in parts under any of some prefixes, None where it is absent."""
        for prefix in prefixes:
            if f"{prefix}indptr" not in self.names:
                continue
            parts = [self.array(prefix + part) for part in _PARTS]
            if any(part is None for part in parts):
                break
            data, indices, indptr, shape = parts
            try:
                matrix = sp.csr_array((data, indices, indptr), shape=tuple(map(int, shape)))  # type: ignore[arg-type]
                matrix.check_format(full_check=True)
            except (ValueError, TypeError, IndexError) as error:
                raise InputError(
                    f"{self.path}, {prefix}*", "a CSR matrix", str(error), "Save it again."
                ) from error
            return matrix
        return None
