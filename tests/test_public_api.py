"""The public interface: its names, how little importing it costs, and examples that run."""

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import cade_tf

NAMES = [
    "CadeGB",
    "CadeMA",
    "CadeMS",
    "Config",
    "DotProductBiAttention",
    "Encoder",
    "FeatureTransform",
    "GlobalBias",
    "Graph",
    "GraphSAGE",
    "InputError",
    "LSTMAggregator",
    "MaxPoolAggregator",
    "MeanAggregator",
    "NodeSplit",
    "ParallelDense",
    "RowSparseAdam",
    "SAGB",
    "SageLayer",
    "TanhBiAttention",
    "Trained",
    "TreeInputs",
    "VectorBiAttention",
    "digits",
    "dual_affinities",
    "load_dataset",
    "train",
    "unseen_nodes",
]
MODULES = sorted(
    module.name for module in pkgutil.walk_packages(cade_tf.__path__, prefix="cade_tf.")
)


def test_the_public_names_are_these():
    assert cade_tf.__all__ == NAMES
    assert set(NAMES) <= set(dir(cade_tf))


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_what_it_says_and_documented(name):
    value = getattr(cade_tf, name)
    assert value.__name__ == name
    assert inspect.getdoc(value)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'cade_tf' has no attribute 'Grap'"):
        _ = cade_tf.Grap


def test_importing_the_package_loads_neither_tensorflow_nor_numpy():
    code = (
        "import sys, cade_tf; assert not {'tensorflow', 'keras', 'numpy'} & set(sys.modules);"
        "cade_tf.Graph; assert 'tensorflow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_train_is_the_function_also_when_the_command_of_that_name_was_imported():
    command = importlib.import_module("cade_tf.train")
    assert inspect.ismodule(command)
    assert inspect.isfunction(cade_tf.train)
    from cade_tf import train

    assert train is cade_tf.train


@pytest.mark.parametrize("name", NAMES)
def test_every_public_class_has_an_example(name):
    value = getattr(cade_tf, name)
    if inspect.isclass(value) and not issubclass(value, tuple):
        assert ">>>" in value.__doc__


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    module = importlib.import_module(name)
    results = doctest.testmod(module, optionflags=doctest.ELLIPSIS, raise_on_error=False)
    assert not results.failed
