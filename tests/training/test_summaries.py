"""What TensorBoard finds in a run directory."""

import json

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.util import tensor_util

from cade_tf.experiments import single_run
from cade_tf.graph import loading
from cade_tf.inference import outputs
from cade_tf.training import projector
from cade_tf.training.metrics import STEP_METRICS
from tests.training.small_run import NODES, small_config, small_graph

EVERYTHING = {"images": 0, "tensors": 0, "histograms": 0, "scalars": 0}


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "load", lambda options: small_graph())
        config = small_config(
            model="cade_ma", k=3, steps=20, summary_every=10, detail_every=20, validate_every=20
        )
        single_run.train_and_evaluate(config, folder, progress=False)
    return folder


@pytest.fixture(scope="module")
def events(run_dir):
    accumulator = EventAccumulator(str(run_dir), size_guidance=EVERYTHING)
    accumulator.Reload()
    return accumulator


def steps(events, tag):
    return [event.step for event in events.Tensors(tag)]


def values(events, tag):
    return [tensor_util.make_ndarray(event.tensor_proto) for event in events.Tensors(tag)]


@pytest.mark.parametrize(
    "tag",
    [
        *(f"train/{name}" for name in STEP_METRICS if name != "mean_cosine"),
        "collapse/mean_cosine",
        "train/learning_rate",
        "norm/gradient",
        "speed/steps_per_second",
        "speed/pairs_per_second",
    ],
)
def test_scalars_are_written_every_few_steps(tag, events):
    assert steps(events, tag) == [10, 20]
    assert np.isfinite(values(events, tag)).all()


@pytest.mark.parametrize(
    "tag",
    ["norm/weights", "norm/global_bias", "collapse/rank_me", "attention/entropy",
     "attention/mean", "attention/weights", "validation/mrr", "validation/probe"],
)  # fmt: skip
def test_details_are_written_seldom(tag, events):
    assert steps(events, tag) == [20]


def test_every_weight_has_a_histogram(events):
    tags = [tag for tag in events.Tags()["tensors"] if tag.startswith("weights/")]
    assert len(tags) == 4
    assert any("attention" in tag for tag in tags)


def test_the_attention_is_a_picture_of_k_by_k_squares(events):
    width, height, _ = values(events, "attention/mean")[0]
    assert (int(width), int(height)) == (48, 48)


def test_the_entropy_of_the_attention_is_at_most_that_of_equal_weights(events):
    assert 0 < values(events, "attention/entropy")[0] <= np.log(9) + 1e-6


def test_the_flags_are_there_as_text(events):
    (text,) = values(events, "flags")
    assert b"| k | 3 |" in text.item()


def test_the_final_scores_stand_beside_the_flags_in_the_hparams_table(run_dir, events):
    result = json.loads((run_dir / "result.json").read_text())
    (found,) = values(events, "score/logreg_micro_f1")
    assert found == pytest.approx(result["scores"]["logreg"]["micro_f1"])
    metadata = events.SummaryMetadata("_hparams_/session_start_info")
    data = plugin_data_pb2.HParamsPluginData.FromString(metadata.plugin_data.content)
    assert data.session_start_info.hparams["k"].number_value == 3
    assert data.session_start_info.hparams["model"].string_value == "cade_ma"


def test_the_projector_finds_points_ids_and_labels(run_dir):
    points = np.frombuffer((run_dir / projector.TENSOR_FILE).read_bytes(), "<f4")
    np.testing.assert_array_equal(
        points.reshape(NODES, -1), np.load(run_dir / outputs.EMBEDDINGS_FILE)
    )
    head, *rows = (run_dir / projector.METADATA_FILE).read_text().splitlines()
    assert head == "id\tlabel"
    assert rows == [f"{i}\t{label}" for i, label in enumerate(small_graph().labels)]
    assert f"tensor_shape: {NODES}" in (run_dir / projector.CONFIG_FILE).read_text()


def test_of_many_points_the_projector_gets_a_part(tmp_path, monkeypatch):
    monkeypatch.setattr(projector, "MOST_POINTS", 10)
    projector.write(tmp_path, np.zeros((NODES, 4), np.float32), small_graph())
    assert len((tmp_path / projector.METADATA_FILE).read_text().splitlines()) == 11
    assert (tmp_path / projector.TENSOR_FILE).stat().st_size == 10 * 4 * 4
