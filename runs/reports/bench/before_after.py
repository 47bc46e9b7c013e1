"""Times the same work in two checkouts of cade_tf, in turn, each time in a fresh process.

    python before_after.py --before=CHECKOUT --after=CHECKOUT [--rounds=2] [--repeats=3]
        [--cases=step,embed,embed_full] [--models=...] [--aggregators=...] [--dataset=pubmed]
        [--sparse]

For a quiet machine and checkouts with a `cade_tf.benchmark`; CADE_DATA_DIR names the data. Prints
the median of all repeats of all rounds, before, after and their ratio (above 1: faster now), and
the peak memory of the processes.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

WORKER = r"""
import json, sys, time
case, model, aggregator, dataset, repeats, sparse = json.loads(sys.argv[1])
import cade_tf
import tensorflow as tf
from cade_tf.benchmark.options import BenchOptions
from cade_tf.graph import datasets
load = getattr(datasets, "load", None)
if load is None:
    from cade_tf.graph.loading import load
options = BenchOptions(dataset=dataset)
try:
    config = options.config(model, aggregator=aggregator)
    from cade_tf.benchmark import cases as b
except ImportError:
    from cade_tf.benchmark import preparation as b
if sparse:
    config = config.replace(densify_features=False)
graph = load(config)
if case == "step":
    step = b.make_step(graph, config)
    b.run_steps(step, 1)
    started = time.perf_counter(); b.run_steps(step, 1)
    once = time.perf_counter() - started
    count = int(min(max(1.0 / once, 1), 10))
    def work():
        b.run_steps(step, count)
    def value(seconds): return seconds / count
else:
    make = getattr(b, "make_encoder", None) or b.adapted_model
    encoder = make(graph, config)
    def work():
        if case == "embed":
            encoder.embed(graph, walks=1, batch_size=config.embed_batch_size, progress=False)
        else:
            encoder.embed_full(graph, progress=False)
    def value(seconds): return seconds
    work()
found = []
for _ in range(repeats):
    started = time.perf_counter(); work()
    found.append(value(time.perf_counter() - started))
peak = [int(l.split()[1]) / 1024 for l in open("/proc/self/status") if l.startswith("VmHWM")][0]
print("RESULT " + json.dumps([found, peak]))
"""


def run(checkout, order):
    """Seconds and peak memory of a case in a checkout, or what went wrong."""
    env = {**os.environ, "PYTHONPATH": checkout, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [sys.executable, "-c", WORKER, json.dumps(order)],
        cwd=checkout,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if not lines:
        return None, done.stderr.strip().splitlines()[-1:] or ["no output"]
    return json.loads(lines[-1][7:]), None


def main():
    """Prints the table."""
    p = argparse.ArgumentParser()
    p.add_argument("--before", required=True)
    p.add_argument("--after", required=True)
    p.add_argument("--rounds", type=int, default=2)
    p.add_argument("--repeats", type=int, default=3)
    p.add_argument("--dataset", default="pubmed")
    p.add_argument("--cases", default="step,embed,embed_full")
    p.add_argument("--models", default="graphsage,cade_gb,cade_ms,cade_ma")
    p.add_argument("--aggregators", default="mean,pool,lstm")
    p.add_argument("--sparse", action="store_true", help="leave sparse features sparse")
    p.add_argument("--json")
    a = p.parse_args()
    orders = [
        (case, model, aggregator)
        for case in a.cases.split(",")
        for aggregator in a.aggregators.split(",")
        for model in a.models.split(",")
    ]
    started, records = time.time(), []
    print("| case | before | after | before / after | MiB before | MiB after |")
    print("|---|---|---|---|---|---|", flush=True)
    for order in orders:
        seconds, peaks, failed = {}, {}, None
        for _ in range(a.rounds):
            for side in ("before", "after"):
                result, error = run(getattr(a, side), [*order, a.dataset, a.repeats, a.sparse])
                if error:
                    failed = f"{side} failed: {error[0]}"
                    continue
                seconds.setdefault(side, []).extend(result[0])
                peaks[side] = max(peaks.get(side, 0), result[1])
        name = " ".join(order)
        if failed:
            print(f"| {name} | {failed} |", flush=True)
            continue
        m = {side: statistics.median(v) for side, v in seconds.items()}
        records.append({"case": name, "seconds": seconds, "peaks_mib": peaks})
        print(
            f"| {name} | {1000 * m['before']:.1f} ms | {1000 * m['after']:.1f} ms | "
            f"{m['before'] / m['after']:.2f} | {peaks['before']:.0f} | {peaks['after']:.0f} |",
            flush=True,
        )
    print(f"{time.time() - started:.0f} s in all; load {os.getloadavg()[0]:.1f}")
    if a.json:
        with open(a.json, "w") as file:
            json.dump(records, file, indent=1)


if __name__ == "__main__":
    main()
