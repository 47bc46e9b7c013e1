"""GraphSAGE, the baseline."""

import keras

from cade_tf.models.dual_encoder import DualEncoder


@keras.saving.register_keras_serializable("cade_tf")
class GraphSAGE(DualEncoder):
    """The baseline: one sampling, one parameter set, no bias, no attention.

    See `DualEncoder` for the arguments.

    Example:

    >>> import tensorflow as tf
    >>> from cade_tf.sampling.trees import Trees
    >>> trees = Trees(tf.zeros([4, 5]), tf.constant([0]), (tf.constant([[1, 2, 3]]),), ())
    >>> model = GraphSAGE(dim=8, fanouts=(3,))
    >>> model.build_for(feature_width=5, num_known=4)
    >>> model(trees).shape
    TensorShape([1, 1, 8])
    """

    has_bias = False
