"""The ways in which an attack's text reaches a page: from a model or an operator, whole, streamed, and inside other Markdown."""

import random
from collections.abc import Callable, Iterator
from html import escape
from html.parser import HTMLParser

from renderer.markup import html
from renderer.markup.growing import BlockOpen, MoreText
from renderer.markup.html import render
from renderer.markup.operator_pages import render_page
from tests.support.growing import Blocks

MAX_STREAMED_CHARS = 20_000
"""Maximum length of an attack that is also streamed and wrapped; longer ones test rendering time, which whole rendering shows."""


def whole(text: str) -> Iterator[str]:
    """As a model's complete answer."""
    yield render(text).html


def question(text: str) -> Iterator[str]:
    """As a user's question: shown unchanged, with fenced code as code."""
    yield html.question(text).html
    yield html.question(f"```\n{text}\n```").html


def operator(text: str) -> Iterator[str]:
    """As an operator's page."""
    yield render_page(text).html


def streamed(text: str) -> Iterator[str]:
    """As a model streams it: the page's content after each of some random pieces, and all final blocks."""
    if len(text) > MAX_STREAMED_CHARS:
        return
    chance, blocks, shown = random.Random(text), Blocks(), ""
    while text:
        size = chance.choice((2, 5, 13, 40, 100))
        yield from (event.html.html for event in blocks.feed(text[:size]))
        text = text[size:]
        match blocks.tail():
            case BlockOpen(html=html):
                yield (shown := html.html)
            case MoreText(text=more):
                yield (shown := appended(shown, more))
    yield from (event.html.html for event in blocks.finish())


def wrapped(text: str) -> Iterator[str]:
    """Inside a list, a quote, a table cell and a fence."""
    if len(text) > MAX_STREAMED_CHARS:
        return
    lines = text.split("\n")
    yield render("- " + "\n  ".join(lines)).html
    yield render("\n".join(f"> {line}" for line in lines)).html
    yield render(f"| a | b |\n|---|---|\n| {' '.join(lines)} | c |\n").html
    yield render(f"```html\n{text}\n```\n").html


WAYS: dict[str, Callable[[str], Iterator[str]]] = {
    "a model's text, whole": whole,
    "a model's text, streamed": streamed,
    "a model's text, wrapped": wrapped,
    "a person's text": question,
    "an operator's text": operator,
}


def appended(html: str, text: str) -> str:
    """The page's content after the browser appended ``text`` to the innermost last ``code`` or ``pre`` element."""
    finder = _LastBox()
    finder.feed(html)
    finder.close()
    assert finder.end is not None, "there is nothing to append to"
    lines = html.splitlines(keepends=True)
    at = sum(map(len, lines[: finder.end[0] - 1])) + finder.end[1]
    return html[:at] + escape(text, quote=False) + html[at:]


class _LastBox(HTMLParser):
    """Finds the end of the ``code`` or ``pre`` element that was opened last."""

    def __init__(self) -> None:
        super().__init__()
        self.end: tuple[int, int] | None = None
        self._waiting = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in ("code", "pre"):
            self._waiting = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("code", "pre") and self._waiting:
            self.end, self._waiting = self.getpos(), False
