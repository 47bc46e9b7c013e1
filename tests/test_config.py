import ast
import typing
from pathlib import Path

import numpy as np
import pytest

import cade_tf
from cade_tf.config import Config, DataOptions, SplitOptions
from cade_tf.errors import InputError
from cade_tf.presets import PRESETS
from cade_tf.training.run_options import read_config

PACKAGE = Path(cade_tf.__file__).parent
# What `train` runs; `Config.from_given` reads the preset, before there is a Config.
TRAINING = ("training", "models", "sampling", "presets", "inference")
OF_COMMANDS = {*DataOptions.field_names(), *SplitOptions.field_names()}


def read_by_training():
    """Names of options that are read as `config.NAME` or `options.NAME`, or that a model takes."""
    yield from cade_tf.models.DualEncoder.ARGUMENTS
    files = [file for name in TRAINING for file in (PACKAGE / name).rglob("*.py")]
    for file in [*files, PACKAGE / "graph/features.py"]:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Attribute):
                owner = getattr(node.value, "id", getattr(node.value, "attr", ""))
                if owner.lstrip("_") in ("config", "options"):
                    yield node.attr


def another(name):
    """A legal value of an option that is not its default."""
    (kind, _), spec, default = Config.kind(name), Config.spec(name), Config.default(name)
    if typing.get_origin(kind) is tuple:
        return spec.choices[:1] if spec.choices else (1,)
    if spec.choices:
        return next(choice for choice in spec.choices if choice != default)
    return {bool: not default, str: "other"}.get(kind, spec.maximum or (default or 0) + 1)


def test_the_defaults_are_legal():
    assert Config().replace() == Config()


def test_every_option_explains_itself():
    for name in Config.field_names():
        assert Config.spec(name).help.endswith("."), name


def test_a_data_set_and_a_graph_exclude_each_other():
    with pytest.raises(InputError, match="either graph or dataset"):
        Config(dataset="pubmed", graph="mine.npz")


@pytest.mark.parametrize("fanouts", [(), (2,) * 9])
def test_fanouts_give_one_number_a_layer(fanouts):
    with pytest.raises(InputError, match="1 to 8 numbers"):
        Config(fanouts=fanouts)


def test_a_fanout_is_at_least_one():
    with pytest.raises(InputError, match="at least 1"):
        Config(fanouts=(20, 0))


@pytest.mark.parametrize("name", ["seed", "split_seed"])
def test_seeds_fit_every_generator_they_are_given_to(name):
    assert getattr(Config(**{name: 2**31 - 1}), name) == 2**31 - 1
    with pytest.raises(InputError, match="at most 2147483647"):
        Config(**{name: 2**31})


def test_steps_and_epochs_exclude_each_other():
    assert Config(epochs=2).epochs == 2
    assert Config(epochs=0, steps=10).steps == 10
    with pytest.raises(InputError, match="either epochs or steps, received both"):
        Config(epochs=2, steps=10)


def test_what_is_replaced_is_left_out_of_a_flagfile():
    lines = Config(epochs=2).to_flagfile().splitlines()
    assert "--epochs=2" in lines
    assert not any(line.startswith("--steps") for line in lines)


def test_a_run_of_before_that_has_both_counts_epochs():
    text = Config(steps=10).to_json().replace('"epochs": 0', '"epochs": 2')
    assert Config.from_json(text) == Config(epochs=2)


def test_paths_can_be_made_to_mean_the_same_in_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = Config(graph="edges.csv", labels="labels.csv", run_dir="runs/a").absolute()
    assert config.graph == str(tmp_path / "edges.csv")
    assert config.labels == str(tmp_path / "labels.csv")
    assert config.features is None
    assert Config(graph="a.npz,b.npz").absolute().graph == f"{tmp_path}/a.npz,{tmp_path}/b.npz"
    assert Config(data_dir="~/data").absolute().data_dir == str(Path.home() / "data")


def test_several_graphs_are_separated_by_commas(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Config().graph_paths() == []
    assert Config(graph="a.npz,b.npz").graph_paths() == ["a.npz", "b.npz"]
    (tmp_path / "a,b.npz").write_text("a name with a comma")
    assert Config(graph="a,b.npz").graph_paths() == ["a,b.npz"]


def test_the_options_of_a_run_are_read_from_its_folder(tmp_path):
    (tmp_path / "config.json").write_text(Config(dim=8).to_json())
    assert read_config(tmp_path) == Config(dim=8)
    with pytest.raises(InputError, match=r"a run directory with config\.json"):
        read_config(tmp_path / "nowhere")


@pytest.mark.parametrize("name", sorted(set(Config.field_names()) - {"preset"}))
def test_training_reads_an_option_or_refuses_it(name):
    if name in set(read_by_training()) - OF_COMMANDS:
        return
    graph = cade_tf.Graph.from_edges([[0, 1]], features=np.eye(2))
    with pytest.raises(InputError, match=f"^{name}: expected .* for commands"):
        cade_tf.train(graph, Config(**{name: another(name)}))


def test_validations_without_anything_that_validates_are_refused():
    graph = cade_tf.Graph.from_edges([[0, 1]], features=np.eye(2))
    with pytest.raises(InputError, match="validate_every"):
        cade_tf.train(graph, Config(validate_every=5))


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_that_is_only_named_is_refused(preset):
    graph = cade_tf.Graph.from_edges([[0, 1], [1, 2]], features=np.eye(3))
    with pytest.raises(InputError, match=r"preset: expected Config\.from_given"):
        cade_tf.train(graph, Config(preset=preset, k=3))
    options = {"preset": preset, "model": "graphsage", "steps": 0, "dim": 4, "fanouts": (2, 2)}
    trained = cade_tf.train(graph, Config.from_given(**options), progress=False)
    assert cade_tf.train(graph, trained.config, progress=False).config == trained.config
