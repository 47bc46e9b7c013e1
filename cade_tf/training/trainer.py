"""From a graph and options to a trained encoder."""

import dataclasses
import logging
from pathlib import Path

import numpy as np

from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.graph.features import FeatureTransform, node_features
from cade_tf.graph.graph import Graph
from cade_tf.inference.encoder import Encoder, fit_transform
from cade_tf.models.factory import make_model
from cade_tf.sampling.graph_tables import make_graph_tables
from cade_tf.training import devices, run_folder
from cade_tf.training.initialization import start_as_smoothing
from cade_tf.training.loop import Loop, Validate
from cade_tf.training.metrics import collapse_warning
from cade_tf.training.step import TrainingStep

_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Trained:
    """What a training run leaves behind.

    Args:
        encoder: The trained encoder.
        config: Options of the run.
        metrics: Means of the last steps.
        steps: Steps done, those before a run was resumed included.
        seconds: Time of those steps, without preparation.
        warning: What is wrong with the run, if it collapsed.
        best_step: Step whose weights the encoder has, where validation chose one.

    Example:

    >>> graph = Graph.from_edges([[0, 1], [1, 2], [2, 0]], features=np.eye(3))
    >>> trained = train(graph, Config(dim=8, fanouts=(2, 2), steps=0), progress=False)
    >>> trained.steps, trained.encoder.model.dim
    (0, 8)
    """

    encoder: Encoder
    config: Config
    metrics: dict[str, float]
    steps: int
    seconds: float
    warning: str | None
    best_step: int | None = None

    def embed(
        self,
        graph: Graph,
        *,
        walks: int | None = None,
        seed: int | None = None,
        progress: bool = True,
    ) -> np.ndarray:
        """Algorithm 1 with the run's own options; see `Encoder.embed`."""
        return self.encoder.embed(
            graph,
            walks=self.config.embed_walks if walks is None else walks,
            seed=self.config.seed if seed is None else seed,
            batch_size=self.config.embed_batch_size,
            progress=progress,
        )


def train(
    graph: Graph,
    config: Config,
    *,
    run_dir: str | Path | None = None,
    progress: bool = True,
    validate: Validate | None = None,
    transform: FeatureTransform | None = None,
) -> Trained:
    """Trains an encoder on a graph, unsupervised.

    Args:
        graph: The training graph: the nodes and edges that training may see.
        config: Options.
        run_dir: Where checkpoints and TensorBoard events go; a run found there is continued.
            None keeps nothing.
        progress: Whether to show progress.
        validate: Scores an encoder after some step, by name; higher is better. Called every
            `config.validate_every` steps, for TensorBoard and for `config.stop_on`.
        transform: Scaling of the features, where it was learnt from this graph before.

    Returns:
        The trained encoder and what there is to say about the run.

    Raises:
        InputError: The graph has no edge to learn from, or the folder holds another run.
        RunStopped: A signal asked for an end; the state is saved.
        FloatingPointError: A number was not finite; the state before it is saved.

    Example:

    >>> graph = Graph.from_edges([[0, 1], [1, 2], [2, 0]], features=np.eye(3))
    >>> config = Config(model="cade_ma", k=2, dim=8, fanouts=(2, 2), steps=2, batch_size=4)
    >>> train(graph, config, progress=False).embed(graph, progress=False).shape
    (3, 8)
    """
    if not graph.num_edges and (config.steps or config.epochs):
        raise InputError("graph", "at least one edge between training nodes", "none", "Add edges.")
    strategy = devices.make_strategy(config)
    folder = None if run_dir is None else Path(run_dir)
    if folder is not None and devices.is_chief(strategy):
        run_folder.prepare(folder, config, run_folder.fingerprint_of(graph))
    transform = transform or fit_transform(graph, config, config.seed)
    features = transform.apply(node_features(graph))
    tables = make_graph_tables(graph, features)
    with strategy.scope():
        model = make_model(
            config,
            feature_width=features.shape[1],
            num_known=graph.num_nodes,
            seed=config.seed,
            dtype=devices.POLICIES[config.precision],
        )
        if config.initialization == "smoothing":
            start_as_smoothing(
                model, graph, features, self_weights=config.self_weights, seed=config.seed
            )
        step = TrainingStep(model, tables, config)
    encoder = Encoder(
        model=model,
        transform=transform,
        known_ids=graph.ids,
        walk_length=config.walk_length,
        feature_names=graph.feature_names,
        structural=not graph.num_features,
    )
    loop = Loop(step, encoder, config, run_dir=folder, validate=validate, progress=progress)
    end = loop.run()
    warning = collapse_warning(end.metrics) if end.metrics else None
    if warning:
        _log.warning("The run has collapsed: %s.", warning)
    return Trained(
        encoder=encoder,
        config=config,
        metrics=end.metrics,
        steps=end.steps,
        seconds=end.seconds,
        warning=warning,
        best_step=end.best_step,
    )
