"""Converts a fetched page to text, and formats a part of it for the model.

It is converted by the confined process that reads uploaded files, so that hostile HTML can harm only that process. It is shown as gpt-oss
was trained: with a cursor, a title and numbered lines.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from chatui.documents import reading
from chatui.documents.inside.html import TITLE_CHARS, clean, host, joined, wrapped
from chatui.documents.kinds import NoTextReason
from chatui.sandbox import ProcessLimits
from chatui.tools.browser.engines import Result
from chatui.tools.fetcher import FetchedPage, FetchError

LIMITS = ProcessLimits(cpu_seconds=12, wall_seconds=12)
MAX_BYTES = 8_000_000


@dataclass(frozen=True, slots=True)
class TextPage:
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


async def read(fetched: FetchedPage) -> TextPage:
    """The page as text.

    Raises:
        FetchError: the page has no text, or could not be read in time.
    """
    parts = await asyncio.to_thread(_read, fetched)
    cut = ("", "[The page is longer. The rest was not loaded.]") if fetched.is_cut else ()
    lines, links = (tuple(parts.get(label, "").split("\n")) for label in ("lines", "links"))
    return TextPage(fetched.url, parts.get("title") or fetched.url, (*lines, *cut), links if links != ("",) else ())


def _read(fetched: FetchedPage) -> dict[str, str]:
    about = json.dumps({"url": fetched.url, "kind": fetched.kind, "charset": fetched.charset})
    if not reading.is_confined():
        raise FetchError("This page cannot be read as text.")
    answer = reading.read_confined("web page", about.encode() + b"\n" + fetched.body, MAX_BYTES, LIMITS)
    parts = {part.label: part.text for part in answer.parts}
    if answer.reason not in (NoTextReason.NONE, NoTextReason.BLANK):
        raise FetchError("This page cannot be read as text.")
    if not parts.get("lines", "").strip():
        raise FetchError("There is no text on this page.")
    return parts


WINDOW_CHARS = 4000
"""About 1,024 tokens: the window that gpt-oss was trained with."""
MAX_MATCHES = 50
_AROUND = 4


def shown(cursor: int, page: TextPage, start: int = 0, count: int = -1) -> str:
    """The page from line ``start`` on: ``count`` lines, but not more than fit into a window."""
    start = max(0, min(start, len(page.lines) - 1))
    lines = _window(page.lines[start:], count)
    end = start + len(lines) - 1
    where = f" ({page.url})" if page.url else ""
    numbered = "\n".join(f"L{number}: {line}" for number, line in enumerate(lines, start))
    return f"[{cursor}] {page.title}{where}\n**viewing lines [{start} - {end}] of {len(page.lines) - 1}**\n\n{numbered}"


def results(query: str, found: Sequence[Result]) -> TextPage:
    """The search results, as a page of links."""
    lines: list[str] = []
    links: list[str] = []
    for result in found:
        url = joined(result.url, "")
        title = " ".join(clean(result.title).split())[:TITLE_CHARS] or host(url)
        if not url:
            continue
        lines += [f"【{len(links)}†{title}†{host(url)}】", *wrapped(" ".join(clean(result.snippet).split())), ""]
        links.append(url)
    title = f"Search results for: {' '.join(clean(query).split())}"
    return TextPage("", title, tuple(lines or ["Nothing was found."]), tuple(links), is_results=True)


def matches(cursor: int, page: TextPage, pattern: str) -> TextPage:
    """The matches of a text in a page, as a separate page. ``cursor``: of the searched page."""
    wanted = pattern.casefold()
    lines: list[str] = []
    match_lines: list[int] = []
    for number, line in enumerate(page.lines):
        if wanted in line.casefold():
            lines += [f"# 【{len(match_lines)}†match at L{number}】", *page.lines[number : number + _AROUND], ""]
            match_lines.append(number)
        if len(match_lines) == MAX_MATCHES:
            break
    title = f"Find results for text: `{' '.join(clean(pattern).split())}` in `{page.title}`"
    return TextPage(
        page.url, title, tuple(lines or ["No such text was found on the page."]), searched_cursor=cursor, match_lines=tuple(match_lines)
    )


def _window(lines: Sequence[str], count: int) -> Sequence[str]:
    most = len(lines) if count < 1 else count
    chars = 0
    for number, line in enumerate(lines[:most]):
        chars += len(line) + 6
        if chars > WINDOW_CHARS and number:
            return lines[:number]
    return lines[:most]
