"""`cade export`: write a trained run as a SavedModel."""

import dataclasses
from pathlib import Path
from typing import Any

from cade_tf.cli import checks, logs
from cade_tf.cli.trained_run import TrainedRunOptions, data_of, existing_run
from cade_tf.config import LARGEST_SEED, DataOptions, EmbeddingOptions
from cade_tf.errors import InputError
from cade_tf.files import read_json
from cade_tf.options import option
from cade_tf.training import manifest
from cade_tf.training.run_options import read_config

RESULT_FILE = "result.json"
USAGE = "cade export --run_dir=DIR --export_dir=DIR [--noexport_graph]"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExportOptions(TrainedRunOptions, DataOptions):
    """Export."""

    export_dir: str | None = option(
        None, "Folder of all versions; this export becomes the next one: 1, 2 and so on."
    )
    export_graph: bool = option(
        True,
        "Whether the export holds the graph (the run's own, or --graph), so that requests can "
        "name its nodes. Without it requests must bring sampled neighbourhoods.",
    )
    other_runs: tuple[str, ...] = option(
        (), "Folders of runs with other seeds or splits, for the spread of scores in the card."
    )
    embed_walks: int = option(
        EmbeddingOptions.embed_walks, "Walks that make the contexts of a node.", minimum=1
    )
    seed: int = option(0, "Seed of requests that have none.", minimum=0, maximum=LARGEST_SEED)


OPTIONS = ExportOptions


def run(options: ExportOptions) -> int:
    """Runs the command."""
    if options.export_dir is None:
        raise InputError("export_dir", "a folder to write to", "none", "Give --export_dir.")
    run_dir = existing_run(options.run_dir)
    config = read_config(run_dir)
    data = data_of(options, config)
    if options.export_graph:
        checks.data(data)
    results = [_result(folder) for folder in (run_dir, *map(Path, options.other_runs))]
    checks.writable_folder("export_dir", options.export_dir)
    logs.configure("info")
    from cade_tf.graph import datasets
    from cade_tf.serving.export import export_model
    from cade_tf.serving.model_card import model_card
    from cade_tf.training.run_folder import load_run_model

    model = load_run_model(run_dir)
    graph = datasets.load(data) if options.export_graph else None
    version = export_model(
        model,
        options.export_dir,
        graph=graph,
        walks=options.embed_walks,
        seed=options.seed,
        card=lambda signatures: model_card(
            model, config, results, graph=graph, signatures=signatures
        ),
    )
    size = sum(path.stat().st_size for path in version.rglob("*") if path.is_file())
    print(f"SavedModel: {version} ({size / 2**20:,.1f} MiB)")
    print(f"Look at it: saved_model_cli show --dir {version} --tag_set serve --all")
    return 0


def _result(run_dir: Path) -> dict[str, Any]:
    """result.json of a run."""
    manifest.check(run_dir, RESULT_FILE)
    path, remedy = run_dir / RESULT_FILE, "Train it to the end first."
    if not path.is_file():
        raise InputError(str(run_dir), f"a finished run with {RESULT_FILE}", "none", remedy)
    return read_json(path, remedy)
