"""Breaks key lines of a copy of the package, one at a time: the tests must notice each.

python -m tests.attacks.mutants
"""

import contextlib
import dataclasses
import multiprocessing
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A mistake that somebody could make.

    Args:
        name: What is wrong.
        file: Where, within the package.
        before: The right line, or a part of it that occurs once.
        after: The wrong one.
        tests: Arguments of pytest: those that should notice.
    """

    name: str
    file: str
    before: str
    after: str
    tests: str


MUTANTS = (
    Mutant(
        "negatives train the attention (no stop_gradient)",
        "layers/bi_attention.py",
        "tf.cast(tf.stop_gradient(tf.convert_to_tensor(self.vector)), nodes.dtype)",
        "tf.cast(tf.convert_to_tensor(self.vector), nodes.dtype)",
        "tests/layers/test_bi_attention.py",
    ),
    Mutant(
        "a bias in the last layer",
        "layers/sagb.py",
        "            )\n        return hidden\n",
        "            )\n"
        "        if bias is not None:\n"
        "            count = tf.shape(hidden)[0]\n"
        "            index = tf.range(count) if trees.bias_index is None else trees.bias_index\n"
        "            hidden += tf.gather(bias, index[:count])[:, None]\n"
        "        return hidden\n",
        "tests/layers/test_sagb.py",
    ),
    Mutant(
        "softmax over the wrong axis",
        "layers/bi_attention.py",
        "tf.nn.softmax(flat, axis=-1)",
        "tf.nn.softmax(flat, axis=0)",
        "tests/layers/test_bi_attention.py",
    ),
    Mutant(
        "negatives in proportion to the degree itself",
        "sampling/graph_tables.py",
        "NEGATIVE_POWER = 0.75",
        "NEGATIVE_POWER = 1.0",
        "tests/sampling/test_neighbors_and_negatives.py",
    ),
    Mutant(
        "walks off by one (the start counts as visited)",
        "sampling/walks.py",
        "        node = draw_neighbors(graph, node, random.fold_in(keys, step), 1)[:, 0]\n"
        "        visited.append(node)\n",
        "        visited.append(node)\n"
        "        node = draw_neighbors(graph, node, random.fold_in(keys, step), 1)[:, 0]\n",
        "tests/sampling/test_walks.py",
    ),
    Mutant(
        "Algorithm 1 divides by the walks, not by the contexts",
        "inference/algorithm1.py",
        "    total /= contexts[:, None]",
        "    total /= walks",
        "tests/inference/test_algorithm1.py",
    ),
    Mutant(
        "Adam without bias correction, rows",
        "optimizers/adam.py",
        "corrected = rate * tf.sqrt(1.0 - self.beta_2**number) / (1.0 - self.beta_1**number)",
        "corrected = rate",
        "tests/optimizers/test_adam.py",
    ),
    Mutant(
        "Adam without bias correction, dense weights",
        "optimizers/adam.py",
        "beta1_power=self.beta_1**number,",
        "beta1_power=tf.zeros_like(number),",
        "tests/optimizers/test_adam.py",
    ),
    Mutant(
        "checkpoints in the order of their names",
        "training/checkpoints.py",
        "if _numbered(path)), key=step_of)",
        "if _numbered(path)), key=str)",
        "tests/training/test_checkpoints.py -k 'newest or continued'",
    ),
    Mutant(
        "checksums are not compared",
        "training/manifest.py",
        "if _entry(path) != entries[name]:",
        "if False:",
        "tests/training/test_run_lock.py -k manifest",
    ),
    Mutant(
        "the unpickler admits every name",
        "graph/readers/unpickling.py",
        '        if f"{module}.{name}" not in _ADMITTED:\n',
        '        if f"{module}.{name}" not in _ADMITTED:\n'
        "            return super().find_class(module, name)\n"
        "        if False:\n",
        "tests/graph/readers/test_planetoid.py -k 'hostile or admitted'",
    ),
    Mutant(
        "shared negatives are drawn for each pair, and the reverse",
        "sampling/batch.py",
        "if self.negatives_per_pair:",
        "if not self.negatives_per_pair:",
        "tests/sampling/test_neighbors_and_negatives.py",
    ),
    Mutant(
        "pairs that are not valid count",
        "training/metrics.py",
        "weights = tf.cast(valid, values.dtype)",
        "weights = tf.ones_like(values)",
        "tests/losses/test_losses.py",
    ),
    Mutant(
        "softmax loss: a node's own partner, repeated in the batch, counts as a negative",
        "models/dual_encoder.py",
        "        counts &= partners[:, None] != partners[None, :]\n",
        "",
        "tests/losses/test_losses.py",
    ),
    Mutant(
        "draws of negatives are not clamped at the last node",
        "sampling/negatives.py",
        "return tf.minimum(rows, graph.num_nodes - 1)",
        "return rows",
        "tests/sampling/test_neighbors_and_negatives.py",
    ),
    Mutant(
        "every epoch of walks has the same order",
        "sampling/walks.py",
        "random.fold_in(random.make_key(self.seed, random.Stream.WALK_ORDER), epoch)",
        "random.fold_in(random.make_key(self.seed, random.Stream.WALK_ORDER), 0 * epoch)",
        "tests/sampling/test_walks.py",
    ),
    Mutant(
        "checkpoints are never flushed to disk",
        "training/checkpoints.py",
        "                _flush_to_disk(path)\n",
        "",
        "tests/training/test_checkpoints.py -k disk",
    ),
    Mutant(
        "a checkpoint without the optimiser's state is accepted on resume",
        "training/checkpoints.py",
        "self._checkpoint.read(str(path)).assert_consumed()",
        "self._checkpoint.read(str(path)).expect_partial()",
        "tests/training/test_checkpoints.py -k 'part_of_the_state'",
    ),
    Mutant(
        "the optimiser's state is left out of checkpoints",
        "training/loop.py",
        '            "optimizer": Weights(step.optimizer.variables),\n',
        "",
        "tests/training/test_checkpoints.py -k longer_run",
    ),
    Mutant(
        "numbers of steps stay in TensorFlow's cache",
        "training/uncached.py",
        "return np.asarray(number)",
        "return number",
        "tests/training/test_memory.py",
    ),
    Mutant(
        "a silent cluster is waited for without end",
        "scale/signs_of_life.py",
        "if self._silent_checks >= _CHECKS:",
        "if False:",
        "tests/scale/test_signs_of_life.py",
    ),
    Mutant(
        "a frozen process counts as alive",
        "scale/signs_of_life.py",
        "return time.monotonic() - self._last > longest",
        "return False",
        "tests/scale/test_signs_of_life.py",
    ),
)


@dataclasses.dataclass(frozen=True)
class Fate:
    """What became of a mutant: the first test that failed; empty where it survives."""

    mutant: Mutant
    killer: str


class _FirstFailure:
    """A plugin of pytest that remembers which test failed first."""

    def __init__(self) -> None:
        self.test = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.test:
            self.test = report.nodeid.split("[")[0]


def run(jobs: int) -> Iterator[Fate]:
    """Tries all mutants, after the tests have passed on a copy without any."""
    tests = list(dict.fromkeys(mutant.tests for mutant in MUTANTS))
    # Children share one import of TensorFlow, and nothing of this package.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.conftest", "tensorflow", "keras", "scipy.stats"])
    with context.Pool(jobs, maxtasksperchild=1) as pool:
        for name, failed in zip(tests, pool.map(_failed, tests, chunksize=1), strict=True):
            if failed:
                raise RuntimeError(f"{name} fails without any mutant: {failed}")
        fates = [pool.apply_async(_failed, (mutant.tests, mutant)) for mutant in MUTANTS]
        for mutant, failed in zip(MUTANTS, fates, strict=True):
            yield Fate(mutant, failed.get())


def _failed(tests: str, mutant: Mutant | None = None) -> str:
    """The first test that fails on a copy of the package; empty where all pass."""
    first = _FirstFailure()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("cade_tf", "tests"):
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, Path(folder) / name, ignore=ignored)
        shutil.copy(ROOT / "pyproject.toml", folder)
        if mutant is not None:
            path = Path(folder) / "cade_tf" / mutant.file
            path.write_text(_broken(path, mutant))
        for module in [m for m in sys.modules if m.split(".")[0] in ("cade_tf", "tests")]:
            del sys.modules[module]
        sys.path.insert(0, folder)
        os.environ["PYTHONPATH"] = folder
        os.chdir(folder)
        with open(os.devnull, "w") as quiet, contextlib.redirect_stdout(quiet):
            known = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
            options = ["-q", "-x", "-p", "no:cacheprovider", "-W", known, *shlex.split(tests)]
            code = pytest.main(options, plugins=[first])
        if code not in (0, 1) or bool(code) != bool(first.test):
            raise RuntimeError(f"pytest {tests} ended with {code}, {first.test or 'no failure'}")
        os.chdir(ROOT)
    return first.test


def check_places() -> None:
    """Raises an error where the package no longer has the line that a mutant changes."""
    for mutant in MUTANTS:
        _broken(ROOT / "cade_tf" / mutant.file, mutant)


def _broken(path: Path, mutant: Mutant) -> str:
    right = path.read_text()
    if right.count(mutant.before) != 1:
        raise RuntimeError(f"{mutant.file} has not one place for: {mutant.name}")
    return right.replace(mutant.before, mutant.after)


def main() -> int:
    """Prints the fate of each mutant; the exit code says whether all died."""
    survivors = 0
    for fate in run(os.cpu_count() or 1):
        survivors += not fate.killer
        print(f"{fate.killer or 'SURVIVES'}: {fate.mutant.name}", flush=True)
    return min(survivors, 1)


if __name__ == "__main__":
    sys.exit(main())
