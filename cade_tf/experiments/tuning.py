"""Search for good flags on the validation nodes, resumable and pruned."""

import dataclasses
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import optuna
import sqlalchemy.exc
from optuna.trial import TrialState

from cade_tf.config import Config
from cade_tf.display import require_matplotlib, save_figure
from cade_tf.errors import InputError
from cade_tf.experiments.search_space import SearchSpace
from cade_tf.experiments.single_run import make_validate
from cade_tf.files import write_text
from cade_tf.graph import datasets, splits
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
        InputError: Flags do not fit, or no trial could be finished.
    """
    config = make_config(space.any_flags())
    if not config.validate_every:
        raise InputError(
            "validate_every", "above 0", "0", "Add --validate_every=N to the search file."
        )
    graph = datasets.load(config, progress=progress)
    split = splits.node_split(graph, config)
    folder.mkdir(parents=True, exist_ok=True)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = _open_study(folder / STUDY_FILE, seed)
    seen = graph.subgraph(split.train)

    def score(trial: optuna.Trial) -> float:
        keras.utils.clear_session()
        options = make_config(space.flags(trial.params))
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

    while (left := trials - len(_of_state(study))) > 0:
        _log.info("Trial %d of %d.", trials - left + 1, trials)
        trial = study.ask(space.searched)
        try:
            study.tell(trial, score(trial))
        except optuna.TrialPruned:
            study.tell(trial, state=TrialState.PRUNED)
        except FloatingPointError:
            study.tell(trial, state=TrialState.FAIL)
        _write_best(study, space, folder)
    if not _of_state(study, TrialState.COMPLETE):
        raise InputError(
            "search", "a trial that could be finished", "none", "Try lower learning rates."
        )
    _write_best(study, space, folder)
    return Tuned(
        study.best_value,
        dict(study.best_params),
        len(_of_state(study)),
        len(_of_state(study, TrialState.PRUNED)),
        _importances(study, folder / PICTURE_FILE),
    )


def _open_study(path: Path, seed: int) -> optuna.Study:
    """A new study, or the one that the file holds."""
    try:
        return optuna.create_study(
            storage=f"sqlite:///{path}",
            study_name="cade",
            direction="maximize",
            load_if_exists=True,
            sampler=optuna.samplers.TPESampler(seed=seed),
            pruner=optuna.pruners.MedianPruner(n_startup_trials=STARTUP_TRIALS),
        )
    except (sqlalchemy.exc.SQLAlchemyError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            str(path),
            "a study of cade tune",
            f"damaged content ({reason})",
            "Choose another study.",
        ) from error


def _of_state(study: optuna.Study, state: TrialState | None = None) -> list[Any]:
    """Trials in a state; without one, all that are finished."""
    return [
        trial
        for trial in study.get_trials(deepcopy=False)
        if (trial.state is state if state is not None else trial.state.is_finished())
    ]


def _write_best(study: optuna.Study, space: SearchSpace, folder: Path) -> None:
    if _of_state(study, TrialState.COMPLETE):
        text = f"# Validation score {study.best_value:.4f}, trial {study.best_trial.number}."
        flags = space.flags(study.best_params)
        write_text(folder / BEST_FILE, "\n".join([text, *flags, ""]))


def _importances(study: optuna.Study, picture: Path) -> dict[str, float]:
    """What mattered, and a picture of it; nothing where all scores are equal."""
    if len({trial.value for trial in _of_state(study, TrialState.COMPLETE)}) < 2:
        return {}
    importances = dict(optuna.importance.get_param_importances(study))
    names = list(reversed(importances))
    figure = require_matplotlib().Figure(figsize=(6, 1 + 0.35 * len(names)))
    axes = figure.subplots()
    axes.barh(names, [importances[name] for name in names], color="#4477aa")
    axes.set_xlabel("share of the validation score's variance")
    save_figure(figure, picture)
    return importances
