"""The oracle itself, against numbers worked out by hand."""

import math

import numpy as np
import pytest

from tests import oracle

LOG2 = math.log(2.0)


def one_sampling(**by_node):
    """A sampling that ignores levels: node{n} -> its children."""
    return lambda level, node: by_node[f"node{node}"]


def layer(aggregate, kernel):
    return {"aggregate": aggregate, "kernel": kernel}


def test_mean_of_two_children():
    np.testing.assert_allclose(oracle.mean_aggregator([[1, 4], [3, 0]]), [2, 2])


def test_mean_of_no_children_is_zero():
    np.testing.assert_array_equal(oracle.mean_aggregator(np.zeros((0, 3))), [0, 0, 0])


def test_max_pool_takes_the_largest_activation_of_each_unit():
    # x kernel + bias: [1, 2] -> [1 - 1, -2 + 0.5] = [0, -1.5]; [3, -4] -> [2, 4.5].
    parameters = {"kernel": [[1, 0], [0, -1]], "bias": [-1, 0.5]}
    np.testing.assert_allclose(oracle.max_pool_aggregator([[1, 2], [3, -4]], parameters), [2, 4.5])


def test_max_pool_never_falls_below_zero():
    parameters = {"kernel": [[-1.0]], "bias": [0.0]}
    np.testing.assert_array_equal(oracle.max_pool_aggregator([[1], [2]], parameters), [0])


def test_lstm_of_one_child_uses_the_gates_in_keras_order():
    # Input gate sigma(ln 3) = 3/4, forget gate idle, candidate tanh(1), output gate sigma(0) = 1/2.
    parameters = {
        "kernel": [[math.log(3.0), -7.0, 1.0, 0.0]],
        "recurrent_kernel": [[0.0] * 4],
        "bias": [0.0] * 4,
    }
    expected = 0.5 * math.tanh(0.75 * math.tanh(1.0))
    np.testing.assert_allclose(oracle.lstm_aggregator([[1.0]], parameters), [expected])


def test_lstm_carries_its_state_from_child_to_child():
    parameters = {
        "kernel": [[0.0, 0.0, 1.0, 0.0]],
        "recurrent_kernel": [[0.0, 0.0, 2.0, 0.0]],
        "bias": [0.0] * 4,
    }
    cell_1 = 0.5 * math.tanh(1.0)
    hidden_1 = 0.5 * math.tanh(cell_1)
    cell_2 = 0.5 * cell_1 + 0.5 * math.tanh(3.0 + 2.0 * hidden_1)
    expected = 0.5 * math.tanh(cell_2)
    np.testing.assert_allclose(oracle.lstm_aggregator([[1.0], [3.0]], parameters), [expected])
    assert oracle.lstm_aggregator([[3.0], [1.0]], parameters)[0] != pytest.approx(expected)


def test_sagb_of_one_layer():
    # h_0 = 1, mean of children (2 + 4) / 2 = 3; 1 * 10 + 3 * (-1) = 7.
    z = oracle.sagb(
        0,
        features=[[1.0], [2.0], [4.0]],
        children=one_sampling(node0=[1, 2]),
        layers=[layer(oracle.mean_aggregator, [[10.0], [-1.0]])],
        bias=[[100.0]] * 3,
    )
    np.testing.assert_allclose(z, [7.0])  # and no bias in the last layer


def test_sagb_of_two_layers_with_bias():
    # Path 0 - 1 - 2 with features 1, 2, 4. Layer 1 (self - mean of children, relu), then the bias:
    #   node 0: relu(1 - 2) + 0.5 = 0.5;  node 1: relu(2 - (1 + 4) / 2) + 0.25 = 0.25.
    # Layer 2 (2 self - 4 mean, linear): 2 * 0.5 - 4 * 0.25 = 0.
    arguments = {
        "features": [[1.0], [2.0], [4.0]],
        "children": one_sampling(node0=[1], node1=[0, 2]),
        "layers": [
            layer(oracle.mean_aggregator, [[1.0], [-1.0]]),
            layer(oracle.mean_aggregator, [[2.0], [-4.0]]),
        ],
        "bias": [[0.5], [0.25], [99.0]],
    }
    np.testing.assert_allclose(oracle.sagb(0, **arguments), [0.0])
    # elu: node 0: (1/e - 1) + 0.5, node 1: (e^-0.5 - 1) + 0.25.
    low = 2 * (math.exp(-1) - 0.5) - 4 * (math.exp(-0.5) - 0.75)
    np.testing.assert_allclose(oracle.sagb(0, activation="elu", **arguments), [low])
    np.testing.assert_allclose(
        oracle.sagb(0, activation="elu", last_activation="tanh", **arguments), [math.tanh(low)]
    )


def test_sagb_without_bias_has_zero_bias():
    arguments = {
        "features": [[1.0], [2.0]],
        "children": one_sampling(node0=[1], node1=[0]),
        "layers": [layer(oracle.mean_aggregator, [[1.0], [1.0]])] * 2,
    }
    np.testing.assert_allclose(oracle.sagb(0, **arguments), [6.0])
    np.testing.assert_allclose(oracle.sagb(0, bias=np.zeros((2, 1)), **arguments), [6.0])


def test_a_sampling_is_asked_once_for_every_node_of_the_tree_that_has_children():
    asked = []

    def children(level, node):
        asked.append((level, node))
        return [1 - node]

    oracle.sagb(
        0,
        features=[[1.0], [2.0]],
        children=children,
        layers=[layer(oracle.mean_aggregator, [[1.0], [1.0]])] * 2,
    )
    assert asked == [(0, 0), (1, 1)]


def test_a_child_drawn_twice_counts_twice():
    z = oracle.sagb(
        0,
        features=[[0.0], [3.0], [9.0]],
        children=one_sampling(node0=[1, 1, 2]),
        layers=[layer(oracle.mean_aggregator, [[0.0], [1.0]])],
    )
    np.testing.assert_allclose(z, [5.0])


def test_the_k_embeddings_of_ms_and_ma():
    encoder = {"features": [[1.0], [2.0], [4.0]]}
    layers = [layer(oracle.mean_aggregator, [[0.0], [1.0]])]
    samplings = [one_sampling(node0=[1]), one_sampling(node0=[2])]
    np.testing.assert_allclose(
        oracle.encode_ms(0, samplings=samplings, layers=layers, **encoder), [[2.0], [4.0]]
    )
    layer_sets = [layers, [layer(oracle.mean_aggregator, [[5.0], [0.0]])]]
    np.testing.assert_allclose(
        oracle.encode_ma(0, layer_sets=layer_sets, children=samplings[1], **encoder),
        [[4.0], [5.0]],
    )


def test_dual_encoding_by_dot_products():
    # Scores [[ln 1, ln 2], [ln 1, ln 4]]: the softmax is 1, 2, 1, 4 over 8.
    h_v = np.array([[LOG2, 0.0], [2 * LOG2, 0.0]])
    h_p = np.array([[0.0, 7.0], [1.0, 3.0]])
    z_v, z_p, s = oracle.dual_encode(h_v, h_p, oracle.dot_score())
    np.testing.assert_allclose(s, np.array([[1, 2], [1, 4]]) / 8)
    np.testing.assert_allclose(z_v, [(3 / 8 + 5 / 8 * 2) * LOG2, 0.0])
    np.testing.assert_allclose(z_p, [6 / 8, 2 / 8 * 7 + 6 / 8 * 3])


def test_temperature_divides_the_scores():
    h_v, h_p = np.array([[2 * LOG2], [0.0]]), np.array([[1.0], [0.0]])
    _, _, s = oracle.dual_encode(h_v, h_p, oracle.dot_score(temperature=2.0))
    np.testing.assert_allclose(s, np.array([[2, 1], [1, 1]]) / 5)


def test_vector_and_tanh_scores():
    h_v, h_p = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    assert oracle.vector_score([1, 10, 100, 1000])(h_v, h_p) == pytest.approx(4321.0)
    assert oracle.vector_score([1, 10, 100, 1000], 2.0)(h_v, h_p) == pytest.approx(2160.5)
    score = oracle.tanh_score([[1.0], [0.0]], [[0.0], [0.5]], [-2.5], [3.0])
    assert score(h_v, h_p) == pytest.approx(3 * math.tanh(1 + 2 - 2.5))


def test_with_the_papers_vector_score_the_flattened_softmax_is_a_product_of_two():
    generator = np.random.default_rng(1)
    k, d = 5, 3
    a = generator.normal(size=2 * d)
    h_v, h_p, other = generator.normal(size=(3, k, d))

    def softmax(x):
        return np.exp(x) / np.exp(x).sum()

    z_v, z_p, s = oracle.dual_encode(h_v, h_p, oracle.vector_score(a))
    np.testing.assert_allclose(s, np.outer(softmax(h_v @ a[:d]), softmax(h_p @ a[d:])))
    np.testing.assert_allclose(z_v, softmax(h_v @ a[:d]) @ h_v)
    np.testing.assert_allclose(z_p, softmax(h_p @ a[d:]) @ h_p)
    # Hence the context changes nothing, unlike with the dot product and the tanh score.
    np.testing.assert_allclose(oracle.dual_encode(h_v, other, oracle.vector_score(a))[0], z_v)
    tanh = oracle.tanh_score(np.eye(d), np.eye(d), np.zeros(d), a[:d])
    for aware in (oracle.dot_score(), tanh):
        first = oracle.dual_encode(h_v, h_p, aware)[0]
        assert np.abs(oracle.dual_encode(h_v, other, aware)[0] - first).max() > 1e-3


def test_loss_of_ms_by_hand():
    # sigma(ln 3) = 3/4: the pair costs -ln(3/4); negatives have z_v.z_n = ln 3 and 0, so
    # log sigma(-ln 3) = ln(1/4) and log(1/2), whose mean is -1.5 ln 2 times two.
    ln3 = math.log(3.0)
    loss = oracle.loss_ms([([ln3, 0], [1, 5])], [[1, 0], [0, 1]], weight=2)
    assert loss == pytest.approx(-math.log(0.75) + 2 * (2 * LOG2 + LOG2) / 2)
    cooler = oracle.loss_ms([([ln3, 0], [1, 5])], [[1, 0], [0, 1]], weight=2, temperature=0.5)
    assert cooler == pytest.approx(-math.log(0.9) + 2 * (math.log(10.0) + LOG2) / 2)


def test_pairs_of_weight_zero_do_not_count():
    pairs = [([0.0], [0.0]), ([9.0], [9.0])]
    assert oracle.loss_ms(pairs, [[0.0]], 1, pair_weights=[1, 0]) == pytest.approx(2 * LOG2)
    h = [np.zeros((2, 1)), np.ones((2, 1))]
    loss = oracle.loss_ma(h, h, np.zeros((1, 2, 1)), oracle.dot_score(), 1, pair_weights=[1, 0])
    assert loss == pytest.approx(2 * LOG2)
    assert oracle.loss_ms(pairs, [[0.0]], 1, pair_weights=[0, 0]) == 0.0


def test_negatives_of_a_pair_may_be_its_own():
    pairs = [([1.0], [0.0]), ([1.0], [0.0])]
    shared = oracle.loss_ms(pairs, [[0.0], [1.0]], 1)
    assert oracle.loss_ms(pairs, [[[0.0], [1.0]]] * 2, 1) == pytest.approx(shared)
    own = oracle.loss_ms(pairs, [[[0.0], [0.0]], [[1.0], [1.0]]], 1)
    assert own == pytest.approx(shared)
    assert oracle.loss_ms(pairs[:1], [[[0.0], [0.0]]], 1) == pytest.approx(2 * LOG2)


def test_loss_of_ma_uses_support_embeddings_of_each_negative():
    # K = 2, uniform attention (A = 0) makes every z a mean: z_v = 1, z_p = ln 3, z_n = 0 and -ln 3.
    ln3 = math.log(3.0)
    h_v, h_p = [np.array([[0.0], [2.0]])], [np.array([[ln3], [ln3]])]
    h_n = np.array([[[1.0], [-1.0]], [[-ln3], [-ln3]]])
    loss = oracle.loss_ma(h_v, h_p, h_n, oracle.vector_score([0, 0]), weight=4)
    assert loss == pytest.approx(-math.log(0.75) + 4 * (LOG2 - math.log(0.75)) / 2)
    unit = oracle.loss_ma(h_v, h_p, h_n[1:], oracle.vector_score([0, 0]), weight=1, normalize=True)
    assert unit == pytest.approx(2 * math.log1p(math.exp(-1.0)))


def test_loss_of_ma_encodes_v_again_with_each_negative():
    # A dot score sends v to the embedding that agrees with its partner: 20 with p, -20 with n.
    h_v, h_p, h_n = np.array([[20.0], [-20.0]]), np.full((2, 1), 20.0), np.full((1, 2, 1), -20.0)
    loss = oracle.loss_ma([h_v], [h_p], h_n, oracle.dot_score(), weight=1)
    assert loss == pytest.approx(400.0)  # -log sigma(-(-20)(-20)); the pair itself costs nothing


def test_stopping_the_gradient_leaves_the_value_and_changes_the_derivative():
    generator = np.random.default_rng(2)
    h_v, h_p, h_n = generator.normal(size=(3, 2, 3, 2))
    a = generator.normal(size=4)
    stopped = oracle.vector_score(a)

    def whole(value):
        return oracle.loss_ma(h_v, h_p, h_n, oracle.vector_score(value), 1)

    def held(value):
        score = oracle.vector_score(value)
        return oracle.loss_ma(h_v, h_p, h_n, score, 1, stopped_score=stopped)

    def positive(value):
        return oracle.loss_ma(h_v, h_p, h_n, oracle.vector_score(value), 0)

    assert whole(a) == pytest.approx(held(a))
    gradient = oracle.numerical_gradient(held, a)
    np.testing.assert_allclose(gradient, oracle.numerical_gradient(positive, a), atol=1e-8)
    assert np.abs(oracle.numerical_gradient(whole, a) - gradient).max() > 1e-3


def test_numerical_gradient_of_a_quadratic():
    np.testing.assert_allclose(
        oracle.numerical_gradient(lambda x: float((x**2).sum()), [[1.0, -2.0]]), [[2.0, -4.0]]
    )


def test_log_sigmoid_does_not_overflow():
    np.testing.assert_allclose(oracle.log_sigmoid([-1000.0, 0.0, 1000.0]), [-1000.0, -LOG2, 0.0])


def test_normalize_scales_to_unit_length_and_keeps_zero():
    np.testing.assert_allclose(oracle.normalize([[3.0, 4.0], [0.0, 0.0]]), [[0.6, 0.8], [0, 0]])


def test_pairs_of_a_walk_skip_returns_to_the_start():
    assert oracle.pairs_of_walk([5, 6, 5, 7, 6]) == [(5, 6), (5, 7), (5, 6)]
    assert oracle.pairs_of_walk([5]) == []


def test_algorithm_1_averages_both_sides_of_every_pair():
    z = oracle.embed_all(4, [(0, 1), (0, 2), (2, 0)], lambda v, p: ([10.0 * v + p], [100.0 + v]))
    # Node 0: 01, 02 and 102; node 1: 100; node 2: 100 and 20; node 3, in no pair: 33.
    np.testing.assert_allclose(z, [[35.0], [100.0], [60.0], [33.0]])


def test_row_sparse_adam_first_step_moves_touched_rows_by_the_learning_rate():
    table, m, v = np.ones((3, 2)), np.zeros((3, 2)), np.zeros((3, 2))
    table[2], m[2], v[2] = 7.0, 0.5, 0.25
    settings = {"lr": 0.1, "beta1": 0.9, "beta2": 0.999, "epsilon": 0.0}
    new, new_m, new_v = oracle.row_sparse_adam_step(
        table, m, v, [0, 1, 0], [[1.0, -1.0], [5.0, 5.0], [3.0, -1.0]], t=1, **settings
    )
    np.testing.assert_allclose(new[:2], [[0.9, 1.1], [0.9, 0.9]])
    np.testing.assert_allclose(new_m[0], [0.4, -0.2])  # 0.1 * (1 + 3), 0.1 * (-1 - 1)
    np.testing.assert_allclose(new_v[0], [0.016, 0.004])  # the square of the sum
    for before, after in ((table, new), (m, new_m), (v, new_v)):
        np.testing.assert_array_equal(before[2], after[2])
    # Second step, first entry, gradient 1: m = 0.46, v = 0.016984.
    new, _, _ = oracle.row_sparse_adam_step(new, new_m, new_v, [0], [[1.0, 0.0]], t=2, **settings)
    step = 0.1 * math.sqrt(1 - 0.999**2) / (1 - 0.81) * 0.46 / math.sqrt(0.016984)
    assert new[0, 0] == pytest.approx(0.9 - step)


def test_mrr_counts_ties_against_the_positive():
    assert oracle.mrr([3.0, 1.0], [[1.0, 2.0, 0.0], [2.0, 0.0, 5.0]]) == pytest.approx(
        (1 + 1 / 3) / 2
    )
    assert oracle.mrr([1.0], [[1.0] * 4]) == pytest.approx(1 / 5)


def test_rank_me_counts_directions():
    assert oracle.rank_me(np.eye(4)) == pytest.approx(4.0)
    assert oracle.rank_me(np.ones((5, 3))) == pytest.approx(1.0)
    # Singular values 3 and 1: shares 3/4 and 1/4.
    expected = math.exp(-(0.75 * math.log(0.75) + 0.25 * math.log(0.25)))
    assert oracle.rank_me([[3.0, 0.0], [0.0, 1.0]]) == pytest.approx(expected)


def test_mean_cosine_of_distinct_rows():
    # Cosines: 0, -1, 0.
    assert oracle.mean_cosine([[2.0, 0.0], [0.0, 3.0], [-5.0, 0.0]]) == pytest.approx(-1 / 3)
