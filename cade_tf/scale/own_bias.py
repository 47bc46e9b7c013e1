"""A model that needs no file and no server of its own."""

import dataclasses
import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.scale.row_file import RowFile

LARGEST_BYTES = 2 << 30
"""A global bias beyond this stays outside."""

_CHUNK_ROWS = 8192
_log = logging.getLogger(__name__)


def with_own_bias(model: DualEncoder) -> DualEncoder:
    """A copy of a model whose global bias lies in a file, with the bias as a weight.

    Args:
        model: The model.

    Returns:
        The copy, as of `own_copy`. A model whose bias does not lie in a file is returned itself.
    """
    if model.bias is None or not isinstance(model.bias.variable, RowFile):
        return model
    return own_copy(model, RowFile.values)


def own_copy(model: DualEncoder, read_rows: Callable[[Any, int, int], np.ndarray]) -> DualEncoder:
    """A copy of a model with all its weights in this process.

    Args:
        model: The model; its global bias is kept elsewhere.
        read_rows: From the table of that bias, first and last to its rows first..last-1.

    Returns:
        The copy; without any known node where the bias is beyond `LARGEST_BYTES`.
    """
    rows = model.num_known
    fits = 4 * rows * model.dim <= LARGEST_BYTES
    # A table without rows could not be looked up at all; nobody reads this one row.
    copy = type(model).from_config(model.get_config())
    copy.build_for(model.feature_width, rows if fits else 1)
    copy.preparation = model.preparation
    if not fits and model.preparation is not None:
        _log.warning("The global bias is too large for the saved model and is left out of it.")
        copy.preparation = dataclasses.replace(
            model.preparation, known_ids=model.preparation.known_ids[:0], marks=None
        )
    own = [w for w in copy.weights if copy.bias is None or w is not copy.bias.table]
    for weight, source in zip(own, model.weights, strict=True):
        weight.assign(source.numpy())
    if fits and copy.bias is not None and model.bias is not None:
        table = copy.bias.table.value
        for first in range(0, rows, _CHUNK_ROWS):
            last = min(first + _CHUNK_ROWS, rows)
            table[first:last].assign(read_rows(model.bias.variable, first, last))
    return copy
