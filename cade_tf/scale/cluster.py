"""A cluster of a chief, workers and parameter servers, as TF_CONFIG describes it."""

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from cade_tf.errors import InputError
from cade_tf.scale.distant_tables import parts_of
from cade_tf.training.devices import described_cluster, lost_process

_ROLES = ("chief", "worker", "ps")
_THREADS = 4


class OnDemand(tf.distribute.experimental.partitioners.Partitioner):
    """Divides only the variables that are made while `active`: tables, but no weights of layers.

    Args:
        shards: Parts of a divided variable.
    """

    def __init__(self, shards: int) -> None:
        self.shards = shards
        self.active = False

    def __call__(self, shape: tf.TensorShape, dtype: tf.DType, axis: int = 0) -> list[int]:
        """Parts along each axis."""
        return [self.shards if self.active else 1] + [1] * (shape.rank - 1)


class Cluster:
    """The chief's view of a cluster: where variables go and who does the work.

    Args:
        resolver: Addresses of all processes.
        heard: Called whenever one of them has answered.
    """

    def __init__(
        self,
        resolver: tf.distribute.cluster_resolver.ClusterResolver,
        heard: Callable[[], None],
    ) -> None:
        self.heard = heard
        spec = resolver.cluster_spec().as_dict()
        self.workers = len(spec["worker"])
        self.servers = len(spec["ps"])
        self._partitioner = OnDemand(self.servers)
        with lost_servers():
            self.strategy = tf.distribute.ParameterServerStrategy(
                resolver, variable_partitioner=self._partitioner
            )
            self.coordinator = tf.distribute.coordinator.ClusterCoordinator(self.strategy)
        heard()

    def make_variable(self, shape: tuple[int, ...], dtype: tf.DType = tf.float32) -> Any:
        """A variable of zeros, in equal parts on all servers; see `parts_of`."""

        def zeros(
            partition_shape: Sequence[int] = shape, partition_offset: Sequence[int] = ()
        ) -> tf.Tensor:
            return tf.zeros(partition_shape, dtype)

        with self.strategy.scope():
            self._partitioner.active = True
            try:
                made = tf.Variable(zeros, shape=shape, dtype=dtype, trainable=False)
            finally:
                self._partitioner.active = False
        self.heard()
        return made

    def run_all(self, work: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Lets the workers do all calls of a function, in any order, each until it succeeds.

        A call whose worker is lost is done again by another one.

        Returns:
            What the calls returned, in their order.

        Raises:
            ClusterLost: A parameter server went away.
        """
        with lost_servers():
            results = [self.coordinator.schedule(work, args=call) for call in calls]
            try:
                return [self._answer(result) for result in results]
            finally:
                # Knows why a call failed, where its result says only that it did.
                self.coordinator.join()

    def _answer(self, result: Any) -> Any:
        value = result.fetch()
        self.heard()
        return value

    def read_rows(self, table: Any, first: int, last: int) -> np.ndarray:
        """Rows first..last-1 of a sharded variable, the rest left where it is."""
        pieces, begin = [], 0
        with lost_servers():
            for part in parts_of(table):
                low, high = max(first - begin, 0), min(last - begin, part.shape[0])
                if low < high:
                    with tf.device(part.device):
                        piece = part.sparse_read(tf.range(low, high))
                    pieces.append(piece.numpy())
                begin += part.shape[0]
        self.heard()
        return np.concatenate(pieces)


def lost_servers() -> contextlib.AbstractContextManager[None]:
    """Turns TensorFlow's errors about servers that do not answer into `ClusterLost`."""
    return lost_process("a parameter server")


@contextlib.contextmanager
def tensorflow_messages_to(path: Path) -> Iterator[None]:
    """Has TensorFlow write to a file: it says tens of thousands of characters about each loss.

    On standard error they would bury what the user must know, and fill a pipe that nobody reads,
    which would stop the chief.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    logger = logging.getLogger("tensorflow")
    before, propagated = logger.handlers, logger.propagate
    file = logging.FileHandler(path)
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s: %(message)s"))
    logger.handlers, logger.propagate = [file], False
    try:
        yield
    finally:
        logger.handlers, logger.propagate = before, propagated
        file.close()


def make_resolver() -> tf.distribute.cluster_resolver.ClusterResolver:
    """Reads TF_CONFIG.

    Raises:
        InputError: It does not describe a cluster, or not this process.
    """
    sizes, role, index = described_cluster(*_ROLES)
    known = 0 <= index < sizes.get(role, 0)
    if not known or sizes["chief"] != 1 or not sizes["worker"] or not sizes["ps"]:
        raise InputError(
            "TF_CONFIG",
            "one chief, at least one worker and one ps, this process among them",
            f"{sizes}, {role} {index}",
            "Set it for every process, or let cade launch do so.",
        )
    return tf.distribute.cluster_resolver.TFConfigClusterResolver()


def serve(resolver: tf.distribute.cluster_resolver.ClusterResolver) -> None:
    """Serves as a worker or parameter server until the process is ended."""
    config = tf.compat.v1.ConfigProto()
    # A server that waits for another one must have a thread left to answer with.
    config.inter_op_parallelism_threads = max(_THREADS, os.cpu_count() or 1)
    server = tf.distribute.Server(
        resolver.cluster_spec(),
        job_name=resolver.task_type,
        task_index=resolver.task_id,
        protocol="grpc",
        config=config,
    )
    server.join()
