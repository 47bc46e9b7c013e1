"""The smoothing initialisation: an untrained encoder is a filter and a projection."""

import numpy as np
import pytest
import scipy.sparse as sp

from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.graph import smoothing
from cade_tf.graph.graph import Graph
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.models.factory import make_model
from cade_tf.training.initialization import start_as_smoothing
from cade_tf.training.trainer import train

NODES, WIDTH, DIM = 60, 12, 5


def random_graph(*, sparse: bool = False) -> Graph:
    generator = np.random.default_rng(3)
    edges = generator.integers(0, NODES - 1, (150, 2))  # the last node stays isolated
    features = generator.standard_normal((NODES, WIDTH)).astype(np.float32)
    # Few directions of very different size, so that the main ones are beyond doubt.
    features *= 2.0 ** -np.arange(WIDTH, dtype=np.float32)
    return Graph.from_edges(
        edges, features=sp.csr_array(features) if sparse else features, num_nodes=NODES
    )


def options(model: str = "graphsage", **changes: object) -> Config:
    common: dict[str, object] = {
        "model": model,
        "k": 3,
        "dim": DIM,
        "fanouts": (4, 3),
        "activation": "linear",
        "feature_scaling": "none",
        "initialization": "smoothing",
        "steps": 0,
    }
    return Config(**(common | changes))


def built_model(config: Config) -> DualEncoder:
    model = make_model(config)
    model.build_for(WIDTH, NODES)
    return model


def one_step(graph: Graph) -> np.ndarray:
    """P, the mean over neighbours, densely and from the definition."""
    adjacency = graph.adjacency().toarray()
    adjacency[graph.degrees == 0, graph.degrees == 0] = 1
    return adjacency / adjacency.sum(1, keepdims=True)


def filters(graph: Graph, weights: list[float]) -> list[np.ndarray]:
    """(a I + (1 - a) P)^2."""
    steps = [a * np.eye(NODES) + (1 - a) * one_step(graph) for a in weights]
    return [step @ step for step in steps]


def main_directions(smoothed: np.ndarray, count: int) -> np.ndarray:
    return np.linalg.svd(smoothed - smoothed.mean(0))[2][:count].T


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("model", ["graphsage", "cade_gb", "cade_ms"])
def test_untrained_encoder_smooths_and_projects(
    model: str, sparse: bool, narrow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not narrow:  # as if there were many more features
        monkeypatch.setattr(smoothing, "_NARROW", 0)
        monkeypatch.setattr(smoothing, "_OVERSAMPLING", 3)
    graph = random_graph(sparse=sparse)
    config = options(model, self_weights=(0.6,), normalize="none")
    found = train(graph, config, progress=False).model.embed_full(graph, progress=False)
    features = random_graph().features
    smoothed = filters(graph, [0.6])[0] @ features
    expected = smoothed @ main_directions(smoothed, DIM)
    signs = np.sign((found * expected).sum(0))
    np.testing.assert_allclose(found * signs, expected, rtol=1e-3, atol=1e-4)


def test_aggregators_of_cade_ma_take_self_weights_over_the_range() -> None:
    graph = random_graph()
    model = built_model(options("cade_ma"))
    start_as_smoothing(model, graph, graph.features, self_weights=(0.2, 1.0), seed=0)
    weights = [0.2, 0.6, 1.0]
    mean = np.mean([f @ graph.features for f in filters(graph, weights)], axis=0)
    expected = main_directions(mean, DIM)
    first, second = (layer.kernel.numpy() for layer in model.sagb.rounds)
    signs = np.sign((first[2, :WIDTH] * expected).sum(0))
    for place, a in enumerate(weights):
        own, others = first[place, :WIDTH], first[place, WIDTH:]
        np.testing.assert_allclose(own * signs, a * expected, atol=1e-3)
        np.testing.assert_allclose(others * signs, (1 - a) * expected, atol=1e-3)
        np.testing.assert_allclose(second[place, :DIM], a * np.eye(DIM), atol=1e-6)
        np.testing.assert_allclose(second[place, DIM:], (1 - a) * np.eye(DIM), atol=1e-6)


@pytest.mark.parametrize("model", ["graphsage", "cade_ma"])
def test_a_quarter_of_the_dimensions_can_hold_own_features(model: str) -> None:
    graph, dim = random_graph(), 8
    config = options(model, dim=dim, self_weights=(0.3,), own_weight=0.5, normalize="none")
    found = train(graph, config, progress=False).model.embed_full(graph, progress=False)
    smoothed, own = found[:, :6], found[:, 6:]
    expected = graph.features @ main_directions(graph.features, 2)
    cosines = (
        (own * expected).sum(0) / np.linalg.norm(own, axis=0) / np.linalg.norm(expected, axis=0)
    )
    np.testing.assert_allclose(np.abs(cosines), 1, atol=1e-3)
    lengths = [np.linalg.norm(part - part.mean(0)) for part in (smoothed, own)]
    assert lengths[1] / lengths[0] == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize("model", ["cade_gb", "cade_ma"])
def test_a_quarter_of_the_dimensions_can_hold_positions_by_the_global_bias(model: str) -> None:
    graph, dim = random_graph(), 8
    config = options(model, dim=dim, self_weights=(0.3,), position_weight=0.5, normalize="none")
    trained = train(graph, config, progress=False).model
    rows = trained.bias.table.numpy()
    assert not rows[:, :6].any()
    found = trained.embed_full(graph, progress=False)
    np.testing.assert_allclose(found[:, 6:], one_step(graph) @ rows[:, 6:], rtol=1e-4, atol=1e-5)
    lengths = [np.linalg.norm(part - part.mean(0)) for part in (found[:, :6], found[:, 6:])]
    assert lengths[1] / lengths[0] == pytest.approx(0.5, rel=0.01)


def test_a_new_node_has_the_position_of_its_known_neighbours() -> None:
    graph = random_graph()
    known = graph.subgraph(np.arange(NODES - 10))
    config = options("cade_gb", dim=8, position_weight=1.0, normalize="none")
    trained = train(known, config, progress=False).model
    rows = np.zeros((NODES, 8), np.float32)
    rows[: NODES - 10] = trained.bias.table.numpy()
    found = trained.embed_full(graph, progress=False)
    np.testing.assert_allclose(found[:, 6:], (one_step(graph) @ rows)[:, 6:], rtol=1e-4, atol=1e-5)
    assert found[NODES - 10 : NODES - 1, 6:].any(axis=1).sum() > 5


def test_without_the_mean_embeddings_have_the_mean_zero() -> None:
    graph = random_graph()
    graph = Graph.from_edges(graph.edges(), features=graph.features + 3, num_nodes=NODES)
    common = {"self_weights": (0.3,), "own_weight": 0.5, "normalize": "none"}
    means = []
    for remove_mean in (False, True):
        config = options(dim=8, remove_mean=remove_mean, **common)
        found = train(graph, config, progress=False).model.embed_full(graph, progress=False)
        means.append(np.linalg.norm(found.mean(0)))
    assert means[1] < 1e-3 < 1e-1 < means[0]


def test_more_dimensions_than_features_leave_the_rest_at_zero() -> None:
    graph = random_graph()
    model = built_model(options(dim=WIDTH + 4))
    start_as_smoothing(model, graph, graph.features, self_weights=(0.5,), seed=0)
    kernel = model.sagb.rounds[0].kernel.numpy()[0]
    assert np.linalg.matrix_rank(kernel) == WIDTH
    assert not kernel[:, WIDTH:].any()


@pytest.mark.parametrize(
    ("name", "value"),
    [("activation", "relu"), ("last_activation", "tanh"), ("aggregator", "pool")],
)
def test_what_is_not_linear_is_refused(name: str, value: str) -> None:
    with pytest.raises(InputError, match=name):
        options(**{name: value})
    model = built_model(options(initialization="glorot", **{name: value}))
    graph = random_graph()
    with pytest.raises(InputError, match=value):
        start_as_smoothing(model, graph, graph.features, self_weights=(0.5,), seed=0)


@pytest.mark.parametrize("weights", [(), (0.1, 0.2, 0.3), (1.5,)])
def test_self_weights_are_one_share_or_a_range(weights: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="self_weights"):
        options(self_weights=weights)
