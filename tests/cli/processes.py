"""Commands as a user starts them, each in a process of its own, and what they imported."""

import dataclasses
import os
import resource
import subprocess
import sys


@dataclasses.dataclass(frozen=True)
class Finished:
    """A command that has ended; `seconds` are those the processor worked, on a busy machine too."""

    code: int
    output: str
    errors: str
    imported: frozenset[str]
    seconds: float


def cade(*arguments, cwd=None, without=(), folder=None, **environment):
    """Runs `python -m cade_tf ARGUMENTS`.

    Args:
        *arguments: Command and flags.
        cwd: Folder it runs in.
        without: Packages that it believes not to be installed; needs `folder`.
        folder: An empty folder for the means to make it believe so.
        **environment: Variables added to the environment.
    """
    variables = {**os.environ, **environment}
    if without:
        hidden = "".join(f"sys.modules[{name!r}] = None\n" for name in without)
        (folder / "sitecustomize.py").write_text("import sys\n" + hidden)
        paths = [str(folder), os.environ.get("PYTHONPATH", "")]
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    before = _seconds_of_children()
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "cade_tf", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=cwd,
        env=variables,
    )
    lines = done.stderr.splitlines(keepends=True)
    imported = [line for line in lines if line.startswith("import time:")]
    return Finished(
        code=done.returncode,
        output=done.stdout,
        errors="".join(line for line in lines if not line.startswith("import time:")),
        imported=frozenset(line.rsplit("|", 1)[-1].strip() for line in imported),
        seconds=_seconds_of_children() - before,
    )


def _seconds_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
