"""The operator's own texts: Markdown files from ``CHATUI_PAGES_DIR``, rendered again when they change.

Each can have translations, such as ``help.de.md``. People without a translation in their language get ``help.md``.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from chatui.env import environment
from chatui.site.languages import SOURCE
from renderer.markup.html import SafeHtml

PAGES = {"help": _("Help"), "terms": _("Terms of use")}
"""The texts that have their own page, with their titles."""

MAX_BYTES = 256 * 1024
MAX_EXAMPLES = 6
MAX_EXAMPLE_CHARS = 200


_Version = tuple[Path, int, int]
"""A file as it is now: its path, the time of its last change, and its size."""


def read(name: str) -> SafeHtml | None:
    """One of the texts: ``welcome``, the greeting in an empty conversation, ``announcement``, the banner on every page, or one of PAGES.
    None while its file is missing or empty."""
    return _render(version) if (version := _version(name)) else None


def welcome(*, is_named: bool) -> SafeHtml | None:
    """The greeting in an empty conversation. Where an assistant ``is_named``, only the operator's own, which may have rules in it."""
    return None if is_named and "pages_dir" not in environment().model_fields_set else read("welcome")


def examples(*, is_demo: bool = False) -> tuple[str, ...]:
    """Example questions as plain text: the list items of ``examples.md``. Empty if the file is missing or has none.

    With the demo they are not translated, because it can only answer the English ones.
    """
    version = _file("examples.md") if is_demo else _version("examples")
    return _listed(version) if version else ()


def _version(name: str) -> _Version | None:
    """The file in the language of the page (``help.de.md``), otherwise the one for all languages (``help.md``)."""
    language = get_language() or SOURCE
    return _file(f"{name}.{language}.md") or _file(f"{name}.md")


def _file(name: str) -> _Version | None:
    path = environment().pages_dir / name
    try:
        status = path.stat()
    except OSError:
        return None
    return path, status.st_mtime_ns, status.st_size


@lru_cache(maxsize=64)
def _render(version: _Version) -> SafeHtml | None:
    from renderer.markup.operator_pages import render_page  # imported here: it takes 3 MB, needed only with pages

    text = _text(version)
    return render_page(text) if text.strip() else None


@lru_cache(maxsize=16)
def _listed(version: _Version) -> tuple[str, ...]:
    items = (line.strip()[2:].strip() for line in _text(version).splitlines() if line.strip().startswith(("- ", "* ")))
    return tuple(item[:MAX_EXAMPLE_CHARS] for item in items if item)[:MAX_EXAMPLES]


def _text(version: _Version) -> str:
    with version[0].open(encoding="utf-8", errors="replace") as file:
        return file.read(MAX_BYTES)
