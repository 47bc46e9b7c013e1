"""What a finished run consists of: sizes and checksums of its files, in manifest.json.

The manifest is written last and withdrawn first, so that it never speaks of files that somebody
is about to change. Whoever reads a file of a run checks it against the manifest; a run without
one, unfinished or of an older version, is read without.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cade_tf.errors import InputError
from cade_tf.files import read_json, write_json

MANIFEST_FILE = "manifest.json"


def record(run_dir: Path, names: Iterable[str]) -> None:
    """Writes sizes and checksums of files into the manifest, next to what it says of others.

    Args:
        run_dir: Folder of the run.
        names: Files, relative to it; one that does not exist is left out.
    """
    found = {name: _entry(run_dir / name) for name in names if (run_dir / name).is_file()}
    write_json(run_dir / MANIFEST_FILE, {"files": {**_read(run_dir), **found}})


def withdraw(run_dir: Path, names: Iterable[str] | None = None) -> None:
    """Forgets files that are about to change.

    Args:
        run_dir: Folder of the run.
        names: Files, relative to it; None for all, which deletes the manifest.
    """
    if names is None:
        (run_dir / MANIFEST_FILE).unlink(missing_ok=True)
        return
    entries = _read(run_dir)
    kept = {name: entry for name, entry in entries.items() if name not in set(names)}
    if kept != entries:
        write_json(run_dir / MANIFEST_FILE, {"files": kept})


def exists(run_dir: Path) -> bool:
    """Whether a folder has a manifest."""
    return (run_dir / MANIFEST_FILE).is_file()


def check(run_dir: str | Path, *names: str) -> None:
    """Compares files with the manifest; those that it does not list pass.

    Args:
        run_dir: Folder of a run, or any other.
        names: Files, relative to it.

    Raises:
        InputError: A file is not what was written, or the manifest is damaged.
    """
    entries = _read(Path(run_dir))
    for name in names:
        path = Path(run_dir) / name
        # A missing file is told by whoever reads it.
        if name not in entries or not path.is_file():
            continue
        found = path.stat().st_size
        if found != entries[name]["bytes"]:
            raise _changed(path, f"{entries[name]['bytes']} bytes", f"{found} bytes")
        if _entry(path) != entries[name]:
            raise _changed(path, "the content that was written", "another SHA-256")


def _changed(path: Path, expected: str, received: str) -> InputError:
    return InputError(
        str(path),
        f"{expected}, as in {MANIFEST_FILE}",
        received,
        "The file was damaged or changed; restore it, or write it again.",
    )


def _entry(path: Path) -> dict[str, Any]:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"bytes": file.tell(), "sha256": digest}


def _read(run_dir: Path) -> dict[str, dict[str, Any]]:
    path = run_dir / MANIFEST_FILE
    if not path.is_file():
        return {}
    remedy = "Restore it, or delete it to read the run unchecked."
    entries = read_json(path, remedy)
    try:
        return {
            str(name): {"bytes": int(entry["bytes"]), "sha256": str(entry["sha256"])}
            for name, entry in entries["files"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        expected = "sizes and checksums of a run's files"
        raise InputError(str(path), expected, f"damaged content ({error})", remedy) from error
