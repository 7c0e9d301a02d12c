"""A small file system of a test's own, which can be filled."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def small(directory: Path, *, megabytes: int) -> Iterator[Path]:
    """A separate file system of this size, mounted at ``directory``. The test is skipped where that is not allowed."""
    directory.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(directory)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("This user may not mount a file system, so no disk can be filled.")
    try:
        yield directory
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


def fill(directory: Path) -> Path:
    """Fill it to the last byte. Returns the file that fills it."""
    filler = directory / "filler"
    for size in (1 << 20, 4096, 1):
        with filler.open("ab", buffering=0) as file, suppress(OSError):
            while file.write(b"x" * size) == size:
                pass
    return filler
