"""Files that are well-formed and hold something else than they should, repeatable by their seed.

Damaged bytes are mostly caught by a checksum or a parser. What another program has written by
mistake passes both, and meets the code that gives it a meaning.
"""

import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import scipy.io
import scipy.sparse as sp

NUMBERS = (-1, 0, 2**31, 2**40, 2**62, 10**9, np.nan, np.inf, 1e39)
VALUES = (
    None, True, -1, 0, 1.5, 10**400, 2**31, 2**63, float("nan"), float("inf"), "", "x", "-1",
    "\0", [], {}, [[]], [None], {"a": 1},
)  # fmt: skip
FIELDS = (
    "", "nan", "inf", "1e400", "-1", "1_0", "0x10", '"', '"a', 'a"b', "é", "\0", "\u2028", "\x85",
    "9" * 30, "1.5", "#", "None", "a,b", '"a,b"', "1;2", "\ufeff", "id", "source", "n1", "0",
)  # fmt: skip


def _one_of(rng: np.random.Generator, choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def odd_array(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An array of another shape, type or content."""
    rows = array.shape[:1] or (1,)
    numeric = array.dtype.kind in "biuf"
    other = [
        array[..., None],
        array.ravel(),
        array.T,
        array[:0] if array.ndim else array,
        array[:-1] if array.ndim else array,
        np.concatenate([array, array]) if array.ndim else array,
        np.zeros((*rows, 0)),
        np.zeros(array.shape, [("a", "i4"), ("b", "f8")]),
        np.array(_one_of(rng, (None, "", 5, 1.5))),
        np.full(rows, None),
        array.astype(_one_of(rng, ("U8", "S8", "f2", "c16", ">i8", "u8", "?")))
        if numeric
        else array,
        np.full(array.shape, _one_of(rng, NUMBERS)),
    ]
    changed = array.astype(np.float64) if numeric else np.array(array, object)
    if changed.size:
        changed.flat[int(rng.integers(changed.size))] = _one_of(rng, NUMBERS)
        with np.errstate(invalid="ignore", over="ignore"):
            other += [changed, changed.astype(array.dtype)] if numeric else [changed]
    return _one_of(rng, other)


def _odd_tree(tree: Any, rng: np.random.Generator) -> Any:
    """JSON or pickled containers with one value replaced, removed or repeated."""
    if not isinstance(tree, (dict, list)) or not tree or rng.random() < 0.1:
        return _one_of(rng, VALUES)
    place = _one_of(rng, list(tree) if isinstance(tree, dict) else range(len(tree)))
    if rng.random() < 0.15:
        del tree[place]
    elif rng.random() < 0.1 and isinstance(tree, dict):
        tree[_one_of(rng, ("x", "-1", "", "99999999999999999999"))] = tree[place]
    else:
        tree[place] = _odd_tree(tree[place], rng)
    return tree


def _odd_text(text: str, rng: np.random.Generator, mark: str) -> str:
    lines = text.rstrip("\n").split("\n")
    number = int(rng.integers(_one_of(rng, (1, 2, len(lines)))))
    fields = lines[number].split(mark)
    place = int(rng.integers(len(fields)))
    if rng.random() < 0.2:
        rows = [line.split(mark) for line in lines]
        lines = [mark.join(row[:place] + row[place + 1 :]) for row in rows]
    else:
        fields[place : place + int(rng.integers(2))] = [_one_of(rng, FIELDS)]
        lines[number] = mark.join(fields)
    return _one_of(rng, ("\n", "\r\n", "\r")).join(lines) + "\n"


def _odd_matrix(value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, np.ndarray):
        return odd_array(value, rng)
    if not sp.issparse(value):
        return _odd_tree(dict(value), rng)
    matrix = value.tocsr().copy()
    part = _one_of(rng, ("data", "indices", "indptr", "_shape", "dense", "coo"))
    if part in ("dense", "coo"):
        return matrix.toarray() if part == "dense" else matrix.tocoo()
    shapes = ((9,), (9, 2), (-1, 4), (9, 10**12), None, ("a", 4))
    odd = _one_of(rng, shapes) if part == "_shape" else odd_array(getattr(matrix, part), rng)
    matrix.__dict__[part] = odd
    return matrix


def _odd_column(values: list[Any], rng: np.random.Generator) -> Any:
    rows = range(len(values))
    gaps = [None if i == 3 else value for i, value in enumerate(values)]
    columns = [[None for _ in rows], [[1, 2] for _ in rows], [{"a": 1} for _ in rows], gaps]
    columns += [[float(i) / 2 for i in rows], [b"\xff%d" % i for i in rows], values[::-1]]
    columns += [np.arange(len(values)).astype("M8[s]"), [bool(i % 2) for i in rows]]
    return pyarrow.array(_one_of(rng, columns))


def _write_odd_npz(path: Path, rng: np.random.Generator) -> None:
    with np.load(path, allow_pickle=True) as npz:
        members = dict(npz)
    first, second = (_one_of(rng, sorted(members)) for _ in range(2))
    if rng.random() < 0.1:
        del members[first]
    elif rng.random() < 0.15:
        members[first], members[second] = members[second], members[first]
    else:
        members[first] = odd_array(members[first], rng)
    np.savez(path, **members)


def _write_odd_matlab(path: Path, rng: np.random.Generator) -> None:
    variables = {k: v for k, v in scipy.io.loadmat(path).items() if not k.startswith("__")}
    name = _one_of(rng, sorted(variables))
    value = variables.pop(name)
    dense = value.toarray() if sp.issparse(value) else value
    odd = _one_of(rng, ("text", 1 + 2j, {"a": 1}, np.zeros((0, 0)), odd_array(dense, rng), None))
    without = odd is None or (isinstance(odd, np.ndarray) and odd.dtype.hasobject)
    kept = variables if without else variables | {name: odd}
    scipy.io.savemat(path, kept, do_compression=rng.random() < 0.5)


def _write_odd_parquet(path: Path, rng: np.random.Generator) -> None:
    columns = pyarrow.parquet.read_table(path).to_pydict()
    name = _one_of(rng, sorted(columns))
    values = columns.pop(name)
    if rng.random() < 0.9:
        columns = {name: _odd_column(values, rng)} | columns
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def make_odd(path: Path, rng: np.random.Generator) -> None:
    """Replaces a file by a well-formed one with an odd content."""
    mark = "\t" if path.suffix == ".tsv" else ","
    match path.suffix:
        case ".npz":
            _write_odd_npz(path, rng)
        case ".npy":
            np.save(path, odd_array(np.load(path), rng))
        case ".mat":
            _write_odd_matlab(path, rng)
        case ".parquet":
            _write_odd_parquet(path, rng)
        case ".json":
            path.write_text(json.dumps(_odd_tree(json.loads(path.read_text()), rng)))
        case ".csv" | ".tsv" | ".txt" | ".index":
            path.write_text(_odd_text(path.read_text(), rng, mark))
        case ".gz":
            text = _odd_text(gzip.decompress(path.read_bytes()).decode(), rng, mark)
            path.write_bytes(gzip.compress(text.encode()))
        case _:
            path.write_bytes(pickle.dumps(_odd_matrix(pickle.loads(path.read_bytes()), rng), 2))
