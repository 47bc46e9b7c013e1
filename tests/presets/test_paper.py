import math
from pathlib import Path

import pytest

from cade_tf.cli import flags
from cade_tf.config import (
    MODELS,
    Config,
    EmbeddingOptions,
    FeatureOptions,
    ModelOptions,
    TrainingOptions,
)
from cade_tf.presets import complete, paper

ROOT = Path(__file__).resolve().parents[2]


def test_one_flag_is_the_paper():
    given = ["--preset=paper", "--dataset=pubmed", "--model=cade_ma"]
    config = flags.parse(Config, given)[0]
    assert (config.k, config.dim, config.fanouts) == (10, 256, (20, 10))
    assert (config.walks_per_node, config.walk_length, config.epochs) == (100, 4, 1)
    assert (config.learning_rate, config.negative_weight, config.negatives) == (1e-4, 20.0, 20)
    assert (config.embed_walks, config.loss, config.normalize) == (100, "pair", "none")
    assert config.attention_temperature == math.sqrt(config.dim)
    assert paper.options("cade_ms")["attention_temperature"] == 4.0


def test_what_is_given_wins_over_the_preset_even_where_it_is_the_default():
    config = flags.parse(Config, ["--learning_rate=3e-4", "--preset=paper", "--k=3"])[0]
    assert (config.learning_rate, config.k, config.dim) == (3e-4, 3, 256)
    assert Config.from_given(preset="paper", negative_weight=1.0).negative_weight == 1.0


def test_steps_that_are_given_replace_the_pass():
    config = Config.from_given(preset="paper", steps=300)
    assert (config.steps, config.epochs) == (300, 0)


def test_without_a_preset_nothing_changes():
    assert complete({"k": 3}, "cade_ms") == {"k": 3}


@pytest.mark.parametrize("model", MODELS)
def test_the_preset_decides_every_option_that_decides_about_the_result(model):
    deciding = {
        name
        for group in (FeatureOptions, ModelOptions, TrainingOptions, EmbeddingOptions)
        for name in group.field_names()
    }
    assert set(paper.options(model)) == deciding - {"seed", "embed_batch_size"}


def test_the_help_names_the_papers_value_where_the_default_departs():
    defaults = Config()
    values = {
        name: {m: paper.options(m)[name] for m in MODELS} for name in paper.options("cade_ms")
    }
    departing = {
        name
        for name, by_model in values.items()
        if name not in ("preset", "model") and set(by_model.values()) != {getattr(defaults, name)}
    }
    assert departing == {"steps", "epochs", "embed_walks", "normalize", "attention_temperature"}
    for name in departing:
        assert "paper:" in Config.spec(name).help, name


def test_a_run_remembers_its_preset_and_reads_its_flags_back():
    config = Config.from_given(preset="paper", model="cade_ma", k=3)
    lines = config.to_flagfile().splitlines()
    assert "--preset=paper" in lines
    assert flags.parse(Config, lines)[0] == config


@pytest.mark.parametrize("path", sorted((ROOT / "flags").rglob("*.flags")), ids=lambda p: p.stem)
def test_the_example_flagfiles_are_read(path):
    config = flags.parse(Config, [f"--flagfile={path}"])[0]
    if path.parent.name == "paper":
        dataset, model = path.stem.split("-")
        assert (config.preset, config.dataset, config.model) == ("paper", dataset, model)
        assert config.learning_rate == 1e-4
