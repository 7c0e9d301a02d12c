"""The words that people see of a message, without the marks that Markdown reads: what a search quotes and leads to.

They are read from the HTML that pages show, so that both always agree: the address behind a link, the language of a fence or a row of
dashes is no word.
"""

from __future__ import annotations

import re
from html import unescape

from renderer.frames import Header, Role
from renderer.gate import VisibleText
from renderer.markup import html

_BETWEEN_CELLS = re.compile(r"</t[dh]>\s*(?=<t[dh])")
_LINE_END = re.compile(r"<br[^>]*>\n?|\s*</(?:p|li|tr|h[1-6]|pre|div)>\s*")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$", re.MULTILINE)
_TAG = re.compile(r"<[^>]*>")


def words_of(header: Header, text: VisibleText) -> VisibleText:
    """The text of a visible message as pages show it: blocks, items and rows on lines of their own, a tab between the cells of a row."""
    shown = html.question(text) if header.role == Role.USER else html.render(html.as_markdown(header, text))
    lines = _LINE_END.sub("\n", _BETWEEN_CELLS.sub("\t", shown.html))
    return VisibleText(unescape(_TAG.sub("", lines)).strip("\n"))


def words_near(header: Header, text: VisibleText, place: int, reach: int = 400) -> VisibleText:
    """The same for the paragraphs around a place in ``text``: ``reach`` characters before and after it; in longer paragraphs, up to four
    times as many. Reading the Markdown of a whole message takes too long for each result of a search.
    """
    first, last = max(place - reach, 0), place + reach
    begin = max(text.rfind("\n\n", 0, first), first - 4 * reach, 0)
    end = text.find("\n\n", last)
    end = min(end if end >= 0 else len(text), last + 4 * reach)
    return words_of(header, VisibleText(_open_fence(text[:begin]) + text[begin:end]))


def _open_fence(before: str) -> str:
    """The line that opened the code block in which a text ends; empty if it ends outside of code."""
    marker = ""
    for match in _FENCE.finditer(before):
        if not marker:
            marker = match[1]
        elif match[1].startswith(marker) and not match[2].strip():
            marker = ""
    return f"{marker}\n" if marker else ""
