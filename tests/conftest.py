"""Settings of the whole suite; TensorFlow reads some of them when it is first imported."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# Results must depend neither on a GPU nor on the kernels oneDNN chooses for this processor.
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("MPLBACKEND", "agg")
# Several workers share the cores: NumPy's threads would spend their time waiting for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings

from cade_tf.sampling import graph_tables

settings.register_profile("suite", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("suite")


@pytest.fixture(autouse=True)
def sparse_features_stay_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices of tests are too full to be laid out as sparse ones; that path would go untested."""
    monkeypatch.setattr(graph_tables, "DENSE_SHARE", 2.0)
