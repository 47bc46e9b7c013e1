"""Memory, speed and loading time of training on a large generated graph.

python measure.py generate GRAPH --nodes=5000000
python measure.py cluster GRAPH --servers=2 --output=cluster-2.json
python measure.py mapped GRAPH --model=cade_ms --steps=50 --output=mapped.json
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HALF_DEGREE, WIDTH = 10, 64
MODEL = {
    "dim": 64,
    "fanouts": (10, 5),
    "batch_size": 128,
    "walk_length": 4,
    "feature_scaling": "standard",
}


def generate(folder: Path, nodes: int, shards: int) -> None:
    """A graph in which node v is joined to v +- 10 random distances, made block by block."""
    from cade_tf.scale.sharding import Block, write_blocks

    rng = np.random.default_rng(0)
    away = np.sort(rng.choice(nodes // 2 - 1, HALF_DEGREE, replace=False) + 1)
    distances = np.concatenate([away, -away])

    def block(first: int, last: int) -> Block:
        own = np.arange(first, last)
        neighbors = np.sort((own[:, None] + distances) % nodes, axis=1).astype(np.int32)
        features = np.random.default_rng(first).standard_normal((last - first, WIDTH), np.float32)
        return Block(
            degrees=np.full(last - first, 2 * HALF_DEGREE),
            neighbors=neighbors.reshape(-1),
            features=features,
        )

    write_blocks(block, np.ones(nodes, bool), folder, shards, name="generated")


def memory(pid: int) -> dict[str, int]:
    """Resident set now and at its peak, MiB, of a process; file pages apart."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    names = {"VmHWM": "peak", "VmRSS": "resident", "RssFile": "of_files"}
    return {title: int(fields[name].split()[0]) // 1024 for name, title in names.items()}


def array_bytes(folder: Path) -> int:
    """Size of the files of a graph."""
    return sum(path.stat().st_size for path in folder.glob("*.npz"))


def config_of(folder: str, model: str, **more):
    """Options of the measured training."""
    from cade_tf.config import Config

    return Config(graph=folder, model=model, steps=10**6, **MODEL, **more)


def chief(options: argparse.Namespace) -> None:
    """Fills the servers, does some steps, reads everybody's memory."""
    import tensorflow as tf

    from cade_tf.scale import cluster, sharded_run, sharded_training, traffic

    resolver = cluster.make_resolver()
    if resolver.task_type != "chief":
        cluster.serve(resolver)
    started = time.monotonic()
    config = config_of(options.graph, "cade_gb")
    graph = sharded_training.open_graph(config)
    transform = sharded_training.fit_features(graph, config)
    fitted = time.monotonic()
    servers = cluster.Cluster(resolver)
    tables, training = sharded_run.fill_servers(servers, graph, config, transform)
    loaded = time.monotonic()
    seconds = []
    for first in range(0, 2 * options.steps, options.steps):
        calls = [
            (tf.constant(n, tf.int64), tf.constant(1)) for n in range(first, first + options.steps)
        ]
        begin = time.monotonic()
        servers.run_all(training.step.run_numbers, calls)
        seconds.append(time.monotonic() - begin)
    counted = traffic.count_step(training.step)
    listed = json.loads((Path(options.scratch) / "cluster.json").read_text())
    result = {
        "nodes": graph.num_nodes,
        "servers": servers.servers,
        "workers": servers.workers,
        "graph_bytes": tables.bytes,
        "bias_bytes": 3 * 4 * graph.num_nodes * config.dim,
        "fit_seconds": round(fitted - started, 1),
        "load_seconds": round(loaded - fitted, 1),
        # The first round compiles the step on every worker.
        "steps_per_second": round(options.steps / seconds[1], 2),
        "traffic_per_step": vars(counted),
        "memory_mib": {f"{p['role']}-{p['index']}": memory(p["pid"]) for p in listed},
    }
    write(options.output, result)


def cluster_of_processes(options: argparse.Namespace) -> int:
    """Starts `chief` with two workers and some servers."""
    from cade_tf.scale.local_cluster import LocalCluster

    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, os.path.abspath(__file__), "chief", options.graph]
        command += [
            f"--output={options.output}",
            f"--steps={options.steps}",
            f"--scratch={scratch}",
        ]
        return LocalCluster(
            command, workers=2, servers=options.servers, folder=Path(scratch), restarts=0
        ).run()


def mapped(options: argparse.Namespace) -> None:
    """The same graph in one process, from its files; the bias in a file beside the output."""
    from cade_tf.scale import sharded_training, traffic
    from cade_tf.scale.shard_tables import MappedTables

    before = memory(os.getpid())
    started = time.monotonic()
    config = config_of(options.graph, options.model, memory_map=True, k=options.k)
    graph = sharded_training.open_graph(config)
    transform = sharded_training.fit_features(graph, config)
    tables = MappedTables(graph, transform, options.resident_mib << 20)
    training = sharded_training.make_training(graph, config, transform, tables)
    folder = Path(options.output).resolve().parent
    if training.model.bias is not None:
        training.model.bias.variable.open_in(folder)
    opened = time.monotonic()
    opened_memory = memory(os.getpid())
    training.step.advance(2)
    begin, largest = time.monotonic(), 0
    for _ in range(options.steps):
        training.step.advance(1)
        largest = max(largest, memory(os.getpid())["resident"])
    seconds = time.monotonic() - begin
    result = {
        "nodes": graph.num_nodes,
        "model": options.model,
        "k": options.k,
        "steps": options.steps + 2,
        "graph_bytes": array_bytes(Path(options.graph)),
        "bias_bytes": 0 if training.model.bias is None else 3 * 4 * graph.num_nodes * config.dim,
        "open_seconds": round(opened - started, 1),
        "steps_per_second": round(options.steps / seconds, 2),
        "traffic_per_step": vars(traffic.count_step(training.step)),
        "before_mib": before["resident"],
        "opened_mib": opened_memory,
        "largest_between_steps_mib": largest,
        **copy_of_bias(training.model.bias, folder),
        "memory_mib": memory(os.getpid()),
    }
    write(options.output, result)


def copy_of_bias(bias, folder: Path) -> dict[str, float]:
    """What a checkpoint costs: seconds and bytes of the copy of the bias."""
    if bias is None:
        return {}
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        path = Path(scratch) / "copy"
        begin = time.monotonic()
        bias.variable.save(path)
        seconds = time.monotonic() - begin
        return {
            "copy_seconds": round(seconds, 1),
            "copy_bytes": path.stat().st_blocks * 512,
        }


def write(path: str, result: dict) -> None:
    """Keeps and shows a result."""
    Path(path).write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


def main() -> int:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", choices=("generate", "cluster", "chief", "mapped"))
    parser.add_argument("graph")
    parser.add_argument("--nodes", type=int, default=5_000_000)
    parser.add_argument("--shards", type=int, default=16)
    parser.add_argument("--servers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--model", default="graphsage")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--resident_mib", type=int, default=64)
    parser.add_argument("--output", default="measured.json")
    parser.add_argument("--scratch", default="")
    options = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if options.work == "generate":
        generate(Path(options.graph), options.nodes, options.shards)
    elif options.work == "cluster":
        return cluster_of_processes(options)
    elif options.work == "chief":
        chief(options)
    else:
        mapped(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
