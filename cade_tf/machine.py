"""What this machine has."""

import contextlib
import os
from pathlib import Path

# Version 2 and 1 of Linux' control groups.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def memory_bytes(limits: tuple[str, ...] = _LIMITS) -> int:
    """Memory of the machine, or what its container may use; 0 where the system does not tell.

    Args:
        limits: Files that hold the container's limit, where there is one.
    """
    if not hasattr(os, "sysconf"):  # Windows
        return 0
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in limits:
        with contextlib.suppress(OSError, ValueError):  # no such file; "max", which is no limit
            total = min(total, int(Path(path).read_text()))
    return total
