"""The steps in which Markdown becomes HTML: which of them a text takes, and how a test leaves one out or breaks it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from renderer.markup import html, markdown
from renderer.markup.html import SafeHtml
from renderer.markup.html import parts as parts
from renderer.markup.tails import AGAIN_SECONDS, COST_PER_SECOND, Tail

Html = str


def unparsed(text: str) -> SafeHtml | None:
    """The HTML of a line that is shown without being parsed; None for any other text."""
    return html.plain_line(text)


def is_unsanitized(paragraph: Html) -> bool:
    """Whether a paragraph is shown as it is, because the sanitizer would change nothing."""
    return html.PLAIN_PARAGRAPH.fullmatch(paragraph) is not None


def sanitized(text: Html) -> Html:
    return html._cleaner.clean(text)


def parse_as(patch: pytest.MonkeyPatch, parsed: Callable[[], Html]) -> None:
    """From now on the parser makes this of every text."""
    patch.setattr(markdown, "to_html", lambda *_: parsed())


def never_parse(patch: pytest.MonkeyPatch) -> None:
    """From now on, a text that would be parsed breaks the test."""
    patch.setattr(markdown, "parse", None)


@contextmanager
def every_line_parsed() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(html, "plain_line", lambda text, **_: None)
        yield


@contextmanager
def nothing_continued() -> Iterator[None]:
    """Meanwhile, an open block is rendered again for each update."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tail, "_continue_sentence", lambda tail: None)
        yield


@dataclass(frozen=True, slots=True)
class Rendering:
    """A rendering of an open block."""

    block: int
    """The same number for the same block."""
    least_pause: float
    """How many seconds pass at least until the next, for what it costs."""


def renderings(patch: pytest.MonkeyPatch) -> list[Rendering]:
    """What open blocks are rendered from now on."""
    found, blocks, render = list[Rendering](), list[Tail](), Tail._open

    def recorded(tail: Tail, text: str) -> SafeHtml | None:
        if tail not in blocks:
            blocks.append(tail)
        found.append(Rendering(blocks.index(tail), min(AGAIN_SECONDS, tail.cost / COST_PER_SECOND)))
        return render(tail, text)

    patch.setattr(Tail, "_open", recorded)
    return found
