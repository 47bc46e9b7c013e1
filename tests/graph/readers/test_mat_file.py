"""Our reader of MATLAB files agrees with SciPy's and trusts no length."""

import io
import struct

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from cade_tf.errors import InputError
from cade_tf.graph.readers.mat_file import Other, read_variables
from tests.graph.real_data import DATA_DIR, needs

RNG = np.random.default_rng(0)
NUMBERS = ["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]


def write(folder, variables, **options):
    scipy.io.savemat(folder / "x.mat", variables, **options)
    return folder / "x.mat"


@pytest.mark.parametrize("compressed", [False, True])
def test_matrices_are_those_that_were_written(tmp_path, compressed):
    dense = {f"m_{kind}": RNG.integers(0, 99, (3, 5)).astype(kind) for kind in NUMBERS}
    dense["cube"] = RNG.normal(size=(2, 3, 4))
    dense["empty"] = np.zeros((0, 3))
    dense["small"] = np.array([[7]], "u1")
    sparse = {
        "s": sp.csc_matrix(sp.random(20, 30, 0.1, random_state=0)),
        "mask": sp.csc_matrix(np.eye(4) > 0),
        "nothing": sp.csc_matrix((3, 2)),
    }
    path = write(tmp_path, dense | sparse, do_compression=compressed)
    found = read_variables(path)
    for name, value in dense.items():
        np.testing.assert_array_equal(found[name], value)
    for name, value in sparse.items():
        assert found[name].shape == value.shape
        np.testing.assert_array_equal(found[name].toarray(), value.toarray())


def test_what_is_no_matrix_of_numbers_is_named(tmp_path):
    variables = {"t": "text", "s": {"a": 1}, "c": np.array([[1j]]), "l": np.array([1, "a"], object)}
    found = read_variables(write(tmp_path, variables))
    assert found == {
        "t": Other("text"),
        "s": Other("a struct"),
        "c": Other("complex numbers"),
        "l": Other("a cell array"),
    }


def test_the_other_byte_order():
    body = struct.pack(">IIIIIIiiHH4sII2d", 6, 8, 6, 0, 5, 8, 1, 2, 1, 1, b"a", 9, 16, 1.5, 2.5)
    content = b"MATLAB 5.0".ljust(124) + b"\x01\x00MI" + struct.pack(">II", 14, len(body)) + body
    path = io.BytesIO(content)
    path.read_bytes = path.read
    assert read_variables(path)["a"].tolist() == [[1.5, 2.5]]


@needs("blogcatalog")
def test_blogcatalog_is_read_as_scipy_reads_it():
    from pathlib import Path

    path = Path(DATA_DIR) / "blogcatalog" / "BlogCatalog.mat"
    expected = scipy.io.loadmat(path, spmatrix=False)
    for name, value in read_variables(path).items():
        assert abs(value - expected[name]).max() == 0


def matrix_file(starts, rows=(0, 1), values=(1.0, 1.0), shape=(2, 2)):
    """A file of one sparse matrix, made by hand."""

    def element(kind, content):
        return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)

    body = b"".join(
        [
            element(6, struct.pack("<II", 5, len(rows))),
            element(5, struct.pack("<ii", *shape)),
            element(1, b"Network"),
            element(5, np.array(rows, "<i4").tobytes()),
            element(5, np.array(starts, "<i4").tobytes()),
            element(9, np.array(values, "<f8").tobytes()),
        ]
    )
    return b"MATLAB 5.0".ljust(124) + b"\x00\x01IM" + element(14, body)


def test_a_sparse_matrix_by_hand(tmp_path):
    (tmp_path / "x.mat").write_bytes(matrix_file((0, 1, 2)))
    assert read_variables(tmp_path / "x.mat")["Network"].toarray().tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    "damage",
    [
        {"starts": (0, 2**30, 0), "rows": (), "values": ()},
        {"starts": (0, 5, 2)},
        {"starts": (0, -5, 2)},
        {"starts": (0, 1, 99)},
        {"starts": (1, 1, 2)},
        {"starts": (0, 1, 2), "rows": (0, 9)},
        {"starts": (0, 1, 2), "rows": (0, -1)},
        {"starts": (0, 1, 2), "values": (1.0,)},
        {"starts": (0, 1, 2), "shape": (2, 9)},
        {"starts": (0, 1, 2), "shape": (2, -2)},
    ],
)
def test_parts_that_would_make_c_code_read_elsewhere_are_refused(tmp_path, damage):
    (tmp_path / "x.mat").write_bytes(matrix_file(**damage))
    with pytest.raises(InputError, match=r"x\.mat: expected a MATLAB file, received damaged"):
        read_variables(tmp_path / "x.mat")


def test_a_flipped_bit_in_a_compressed_matrix_is_noticed(tmp_path):
    path = write(tmp_path, {"a": RNG.normal(size=(20, 20))}, do_compression=True)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged content"):
        read_variables(path)
