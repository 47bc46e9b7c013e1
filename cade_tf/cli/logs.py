"""What is told on standard error, and how."""

import logging
import os
import sys
from typing import TextIO

from cade_tf.environment import quiet_import_tensorflow


class StandardErrorHandler(logging.StreamHandler[TextIO]):
    """Writes to whatever standard error is at the time.

    While a progress bar is shown, that is a file which keeps other lines above the bar.
    """

    @property
    def stream(self) -> TextIO:
        """The present standard error."""
        return sys.stderr

    @stream.setter
    def stream(self, value: TextIO) -> None:
        """Ignored: there is no other stream."""


def configure(verbosity: str) -> None:
    """Shows messages of this package from a level on, and TensorFlow's only to those who debug.

    To be called before TensorFlow is imported, which reads its own level once; it is imported here.
    """
    debugging = verbosity == "debug"
    if debugging:
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "0"
    logger = logging.getLogger("cade_tf")
    logger.setLevel(verbosity.upper())
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
    handler = StandardErrorHandler()
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s" if debugging else "cade: %(message)s"
    handler.setFormatter(logging.Formatter(form))
    logger.addHandler(handler)
    logger.propagate = False
    logging.getLogger("tensorflow").setLevel(logging.DEBUG if debugging else logging.ERROR)
    if debugging:
        import tensorflow  # noqa: F401
    else:
        quiet_import_tensorflow()
