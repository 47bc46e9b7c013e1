"""What the implementation promises, against what was measured."""

import dataclasses
from collections.abc import Mapping

from cade_tf.benchmark.measure import Measurement


@dataclasses.dataclass(frozen=True)
class Target:
    """A bound of one measurement.

    Args:
        title: What is bounded.
        measurement: Name of the measurement.
        bound: The bound, in its unit.
        at_least: Whether it is a lower bound; otherwise an upper one.
        unit: Unit of both; `x` for a ratio.
    """

    title: str
    measurement: str
    bound: float
    at_least: bool = False
    unit: str = "x"

    def met(self, value: float) -> bool:
        """Whether a value keeps the bound."""
        return self.margin(value) >= 1

    def margin(self, value: float) -> float:
        """How many times better than the bound a value is."""
        return value / self.bound if self.at_least else self.bound / value


def targets(k: int) -> list[Target]:
    """The targets, for two cores, Pubmed and the default options.

    Args:
        k: K of CADE-MS and CADE-MA.
    """
    ms, ma = f"cade_ms-k{k}", f"cade_ma-k{k}"
    return [
        Target("GraphSAGE training, ours / peer", "peer/train/ours_over_peer", 2.0, True),
        Target("GraphSAGE embedding, ours / peer", "peer/embed/ours_over_peer", 3.0, True),
        Target(
            "arithmetic share of the GraphSAGE step",
            "train/graphsage/mean/arithmetic_share",
            0.6,
            True,
        ),
        Target(f"CADE-MS, K = {k}, step / GraphSAGE step", f"train/{ms}/mean/over_graphsage", 4.0),
        Target(f"CADE-MA, K = {k}, step / GraphSAGE step", f"train/{ma}/mean/over_graphsage", 5.0),
        Target(f"CADE-MA, K = {k} / K = {k // 2}", f"train/{ma}/mean/over_half_k", 2.0),
        Target("GraphSAGE, literal / fast path", "literal/graphsage/speedup", 10.0, True),
        Target(f"CADE-MS, K = {k}, literal / fast path", f"literal/{ms}/speedup", 10.0, True),
        Target(f"CADE-MA, K = {k}, literal / fast path", f"literal/{ma}/speedup", 10.0, True),
        Target(
            "import and first step of the quickstart",
            "startup/quickstart/first_step",
            15.0,
            unit="s",
        ),
        Target(
            f"peak memory of CADE-MS, K = {k}", f"train/{ms}/mean/peak_memory", 2048.0, unit="MiB"
        ),
        Target("CADE-gb, step, 2,000,000 / 20,000 nodes", "growth/cade_gb/large_over_small", 2.0),
        Target(
            f"CADE-MS, K = {k}, step, 2,000,000 / 20,000 nodes",
            f"growth/{ms}/large_over_small",
            2.0,
        ),
        Target(
            f"peak memory of CADE-MS, K = {k}, Reddit's size",
            f"reddit_size/{ms}/peak_memory",
            8192.0,
            unit="MiB",
        ),
    ]


def measured(k: int, found: Mapping[str, Measurement]) -> list[tuple[Target, Measurement | None]]:
    """Every target with its measurement, None where it was not measured."""
    return [(target, found.get(target.measurement)) for target in targets(k)]
