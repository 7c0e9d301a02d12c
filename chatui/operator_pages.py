"""The operator's own words: Markdown files from ``CHATUI_PAGES_DIR``, rendered when they change."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from chatui import conf
from renderer.html import SafeHtml
from renderer.pages import render_page

PAGES = {"help": "Help", "terms": "Terms of use"}
"""Pages that have an address of their own, with their titles."""

MAX_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class _Version:
    path: Path
    changed: int
    size: int


def welcome() -> SafeHtml | None:
    """What an empty conversation greets with."""
    return _read("welcome")


def announcement() -> SafeHtml | None:
    """The banner over every page; None while its file is missing or empty."""
    return _read("announcement")


def page(name: str) -> SafeHtml | None:
    """One of PAGES; None where the operator has no such file."""
    return _read(name) if name in PAGES else None


def _read(name: str) -> SafeHtml | None:
    path = conf.environment().pages_dir / f"{name}.md"
    try:
        status = path.stat()
    except OSError:
        return None
    return _render(_Version(path, status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=16)
def _render(version: _Version) -> SafeHtml | None:
    with version.path.open(encoding="utf-8", errors="replace") as file:
        text = file.read(MAX_BYTES)
    return render_page(text) if text.strip() else None
