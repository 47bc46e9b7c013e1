"""A model that needs no file beside it."""

from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.sampling.row_file import RowFile

LARGEST_BYTES = 2 << 30
"""A global bias beyond this stays outside."""

_CHUNK_ROWS = 8192


def with_own_bias(model: DualEncoder) -> DualEncoder:
    """A copy of a model whose global bias lies in a file, with the bias as a weight.

    Args:
        model: The model.

    Returns:
        The copy; without any known node where the bias is beyond `LARGEST_BYTES`. A model whose
        bias does not lie in a file is returned itself.
    """
    if model.bias is None or not isinstance(model.bias.variable, RowFile):
        return model
    rows, width = model.bias.variable.shape
    fits = 4 * rows * width <= LARGEST_BYTES
    # A table without rows could not be looked up at all; nobody reads this one row.
    copy = type(model).from_config({**model.get_config(), "num_known": rows if fits else 1})
    copy.build()
    own = [weight for weight in copy.weights if weight is not copy.bias.table]
    for weight, source in zip(own, model.weights, strict=True):
        weight.assign(source.value)
    if fits:
        table = copy.bias.table.value
        for first in range(0, rows, _CHUNK_ROWS):
            last = min(first + _CHUNK_ROWS, rows)
            table[first:last].assign(model.bias.variable.values(first, last))
    return copy
