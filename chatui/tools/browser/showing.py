"""Formats a part of a page for the model, as gpt-oss was trained: with a cursor, a title and numbered lines."""

from __future__ import annotations

from collections.abc import Sequence

from chatui.documents.inside.html_reader import TITLE_CHARS, clean, host, joined
from chatui.tools.browser.engines import Result
from chatui.tools.browser.page_worker import wrapped
from chatui.tools.browser.reading import Page

WINDOW_CHARS = 4000
"""About 1,024 tokens: the window that gpt-oss was trained with."""
MAX_MATCHES = 50
_AROUND = 4


def shown(cursor: int, page: Page, start: int = 0, count: int = -1) -> str:
    """The page from line ``start`` on: ``count`` lines, but not more than fit into a window."""
    start = max(0, min(start, len(page.lines) - 1))
    lines = _window(page.lines[start:], count)
    end = start + len(lines) - 1
    where = f" ({page.url})" if page.url else ""
    numbered = "\n".join(f"L{number}: {line}" for number, line in enumerate(lines, start))
    return f"[{cursor}] {page.title}{where}\n**viewing lines [{start} - {end}] of {len(page.lines) - 1}**\n\n{numbered}"


def results(query: str, found: Sequence[Result]) -> Page:
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
    return Page("", title, tuple(lines or ["Nothing was found."]), tuple(links), is_results=True)


def matches(cursor: int, page: Page, pattern: str) -> Page:
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
    return Page(
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
