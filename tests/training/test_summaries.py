"""What TensorBoard finds in a run directory."""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.util import tensor_util

from cade_tf.config import Config
from cade_tf.experiments import single_run
from cade_tf.graph import datasets
from cade_tf.graph.digits import digits
from cade_tf.graph.splits import NodeSplit
from cade_tf.inference import outputs
from cade_tf.presets.recommended import decided
from cade_tf.training import curves, node_map, projector, summaries
from cade_tf.training.metrics import STEP_METRICS
from cade_tf.training.summaries import EVENTS_FOLDER, FINAL_FOLDER, explaining
from cade_tf.training.trainer import train
from tests.training.small_run import NODES, small_config, small_graph

EVERYTHING = {"images": 0, "tensors": 0, "histograms": 0, "scalars": 0}


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "load", lambda options, **_: small_graph())
        config = small_config(
            model="cade_ma", k=3, steps=20, summary_every=10, detail_every=20, validate_every=20,
            stop_on="pairs",
        )  # fmt: skip
        single_run.train_and_evaluate(config, folder, progress=False)
    return folder


def read(folder):
    accumulator = EventAccumulator(str(folder), size_guidance=EVERYTHING)
    accumulator.Reload()
    return accumulator


@pytest.fixture(scope="module")
def events(run_dir):
    return read(run_dir / EVENTS_FOLDER)


@pytest.fixture(scope="module")
def final(run_dir):
    return read(run_dir / FINAL_FOLDER)


def steps(events, tag):
    return [event.step for event in events.Tensors(tag)]


def values(events, tag):
    return [tensor_util.make_ndarray(event.tensor_proto) for event in events.Tensors(tag)]


OFTEN = [*STEP_METRICS, "learning_rate", "gradient_norm", "steps_per_second", "pairs_per_second"]
SELDOM = [
    "weights_norm", "global_bias_norm", "rank_me", "attention_entropy", "validation_mrr",
    "validation_probe", "validation_pairs",
]  # fmt: skip


@pytest.mark.parametrize("name", OFTEN)
def test_scalars_are_written_every_few_steps(name, events):
    tag = curves.tag(name)
    assert steps(events, tag) == [10, 20]
    assert np.isfinite(values(events, tag)).all()


@pytest.mark.parametrize("tag", [*map(curves.tag, SELDOM), "attention/mean", "attention/weights"])
def test_details_are_written_seldom(tag, events):
    assert steps(events, tag) == [0, 20]


def test_a_run_that_does_not_say_how_often_gets_details_ten_times(tmp_path):
    train(
        small_graph(), small_config(steps=100, summary_every=50), run_dir=tmp_path, progress=False
    )
    found = read(tmp_path / EVENTS_FOLDER)
    assert steps(found, curves.tag("rank_me")) == list(range(0, 101, 10))


def test_every_curve_is_written_and_no_other(events):
    plugins = {tag: events.SummaryMetadata(tag).plugin_data.plugin_name for tag in
               events.Tags()["tensors"]}  # fmt: skip
    written = {tag for tag, plugin in plugins.items() if plugin == "scalars"}
    assert written == {curves.tag(name) for name in curves.CURVES}


def test_the_first_group_tells_whether_the_run_is_healthy(events):
    tags = {tag for tag in events.Tags()["tensors"] if "/" in tag}
    first = min(tag.split("/")[0] for tag in tags)
    shown = sorted(tag.split("/")[1] for tag in tags if tag.startswith(f"{first}/"))
    assert shown == [
        "1_loss", "2_mrr", "3_validation_mrr", "3_validation_pairs", "3_validation_probe",
        "4_attention_entropy", "5_mean_cosine", "6_rank_me", "7_pairs_per_second",
    ]  # fmt: skip


def test_everything_that_is_drawn_is_described(events, final):
    for found in (events, final):
        for tag in found.Tags()["tensors"]:
            metadata = found.SummaryMetadata(tag)
            if metadata.plugin_data.plugin_name in ("scalars", "histograms", "images"):
                assert metadata.summary_description, tag


def test_a_page_of_text_says_what_each_curve_should_do(events):
    (text,) = values(events, "1_is_this_run_healthy")
    for name in curves.CURVES:
        assert f"| {name.replace('_', ' ')} |".encode() in text.item()


def test_the_custom_page_has_charts_of_curves_that_are_there(events):
    (content,) = values(events, "custom_scalars__config__")
    (category,) = layout_pb2.Layout.FromString(content.item()).category
    tags = {tag for chart in category.chart for tag in chart.multiline.tag}
    assert len(category.chart) == len(curves.LAYOUT)
    assert {tag.strip("^$") for tag in tags} <= set(events.Tags()["tensors"])


def test_runs_have_names_in_tensorboard(run_dir):
    folders = {path.parent.relative_to(run_dir) for path in run_dir.rglob("events.out.*")}
    assert {str(folder) for folder in folders} == {"train", "final"}


def test_every_weight_has_a_histogram(events):
    tags = [tag for tag in events.Tags()["tensors"] if tag.startswith("weights/")]
    assert len(tags) == 4
    assert any("attention" in tag for tag in tags)


def test_the_attention_is_a_picture_of_k_by_k_squares(events):
    width, height, _ = values(events, "attention/mean")[0]
    assert (int(width), int(height)) == (48, 48)


def test_the_entropy_of_the_attention_is_a_share_of_that_of_equal_weights(events):
    start, end = values(events, curves.tag("attention_entropy"))
    assert 0 < end < start <= 1 + 1e-6


def test_equal_weights_have_one_middle_colour():
    flat, sharp = (summaries._picture(weights) for weights in (np.full((3, 3), 1 / 9), np.eye(3)))
    assert np.ptp(flat, axis=(0, 1)).max() == 0
    assert flat[0, 0, 1] == pytest.approx(0.5)
    assert np.ptp(sharp, axis=(0, 1)).max() == 1


def test_some_nodes_are_drawn_from_the_start_to_the_end(tmp_path):
    graph = digits()
    config = small_config(steps=20, summary_every=10, detail_every=10)
    train(graph, config, run_dir=tmp_path, progress=False)
    found = read(tmp_path / EVENTS_FOLDER)
    assert steps(found, "some_nodes/by_tsne") == [0, 10, 20]
    pictures = [tf.io.decode_png(v[2]).numpy() for v in values(found, "some_nodes/by_tsne")]
    for picture in pictures:
        shown = {tuple(colour) for colour in picture.reshape(-1, 3)}
        assert shown == {(255, 255, 255), *map(tuple, node_map.COLORS)}
    assert (pictures[0] != pictures[2]).any()


def test_a_small_graph_has_no_picture_of_nodes(events):
    assert NODES < node_map.FEWEST_NODES
    assert "some_nodes/by_tsne" not in events.Tags()["tensors"]


def test_the_flags_are_there_as_text(events):
    (text,) = values(events, "2_flags")
    assert b"| k | 3 |" in text.item()


def test_the_final_scores_stand_with_the_flags_in_the_hparams_table(run_dir, final):
    result = json.loads((run_dir / "result.json").read_text())
    (found,) = values(final, "score/logreg_micro_f1")
    assert found == pytest.approx(result["scores"]["logreg"]["micro_f1"])
    metadata = final.SummaryMetadata("_hparams_/session_start_info")
    info = plugin_data_pb2.HParamsPluginData.FromString(
        metadata.plugin_data.content
    ).session_start_info
    assert info.hparams["k"].number_value == 3
    assert info.hparams["model"].string_value == "cade_ma"
    assert "aggregator" not in info.hparams
    assert info.group_name.endswith(f"/{run_dir.name}")


def test_the_comparison_with_no_training_is_there_as_text(final):
    (text,) = values(final, "comparison")
    assert b"    smoothed PCA  " in text.item()


def test_the_hparams_table_has_the_model_and_what_differs():
    assert explaining(Config()) == {"model": Config().model}
    assert explaining(Config(k=3, fanouts=(4, 2), run_dir="x")) == {
        "model": Config().model, "k": 3, "fanouts": "4,2",
    }  # fmt: skip


@pytest.mark.parametrize("preset", ["paper", "recommended"])
def test_what_a_preset_says_is_no_column_of_the_hparams_table(preset):
    graph = small_graph()
    config = decided(graph, Config.from_given(preset=preset, model="cade_ma", dim=8))
    assert explaining(config) == {"model": "cade_ma", "preset": preset, "dim": 8}


def test_the_projector_finds_points_ids_labels_and_what_training_saw(run_dir):
    folder = run_dir / EVENTS_FOLDER
    points = np.frombuffer((folder / projector.TENSOR_FILE).read_bytes(), "<f4")
    np.testing.assert_array_equal(
        points.reshape(NODES, -1), np.load(run_dir / outputs.EMBEDDINGS_FILE)
    )
    head, *rows = (folder / projector.METADATA_FILE).read_text().splitlines()
    assert head == "id\tlabel\ttraining"
    split = NodeSplit.load(run_dir / single_run.SPLIT_FILE)
    known = np.isin(np.arange(NODES), split.seen)
    assert known.any()
    assert not known.all()
    assert rows == [
        f"{i}\tclass {label}\t{'seen' if known[i] else 'unseen'}"
        for i, label in enumerate(small_graph().labels)
    ]
    assert f"tensor_shape: {NODES}" in (folder / projector.CONFIG_FILE).read_text()
    assert not (folder / projector.SPRITE_FILE).exists()


def test_ids_alone_have_no_header(tmp_path):
    graph = dataclasses.replace(small_graph(), labels=None)
    projector.write(tmp_path, np.zeros((NODES, 4), np.float32), graph)
    lines = (tmp_path / EVENTS_FOLDER / projector.METADATA_FILE).read_text().splitlines()
    assert lines == [str(i) for i in range(NODES)]


def test_digits_are_shown_as_digits(tmp_path):
    graph = digits()
    projector.write(tmp_path, np.zeros((graph.num_nodes, 4), np.float32), graph)
    folder = tmp_path / EVENTS_FOLDER
    assert f'image_path: "{projector.SPRITE_FILE}"' in (folder / projector.CONFIG_FILE).read_text()
    picture = tf.io.decode_png((folder / projector.SPRITE_FILE).read_bytes()).numpy()[:, :, 0]
    side, pixels = 43, projector.PIXELS
    assert picture.shape == (side * pixels, side * pixels)
    # Node 50 is at place 7 of row 1; its features are the upper half of its picture.
    shown = picture[pixels : 2 * pixels, 7 * pixels : 8 * pixels][::2, ::2]
    ink = graph.features[side + 7].reshape(4, 8) / 16
    np.testing.assert_allclose(1 - shown[:4] / 255, ink, atol=1 / 255)


def test_of_many_points_the_projector_gets_a_part(tmp_path, monkeypatch):
    monkeypatch.setattr(projector, "MOST_POINTS", 10)
    projector.write(tmp_path, np.zeros((NODES, 4), np.float32), small_graph())
    assert len((tmp_path / EVENTS_FOLDER / projector.METADATA_FILE).read_text().splitlines()) == 11
    assert (tmp_path / EVENTS_FOLDER / projector.TENSOR_FILE).stat().st_size == 10 * 4 * 4
