"""Converts a fetched page to text in a separate process with a time limit, so that hostile HTML can harm only that process."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

from chatui.env import BASE_DIR
from chatui.fetching.errors import FetchError
from chatui.fetching.fetcher import FetchedPage

SECONDS = 12.0
_PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from chatui.tools.browser import page_worker; page_worker.main()"


@dataclass(frozen=True, slots=True)
class Page:
    """A page as text. ``links``: the targets of the links in the text, by id. ``is_results``: the page lists search results.

    A page that lists the matches in another page has ``searched_cursor``, the cursor of that page, and ``match_lines``, the line of each
    match.
    """

    url: str
    title: str
    lines: tuple[str, ...] = field(repr=False)
    links: tuple[str, ...] = field(default=(), repr=False)
    is_results: bool = False
    searched_cursor: int | None = None
    match_lines: tuple[int, ...] = ()


async def read(fetched: FetchedPage, seconds: float = SECONDS) -> Page:
    """The page as text.

    Raises:
        FetchError: the page has no text, or could not be read in time.
    """
    found = await asyncio.to_thread(_read, fetched, seconds)
    lines = tuple(found["lines"])
    if not any(map(str.strip, lines)):
        raise FetchError("There is no text on this page.")
    cut = ("", "[The page is longer. The rest was not loaded.]") if fetched.is_cut else ()
    return Page(fetched.url, str(found["title"]) or fetched.url, (*lines, *cut), tuple(found["links"]))


def _read(fetched: FetchedPage, seconds: float) -> dict[str, Any]:
    about = json.dumps({"url": fetched.url, "kind": fetched.kind, "charset": fetched.charset})
    try:
        whole = about.encode() + b"\n" + fetched.body
        command = [sys.executable, "-I", "-c", _PROGRAM, str(BASE_DIR)]
        # Our own script: no argument comes from the page.
        done = subprocess.run(command, input=whole, capture_output=True, timeout=seconds, check=True, env={})  # noqa: S603
        found: dict[str, Any] = json.loads(done.stdout)
    except (subprocess.SubprocessError, OSError, ValueError):
        raise FetchError("This page cannot be read as text.") from None
    return found
