"""Look-ups return the rows that were asked for, dense and sparse."""

import numpy as np
import scipy.sparse as sp
import tensorflow as tf

from cade_tf.sampling.tables import SparseTable, TensorTable

ROWS = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 3.0, 0.0], [4.0, 5.0, 6.0]], np.float32)


def test_a_tensor_table_returns_rows_and_compacts_to_them():
    table = TensorTable(ROWS)
    ids = tf.constant([3, 0, 3])
    np.testing.assert_array_equal(table.lookup(ids), ROWS[[3, 0, 3]])
    matrix, position = table.compact(ids)
    np.testing.assert_array_equal(tf.gather(matrix, position), ROWS[[3, 0, 3]])
    assert table.num_rows == 4


def test_search_finds_the_first_row_above_each_value():
    table = TensorTable(np.array([0.25, 0.5, 0.5, 1.0]))
    values = tf.constant([[0.0, 0.25], [0.5, 0.99]], tf.float64)
    assert table.search(values).numpy().tolist() == [[0, 1], [3, 3]]
    assert table.search(values).dtype == tf.int64


def test_a_variable_stays_one_and_its_gradient_is_sparse():
    variable = tf.Variable(ROWS)
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(TensorTable(variable).lookup(tf.constant([2, 2])))
    gradient = tape.gradient(total, variable)
    assert isinstance(gradient, tf.IndexedSlices)
    assert gradient.indices.numpy().tolist() == [2, 2]


def test_sparse_rows_are_the_rows_of_the_matrix_empty_ones_included():
    table = SparseTable(sp.csr_array(ROWS))
    assert table.num_rows == 4
    for ids in ([3, 1, 0, 3], [1], [1, 1, 2]):
        rows = table.lookup(tf.constant(ids))
        np.testing.assert_array_equal(tf.sparse.to_dense(rows), ROWS[ids])


def test_compact_sparse_rows_are_distinct():
    table = SparseTable(sp.csr_array(ROWS))
    ids = tf.constant([[3, 1], [3, 2]])
    matrix, position = table.compact(ids)
    dense = tf.sparse.to_dense(matrix)
    assert dense.shape[0] == 3
    np.testing.assert_array_equal(tf.gather(dense, position), ROWS[ids.numpy()])


def test_a_sparse_matrix_without_entries_can_be_read():
    table = SparseTable(sp.csr_array((4, 3), dtype=np.float32))
    np.testing.assert_array_equal(
        tf.sparse.to_dense(table.lookup(tf.constant([0, 2]))), np.zeros((2, 3))
    )
