"""The numerical truth: the paper's algorithms in NumPy float64, literally, loops and all.

Nothing here is fast, and nothing here comes from the package under test. Every fast path of the
library must equal what these functions return. "Line" is a step of the algorithm as printed;
"eq." is an equation of "Dual Graph Representation Learning" in the order of the text: (1) the loss
of CADE-MS, (2)-(4) the loss of CADE-MA, (5)-(8) the encoder with global bias.

A neighbourhood sampling is a callable `children(level, node)`: the sampled children S(i) of `node`
where it stands at tree level `level`, the root at level 0. CADE-MS has K of them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray
Children = Callable[[int, int], Sequence[int]]
Score = Callable[[Array, Array], float]

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "elu": lambda x: np.where(x > 0.0, x, np.expm1(np.minimum(x, 0.0))),
    "tanh": np.tanh,
    "linear": lambda x: x,
}


def _float64(value: Any) -> Array:
    return np.asarray(value, np.float64)


def sigmoid(x: Any) -> Array:
    return np.exp(log_sigmoid(x))


def log_sigmoid(x: Any) -> Array:
    """log(1 / (1 + exp(-x))), without overflow."""
    return -np.logaddexp(0.0, -_float64(x))


def normalize(vectors: Any) -> Array:
    """Vectors along the last axis, scaled to unit length; a norm below 1e-12 counts as 1e-12."""
    vectors = _float64(vectors)
    return vectors / np.maximum(np.sqrt((vectors**2).sum(axis=-1, keepdims=True)), 1e-12)


_unit_length = normalize  # under a name that an argument called `normalize` does not hide


def numerical_gradient(function: Callable[[Array], float], at: Any, step: float = 1e-6) -> Array:
    """Central differences of a scalar function, one entry of its argument at a time."""
    at = _float64(at)
    gradient = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        up, down = at.copy(), at.copy()
        up[place] += step
        down[place] -= step
        gradient[place] = (function(up) - function(down)) / (2 * step)
    return gradient


# --- AGGREGATE (section "Experimental settings") -------------------------------------------------


def mean_aggregator(vectors: Any, parameters: Any = None) -> Array:
    """Elementwise mean of the children [children, in]; zeros where there are none."""
    vectors = _float64(vectors)
    total = np.zeros(vectors.shape[1])
    for vector in vectors:
        total = total + vector
    return total / max(len(vectors), 1)


def max_pool_aggregator(vectors: Any, parameters: dict[str, Any]) -> Array:
    """Elementwise maximum of relu(x kernel + bias); kernel [in, units], bias [units]."""
    kernel, bias = _float64(parameters["kernel"]), _float64(parameters["bias"])
    pooled = np.zeros(len(bias))  # relu is never below zero, so zero is neutral for the maximum
    for vector in _float64(vectors):
        pooled = np.maximum(pooled, np.maximum(vector @ kernel + bias, 0.0))
    return pooled


def lstm_aggregator(vectors: Any, parameters: dict[str, Any]) -> Array:
    """Last hidden state of an LSTM that reads the children in the order given.

    kernel [in, 4 units], recurrent_kernel [units, 4 units], bias [4 units], gates in the order
    input, forget, cell, output, as Keras stores them.
    """
    kernel = _float64(parameters["kernel"])
    recurrent_kernel = _float64(parameters["recurrent_kernel"])
    bias = _float64(parameters["bias"])
    units = len(recurrent_kernel)
    hidden, cell = np.zeros(units), np.zeros(units)
    for vector in _float64(vectors):
        gates = vector @ kernel + hidden @ recurrent_kernel + bias
        input_gate = sigmoid(gates[:units])
        forget_gate = sigmoid(gates[units : 2 * units])
        candidate = np.tanh(gates[2 * units : 3 * units])
        output_gate = sigmoid(gates[3 * units :])
        cell = forget_gate * cell + input_gate * candidate
        hidden = output_gate * np.tanh(cell)
    return hidden


# --- Algorithm 3: SAGB ---------------------------------------------------------------------------


def sagb(
    u: int,
    *,
    features: Any,
    children: Children,
    layers: Sequence[dict[str, Any]],
    bias: Any = None,
    activation: str = "relu",
    last_activation: str = "linear",
) -> Array:
    """Algorithm 3, sampling and aggregating with global bias, for one node.

    Args:
        u: Position of the node.
        features: X, [nodes, features].
        children: One neighbourhood sampling.
        layers: For l = 1..L `{"aggregate": vectors -> vector, "kernel": [in + aggregate, d]}`.
        bias: B, [nodes, d], zero rows for unseen nodes; None for an encoder without bias.
        activation: sigma of the layers below L.
        last_activation: sigma of layer L (as printed it is the same one).
    """
    features = _float64(features)
    depth = len(layers)
    # A tree holds instances: a node sampled twice stands in it twice, each time with children.
    node_of: list[int] = [u]
    level_of: list[int] = [0]
    children_of: list[list[int]] = []
    levels: list[list[int]] = [[0]]  # line 1: N^0 = {u}
    for level in range(1, depth + 1):  # line 2
        levels.append([])
        for instance in levels[level - 1]:  # line 3: N^l = {S(i), for all i in N^(l-1)}
            children_of.append([])
            for child in children(level_of[instance], node_of[instance]):
                children_of[instance].append(len(node_of))
                levels[level].append(len(node_of))
                node_of.append(int(child))
                level_of.append(level)

    h: dict[tuple[int, int], Array] = {}  # h[l, i]
    for instance, node in enumerate(node_of):
        h[0, instance] = features[node]
    for layer in range(1, depth + 1):  # line 5
        sigma = ACTIVATIONS[activation if layer < depth else last_activation]
        kernel = _float64(layers[layer - 1]["kernel"])
        for level in range(depth - layer + 1):  # line 6: N^0 u N^1 u ... u N^(L-l)
            for instance in levels[level]:
                below = [h[layer - 1, child] for child in children_of[instance]]
                width = len(h[layer - 1, instance])
                # line 7, eq. (5)
                aggregated = layers[layer - 1]["aggregate"](np.reshape(below, (-1, width)))
                # line 8, eq. (6)
                both = np.concatenate([h[layer - 1, instance], _float64(aggregated)])
                h[layer, instance] = sigma(both @ kernel)
                if layer < depth and bias is not None:  # line 9, eq. (7) and (8)
                    h[layer, instance] = h[layer, instance] + _float64(bias)[node_of[instance]]
    return h[depth, 0]  # line 12


# --- Algorithm 2: DualENC ------------------------------------------------------------------------


def encode_ms(u: int, *, samplings: Sequence[Children], **encoder: Any) -> Array:
    """Line 1 of Algorithm 2 in CADE-MS: K samplings, one set of parameters; [K, d]."""
    return np.stack([sagb(u, children=children, **encoder) for children in samplings])


def encode_ma(u: int, *, layer_sets: Sequence[Any], **encoder: Any) -> Array:
    """Line 1 of Algorithm 2 in CADE-MA: one sampling, K sets of parameters; [K, d]."""
    return np.stack([sagb(u, layers=layers, **encoder) for layers in layer_sets])


def dot_score(temperature: float = 1.0) -> Score:
    """The attention score of CADE-MS: the dot product."""
    return lambda h_vi, h_pj: float(np.dot(h_vi, h_pj)) / temperature


def vector_score(a: Any, temperature: float = 1.0) -> Score:
    """The attention score of CADE-MA: A^T [h_vi || h_pj], A of length 2d."""
    a = _float64(a)
    return lambda h_vi, h_pj: float(np.dot(a, np.concatenate([h_vi, h_pj]))) / temperature


def tanh_score(p_v: Any, p_p: Any, b: Any, a: Any, temperature: float = 1.0) -> Score:
    """a . tanh(P_v^T h_vi + P_p^T h_pj + b), the extension that depends on the context."""
    p_v, p_p, b, a = _float64(p_v), _float64(p_p), _float64(b), _float64(a)
    return lambda h_vi, h_pj: float(a @ np.tanh(p_v.T @ h_vi + p_p.T @ h_pj + b)) / temperature


def dual_encode(h_v: Any, h_p: Any, score: Score) -> tuple[Array, Array, Array]:
    """Lines 2 to 8 of Algorithm 2: (z_v, z_p, S) of two [K, d] sets of embeddings."""
    h_v, h_p = _float64(h_v), _float64(h_p)
    k = len(h_v)
    similarity = np.zeros((k, k))
    for i in range(k):  # line 2
        for j in range(k):
            similarity[i, j] = score(h_v[i], h_p[j])  # line 3
    # line 5; the largest score is subtracted from all, which no softmax notices
    exponentials = np.exp(similarity - similarity.max())
    similarity = exponentials / exponentials.sum()
    a_v, a_p = np.zeros(k), np.zeros(k)
    for i in range(k):  # line 6
        for j in range(k):
            a_v[i] += similarity[i, j]
            a_p[j] += similarity[i, j]
    z_v, z_p = np.zeros(h_v.shape[1]), np.zeros(h_p.shape[1])
    for i in range(k):
        z_v += a_v[i] * h_v[i]  # line 7
        z_p += a_p[i] * h_p[i]  # line 8
    return z_v, z_p, similarity


# --- losses --------------------------------------------------------------------------------------


def _mean_over_counted(losses: Sequence[float], pair_weights: Any) -> float:
    """Weighted mean of the pairs' losses; a pair of weight zero does not count."""
    weights = np.ones(len(losses)) if pair_weights is None else _float64(pair_weights)
    total = 0.0
    for weight, loss in zip(weights, losses, strict=True):
        total += weight * loss
    return float(total / weights.sum()) if weights.sum() > 0 else 0.0


def _negatives_of(pair: int, negatives: Array, shared_ndim: int) -> Array:
    """Negatives are shared by all pairs, or have one more axis in front: the pair."""
    return negatives if negatives.ndim == shared_ndim else negatives[pair]


def loss_ms(
    pairs: Sequence[tuple[Any, Any]],
    negatives: Any,
    weight: float,
    temperature: float = 1.0,
    pair_weights: Any = None,
) -> float:
    """Eq. (1), averaged over pairs.

    Args:
        pairs: (z_v, z_p) of each pair, normalised already where the model normalises.
        negatives: Direct encoder outputs z_n, [Q, d] shared or [pairs, Q, d].
        weight: Factor before the expectation over negatives; Q in the paper.
        temperature: Dot products are divided by it.
        pair_weights: Weight of each pair in the mean; by default all count the same.
    """
    negatives = _float64(negatives)
    losses = []
    for index, (z_v, z_p) in enumerate(pairs):
        z_v, z_p = _float64(z_v), _float64(z_p)
        loss = -log_sigmoid(z_v @ z_p / temperature)
        own = _negatives_of(index, negatives, 2)
        for z_n in own:
            loss = loss - weight * log_sigmoid(-(z_v @ z_n) / temperature) / len(own)
        losses.append(float(loss))
    return _mean_over_counted(losses, pair_weights)


def loss_ma(
    h_v: Sequence[Any],
    h_p: Sequence[Any],
    h_n: Any,
    score: Score,
    weight: float,
    temperature: float = 1.0,
    normalize: bool = False,
    pair_weights: Any = None,
    stopped_score: Score | None = None,
) -> float:
    """Eq. (2) to (4), averaged over pairs, eq. (4) with v_n in the place of the misprinted v_p.

    Args:
        h_v: [K, d] of the first node of each pair.
        h_p: [K, d] of the second node of each pair.
        h_n: The negatives' embeddings, [Q, K, d] shared or [pairs, Q, K, d].
        score: Attention score with A.
        weight: Factor before the expectation over negatives; Q in the paper.
        temperature: Dot products are divided by it.
        normalize: Whether every z is scaled to unit length.
        pair_weights: Weight of each pair in the mean; by default all count the same.
        stopped_score: The score with A*, equal in value to `score`. A test that differentiates
            numerically by A changes `score` and leaves this one, which is what stopping the
            gradient means.
    """
    unit = _unit_length if normalize else _float64
    stopped_score = stopped_score or score
    h_n = _float64(h_n)
    losses = []
    for index in range(len(h_v)):
        z_v, z_p, _ = dual_encode(h_v[index], h_p[index], score)  # eq. (3)
        loss = -log_sigmoid(unit(z_v) @ unit(z_p) / temperature)
        own = _negatives_of(index, h_n, 3)
        for h_q in own:
            support_v, z_n, _ = dual_encode(h_v[index], h_q, stopped_score)  # eq. (4)
            affinity = unit(support_v) @ unit(z_n) / temperature
            loss = loss - weight * log_sigmoid(-affinity) / len(own)  # eq. (2)
        losses.append(float(loss))
    return _mean_over_counted(losses, pair_weights)


# --- Algorithm 1: CADE ---------------------------------------------------------------------------


def pairs_of_walk(walk: Sequence[int]) -> list[tuple[int, int]]:
    """The start of a walk with every node visited later; returns to the start make no pair."""
    pairs = []
    for node in walk[1:]:
        if node != walk[0]:
            pairs.append((int(walk[0]), int(node)))
    return pairs


def embed_all(
    num_nodes: int,
    pairs: Sequence[tuple[int, int]],
    dual_enc: Callable[[int, int], tuple[Any, Any]],
) -> Array:
    """Algorithm 1: the mean of all dual embeddings of each node.

    A node in no pair, which Algorithm 1 leaves undefined, is its own context.
    """
    collected: list[list[Array]] = [[] for _ in range(num_nodes)]  # line 2
    for v, p in pairs:  # line 3
        z_v, z_p = dual_enc(v, p)  # line 4
        collected[v].append(_float64(z_v))  # line 5
        collected[p].append(_float64(z_p))  # line 6
    for v in range(num_nodes):
        if not collected[v]:
            collected[v].append(_float64(dual_enc(v, v)[0]))
    return np.stack([np.mean(vectors, axis=0) for vectors in collected])  # lines 8 and 9


# --- optimizer -----------------------------------------------------------------------------------


def row_sparse_adam_step(
    table: Any,
    m: Any,
    v: Any,
    rows: Sequence[int],
    gradients: Any,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    t: int,
) -> tuple[Array, Array, Array]:
    """One step of Adam that touches the given rows alone: (table, m, v) after it.

    Gradients of a repeated row are summed first. The bias is corrected by the global step t = 1,
    2, ..., and epsilon is added to the uncorrected root, as TensorFlow and Keras do.
    """
    table, m, v = (np.array(value, np.float64) for value in (table, m, v))
    gradients = _float64(gradients)
    summed: dict[int, Array] = {}
    for row, gradient in zip(rows, gradients, strict=True):
        summed[int(row)] = summed.get(int(row), np.zeros_like(gradient)) + gradient
    rate = lr * np.sqrt(1 - beta2**t) / (1 - beta1**t)
    for row, gradient in summed.items():
        m[row] = beta1 * m[row] + (1 - beta1) * gradient
        v[row] = beta2 * v[row] + (1 - beta2) * gradient**2
        table[row] = table[row] - rate * m[row] / (np.sqrt(v[row]) + epsilon)
    return table, m, v


# --- measures ------------------------------------------------------------------------------------


def mrr(positive_scores: Any, negative_scores: Any) -> float:
    """Mean reciprocal rank of each positive [B] among itself and its negatives [B, Q].

    The rank is one more than the number of negatives that score at least as high: GraphSAGE ranks
    the negatives first, so that a tie counts against the positive and a collapsed model gets
    1 / (Q + 1).
    """
    total = 0.0
    for positive, negatives in zip(positive_scores, negative_scores, strict=True):
        rank = 1
        for negative in negatives:
            rank += bool(negative >= positive)
        total += 1.0 / rank
    return total / len(positive_scores)


def rank_me(z: Any) -> float:
    """RankMe: exp of the entropy of the singular values of [nodes, d], scaled to sum 1."""
    singular = np.linalg.svd(_float64(z), compute_uv=False)
    shares = singular / singular.sum()
    entropy = 0.0
    for share in shares:
        if share > 0:
            entropy -= share * np.log(share)
    return float(np.exp(entropy))


def mean_cosine(z: Any) -> float:
    """Mean cosine of all pairs of distinct rows."""
    unit = normalize(z)
    total = 0.0
    for i in range(len(unit)):
        for j in range(len(unit)):
            if i != j:
                total += float(unit[i] @ unit[j])
    return total / (len(unit) * (len(unit) - 1))
