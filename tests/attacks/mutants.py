"""Breaks key lines of a copy of the package, one at a time: the tests must notice each.

python -m tests.attacks.mutants
"""

import dataclasses
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

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
        "    total /= contexts[:, None]\n",
        "    total /= walks\n",
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
        '        return _ADMITTED[f"{module}.{name}"]',
        '        return _ADMITTED.get(f"{module}.{name}") or super().find_class(module, name)',
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
    """What became of a mutant."""

    mutant: Mutant
    dies: bool
    by: str


def run() -> Iterator[Fate]:
    """Tries all mutants, after the tests have passed on a copy without any."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("cade_tf", "tests"):
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, copy / name, ignore=ignored)
        shutil.copy(ROOT / "pyproject.toml", copy)
        for tests in dict.fromkeys(mutant.tests for mutant in MUTANTS):
            failed = _failed(copy, tests)
            if failed:
                raise RuntimeError(f"{tests} fails without any mutant: {failed}")
        for mutant in MUTANTS:
            path = copy / "cade_tf" / mutant.file
            right = path.read_text()
            if right.count(mutant.before) != 1:
                raise RuntimeError(f"{mutant.file} has not one place for: {mutant.name}")
            path.write_text(right.replace(mutant.before, mutant.after))
            failed = _failed(copy, mutant.tests)
            path.write_text(right)
            yield Fate(mutant, bool(failed), failed)


def _failed(folder: Path, tests: str) -> str:
    """The first test that fails; empty where all pass."""
    result = subprocess.run(
        f"{sys.executable} -m pytest -q -x --no-header -p no:cacheprovider {tests}",
        shell=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    if result.returncode == 0:
        return ""
    failed = [line for line in result.stdout.splitlines() if line.startswith("FAILED ")]
    if not failed:
        raise RuntimeError(f"{tests}: {result.stdout[-2000:]}{result.stderr[-2000:]}")
    return failed[0].removeprefix("FAILED ").split(" - ")[0]


def main() -> int:
    """Prints the fate of each mutant; the exit code says whether all died."""
    survivors = 0
    for fate in run():
        survivors += not fate.dies
        print(f"{'dies' if fate.dies else 'SURVIVES'}  {fate.mutant.name}  {fate.by}", flush=True)
    return min(survivors, 1)


if __name__ == "__main__":
    sys.exit(main())
