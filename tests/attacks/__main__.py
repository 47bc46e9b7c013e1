"""The longer form of the attacks, and a report about them.

python -m tests.attacks --times=4 --soak_minutes=60 --report=runs/reports/reliability
"""

import argparse
import collections
import dataclasses
import os
import tempfile
import time
from pathlib import Path

import pytest

from tests.attacks import mutants, soak

CLASSES = {
    "damaged files of graphs, every format": "attacks/test_damaged_files.py::test_a_damaged",
    "mistakes by hand: tables, other libraries, embeddings": "attacks/test_mistakes.py",
    "damaged run directories": "attacks/test_damaged_runs.py::test_a_damaged_run",
    "encoders whose parts do not fit": "attacks/test_damaged_runs.py::test_an_encoder_whose",
    "extreme features, embedding": "attacks/test_damaged_runs.py::test_extreme",
    "extreme features, training": "attacks/test_damaged_runs.py::test_training",
    "requests": "attacks/test_requests.py",
    "kills at writes of a run": "attacks/test_kills.py",
    "kills at random moments, in checkpoints, by signals": "training/test_resume.py",
    "worker, server and chief killed": "scale/test_cluster.py::test_a_run_survives",
    "frozen workers and servers": "attacks/test_frozen.py",
    "processes and clusters that fall silent": "scale/test_signs_of_life.py",
    "locks of run directories": "training/test_run_lock.py",
}
"""Attacks by the beginning of their tests' names."""

SOAK_PLOT, SOAK_FILE = "memory.svg", "soak.json"
NOTES_FILE = "notes.md"
"""What a person adds at the end of the report."""


@dataclasses.dataclass
class Count:
    """How often something was tried, and what failed."""

    tries: int = 0
    failures: list[str] = dataclasses.field(default_factory=list)


class Counts:
    """A plugin of pytest that counts the tries of each class."""

    def __init__(self) -> None:
        self.classes: dict[str, Count] = collections.defaultdict(Count)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        place = report.nodeid.removeprefix("tests/")
        name = next((n for n, begin in CLASSES.items() if place.startswith(begin)), None)
        if name is None:
            return
        if report.when == "call":
            self.classes[name].tries += dict(report.user_properties).get("tries", 1)
        if report.failed:
            self.classes[name].failures.append(report.nodeid)


def attack(times: float) -> dict[str, Count]:
    """Runs the attacks, the random ones so many times as often as by default."""
    os.environ["CADE_ATTACKS"] = str(times)
    files = dict.fromkeys("tests/" + begin.split("::")[0] for begin in CLASSES.values())
    counts = Counts()
    pytest.main(["-q", "-p", "no:cacheprovider", *files], plugins=[counts])
    return counts.classes


def table_of(counts: dict[str, Count]) -> str:
    """Class, tries and failures, Markdown."""
    rows = [f"| {name} | {c.tries:,} | {len(c.failures)} |" for name, c in counts.items()]
    total = sum(c.tries for c in counts.values())
    failed = sum(len(c.failures) for c in counts.values())
    head = "| class | tries | failures |\n|---|---|---|\n"
    return head + "\n".join([*rows, f"| **all** | **{total:,}** | **{failed}** |"]) + "\n"


def mutants_table(fates: list[mutants.Fate]) -> str:
    """What was broken, where, and which test noticed, Markdown."""
    rows = [
        f"| {fate.mutant.name} | {fate.mutant.file} | "
        f"{fate.killer.rsplit('::', 1)[-1] or '**survives**'} |"
        for fate in fates
    ]
    return "| mistake | file | first test that fails |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def soak_text(soaked: soak.Soak) -> str:
    """How a long run went, Markdown."""
    first, last = soaked.settled()[0], soaked.samples[-1]
    return (
        f"Digits, CADE-MS, {last.steps:,} steps in {last.seconds / 60:.1f} minutes, with "
        f"summaries, validations and checkpoints; then SIGTERM, which saved step and state "
        f"(exit code {soaked.code}).\n\n"
        "| | after the first tenth | at the end |\n|---|---|---|\n"
        f"| steps | {first.steps:,} | {last.steps:,} |\n"
        f"| resident memory, MiB | {first.memory_mib:.1f} | {last.memory_mib:.1f} |\n"
        f"| threads | {first.threads} | {last.threads} |\n"
        f"| open files | {first.files} | {last.files} |\n\n"
        f"Between the first and the last tenth of the time after that, mean memory changed by "
        f"{soaked.growth_mib():+.1f} MiB. Failures: {len(soaked.failures())}"
        f"{''.join(f'; {failure}' for failure in soaked.failures())}.\n\n"
        f"![Resident memory by step]({SOAK_PLOT})\n"
    )


def report(
    folder: Path, counts: dict[str, Count], fates: list[mutants.Fate], soaked: soak.Soak | None
) -> None:
    """Writes report.md, and the plot of the soak."""
    survivors = sum(not fate.killer for fate in fates)
    parts = [
        "# Reliability: attacks, mutants, a soak\n",
        "Made with `python -m tests.attacks`. A try counts as failed where the process crashes, "
        "hangs, shows a traceback, answers with a number that is not finite, or accepts damage "
        "silently.\n",
        f"## Attacks\n\n{table_of(counts)}",
        f"## Mutants\n\n{len(fates)} mistakes, one at a time in a copy of the package; "
        f"{survivors} survive the tests named for them.\n\n{mutants_table(fates)}",
    ]
    if soaked is not None:
        soak.draw(soaked, folder / SOAK_PLOT)
        parts.append(f"## A long run\n\n{soak_text(soaked)}")
    if (folder / NOTES_FILE).is_file():
        parts.append((folder / NOTES_FILE).read_text())
    (folder / "report.md").write_text("\n".join(parts))


def main() -> int:
    """Attacks; the exit code says whether anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.add_argument("--times", type=float, default=4.0, help="multiple of random attacks")
    parser.add_argument("--soak_minutes", type=float, default=60.0, help="0 takes the last one")
    parser.add_argument("--report", type=Path, default=Path("runs/reports/reliability"))
    given = parser.parse_args()
    started = time.monotonic()
    mutants.check_places()
    given.report.mkdir(parents=True, exist_ok=True)
    kept = given.report / SOAK_FILE
    if given.soak_minutes:
        with tempfile.TemporaryDirectory() as folder:
            soak.soak(given.soak_minutes, Path(folder)).write(kept)
    soaked = soak.Soak.read(kept) if kept.is_file() else None
    counts = attack(given.times)
    fates = list(mutants.run(os.cpu_count() or 1))
    report(given.report, counts, fates, soaked)
    print(f"{given.report / 'report.md'} ({(time.monotonic() - started) / 60:.0f} minutes)")
    failed = any(c.failures for c in counts.values()) or not all(fate.killer for fate in fates)
    return int(failed or bool(soaked is not None and soaked.failures()))


if __name__ == "__main__":
    raise SystemExit(main())
