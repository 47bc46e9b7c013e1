"""Search for good flags on the validation nodes, resumable and pruned."""

import dataclasses
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras

from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.experiments.search_space import Range, SearchSpace
from cade_tf.experiments.validation import make_validate
from cade_tf.files import atomic_write
from cade_tf.graph import loading, splits
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.training.trainer import train_graph

STUDY_FILE = "study.db"
BEST_FILE = "best.flags"
PICTURE_FILE = "importances.png"
STARTUP_TRIALS = 5

_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Tuned:
    """What a search found.

    Attributes:
        score: Validation score of the best trial.
        values: Its values of the searched flags.
        trials: Trials that are finished, those of earlier processes included.
        pruned: How many of them were given up early.
        importances: Share of the score's variance that each searched flag explains.
    """

    score: float
    values: dict[str, Any]
    trials: int
    pruned: int
    importances: dict[str, float]


def tune(
    space: SearchSpace,
    folder: Path,
    *,
    make_config: Callable[[list[str]], Config],
    trials: int,
    metric: str = "probe",
    seed: int = 0,
    progress: bool = True,
) -> Tuned:
    """Tries flags until there are `trials` finished trials, and writes the best.

    Training sees the training nodes, scores are those of the validation nodes, test nodes are not
    looked at. A trial whose score is below the median of the others' at the same step is given
    up. The study is kept in study.db: the same call goes on where an earlier one was stopped.

    Args:
        space: What is tried.
        folder: Where study, best flags and picture are kept.
        make_config: From the flags of a trial to its options.
        trials: Finished trials, in all.
        metric: mrr or probe.
        seed: Seed of the suggestions.
        progress: Whether to show the progress of trainings.

    Returns:
        What was found.

    Raises:
        InputError: optuna is missing, or flags do not fit.
    """
    optuna = _optuna()
    config = make_config(space.flags(_first_values(space)))
    _check(config)
    graph = loading.load(config)
    split = splits.node_split(graph, config)
    folder.mkdir(parents=True, exist_ok=True)
    study = optuna.create_study(
        storage=f"sqlite:///{folder / STUDY_FILE}",
        study_name="cade",
        direction="maximize",
        load_if_exists=True,
        sampler=optuna.samplers.TPESampler(seed=seed),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=STARTUP_TRIALS),
    )
    seen = graph.subgraph(split.train)

    def objective(trial: Any) -> float:
        keras.utils.clear_session()
        options = make_config(space.flags(_suggest(trial, space)))
        validate = make_validate(graph, split, options)
        scores: list[float] = []

        def report(model: DualEncoder, step: int) -> dict[str, float]:
            found = validate(model, step)
            scores.append(found[metric])
            trial.report(found[metric], step)
            if trial.should_prune():
                raise optuna.TrialPruned
            return found

        train_graph(seen, options, progress=progress, validate=report)
        return max(scores)

    while (left := trials - len(_finished(study))) > 0:
        _log.info("Trial %d of %d.", trials - left + 1, trials)
        study.optimize(objective, n_trials=1, catch=(FloatingPointError,))
        _write_best(study, space, folder)
    _write_best(study, space, folder)
    return _outcome(study, folder)


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise InputError(
            "cade tune", "the package optuna", "none", "pip install 'cade_tf[tune]'."
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _check(config: Config) -> None:
    if not config.validate_every:
        raise InputError(
            "validate_every", "above 0", "0", "Add --validate_every=N to the search file."
        )


def _first_values(space: SearchSpace) -> dict[str, Any]:
    """Some values, to see whether the flags fit at all before anything is trained."""
    return {
        name: _rounded(found, found.low) if isinstance(found, Range) else found.values[0]
        for name, found in space.searched.items()
    }


def _rounded(found: Range, value: float) -> float | int:
    return round(value) if found.whole else value


def _suggest(trial: Any, space: SearchSpace) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, found in space.searched.items():
        if not isinstance(found, Range):
            values[name] = trial.suggest_categorical(name, found.values)
        elif found.whole:
            values[name] = trial.suggest_int(
                name, round(found.low), round(found.high), log=found.log
            )
        else:
            values[name] = trial.suggest_float(name, found.low, found.high, log=found.log)
    return values


def _finished(study: Any) -> list[Any]:
    return [trial for trial in study.get_trials(deepcopy=False) if trial.state.is_finished()]


def _completed(study: Any) -> list[Any]:
    return [trial for trial in _finished(study) if trial.state.name == "COMPLETE"]


def _write_best(study: Any, space: SearchSpace, folder: Path) -> None:
    if not _completed(study):
        return
    with atomic_write(folder / BEST_FILE) as file:
        text = f"# Validation score {study.best_value:.4f}, trial {study.best_trial.number}."
        file.write("\n".join([text, *space.flags(study.best_params), ""]).encode())


def _outcome(study: Any, folder: Path) -> Tuned:
    if not _completed(study):
        raise InputError(
            "search", "a trial that could be finished", "none", "Try lower learning rates."
        )
    finished = _finished(study)
    importances = _importances(study)
    if importances:
        _draw(importances, folder / PICTURE_FILE)
    return Tuned(
        study.best_value,
        dict(study.best_params),
        len(finished),
        sum(trial.state.name == "PRUNED" for trial in finished),
        importances,
    )


def _importances(study: Any) -> dict[str, float]:
    from optuna.importance import get_param_importances

    values = {trial.value for trial in _completed(study)}
    # Equal scores say nothing about what mattered.
    return dict(get_param_importances(study)) if len(values) > 1 else {}


def _draw(importances: dict[str, float], path: Path) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        _log.warning("Without matplotlib there is no %s.", path.name)
        return
    names = list(reversed(importances))
    figure = Figure(figsize=(6, 1 + 0.35 * len(names)), layout="constrained")
    axes = figure.subplots()
    axes.barh(names, [importances[name] for name in names], color="#4477aa")
    axes.set_xlabel("share of the validation score's variance")
    with atomic_write(path) as file:
        figure.savefig(file, format="png", dpi=120)
