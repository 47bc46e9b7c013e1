"""`cade tune`: search for good flags on the validation nodes."""

import dataclasses
from collections.abc import Sequence

from cade_tf.cli import checks, flags, logs
from cade_tf.config import LARGEST_SEED, Config, DataOptions
from cade_tf.errors import InputError
from cade_tf.options import Options, option

USAGE = "cade tune --search=FILE [--study=DIR] [--trials=N]"


@dataclasses.dataclass(frozen=True, kw_only=True)
class TuneOptions(Options):
    """Tune."""

    search: str | None = option(
        None,
        "Flagfile of cade train in which some flags have several values: --k=2..10, "
        "--learning_rate=log:1e-5..1e-2, --model=cade_ms|cade_ma. It must set --validate_every.",
    )
    study: str = option("runs/tune", "Folder of the study; a study found there is continued.")
    trials: int = option(
        20, "Number of finished trials, those of earlier searches in --study included.", minimum=1
    )
    metric: str = option(
        "probe",
        "Score of the validation nodes: probe (micro-F1 of labels) or mrr (needs no labels).",
        choices=("probe", "mrr"),
    )
    tune_seed: int = option(0, "Seed of the suggestions.", minimum=0, maximum=LARGEST_SEED)
    verbosity: str = option(
        "info", "Which messages are shown.", choices=("debug", "info", "warning", "error")
    )


OPTIONS = TuneOptions


def run(options: TuneOptions) -> int:
    """Runs the command."""
    if options.search is None:
        raise InputError("search", "the path of a search space", "none", "Give --search.")
    for package in ("optuna", "matplotlib"):
        checks.extra(package, "cade tune")
    from cade_tf.experiments.search_space import SearchSpace

    space = SearchSpace.read(options.search)
    checks.data(_data(space.fixed))
    folder = checks.writable_folder("study", options.study)
    logs.configure(options.verbosity)
    from cade_tf.experiments import tuning

    tuned = tuning.tune(
        space,
        folder,
        make_config=lambda given: flags.parse(Config, given)[0],
        trials=options.trials,
        metric=options.metric,
        seed=options.tune_seed,
        progress=options.verbosity != "error",
    )
    print(f"{tuned.trials} trials, {tuned.pruned} of them given up early.")
    print(f"Best {options.metric} of validation nodes: {tuned.score:.4f}")
    for name, value in tuned.values.items():
        share = tuned.importances.get(name)
        print(f"  --{name}={value}" + (f"  (importance {share:.2f})" if share is not None else ""))
    print(f"Train with them: cade train --flagfile={folder / tuning.BEST_FILE}")
    return 0


def _data(fixed: Sequence[str]) -> DataOptions:
    """The graph that the flags of every trial name."""
    names = DataOptions.field_names()
    named = [flag for flag in fixed if flag.lstrip("-").partition("=")[0] in names]
    return flags.parse(DataOptions, named)[0]
