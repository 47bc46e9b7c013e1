"""Numbers that differ from step to step, on their way to TensorFlow."""

import numpy as np


def uncached(number: float) -> np.ndarray:
    """A number as an array, which TensorFlow copies and forgets.

    Of every Python number that eager TensorFlow converts, it keeps a tensor for the rest of the
    process (about 0.8 KiB), in case the same number comes again. Times, losses and steps do not.

    Example:

    >>> uncached(0.5)
    array(0.5)
    """
    return np.asarray(number)
