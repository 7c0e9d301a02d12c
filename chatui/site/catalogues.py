"""Compiles the translation catalogues that have changed (``.po`` to ``.mo``).

The ``.mo`` files are not in the repository. ``make``, the Dockerfile and the tests create them, without other programs. Without them, every
page is in English. ``python -m chatui.site.catalogues`` does it, and prints nothing if none have changed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from chatui.env import LOCALE_DIR


def compile_stale(directory: Path = LOCALE_DIR) -> list[Path]:
    """Compile each catalogue that is newer than its compiled file. Returns the paths of the compiled catalogues."""
    stale = not_compiled(directory)
    for path in stale:
        _compile(path)
    return stale


def not_compiled(directory: Path = LOCALE_DIR) -> list[Path]:
    """The catalogues that have not been compiled since their last change."""
    return [path for path in sorted(directory.glob("*/LC_MESSAGES/*.po")) if _is_stale(path)]


def _is_stale(path: Path) -> bool:
    compiled = path.with_suffix(".mo")
    return not compiled.exists() or compiled.stat().st_mtime_ns < path.stat().st_mtime_ns


def _compile(path: Path) -> None:
    # Imported here, because no process that serves requests needs it.
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    with path.open("rb") as file:
        catalogue = read_po(file, abort_invalid=True)
    # Several processes may compile at once: each writes its own temporary file, and the last one wins.
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    with unfinished.open("wb") as made:
        write_mo(made, catalogue)
    unfinished.replace(path.with_suffix(".mo"))


if __name__ == "__main__":
    if compiled := compile_stale():
        sys.stdout.write(f"Compiled {len(compiled)} catalogues of translations.\n")
