"""Between the library and the oracle: the same graph, draws and weights for both."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import tensorflow as tf

from cade_tf.config import Config, FeatureOptions
from cade_tf.graph.features import FeatureTransform, node_features
from cade_tf.graph.graph import Graph
from cade_tf.graph.preparation import Preparation
from cade_tf.inference.candidates import sampled_candidates
from cade_tf.layers.bi_attention import TanhBiAttention, VectorBiAttention
from cade_tf.layers.sagb import SAGB
from cade_tf.losses import PairLoss
from cade_tf.models.dual_encoder import DualEncoder, PairScores
from cade_tf.models.factory import MODEL_CLASSES, make_model
from cade_tf.sampling.batch import PairBatch, make_batch
from cade_tf.sampling.graph_tables import GraphTables, make_graph_tables
from cade_tf.sampling.neighborhood import sample_neighborhood
from cade_tf.training import trainer
from cade_tf.training.metrics import LossTerms, loss_terms
from cade_tf.training.step import TrainingStep
from tests import oracle

MODELS = tuple(MODEL_CLASSES)
NODES, WIDTH, DIM = 11, 5, 4
ISOLATED = 9


def small_graph(*, sparse: bool = False, weighted: bool = False, seed: int = 3) -> Graph:
    """A random graph with one isolated node, and features of which many are zero."""
    rng = np.random.default_rng(seed)
    edges = rng.integers(NODES, size=(2 * NODES, 2))
    edges = edges[(edges != ISOLATED).all(axis=1)]
    features = rng.normal(size=(NODES, WIDTH)) * (rng.random((NODES, WIDTH)) < 0.6)
    return Graph.from_edges(
        edges,
        num_nodes=NODES,
        features=sp.csr_array(features.astype(np.float32)) if sparse else features,
        edge_weights=rng.uniform(0.5, 2.0, len(edges)) if weighted else None,
    )


def small_tables(*, known: Any = None, **graph: Any) -> GraphTables:
    """Tables of `small_graph`."""
    made = small_graph(**graph)
    return make_graph_tables(made, made.features, known=None if known is None else np.array(known))


def small_model(name: str, **options: Any) -> DualEncoder:
    """A model for `small_graph` with random weights, the global bias included."""
    settings = {"dim": DIM, "fanouts": (3, 2), "k": 3, **options}
    width, num_known = settings.pop("feature_width", WIDTH), settings.pop("num_known", NODES)
    model = MODEL_CLASSES[name](**settings)
    model.build_for(width, num_known)
    randomize(model)
    return model


def prepared_model(
    name: str,
    graph: Graph,
    known: Any = None,
    scaling: str = "none",
    walk_length: int = 3,
    **options: Any,
) -> DualEncoder:
    """A model with random weights that knows how to read graphs like this one.

    Args:
        name: Name of the model.
        graph: The graph whose features it has seen.
        known: Ids of the training nodes; all of the graph's by default.
        scaling: How features are scaled.
        walk_length: Steps of the walks that make contexts.
        **options: Of `small_model`.
    """
    features = node_features(graph)
    transform = FeatureTransform.fit(features, FeatureOptions(feature_scaling=scaling))
    known_ids = graph.ids if known is None else np.asarray(known)
    model = small_model(
        name,
        feature_width=transform.output_width,
        num_known=len(known_ids),
        feature_scaling=scaling,
        walk_length=walk_length,
        **options,
    )
    model.preparation = Preparation(
        transform=transform,
        known_ids=known_ids,
        feature_names=graph.feature_names,
        structural=not graph.num_features,
    )
    return model


def randomize(layer: Any, seed: int = 7) -> None:
    """Gives every weight random values, none of them zero."""
    rng = np.random.default_rng(seed)
    for weight in layer.weights:
        weight.assign(rng.normal(scale=0.5, size=weight.shape))


def dense_features(graph: Graph) -> np.ndarray:
    """Features as the oracle takes them."""
    return graph.features.toarray() if sp.issparse(graph.features) else graph.features


def drawn_children(
    tables: GraphTables, fanouts: Sequence[int], key: tf.Tensor, sampling: int = 0
) -> oracle.Children:
    """One sampling of the whole graph, read from the library, as the oracle takes it."""
    roots = tf.range(tables.num_nodes)
    samplings = tf.fill([tables.num_nodes], sampling)
    trees = sample_neighborhood(tables, roots, samplings, tuple(fanouts), key)
    nodes = trees.nodes.numpy()
    drawn: dict[tuple[int, int], list[int]] = {}
    place = 0
    for level, children in enumerate(trees.child_nodes):
        for row in children.numpy():
            drawn[level, int(nodes[place])] = row.tolist()
            place += 1
    return lambda level, node: drawn[level, node]


def layer_sets(sagb: SAGB) -> list[list[dict[str, Any]]]:
    """Weights of the K parameter sets of SAGB, as the oracle takes them."""
    return [
        [{"aggregate": _aggregate(r, k), "kernel": r.kernel.numpy()[k]} for r in sagb.rounds]
        for k in range(sagb.parameter_sets)
    ]


def _aggregate(round_: Any, k: int) -> Any:
    layer = round_.aggregate
    if round_.aggregator == "mean":
        return oracle.mean_aggregator
    parameters = {"kernel": layer.dense.kernel.numpy()[k]}
    if round_.aggregator == "pool":
        parameters["bias"] = layer.dense.bias.numpy()[k]
        return lambda vectors: oracle.max_pool_aggregator(vectors, parameters)
    parameters["recurrent_kernel"] = layer.recurrent_kernel.numpy()[k]
    parameters["bias"] = layer.bias.numpy()[k]
    return lambda vectors: oracle.lstm_aggregator(vectors, parameters)


def candidates(model: DualEncoder, tables: GraphTables, nodes: Any, key: tf.Tensor) -> tf.Tensor:
    """What the library makes of nodes: `[nodes, K or 1, dim]`."""
    return sampled_candidates(model, tables, tf.constant(nodes), key)


def scores(
    model: DualEncoder,
    tables: GraphTables,
    nodes: Any,
    partners: Any,
    negatives: Any,
    key: tf.Tensor,
) -> PairScores:
    """What the library makes of pairs and negatives."""
    return model.score_pairs(
        make_batch(
            tables,
            tf.constant(nodes),
            tf.constant(partners),
            tf.ones(len(nodes), tf.bool),
            tf.constant(negatives),
            model.tree_shape,
            key,
        )
    )


def pair_terms(
    scores: PairScores, valid: Sequence[bool], weight: float, temperature: float
) -> LossTerms:
    """The paper's loss of scores."""
    batch = PairBatch(None, None, tf.constant(valid), None, None, None, None)
    return loss_terms(PairLoss(weight, temperature=temperature), scores, batch)


def make_step(
    config: Config, tables: GraphTables | None = None, width: int = WIDTH
) -> TrainingStep:
    """A training step of a model on `small_graph`, or on other tables."""
    tables = small_tables() if tables is None else tables
    model = make_model(config)
    model.build_for(width, tables.num_nodes)
    return trainer.make_step(model, tables, config)[0]


class OracleModel:
    """What the oracle makes of a model's weights, a graph and a key.

    Weights are read when the object is made; `sets`, `bias` and `score` may then be replaced.
    """

    def __init__(
        self,
        model: DualEncoder,
        tables: GraphTables,
        graph: Graph,
        key: tf.Tensor,
        known: Any = None,
    ) -> None:
        self.model = model
        self.features = dense_features(graph)
        self.samplings = [
            drawn_children(tables, model.fanouts, key, s) for s in range(model.samplings)
        ]
        self.sets = layer_sets(model.sagb)
        self.bias = None
        if model.bias is not None:
            rows = np.arange(graph.num_nodes) if known is None else np.asarray(known)
            table = model.bias.table.numpy().astype(np.float64)
            self.bias = np.where((rows >= 0)[:, None], table[rows], 0.0)
        self.score = attention_score(model)

    def candidates(self, node: int) -> np.ndarray:
        """[K or 1, dim] of a node, normalised where the model does."""
        vectors = np.stack(
            [
                oracle.sagb(
                    node,
                    features=self.features,
                    children=children,
                    layers=layers,
                    bias=self.bias,
                    activation=self.model.activation,
                    last_activation=self.model.last_activation,
                )
                for children in self.samplings
                for layers in self.sets
            ]
        )
        return oracle.normalize(vectors) if self.model.normalize in ("encoder", "both") else vectors

    def dual(self, node: int, partner: int) -> tuple[np.ndarray, np.ndarray]:
        """(z_v, z_p), normalised where the model does."""
        z_v, z_p, _ = oracle.dual_encode(
            self.candidates(node), self.candidates(partner), self.score
        )
        return self._output(z_v), self._output(z_p)

    def loss(
        self, nodes: Any, partners: Any, negatives: Any, valid: Any, **settings: float
    ) -> float:
        """The model's own loss of a batch; `negatives` are [Q] or [pairs, Q]."""
        negatives = np.asarray(negatives)
        every = {int(n): self.candidates(int(n)) for n in {*nodes, *partners, *negatives.flat}}
        weights = np.asarray(valid, float)
        if self.model.parameter_sets_by_k:
            return oracle.loss_ma(
                [every[int(n)] for n in nodes],
                [every[int(n)] for n in partners],
                np.stack([every[int(n)] for n in negatives.flat]).reshape(
                    *negatives.shape, self.model.k, self.model.dim
                ),
                self.score,
                normalize=self.model.normalize in ("output", "both"),
                pair_weights=weights,
                stopped_score=attention_score(self.model),
                **settings,
            )
        direct = np.stack([self._output(every[int(n)][0]) for n in negatives.flat])
        return oracle.loss_ms(
            [self.dual(int(v), int(p)) for v, p in zip(nodes, partners, strict=True)],
            direct.reshape(*negatives.shape, self.model.dim),
            pair_weights=weights,
            **settings,
        )

    def _output(self, vector: np.ndarray) -> np.ndarray:
        return oracle.normalize(vector) if self.model.normalize in ("output", "both") else vector


def attention_score(model: DualEncoder) -> oracle.Score:
    """The model's attention as the oracle takes it; a model without one has nothing to choose."""
    layer, temperature = model.attention, model.attention_temperature
    if isinstance(layer, VectorBiAttention):
        return oracle.vector_score(layer.vector.numpy().reshape(-1), temperature)
    if isinstance(layer, TanhBiAttention):
        return tanh_score(layer)
    return oracle.dot_score(temperature)


def tanh_score(layer: TanhBiAttention) -> oracle.Score:
    """The score of `TanhBiAttention` with the weights of a layer."""
    return oracle.tanh_score(
        layer.node_kernel.numpy(),
        layer.partner_kernel.numpy(),
        layer.bias.numpy(),
        layer.vector.numpy()[:, 0],
        layer.temperature,
    )
