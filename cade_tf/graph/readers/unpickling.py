"""Old pickles of arrays, read without running anything they ask for.

Planetoid's files and some npz files are pickles. An ordinary unpickler calls whatever a pickle
names. This one knows only the stand-ins below, which hold numbers, and containers; any other name
is refused before it is imported.
"""

import collections
import io
import pickle
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from cade_tf.errors import InputError
from cade_tf.graph.validation import sparse_matrix


def read_pickle(path: Path) -> Any:
    """Reads a pickle of arrays, sparse matrices and containers.

    Args:
        path: The file, of Python 2 or 3.

    Returns:
        Arrays, CSR and CSC arrays, dicts, lists and scalars.

    Raises:
        InputError: The pickle is damaged or names anything else.
    """
    with open(path, "rb") as file:
        return unpickle(file, path)


def unpickle(file: IO[bytes], path: Path) -> Any:
    """As `read_pickle`, from an open file; `path` is only named in errors."""
    try:
        return _plain(_Unpickler(file, path).load())
    except InputError as error:
        raise error if str(path) in error.argument else error.within(path) from error
    except Exception as error:
        # What a damaged pickle can raise is not limited to any list of exceptions.
        raise InputError(
            str(path),
            "a pickle of arrays",
            f"damaged content ({type(error).__name__}: {error})",
            "Download or copy it again.",
        ) from error


class _Dtype:
    """Stand-in of numpy.dtype."""

    def __init__(self, code: Any, *_: Any) -> None:
        self.value = np.dtype(code.decode() if isinstance(code, bytes) else str(code))
        if self.value.kind not in "biufSUO" or (self.value.hasobject and self.value.kind != "O"):
            raise ValueError(f"dtype {code}")

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        order: Any = state[1].decode() if isinstance(state[1], bytes) else state[1]
        if order in ("<", ">"):
            self.value = self.value.newbyteorder(order)


class _Array:
    """Stand-in of numpy.ndarray."""

    value: np.ndarray

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, dtype, fortran, content = state
        self.value = _filled(content, dtype, shape, "F" if fortran else "C")


class _Matrix:
    """Stand-in of SciPy's CSR matrices."""

    kind: Any = sp.csr_array

    def matrix(self) -> Any:
        state = self.__dict__
        shape = state["_shape"] if "_shape" in state else state["shape"]
        parts = (_plain(state["data"]), _plain(state["indices"]), _plain(state["indptr"]))
        return sparse_matrix("a matrix", parts, shape, self.kind)


class _ColumnMatrix(_Matrix):
    """Stand-in of SciPy's CSC matrices."""

    kind = sp.csc_array


def _filled(content: Any, dtype: _Dtype, shape: tuple[int, ...], order: Any) -> np.ndarray:
    if dtype.value.kind == "O":
        array = np.empty(len(content), object)
        for position, value in enumerate(content):
            array[position] = value
    else:
        if isinstance(content, str):
            content = content.encode("latin1")
        array = np.frombuffer(content, dtype.value)
    return array.reshape(shape, order=order)


def _reconstruct(*_: Any) -> _Array:
    return _Array()


def _from_buffer(content: bytes, dtype: _Dtype, shape: tuple[int, ...], order: str) -> _Array:
    array = _Array()
    array.value = _filled(content, dtype, shape, order)
    return array


def _scalar(dtype: _Dtype, content: Any) -> Any:
    return _filled(content, dtype, (1,), "C")[0]


def _new(kind: Any, *_: Any) -> _Matrix:
    if kind not in (_Matrix, _ColumnMatrix):
        raise ValueError(f"an object of type {kind}")
    return kind()


def _encode(text: str, encoding: str = "latin1") -> bytes:
    if encoding not in ("latin1", "latin-1"):
        raise ValueError(f"encoding {encoding}")
    return text.encode("latin1")


_ADMITTED: dict[str, Any] = {
    "numpy.ndarray": _Array,
    "numpy.dtype": _Dtype,
    "_codecs.encode": _encode,
    "copy_reg._reconstructor": _new,
    "copyreg._reconstructor": _new,
    "collections.OrderedDict": collections.OrderedDict,
    "collections.defaultdict": collections.defaultdict,
}
for _module in ("numpy.core", "numpy._core"):
    _ADMITTED[f"{_module}.multiarray._reconstruct"] = _reconstruct
    _ADMITTED[f"{_module}.multiarray.scalar"] = _scalar
    _ADMITTED[f"{_module}.numeric._frombuffer"] = _from_buffer
for _order, _stand_in in (("csr", _Matrix), ("csc", _ColumnMatrix)):
    for _module in (f"scipy.sparse.{_order}", f"scipy.sparse._{_order}"):
        for _form in ("matrix", "array"):
            _ADMITTED[f"{_module}.{_order}_{_form}"] = _stand_in
for _module in ("builtins", "__builtin__"):
    for _type in (dict, list, set, tuple, int, float, str, object):
        _ADMITTED[f"{_module}.{_type.__name__}"] = _type


# The one in Python: that in C takes all memory for one damaged position in its memo.
class _Unpickler(pickle._Unpickler):
    def __init__(self, file: IO[bytes], path: Path) -> None:
        # From memory, where a damaged length asks for no more than there is.
        super().__init__(io.BytesIO(file.read()), encoding="latin1")
        self.path = path

    def find_class(self, module: str, name: str) -> Any:
        if f"{module}.{name}" not in _ADMITTED:
            raise InputError(
                str(self.path),
                "a pickle of numbers and containers",
                f"one that asks for {module}.{name}",
                "Nothing of it was run. Do not trust the file.",
            )
        return _ADMITTED[f"{module}.{name}"]


def _plain(value: Any) -> Any:
    """Arrays and matrices in place of their stand-ins, at the top and one level down."""
    if isinstance(value, _Array):
        value = value.value
        if value.dtype.kind == "O":
            for position in np.ndindex(value.shape):
                value[position] = _at_the_top(value[position])
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(_at_the_top(entry) for entry in value)
    return _at_the_top(value)


def _at_the_top(value: Any) -> Any:
    if isinstance(value, _Array):
        return value.value
    return value.matrix() if isinstance(value, _Matrix) else value
