"""`cade explain`: what the attention between two nodes chose."""

import dataclasses

from cade_tf.cli import checks, logs
from cade_tf.cli.trained_run import TrainedRunOptions, existing_run, open_run
from cade_tf.config import LARGEST_SEED, DataOptions
from cade_tf.errors import InputError
from cade_tf.options import option

USAGE = "cade explain --run_dir=DIR --pair=A,B [--plot=FILE]"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExplainOptions(TrainedRunOptions, DataOptions):
    """Explain."""

    pair: tuple[str, ...] = option((), "Ids of the two nodes.")
    plot: str | None = option(None, "Draw the attention into this png, pdf or svg.")
    seed: int = option(0, "Seed of neighbourhoods.", minimum=0, maximum=LARGEST_SEED)


OPTIONS = ExplainOptions


def run(options: ExplainOptions) -> int:
    """Runs the command."""
    run_dir = existing_run(options.run_dir)
    config, data = open_run(run_dir, options)
    if len(options.pair) != 2:
        raise InputError("pair", "two ids", ",".join(options.pair) or "none", "Give --pair=A,B.")
    checks.picture(options.plot)
    logs.configure("info")
    from cade_tf.evaluation import explanation
    from cade_tf.graph import datasets
    from cade_tf.inference.pairs import embed_pair
    from cade_tf.training.run_folder import load_run_model

    model = load_run_model(run_dir)
    if model.attention is None:
        raise InputError(
            "run_dir", "a model with attention", config.model, "Train cade_ms or cade_ma."
        )
    graph = datasets.load(data)
    pair = embed_pair(model, graph, *options.pair, seed=options.seed)
    candidates = "sampling" if model.samplings_by_k else "aggregator"
    print(explanation.table(pair, candidates))
    if options.plot:
        explanation.draw(pair, candidates, options.plot)
        print(f"Picture: {options.plot}")
    return 0
