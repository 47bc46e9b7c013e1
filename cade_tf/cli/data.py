"""`cade data`: list, describe, check, convert and download graphs."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

from cade_tf import problems
from cade_tf.cli import checks
from cade_tf.config import DataOptions, SplitOptions
from cade_tf.environment import quiet_import_tensorflow
from cade_tf.errors import InputError
from cade_tf.graph import datasets, description, readers, storage
from cade_tf.graph.download import download
from cade_tf.graph.graph import Graph
from cade_tf.graph.splits import node_split
from cade_tf.options import option

WORD, WORDS = "sub-command", ("list", "describe", "check", "convert", "download")
USAGE = f"cade data {'|'.join(WORDS)} [--flags]"


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataCommandOptions(DataOptions, SplitOptions):
    """Output."""

    output: str | None = option(None, "convert: the npz file to write; with --shards, the folder.")
    shards: int = option(
        0,
        "convert: write a folder of this many shards for --cluster and --memory_map, with the "
        "split of --unseen_ratio and --split_seed; 0 writes one npz.",
        minimum=0,
    )
    plot: str | None = option(None, "describe: also draw a picture to this file (png, svg, pdf).")


OPTIONS = DataCommandOptions


def run(options: DataCommandOptions, word: str) -> int:
    """Runs a sub-command."""
    return _COMMANDS[word](options)


def _list(options: DataCommandOptions) -> int:
    folder = datasets.data_folder(options.data_dir)
    where = folder or f"none; set --data_dir or {datasets.DATA_DIR_VARIABLE}"
    print(f"Data sets (--dataset=NAME), data folder: {where}\n")
    width = max(map(len, datasets.DATASETS))
    for name, data_set in datasets.DATASETS.items():
        print(f"  {name:<{width}}  {_presence(name, options):<8}  {data_set.title}")
        print(f"  {'':<{width}}  {'':<8}  {data_set.source}")
    print("\nFormats (--graph=PATH, recognised by content or --format=NAME)\n")
    width = max(map(len, readers.FORMATS))
    for name, title in readers.FORMATS.items():
        print(f"  {name:<{width}}  {title}")
    return 0


def _presence(name: str, options: DataCommandOptions) -> str:
    if datasets.known(name).folder is None:
        return "built in"
    return "present" if datasets.dataset_path(name, options.data_dir) else "absent"


def _describe(options: DataCommandOptions) -> int:
    checks.picture(options.plot)
    graph = datasets.load(options)
    rows = description.describe(graph, node_split(graph, options))
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")
    for warning in description.warnings(graph):
        print(f"note: {warning}")
    if options.plot:
        from cade_tf.evaluation.pictures import draw_graph

        draw_graph(graph, options.plot)
        print(f"\npicture: {options.plot}")
    return 0


def _check(options: DataCommandOptions) -> int:
    graph: Graph | None = None
    with problems.collected() as found:
        graph = datasets.load(options, verify=True)
        with problems.part():
            node_split(graph, options)
    for error in found:
        print(f"problem: {error}")
    if graph is not None:
        # What a problem left out would be told as if it had never been given.
        for note in graph.notes if found else description.notes(graph):
            print(f"note: {note}")
    if found:
        print(f"\n{len(found)} problem{'s' if len(found) > 1 else ''} found.")
        return 2
    print(f"\n{graph!r} is in order.")
    return 0


def _convert(options: DataCommandOptions) -> int:
    output = options.output
    if options.shards:
        if output is None:
            raise InputError("output", "a folder to write", "none", "Give --output=FOLDER.")
        checks.writable_folder("output", output)
        graph = datasets.load(options)
        quiet_import_tensorflow()
        from cade_tf.scale import sharding

        sharding.write_shards(graph, node_split(graph, options).seen, output, options.shards)
        print(f"{graph!r}: {output} ({options.shards} shards)")
        return 0
    if output is None:
        folder = datasets.data_folder(options.data_dir)
        if options.dataset is None or folder is None:
            raise InputError("output", "a file to write", "none", "Give --output=PATH.npz.")
        output = str(folder / f"{options.dataset}.npz")
    checks.writable_file("output", output)
    graph = datasets.load(options)
    storage.save(graph, output)
    print(f"{graph!r}: {output} ({Path(output).stat().st_size:,} bytes)")
    return 0


def _download(options: DataCommandOptions) -> int:
    if options.dataset is None:
        raise InputError("dataset", "the data set to download", "none", "See cade data list.")
    data_set = datasets.known(options.dataset)
    folder = datasets.data_folder(options.data_dir)
    if data_set.folder is None:
        print(f"{options.dataset} comes with cade_tf; there is nothing to download.")
        return 0
    if folder is None:
        raise InputError(
            "data_dir", "a folder to download to", "none", f"Or set {datasets.DATA_DIR_VARIABLE}."
        )
    for remote in data_set.remote:
        for path in download(remote, folder / data_set.folder):
            print(path)
    return 0


_COMMANDS: dict[str, Callable[[DataCommandOptions], int]] = {
    "list": _list,
    "describe": _describe,
    "check": _check,
    "convert": _convert,
    "download": _download,
}
