"""What is told on standard error, and how."""

import contextlib
import logging
import os
import sys
from collections.abc import Iterator

LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


def configure(verbosity: str) -> None:
    """Shows messages of this package from a level on, and TensorFlow's only to those who debug.

    To be called before TensorFlow is imported, which reads its own level once; it is imported here.

    Args:
        verbosity: debug, info, warning or error.
    """
    debugging = verbosity == "debug"
    if debugging:
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "0"
    logger = logging.getLogger("cade_tf")
    logger.setLevel(LEVELS[verbosity])
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
    handler = logging.StreamHandler(sys.stderr)
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s" if debugging else "cade: %(message)s"
    handler.setFormatter(logging.Formatter(form))
    logger.addHandler(handler)
    logger.propagate = False
    logging.getLogger("tensorflow").setLevel(logging.DEBUG if debugging else logging.ERROR)
    with contextlib.nullcontext() if debugging else _silent_standard_error():
        import tensorflow as tf

        tf.config.list_physical_devices()


@contextlib.contextmanager
def _silent_standard_error() -> Iterator[None]:
    """Drops what native code writes before it can be told not to."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
