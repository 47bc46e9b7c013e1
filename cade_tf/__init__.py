"""CADE: unsupervised, inductive, context-aware node embeddings in TensorFlow and Keras.

The command line imports this package too, and answers help and mistakes before TensorFlow is
loaded; there the names below are left out.
"""

from cade_tf import environment

__version__ = "0.2.0"

environment.prepare()

if not environment.started_as_command():
    environment.quiet_import_tensorflow()

    from cade_tf import layers, losses, models, optimizers
    from cade_tf.config import Config
    from cade_tf.errors import InputError
    from cade_tf.evaluation.link_ranking import predict_links
    from cade_tf.evaluation.pictures import plot_embeddings
    from cade_tf.graph.datasets import load_dataset
    from cade_tf.graph.digits import digits
    from cade_tf.graph.features import FeatureTransform
    from cade_tf.graph.graph import Graph
    from cade_tf.graph.splits import NodeSplit, split_nodes
    from cade_tf.inference.frames import embeddings_frame
    from cade_tf.inference.neighbors import neighbors
    from cade_tf.inference.node_embedding import NodeEmbedding
    from cade_tf.inference.pair_scores import dual_affinities
    from cade_tf.models import CadeGB, CadeMA, CadeMS, GraphSAGE
    from cade_tf.models.factory import load_model
    from cade_tf.sampling.batch import PairSampler
    from cade_tf.training.trained import Trained
    from cade_tf.training.trainer import train

    __all__ = [
        "CadeGB",
        "CadeMA",
        "CadeMS",
        "Config",
        "FeatureTransform",
        "Graph",
        "GraphSAGE",
        "InputError",
        "NodeEmbedding",
        "NodeSplit",
        "PairSampler",
        "Trained",
        "digits",
        "dual_affinities",
        "embeddings_frame",
        "layers",
        "load_dataset",
        "load_model",
        "losses",
        "models",
        "neighbors",
        "optimizers",
        "plot_embeddings",
        "predict_links",
        "split_nodes",
        "train",
    ]
