"""Weights that start as a smoothing filter (an extension, not the paper's)."""

import numpy as np

from cade_tf.errors import InputError
from cade_tf.graph.graph import Features, Graph
from cade_tf.graph.smoothing_start import SmoothingStart
from cade_tf.models.dual_encoder import DualEncoder


def start_as_smoothing(
    model: DualEncoder,
    graph: Graph,
    features: Features,
    *,
    self_weights: tuple[float, ...],
    own_weight: float = 0.0,
    position_weight: float = 0.0,
    remove_mean: bool = False,
    seed: int,
) -> None:
    """Sets the weights of a linear encoder so that untrained it smooths and projects features.

    With P the mean over neighbours, X the features and a the self weight, the encoder of L layers
    gives (a I + (1 - a) P)^L X V: the first layer has W = [a V; (1 - a) V], the others
    [a I; (1 - a) I]. V are the main directions (PCA) of the smoothed features of training nodes.
    The K aggregators of CADE-MA share V and take self weights evenly spaced over a range.

    Where `own_weight` is above 0, some dimensions hold the node's own features instead: there a
    is 1, and V are the main directions of the features themselves.

    Where `position_weight` is above 0, some dimensions hold positions in the graph. They come from
    the global bias, whose rows start with them, and a node takes them from its neighbours alone: so
    a new node among known ones has a position too.

    Args:
        model: A built model, mean aggregator, linear activations.
        graph: The training graph.
        features: Its scaled features.
        self_weights: a, or the ends of its range.
        own_weight: How long the part of own features is on average, as a share of the smoothed
            part; 0 leaves it out.
        position_weight: Likewise for the part of positions; the model must have a global bias.
        remove_mean: Whether all directions are orthogonal to the mean: then embeddings have the
            mean 0, without a bias that new nodes would have to know.
        seed: Seed of the decomposition.

    Raises:
        InputError: The model's layers are not linear.
    """
    if (model.aggregator, model.activation, model.last_activation) != ("mean", "linear", "linear"):
        raise InputError(
            "model",
            "the mean aggregator and linear activations",
            f"{model.aggregator}, {model.activation}, {model.last_activation}",
            "Change them, or start with glorot.",
        )
    sets = model.parameter_sets
    low, high = self_weights[0], self_weights[-1]
    weights = np.linspace(low, high, sets) if sets > 1 else np.array([(low + high) / 2])
    start = SmoothingStart.of(
        graph,
        features,
        model.dim,
        self_weights=weights,
        depth=model.sagb.depth,
        own_weight=own_weight,
        position_weight=position_weight,
        remove_mean=remove_mean,
        seed=seed,
    )
    columns = [part.shape[1] for part in (start.smoothed, start.own, start.positions)]
    directions = np.pad(
        np.concatenate([start.smoothed, start.own], axis=1), ((0, 0), (0, columns[2]))
    )
    for number, layer in enumerate(model.sagb.rounds):
        base = directions if number == 0 else np.eye(model.dim, dtype=np.float32)
        kernels = []
        for a in weights:
            selves = np.repeat(np.array([a, 1.0, 0.0], np.float32), columns)
            kernels.append(np.concatenate([base * selves, base * (1 - selves)]))
        layer.kernel.assign(np.stack(kernels))
    if model.bias is not None and columns[2]:
        model.bias.table.assign(np.pad(start.positions, ((0, 0), (model.dim - columns[2], 0))))
