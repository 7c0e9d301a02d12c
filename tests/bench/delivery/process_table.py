"""Reads the processor time and memory of a server on Linux, with all processes that it has started, and pins them to cores."""

import contextlib
import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def seconds_of(pid: int) -> float:
    """Processor seconds of all threads so far, including those that have ended. Linux counts them in hundredths."""
    every = map(_fields, _family(pid))
    return sum(int(fields[11]) + int(fields[12]) for fields in every) / _TICKS


def waited_seconds(pid: int) -> float:
    """Seconds for which the first threads, which have the event loops, were ready to run but had no core."""
    return sum(int(Path(f"/proc/{each}/schedstat").read_text().split()[1]) for each in _family(pid)) / 1e9


def memory_mb(pid: int) -> float:
    """Resident memory in MB."""
    lines = [line for each in _family(pid) for line in Path(f"/proc/{each}/status").read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def pin(pid: int, cores: set[int]) -> None:
    """Keep all threads on these cores. Threads and processes that they start later stay there, too."""
    for thread in (thread for each in _family(pid) for thread in Path(f"/proc/{each}/task").iterdir()):
        with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
            os.sched_setaffinity(int(thread.name), cores)


def _family(pid: int) -> list[int]:
    """The process and those below it, such as the workers of ``serve --workers``."""
    parents = {}
    for each in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            parents[int(each.name)] = int(_fields(int(each.name))[1])
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def _fields(pid: int) -> list[str]:
    """What Linux says of a process, from its state on: the name before is in parentheses, and may contain spaces and parentheses."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
