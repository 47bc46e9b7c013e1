"""Which devices a run uses, in which arithmetic, and which process may write."""

import contextlib
import functools
import json
import os
from collections.abc import Iterator

import tensorflow as tf

from cade_tf.config import DeviceOptions
from cade_tf.errors import InputError


class ClusterLost(OSError):
    """Another process of a run went away; what it held is lost."""


@contextlib.contextmanager
def lost_process(which: str) -> Iterator[None]:
    """Turns TensorFlow's errors about a process that does not answer into `ClusterLost`."""
    try:
        yield
    except (
        tf.errors.UnavailableError,
        tf.errors.AbortedError,
        tf.errors.CancelledError,
        tf.errors.DeadlineExceededError,
        tf.errors.FailedPreconditionError,
        tf.errors.NotFoundError,
    ) as error:
        reason = " ".join(error.message.split())[:200]
        raise ClusterLost(
            f"{which} was lost ({reason}); the same command continues from the last checkpoint"
        ) from error


def make_strategy(options: DeviceOptions) -> tf.distribute.Strategy:
    """The strategy in whose scope model and step are made.

    Returns:
        One strategy for the whole process, as collectives of two would meet each other.

    Raises:
        InputError: Several machines are asked for and TF_CONFIG does not name them.
    """
    allow_memory_growth()
    if options.strategy == "multi_worker":
        sizes, _, index = described_cluster("worker")
        if not 0 <= index < sizes["worker"]:
            expected = f"a task index below {sizes['worker']}"
            raise InputError("TF_CONFIG", expected, index, "Number the workers from 0.")
    return _strategy(options.strategy)


@functools.cache
def _strategy(name: str) -> tf.distribute.Strategy:
    if name == "mirrored":
        devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
        return tf.distribute.MirroredStrategy([device.name for device in devices])
    if name == "multi_worker":
        return tf.distribute.MultiWorkerMirroredStrategy()
    return tf.distribute.get_strategy()


def described_cluster(*roles: str) -> tuple[dict[str, int], str, int]:
    """What TF_CONFIG says of a cluster.

    Args:
        roles: Kinds of processes that it must list.

    Returns:
        Number of processes of each role, and role and number of this one.

    Raises:
        InputError: It says something else, or nothing.
    """
    text = os.environ.get("TF_CONFIG", "")
    try:
        described = json.loads(text)
        sizes = {role: len(described["cluster"][role]) for role in roles}
        return sizes, str(described["task"]["type"]), int(described["task"]["index"])
    except (ValueError, KeyError, TypeError) as error:
        addresses = ", ".join(f'"{role}": ["host:port", ...]' for role in roles)
        raise InputError(
            "TF_CONFIG",
            f'an environment variable as {{"cluster": {{{addresses}}}, '
            f'"task": {{"type": "{roles[0]}", "index": 0}}}}',
            text or "none",
            "Set it for every process.",
        ) from error


def allow_memory_growth() -> None:
    """Lets TensorFlow take GPU memory as it needs it, not all at once."""
    for device in tf.config.list_physical_devices("GPU"):
        try:
            tf.config.experimental.set_memory_growth(device, True)
        except RuntimeError:
            # Something has used the device already, with its own setting.
            return


def is_chief(strategy: tf.distribute.Strategy) -> bool:
    """Whether this process writes files: always, but for all workers except the first."""
    resolver = strategy.cluster_resolver
    if resolver is None or resolver.task_id is None:
        return True
    return resolver.task_type in (None, "chief") or resolver.task_id == 0


def all_equal(strategy: tf.distribute.Strategy, number: int) -> bool:
    """Whether all workers have the same number here."""
    if strategy.num_replicas_in_sync == 1:
        return True

    @tf.function(autograph=False)
    def sums() -> tf.Tensor:
        value = tf.constant(float(number), tf.float64)
        context = tf.distribute.get_replica_context()
        return context.all_reduce(tf.distribute.ReduceOp.SUM, tf.stack([value, value**2]))

    total, squares = strategy.experimental_local_results(strategy.run(sums))[0].numpy()
    return bool(squares * strategy.num_replicas_in_sync == total**2)
