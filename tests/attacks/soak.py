"""A run of many minutes, and what becomes of its memory, threads and files."""

import contextlib
import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import matplotlib.figure

MOST_GROWTH_MIB = 16
"""By which memory may grow after the first tenth; a leak of 0.1 KiB per step would be more."""

_FLAGS = (
    "--dataset=digits", "--preset=paper", "--model=cade_ms", "--k=2", "--dim=16", "--fanouts=3,2",
    "--batch_size=32", "--steps=1000000000", "--validate_every=5000", "--progress_seconds=5",
)  # fmt: skip
_SAMPLE_SECONDS = 20


@dataclasses.dataclass(frozen=True)
class Sample:
    """A process at one moment."""

    seconds: float
    steps: int
    memory_mib: float
    threads: int
    files: int


@dataclasses.dataclass(frozen=True)
class Soak:
    """What was seen of a run, and how it ended."""

    samples: list[Sample]
    code: int
    saved: bool

    def write(self, path: Path) -> None:
        """Keeps it as JSON."""
        path.write_text(json.dumps(dataclasses.asdict(self)) + "\n")

    @classmethod
    def read(cls, path: Path) -> "Soak":
        """What `write` has kept."""
        kept = json.loads(path.read_text())
        return cls(**kept | {"samples": [Sample(**sample) for sample in kept["samples"]]})

    def settled(self) -> list[Sample]:
        """Samples after the first tenth, in which memory is taken for the first time."""
        return self.samples[max(1, len(self.samples) // 10) :]

    def growth_mib(self) -> float:
        """Mean memory of the last tenth less that of the first tenth of what is settled."""
        memory = [sample.memory_mib for sample in self.settled()]
        tenth = max(1, len(memory) // 10)
        return sum(memory[-tenth:]) / tenth - sum(memory[:tenth]) / tenth

    def failures(self) -> list[str]:
        """What was not as it should be."""
        settled, found = self.settled(), []
        if self.growth_mib() > MOST_GROWTH_MIB:
            found.append(f"memory grew by {self.growth_mib():.1f} MiB")
        for name in ("threads", "files"):
            if getattr(settled[-1], name) > getattr(settled[0], name):
                found.append(f"{name} grew")
        if self.code != 128 + signal.SIGTERM or not self.saved:
            found.append(f"SIGTERM ended it with {self.code}, saved: {self.saved}")
        return found


def soak(minutes: float, folder: Path) -> Soak:
    """Trains for some time, then asks the run to stop."""
    log = folder / "soak.log"
    with open(log, "wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "cade_tf", "train", f"--run_dir={folder / 'soak'}", *_FLAGS],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    samples: list[Sample] = []
    started = time.monotonic()
    try:
        while time.monotonic() - started < 60 * minutes and process.poll() is None:
            time.sleep(_SAMPLE_SECONDS)
            with contextlib.suppress(FileNotFoundError):
                samples.append(_sample(process.pid, time.monotonic() - started, log.read_text()))
        process.send_signal(signal.SIGTERM)
        process.wait(300)
    finally:
        process.kill()
    return Soak(samples, process.returncode, "saved in" in log.read_text().splitlines()[-1])


def _sample(pid: int, seconds: float, log: str) -> Sample:
    status = Path(f"/proc/{pid}/status").read_text()
    steps = re.findall(r"([\d,]+)/1,000,000,000 steps", log)
    return Sample(
        round(seconds, 1),
        int(steps[-1].replace(",", "")) if steps else 0,
        int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024,
        int(re.search(r"Threads:\s+(\d+)", status)[1]),
        len(os.listdir(f"/proc/{pid}/fd")),
    )


def draw(soaked: Soak, path: Path) -> None:
    """Memory over steps, as an SVG file."""
    figure = matplotlib.figure.Figure(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.plot([s.steps for s in soaked.samples], [s.memory_mib for s in soaked.samples])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("steps")
    axes.set_ylabel("resident memory, MiB")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)
