"""Checks of a command's flags that need no TensorFlow, which takes seconds to load.

Paths that do not exist, folders that cannot be written and packages that are not installed are
mistakes that need no TensorFlow to be found.
"""

import importlib.util
import os
from pathlib import Path

from cade_tf.config import DataOptions
from cade_tf.errors import InputError, missing_package


def data(options: DataOptions) -> None:
    """Checks that the files of a graph exist; readers check what is in them.

    Raises:
        InputError: Something is missing, or belongs to a graph that is not named.
    """
    options.check_companions()
    for path in options.graph_paths():
        readable("graph", path)
    for name in ("features", "labels"):
        if getattr(options, name) is not None:
            readable(name, getattr(options, name))
    if options.dataset is not None:
        from cade_tf.graph import datasets

        built_in = datasets.known(options.dataset).folder is None
        if not built_in and datasets.dataset_path(options.dataset, options.data_dir) is None:
            # Reading what is not there ends at once, with a message that says how to get it.
            datasets.load_dataset(options.dataset, options.data_dir)


def readable(name: str, path: str | Path) -> Path:
    """A file or folder that exists and may be read.

    Raises:
        InputError: It does not, or may not.
    """
    found = Path(path).expanduser()
    if not found.exists():
        raise InputError(f"--{name}", "an existing file or folder", path, "Check the path.")
    if not os.access(found, os.R_OK):
        raise InputError(
            f"--{name}", "a file that may be read", f"{path}: no permission", "Change its mode."
        )
    return found


def writable_folder(name: str, path: str | Path) -> Path:
    """A folder that files can be written to; it may still have to be made.

    Raises:
        InputError: It cannot be made, or may not be written to.
    """
    folder = Path(path).expanduser()
    nearest = folder.absolute()
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    received = None
    if not nearest.is_dir():
        received = f"{path}: {nearest} is no folder"
    elif not os.access(nearest, os.W_OK | os.X_OK):
        received = f"{path}: no permission to write in {nearest}"
    if received is not None:
        raise InputError(f"--{name}", "a folder to write to", received, "Give another folder.")
    return folder


def writable_file(name: str, path: str | Path) -> Path:
    """A file that can be written.

    Raises:
        InputError: It is a folder, or is in a folder that cannot be written to.
    """
    file = Path(path).expanduser()
    if file.is_dir():
        raise InputError(f"--{name}", "a file to write", f"{path}: a folder", "Add a file name.")
    writable_folder(name, file.parent)
    return file


def extra(package: str, wanted_by: str) -> None:
    """A package that cade_tf works without, but not this flag or command.

    Raises:
        InputError: It is not installed.
    """
    if importlib.util.find_spec(package) is None:
        raise missing_package(wanted_by, package)


def picture(path: str | None) -> None:
    """Checks that the picture of --plot, where it is given, can be drawn.

    Raises:
        InputError: matplotlib is missing, or the file cannot be written.
    """
    if path is not None:
        extra("matplotlib", "--plot")
        writable_file("plot", path)
