"""`cade export`: write a trained run as a SavedModel."""

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

from cade_tf.cli import app
from cade_tf.cli.trained_run import TrainedRunOptions, data_of, run_folder
from cade_tf.config import LARGEST_SEED, DataOptions, EmbeddingOptions
from cade_tf.errors import InputError
from cade_tf.options import option

USAGE = "cade export --run_dir=DIR --export_dir=DIR [--noexport_graph]"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExportOptions(TrainedRunOptions, DataOptions):
    """Export."""

    export_dir: str | None = option(
        None, "Folder of all versions; the export becomes the next: 1, 2 and so on."
    )
    export_graph: bool = option(
        True,
        "Whether the export holds the graph (the run's own, or --graph), so that requests can "
        "name its nodes. Without it the server brings sampled neighbourhoods itself.",
    )
    other_runs: tuple[str, ...] = option(
        (), "Folders of runs with other seeds or splits, for the spread of scores in the card."
    )
    embed_walks: int = option(
        EmbeddingOptions.embed_walks, "Walks that make the contexts of a node.", minimum=1
    )
    seed: int = option(0, "Seed of requests that bring none.", minimum=0, maximum=LARGEST_SEED)


OPTIONS = ExportOptions


def run(options: ExportOptions, words: list[str]) -> int:
    """Runs the command."""
    run_dir = run_folder(options, words, "export")
    if options.export_dir is None:
        raise InputError("export_dir", "a folder to write to", "none", "Give --export_dir.")
    from cade_tf.experiments import single_run
    from cade_tf.graph import loading
    from cade_tf.inference.encoder import Encoder
    from cade_tf.inference.export import export_encoder
    from cade_tf.inference.model_card import model_card
    from cade_tf.training.run_folder import read_config

    config = read_config(run_dir)
    results = [_result(folder) for folder in (run_dir, *map(Path, options.other_runs))]
    encoder = Encoder.load(run_dir / single_run.ENCODER_FOLDER)
    graph = loading.load(data_of(options, config)) if options.export_graph else None
    version = export_encoder(
        encoder,
        options.export_dir,
        graph=graph,
        walks=options.embed_walks,
        seed=options.seed,
        card=lambda signatures: model_card(
            encoder, config, results, graph=graph, signatures=signatures
        ),
    )
    size = sum(path.stat().st_size for path in version.rglob("*") if path.is_file())
    print(f"SavedModel: {version} ({size / 2**20:,.1f} MiB)")
    print(f"Look at it: saved_model_cli show --dir {version} --tag_set serve --all")
    return 0


def _result(run_dir: Path) -> dict[str, Any]:
    """result.json of a run."""
    path = run_dir / "result.json"
    try:
        result: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise InputError(
            str(run_dir), "a finished run with result.json", error, "Train it to the end first."
        ) from error
    return result


if __name__ == "__main__":
    sys.exit(app.run_command("export"))
