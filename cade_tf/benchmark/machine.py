"""On what a benchmark ran."""

import datetime
import os
import platform
from pathlib import Path
from typing import Any

from cade_tf.experiments.cells import commit
from cade_tf.experiments.single_run import versions


def describe() -> dict[str, Any]:
    """Processor, cores, memory, load, versions, commit and date."""
    return {
        "processor": processor(),
        "cores": _cores(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        # Other work on the machine would explain bad numbers.
        "load_before": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": versions(),
        "commit": commit(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Model of the processor, as far as the system tells."""
    if cpuinfo.is_file():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def _cores() -> int:
    """Cores this process may use; where the system does not tell, all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
