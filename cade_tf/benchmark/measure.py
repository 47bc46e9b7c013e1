"""Medians and spreads of repeated measurements, and the memory of a process."""

import dataclasses
import resource
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

Work = Callable[[], object]

REPEAT_SECONDS = 1.0
MOST_STEPS = 10


@dataclasses.dataclass(frozen=True)
class Measurement:
    """Several values of one quantity.

    Args:
        name: Where it belongs, as `train/graphsage/mean/step`.
        unit: Unit of the values; `x` for a ratio.
        values: The values, in the order in which they were measured.

    Example:

    >>> Measurement("walks", "walks/s", (3.0, 1.0, 2.0)).median
    2.0
    """

    name: str
    unit: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median of the values."""
        return statistics.median(self.values)

    @property
    def spread(self) -> tuple[float, float]:
        """First and third quartile."""
        low, high = np.quantile(self.values, [0.25, 0.75])
        return float(low), float(high)

    def record(self) -> dict[str, Any]:
        """The measurement as a line of JSON holds it; `from_record` reads it back."""
        low, high = self.spread
        return {
            "name": self.name,
            "unit": self.unit,
            "median": self.median,
            "low": low,
            "high": high,
            "values": list(self.values),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Reads what `record` wrote."""
        return cls(record["name"], record["unit"], tuple(record["values"]))


def joined(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Measurements with the values of equal names put together, in order of first appearance."""
    values: dict[tuple[str, str], tuple[float, ...]] = {}
    for one in measurements:
        place = (one.name, one.unit)
        values[place] = values.get(place, ()) + one.values
    return [Measurement(name, unit, every) for (name, unit), every in values.items()]


def ratios(over: Sequence[float], under: Sequence[float]) -> tuple[float, ...]:
    """Ratios round by round: what slows a whole round down does not change them."""
    return tuple(a / b for a, b in zip(over, under, strict=True))


def seconds_of(work: Work) -> float:
    """Time of one call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def in_turn(works: Mapping[str, Work], repeats: int) -> dict[str, list[float]]:
    """Times several works in turn, so that a busy machine slows all of them alike.

    Args:
        works: What to call, by name; already warm.
        repeats: Rounds.

    Returns:
        Seconds of each call, by name.
    """
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            seconds[name].append(seconds_of(work))
    return seconds


def steps_per_repeat(seconds: float) -> int:
    """Steps of this many seconds that are timed together."""
    return int(min(max(REPEAT_SECONDS / max(seconds, 1e-9), 1), MOST_STEPS))


def peak_memory() -> float:
    """Most memory this process has held, in MiB.

    From /proc where there is one: the number of getrusage starts, in a process made by another,
    with what that other held.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
