"""Builds the environment of ``python`` with the packages that gpt-oss was trained to expect, in pinned versions, in the data directory.

It is a virtual environment of the product's own Python, without pip. A sandbox sees it read-only, and nothing else of the data directory.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

NAMES = ("matplotlib", "numpy", "openpyxl", "pandas", "pillow", "scipy", "sympy")
"""Those that a model is told of. They come with what they need."""
LOCK = Path(__file__).with_name("requirements.txt")
"""Pins with hashes, which ``make lock`` writes."""
SECONDS = 1800
_DIRECTORY = "python-tool"
_STAMP = "requirements.sha256"
_IMPORTS = "import matplotlib.pyplot, numpy, openpyxl, pandas, PIL.Image, scipy.stats, sympy"
_VERSIONS = """
import importlib.metadata, json, sys
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps([[sys.prefix, sys.base_prefix], found]))
"""


class PackagesError(Exception):
    """The environment could not be built. The text says why, and what to do."""


def place(data_dir: Path) -> Path:
    """The directory of the environment."""
    return data_dir.resolve() / _DIRECTORY


def program(data_dir: Path) -> str:
    """The environment's interpreter; empty if there is none."""
    found = place(data_dir) / "bin" / "python3"
    return str(found) if os.path.lexists(found) else ""


def is_current(data_dir: Path) -> bool:
    """Whether the environment has the versions of this release."""
    try:
        return (place(data_dir) / _STAMP).read_text("ascii") == _stamp()
    except OSError:
        return False


def versions(data_dir: Path) -> dict[str, str]:
    """The packages of the environment with their versions; empty if there is none, or it does not start."""
    try:
        return asked(program(data_dir))[1]
    except ValueError:
        return {}


def asked(program: str) -> tuple[set[str], dict[str, str]]:
    """The directories of an interpreter's own files and libraries, and the versions of ``NAMES`` that it has, as it reports them.

    Raises:
        ValueError: it does not start, or is no interpreter.
    """
    try:
        done = _run([program, "-I", "-c", _VERSIONS, *NAMES], seconds=20)
        directories, versions = json.loads(done)
        return {str(each) for each in directories}, {str(name): str(version) for name, version in versions.items()}
    except (OSError, subprocess.SubprocessError, TypeError, AttributeError) as error:
        raise ValueError from error


def build(data_dir: Path, report: Callable[[str], object]) -> dict[str, str]:
    """Build the environment, in the place of an older one, and return the versions in it. Takes minutes, and fetches 180 MB from the
    registry that pip is set up for. A failure leaves the older one as it was.

    Raises:
        PackagesError: see there.
    """
    final = place(data_dir)
    new, old = (final.with_name(f"{_DIRECTORY}.{suffix}") for suffix in ("new", "old"))
    try:
        for left in (new, old):
            shutil.rmtree(left, ignore_errors=True)
        report(f"Installing {', '.join(NAMES)} into {final}. This takes some minutes, and 500 MB.")
        versions = _install(new, final)
        if os.path.lexists(final):
            final.rename(old)
        new.rename(final)
    except OSError as error:
        raise PackagesError(f"{final} cannot be written: {error.strerror}.") from None
    finally:
        for left in (new, old):
            shutil.rmtree(left, ignore_errors=True)
    return versions


def _install(new: Path, final: Path) -> dict[str, str]:
    base = str(getattr(sys, "_base_executable", "") or sys.executable)
    own = str(new / "bin" / "python3")
    try:
        _run([base, "-I", "-m", "venv", "--without-pip", str(new)])
        installing = ("install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-compile", "--only-binary", ":all:")
        _run([sys.executable, "-m", "pip", "--python", own, *installing, "--require-hashes", "--requirement", str(LOCK)], dict(os.environ))
        # Compiled here, under the names that the files will have: in the sandbox nothing can be written.
        # And never compared with the times of the files, which a copy of the data directory may change.
        compiling = ("compileall", "-q", "--invalidation-mode", "unchecked-hash", "-s", str(new), "-p", str(final))
        _run([own, "-I", "-m", *compiling, str(new / "lib")])
        _run([own, "-I", "-c", _IMPORTS])
    except subprocess.TimeoutExpired:
        raise PackagesError(f"Installing the packages took longer than {SECONDS // 60} minutes.") from None
    except subprocess.CalledProcessError as error:
        last_lines = (error.stderr or "").strip().splitlines()[-3:]
        raise PackagesError(" ".join([f"{' '.join(error.cmd[1:4])} failed.", *last_lines])) from None
    (new / _STAMP).write_text(_stamp(), "ascii")
    return asked(own)[1]


def _stamp() -> str:
    return hashlib.sha256(LOCK.read_bytes()).hexdigest()


def _run(command: Sequence[str], environment: dict[str, str] | None = None, seconds: float = SECONDS) -> str:
    """The output of a program of this Python's. Only pip gets the environment, for its settings."""
    done = subprocess.run(  # noqa: S603 - our own programs, and the operator's interpreter
        command, env={**(environment or {}), "PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, text=True, timeout=seconds, check=True
    )
    return done.stdout
