"""Finds Node.js and npm for the JavaScript checks: the pinned ones in the virtual environment, otherwise those on the PATH."""

import hashlib
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.support.places import ROOT

CHECKS = ROOT / "tests" / "js"
OLDEST = 20


def program(name: str) -> str | None:
    """The path of ``node`` or ``npm``. Pinned first, so that the checks give the same result on every machine."""
    pinned = Path(sys.executable).parent / name
    return str(pinned) if pinned.exists() else shutil.which(name)


def why_not() -> str | None:
    """Why the JavaScript checks cannot run here, as one sentence; None if they can."""
    node = program("node")
    if node is None or program("npm") is None:
        return "there is no Node.js with npm on this machine, neither in the virtual environment nor on the PATH."
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    if not version.startswith("v") or int(version[1:].split(".")[0]) < OLDEST:
        return f"Node.js {OLDEST} or newer is needed, and {node} is {version or 'broken'}."
    return None


def why_not_test() -> str | None:
    """The same for the JavaScript tests, which may also be missing: ``node --test`` would then search everywhere."""
    return why_not() or (None if test_files() else "there are no JavaScript tests.")


def typescript() -> list[str]:
    """The command of the pinned TypeScript compiler. Raises the errors of ``install``."""
    return [program("node") or "node", str(install("typescript") / "bin" / "tsc")]


@cache
def axe() -> str:
    """The script of the pinned accessibility engine, which browser tests run in pages. Raises the errors of ``install``."""
    return (install("axe-core") / "axe.min.js").read_text(encoding="utf-8")


def install(package: str) -> Path:
    """The directory of a package; npm installs all packages if the lock file differs from the installed one.

    Raises:
        subprocess.CalledProcessError: npm failed; ``output`` is its output.
    """
    place = CHECKS / "node_modules" / package
    stamp = CHECKS / "node_modules" / ".installed"
    key = hashlib.sha256((CHECKS / "package-lock.json").read_bytes()).hexdigest()
    if not place.is_dir() or not stamp.exists() or stamp.read_text(encoding="utf-8") != key:
        command = [program("npm") or "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        subprocess.run(command, cwd=CHECKS, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        stamp.write_text(key, encoding="utf-8")
    return place


def test_files() -> list[str]:
    """The JavaScript tests, listed one by one, because versions of ``node --test`` treat directories differently."""
    names = (path for path in CHECKS.rglob("*.test.*js") if "node_modules" not in path.parts)
    return sorted(str(path.relative_to(ROOT)) for path in names)
