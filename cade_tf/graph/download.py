"""Downloads of public files: resumed after a break, checked, and complete or absent.

`keras.utils.get_file` starts a broken transfer from its beginning, and loads TensorFlow first.
"""

import hashlib
import http.client
import shutil
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path

from cade_tf.files import atomic_write
from cade_tf.graph.datasets import RemoteFile
from cade_tf.progress import Shown, make_bar

ATTEMPTS = 5
"""Connections in a row that may bring nothing before a download is given up."""

_PIECE = 1 << 18
_TIMEOUT = 30.0


class DownloadError(OSError):
    """A file could not be had, or is not the one it should be."""


def download(
    remote: RemoteFile,
    folder: Path,
    *,
    sleep: Callable[[float], None] = time.sleep,
    progress: Shown = True,
) -> list[Path]:
    """Downloads a file, unless what it leaves is there already.

    What has arrived is kept next to the target until the file is complete, so that another call
    goes on where a broken one stopped. A file whose digest is wrong never gets its name.

    Returns:
        The files that are now in the folder.

    Raises:
        DownloadError: The server does not have the file, breaks off again and again, or sends
            other content.
    """
    folder = folder / remote.place
    targets = [folder / name for name in remote.results]
    if all(_is_there(target, remote) for target in targets):
        return targets
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f".{remote.name}.part"
    pieces = part.exists() + _fetch(remote, part, sleep, progress)
    if _digest(part) != remote.sha256 and pieces > 1:
        # The pieces may be of two versions; a download from the start decides.
        part.unlink()
        _fetch(remote, part, sleep, progress)
    received = _digest(part)
    if received != remote.sha256:
        part.unlink()
        raise DownloadError(
            f"{remote.address}: expected a file of SHA-256 {remote.sha256}, received {received}. "
            "The server has another file; nothing was kept."
        )
    if remote.unpack:
        _unpack(part, folder, remote)
        part.unlink()
    else:
        part.replace(targets[0])
    return targets


def _is_there(target: Path, remote: RemoteFile) -> bool:
    if not target.is_file():
        return False
    return bool(remote.unpack) or _digest(target) == remote.sha256


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch(remote: RemoteFile, part: Path, sleep: Callable[[float], None], progress: Shown) -> int:
    """Appends to `part` until the server has no more; returns the number of connections."""
    failures = connections = 0
    while True:
        before = part.stat().st_size if part.exists() else 0
        connections += 1
        try:
            if _continue(remote, part, progress):
                return connections
            reason = "the connection broke off"
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code not in (408, 429):
                raise DownloadError(
                    f"{remote.address}: expected a file, received {error.code} {error.reason}. "
                    "It may have moved; see cade data list for its source."
                ) from error
            reason = f"{error.code} {error.reason}"
        except (http.client.HTTPException, OSError) as error:
            reason = str(error) or type(error).__name__
        after = part.stat().st_size if part.exists() else 0
        failures = failures + 1 if after <= before else 0
        if failures >= ATTEMPTS:
            raise DownloadError(
                f"{remote.address}: expected a file, received {reason} {failures} times in a "
                "row. Try again later; what has arrived is kept."
            )
        sleep(min(2.0**failures, 30.0))


def _continue(remote: RemoteFile, part: Path, progress: Shown) -> bool:
    """One connection; whether everything has arrived that the server has."""
    begin = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(remote.address, headers={"User-Agent": "cade_tf"})
    if begin:
        request.add_header("Range", f"bytes={begin}-")
    try:
        response = urllib.request.urlopen(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code == 416:
            # There is nothing after what we have.
            error.close()
            return True
        raise
    with response:
        resumes = response.status == 206
        if resumes and not _starts_at(response, begin):
            part.unlink()
            return False
        if not resumes:
            begin = 0
        announced = response.headers.get("Content-Length")
        total = begin + int(announced) if announced and announced.isdigit() else None
        with (
            make_bar(progress, f"downloading {remote.name}", total, "bytes") as bar,
            open(part, "ab" if resumes else "wb") as file,
        ):
            bar.start_at(begin)
            while piece := response.read(_PIECE):
                file.write(piece)
                bar.advance(len(piece))
            arrived = file.tell()
    return total is None or arrived >= total


def _starts_at(response: http.client.HTTPResponse, begin: int) -> bool:
    return (response.headers.get("Content-Range") or "").startswith(f"bytes {begin}-")


def _unpack(archive_path: Path, folder: Path, remote: RemoteFile) -> None:
    try:
        with zipfile.ZipFile(archive_path) as archive:
            members = {name.rsplit("/", 1)[-1]: name for name in archive.namelist()}
            for name in remote.unpack:
                with archive.open(members[name]) as source, atomic_write(folder / name) as target:
                    shutil.copyfileobj(source, target)
    except (zipfile.BadZipFile, KeyError) as error:
        raise DownloadError(
            f"{remote.address}: expected a zip archive with {', '.join(remote.unpack)}, "
            f"received {error}."
        ) from error
