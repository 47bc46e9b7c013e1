"""The public interface: its names, what importing it does, and examples that run."""

import doctest
import importlib
import importlib.resources
import inspect
import pkgutil
import subprocess
import sys

import keras
import pytest

import cade_tf

NAMES = {
    "cade_tf": [
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
    ],
    "cade_tf.layers": [
        "SAGB",
        "DotProductBiAttention",
        "DualENC",
        "DualPair",
        "GlobalBias",
        "LSTMAggregator",
        "MaxPoolAggregator",
        "MeanAggregator",
        "ParallelDense",
        "SageLayer",
        "TanhBiAttention",
        "VectorBiAttention",
    ],
    "cade_tf.losses": ["PairLoss", "SoftmaxLoss"],
    "cade_tf.models": ["CadeGB", "CadeMA", "CadeMS", "DualEncoder", "GraphSAGE", "PairScores"],
    "cade_tf.optimizers": ["Adam"],
}
PUBLIC = [(module, name) for module, names in NAMES.items() for name in names]
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(cade_tf.__path__, prefix="cade_tf.")
    # Each of these is a program; tests/test_examples.py runs them.
    if not module.name.startswith(("cade_tf.examples.", "cade_tf.__main__"))
)


@pytest.mark.parametrize("module", NAMES)
def test_the_public_names_are_these(module):
    assert importlib.import_module(module).__all__ == NAMES[module]


@pytest.mark.parametrize(("module", "name"), PUBLIC)
def test_a_public_name_is_what_it_says_and_documented(module, name):
    value = getattr(importlib.import_module(module), name)
    assert value.__name__ in (name, f"cade_tf.{name}")
    assert inspect.getdoc(value)


@pytest.mark.parametrize(("module", "name"), PUBLIC)
def test_every_public_class_has_an_example(module, name):
    value = getattr(importlib.import_module(module), name)
    if inspect.isclass(value) and not issubclass(value, tuple) and name != "DualEncoder":
        assert ">>>" in value.__doc__


def test_importing_the_package_registers_its_classes_with_keras():
    code = (
        "import cade_tf, keras\n"
        "for name in ('CadeMS', 'CadeMA', 'CadeGB', 'GraphSAGE', 'SAGB', 'DualENC', 'GlobalBias',\n"
        "             'PairLoss', 'SoftmaxLoss', 'Adam'):\n"
        "    assert keras.saving.get_registered_object(f'cade_tf>{name}'), name\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_another_backend_of_keras_is_refused_with_a_sentence():
    done = subprocess.run(
        [sys.executable, "-c", "import cade_tf"],
        env={"KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1
    assert "KERAS_BACKEND: expected tensorflow, received jax" in done.stderr


def test_the_version_is_that_of_the_package():
    from importlib.metadata import version

    assert cade_tf.__version__ == version("cade_tf")


def test_the_package_says_that_it_is_typed():
    assert (importlib.resources.files("cade_tf") / "py.typed").is_file()


def test_layers_are_layers_and_models_are_models():
    assert issubclass(cade_tf.CadeMS, keras.Model)
    assert issubclass(cade_tf.layers.SAGB, keras.layers.Layer)
    assert issubclass(cade_tf.losses.PairLoss, keras.losses.Loss)
    assert issubclass(cade_tf.optimizers.Adam, keras.optimizers.Optimizer)


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    module = importlib.import_module(name)
    results = doctest.testmod(module, optionflags=doctest.ELLIPSIS, raise_on_error=False)
    assert not results.failed
