"""Several replicas, in one process or two, do what one does."""

import json
import os
import signal
import socket
import time

import numpy as np
import pytest

from tests.training import small_run

# The order of sums differs between one replica and two, and Adam divides by the root of a small
# number at first: after 20 steps at a rate of 1e-2 weights of size 0.1-1 differ by rounding only.
TOLERANCE = 1e-5
OPTIONS = {"model": "cade_ms", "steps": 20, "clip_norm": 1.0, "checkpoint_every": 10}


def two_cpus(run_dir, output, options):
    import tensorflow as tf

    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    small_run.train_and_write(run_dir, output, options)


def dense_gradients(run_dir, output, options):
    """As `two_cpus`; writes the largest tensor that travels between the replicas."""
    import tensorflow as tf

    from cade_tf.sampling.graph_tables import make_graph_tables
    from cade_tf.training import devices
    from tests import engine

    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    graph, config = small_run.small_graph(), small_run.small_config(**options)
    with devices.make_strategy(config).scope():
        tables = make_graph_tables(graph, graph.features)
        step = engine.make_step(config, tables, small_run.WIDTH)
    definition = step.run.get_concrete_function(tf.constant(1)).graph.as_graph_def()
    found = []
    for function in (definition, *definition.library.function):
        for node in function.node_def if hasattr(function, "node_def") else function.node:
            if "CollectiveReduce" in node.op or "CollectiveGather" in node.op:
                found.append(f"{node.op} {node.attr['_output_shapes']}")
    rows = [f"dim {{\n    size: {small_run.NODES}\n" in text for text in found]
    np.savez(output, collectives=len(found), dense=sum(rows))


def worker(run_dir, output, options, addresses, index):
    cluster = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
    os.environ["TF_CONFIG"] = json.dumps(cluster)
    small_run.train_and_write(run_dir, output, {**options, "strategy": "multi_worker"})


def free_addresses(count):
    sockets = [socket.socket() for _ in range(count)]
    for found in sockets:
        found.bind(("localhost", 0))
    addresses = [f"localhost:{found.getsockname()[1]}" for found in sockets]
    for found in sockets:
        found.close()
    return addresses


def run(target, folder, options, *more, name="output"):
    process = small_run.processes().Process(
        target=target, args=(str(folder / "run"), str(folder / f"{name}.npz"), options, *more)
    )
    process.start()
    return process


def start_workers(folder, options):
    addresses = free_addresses(2)
    return [run(worker, folder, options, addresses, i, name=f"worker{i}") for i in range(2)]


def read(folder, name="output"):
    with np.load(folder / f"{name}.npz") as arrays:
        return {key: arrays[key] for key in arrays.files}


def finish(process, folder, name="output"):
    process.join(300)
    assert process.exitcode == 0, (folder / f"{name}.log").read_text()
    return read(folder, name)


def assert_near(found, expected):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, atol=TOLERANCE, rtol=0, err_msg=name)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    return finish(run(small_run.train_and_write, folder, OPTIONS), folder)


def test_two_replicas_with_half_the_batch_each_reach_the_weights_of_one(alone, tmp_path):
    found = finish(run(two_cpus, tmp_path, {**OPTIONS, "strategy": "mirrored"}), tmp_path)
    assert_near(found, alone)


def test_gradients_of_the_bias_travel_as_rows_and_not_as_a_table(tmp_path):
    options = {**OPTIONS, "strategy": "mirrored"}
    found = finish(run(dense_gradients, tmp_path, options), tmp_path)
    assert found["collectives"] > 0
    assert found["dense"] == 0


def test_two_processes_reach_the_weights_of_one_and_only_the_chief_writes(alone, tmp_path):
    workers = start_workers(tmp_path, {**OPTIONS, "summary_every": 10})
    outputs = [finish(w, tmp_path, f"worker{i}") for i, w in enumerate(workers)]
    for output in outputs:
        assert_near(output, alone)
    small_run.assert_same_bits(
        {k: v for k, v in outputs[0].items() if k != "embeddings"},
        {k: v for k, v in outputs[1].items() if k != "embeddings"},
    )
    events = list((tmp_path / "run").rglob("events.*"))
    assert {path.name.split(".")[-3] for path in events} == {str(workers[0].pid)}


def test_after_the_death_of_a_worker_both_resume_from_the_checkpoint(alone, tmp_path):
    options = {**OPTIONS, "steps": 100_000}
    workers = start_workers(tmp_path, options)
    checkpoints = tmp_path / "run" / "checkpoints"
    while all(w.is_alive() for w in workers) and not list(checkpoints.glob("step-*.index")):
        time.sleep(0.05)
    os.kill(workers[1].pid, signal.SIGKILL)
    workers[1].join(30)
    workers[0].join(60)
    # The chief cannot go on alone; where it has not noticed by itself, its supervisor ends it.
    workers[0].kill()
    workers[0].join()
    assert workers[0].exitcode != 0
    last = max(int(p.stem.removeprefix("step-")) for p in checkpoints.glob("step-*.index"))
    shorter = {**OPTIONS, "steps": last + 10}
    workers = start_workers(tmp_path, shorter)
    found = finish(workers[0], tmp_path, "worker0")
    finish(workers[1], tmp_path, "worker1")
    whole = tmp_path / "whole"
    whole.mkdir()
    expected = finish(run(small_run.train_and_write, whole, shorter), whole)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, atol=1e-3, rtol=0, err_msg=name)
