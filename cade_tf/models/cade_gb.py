"""CADE-gb: the global bias by itself."""

import keras

from cade_tf.models.dual_encoder import DualEncoder


@keras.saving.register_keras_serializable("cade_tf")
class CadeGB(DualEncoder):
    """CADE-gb: GraphSAGE with the global bias only.

    See `DualEncoder` for the arguments.

    Example:

    >>> model = CadeGB(dim=8, fanouts=(3, 2))
    >>> model.build_for(feature_width=5, num_known=4)
    >>> model.bias.table.shape
    TensorShape([4, 8])
    """
