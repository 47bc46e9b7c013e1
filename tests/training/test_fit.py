"""`model.fit`: Keras callbacks, any Keras optimiser, and a backup that resumes to the bit."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import cade_tf
from cade_tf.errors import InputError
from tests import engine
from tests.training.small_run import assert_same_bits, small_config, small_graph

OPTIONS = {"batch_size": 16, "negatives": 4, "verbose": 0}


def make_model(kind=cade_tf.CadeGB, optimizer=None, **options):
    settings = {"dim": 8, "k": 2, "fanouts": (3, 2), "feature_scaling": "none", **options}
    model = kind(**settings)
    model.compile(optimizer=optimizer or cade_tf.optimizers.Adam(1e-2))
    return model


def weights(model):
    return {w.path.split("/", 1)[1]: w.numpy() for w in model.weights}


def test_fit_does_the_same_steps_as_the_flag_driven_loop():
    config = small_config(negative_weight=4.0, steps=20, clip_value=0.0)
    trained = cade_tf.train(small_graph(), config, progress=False)
    model = make_model()
    model.fit(small_graph(), steps=20, **OPTIONS)
    assert_same_bits(weights(model), weights(trained.model))


def test_the_history_has_a_value_of_each_metric_per_epoch():
    model = make_model(cade_tf.CadeMS)
    history = model.fit(small_graph(), steps=50, steps_per_epoch=20, **OPTIONS)
    assert {"loss", "mrr", "mean_cosine"} <= set(history.history)
    assert len(history.history["loss"]) == 3
    assert history.history["loss"][-1] < history.history["loss"][0]


def test_early_stopping_knows_that_a_higher_mrr_is_better():
    stopping = keras.callbacks.EarlyStopping("mrr", patience=1, min_delta=1.0)
    history = make_model().fit(
        small_graph(), steps=50, steps_per_epoch=5, callbacks=[stopping], **OPTIONS
    )
    assert len(history.history["mrr"]) == 2


def test_a_scheduler_sets_the_learning_rate_of_each_epoch():
    rates = []
    callbacks = [
        keras.callbacks.LearningRateScheduler(lambda epoch: 0.1 / (1 + epoch)),
        keras.callbacks.LambdaCallback(
            on_epoch_end=lambda epoch, logs: rates.append(logs["learning_rate"])
        ),
    ]
    make_model().fit(small_graph(), steps=6, steps_per_epoch=2, callbacks=callbacks, **OPTIONS)
    np.testing.assert_allclose(rates, [0.1, 0.05, 0.1 / 3], rtol=1e-5)


def test_tensorboard_and_checkpoints_are_written(tmp_path):
    callbacks = [
        keras.callbacks.TensorBoard(tmp_path / "events"),
        keras.callbacks.ModelCheckpoint(tmp_path / "best.keras", "mrr", save_best_only=True),
    ]
    model = make_model()
    model.fit(small_graph(), steps=6, steps_per_epoch=3, callbacks=callbacks, **OPTIONS)
    assert list((tmp_path / "events").rglob("events.*"))
    kept = keras.saving.load_model(tmp_path / "best.keras")
    assert kept.embed(small_graph(), progress=False).shape == (60, 8)


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("kind", [cade_tf.CadeGB, cade_tf.CadeMA])
def test_a_run_that_is_interrupted_and_resumed_from_its_backup_ends_with_the_same_bits(
    kind, tmp_path
):
    def fit(*callbacks):
        model = make_model(kind)
        options = {"steps": 40, "steps_per_epoch": 10, "callbacks": callbacks, **OPTIONS}
        model.fit(small_graph(), **options)
        return weights(model)

    def interrupt(epoch, logs=None):
        if epoch == 2:
            raise Interrupted

    unbroken = fit()
    backup = tmp_path / "backup"
    with pytest.raises(Interrupted):
        fit(
            keras.callbacks.BackupAndRestore(backup),
            keras.callbacks.LambdaCallback(on_epoch_begin=interrupt),
        )
    epochs = []
    resumed = fit(
        keras.callbacks.BackupAndRestore(backup),
        keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: epochs.append(epoch)),
    )
    assert epochs == [2, 3]
    assert_same_bits(resumed, unbroken)


@pytest.mark.parametrize(
    "optimizer", [keras.optimizers.SGD(0.1), keras.optimizers.AdamW(1e-2), "rmsprop"]
)
def test_any_keras_optimiser_trains_every_weight(optimizer):
    model = make_model(cade_tf.CadeMA, optimizer)
    model.adapt(small_graph())
    before = weights(model)
    model.fit(small_graph(), steps=20, **OPTIONS)
    for name, value in weights(model).items():
        assert (value != before[name]).any(), name


def test_a_loss_of_keras_trains_too():
    model = make_model()
    model.compile(loss=keras.losses.BinaryCrossentropy(from_logits=True))
    history = model.fit(small_graph(), steps=40, steps_per_epoch=10, **OPTIONS)
    assert history.history["loss"][-1] < history.history["loss"][0]


def test_a_model_that_was_loaded_goes_on_training(tmp_path):
    model = make_model()
    model.fit(small_graph(), steps=10, **OPTIONS)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    for one in (model, loaded):
        one.fit(small_graph(), steps=20, **OPTIONS)
    assert int(loaded.optimizer.iterations.numpy()) == 20
    assert_same_bits(weights(loaded), weights(model))


def test_a_model_does_not_fit_another_graph():
    model = make_model()
    model.fit(small_graph(), steps=1, **OPTIONS)
    with pytest.raises(InputError, match="features"):
        model.fit(engine.small_graph(), steps=1, **OPTIONS)


def test_a_graph_without_edges_cannot_be_trained_on():
    graph = cade_tf.Graph.from_edges(np.zeros((0, 2), int), num_nodes=4, features=np.eye(4))
    with pytest.raises(InputError, match="at least one edge"):
        make_model().fit(graph, steps=1, **OPTIONS)


def test_a_learning_rate_beyond_reason_ends_with_the_name_of_what_was_lost():
    model = make_model(optimizer=keras.optimizers.SGD(1e30), normalize="none")
    with pytest.raises(FloatingPointError, match="is not finite"):
        model.fit(small_graph(), steps=20, **OPTIONS)


def test_the_model_knows_no_graph_before_it_is_adapted():
    model = make_model()
    with pytest.raises(InputError, match="Call adapt or fit"):
        model.embed(small_graph())
    with pytest.raises(InputError, match="Call adapt or fit"):
        model(tf.zeros([1, 1]))


@pytest.mark.parametrize(
    ("name", "value"), [("dataset", "pubmed"), ("unseen_ratio", 0.5), ("compare", ("graphsage",))]
)
def test_options_of_commands_are_refused_where_they_would_be_ignored(name, value):
    with pytest.raises(InputError, match=f"{name}: expected .* for commands"):
        cade_tf.train(small_graph(), small_config(steps=0, **{name: value}))


def test_the_run_directory_of_a_config_is_used(tmp_path):
    config = small_config(steps=2, run_dir=str(tmp_path / "run"))
    cade_tf.train(small_graph(), config, progress=False)
    assert (tmp_path / "run" / "config.json").is_file()
