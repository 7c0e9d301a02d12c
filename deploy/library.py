"""Builds a wheel of the format library, ``openchatml``, from ``renderer/``: ``python -m deploy.library DIRECTORY``, as in ``make package``.

In the wheel the package is called ``openchatml``. The product's wheel holds ``renderer`` itself, because one file must be enough to install
the product; under one name, whichever of the two is installed last would overwrite the other's files, and whichever is removed would take
them along. The name ``renderer`` is also too general for an environment that is shared with other packages.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from deploy.version import built

ROOT = Path(__file__).resolve().parents[1]
NAME = "openchatml"
CASES = ROOT / "tests" / "conformance"
PAGES = ("conformance.md", "harmony.md", "openchatml.md", "openchatml.schema.json")

_OURS = re.compile(r"^(?P<word>\s*(?:from|import) )renderer\b|(?<![\w./])renderer(?=[./]\w)|(?<=^# )renderer\b", re.MULTILINE)
_VERSION = re.compile(r'(?<=^version = ")[^"]+', re.MULTILINE)
_COMMAND = "python -m renderer"


def main(arguments: list[str]) -> int:
    """Build the wheel in the directory that is named. Returns pip's exit code."""
    (directory,) = arguments
    with tempfile.TemporaryDirectory() as scratch:
        lay_out(Path(scratch))
        options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", directory)
        return subprocess.run([sys.executable, "-m", "pip", "wheel", *options, scratch], check=False).returncode  # noqa: S603 - a fixed program


def lay_out(top: Path) -> None:
    """Write the library's own source tree: package, published cases, pages of the format, README, licence and pyproject.toml."""
    package = top / NAME
    shutil.copytree(ROOT / "renderer", package, ignore=shutil.ignore_patterns("__pycache__", "README.md"))
    for source in package.rglob("*.py"):
        source.write_text(renamed(source.read_text(encoding="utf-8")), encoding="utf-8")
    (top / "README.md").write_text(renamed((ROOT / "renderer" / "README.md").read_text(encoding="utf-8")), encoding="utf-8")
    declared = (ROOT / "deploy" / "library.toml").read_text(encoding="utf-8")
    (top / "pyproject.toml").write_text(_VERSION.sub(lambda found: built(found[0]), declared), encoding="utf-8")
    (top / "LICENSE").write_bytes((ROOT / "LICENSE").read_bytes())
    shutil.copytree(CASES, package / "format" / "cases", ignore=shutil.ignore_patterns("__pycache__", "*.py", "README.md"))
    for page in PAGES:
        (package / "format" / page).write_text(renamed((ROOT / "docs" / page).read_text(encoding="utf-8")), encoding="utf-8")


def renamed(text: str) -> str:
    """The text with the package, and the command, under the name that they have in the wheel."""
    return _OURS.sub(lambda found: f"{found['word'] or ''}{NAME}", text.replace(_COMMAND, NAME))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
