"""What Linux tells of a process: the processor time that it has used, its memory, and on which core it may run."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def seconds_of(pid: int) -> float:
    """Processor seconds of all its threads so far, also of those that have ended. Linux counts them in hundredths."""
    # The name stands in brackets, and may itself hold spaces and brackets.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def waited_seconds(pid: int) -> float:
    """Seconds for which its first thread, which has the event loop, could have run and had no core."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9


def memory_mb(pid: int) -> float:
    """Resident memory in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


def pin(pid: int, cores: set[int]) -> None:
    """Keep all its threads on these cores. Threads that it starts later stay there, too."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
            os.sched_setaffinity(int(thread.name), cores)
