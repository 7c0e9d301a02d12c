"""Renders a visible message as blocks of safe HTML while it is being written."""

from __future__ import annotations

from dataclasses import dataclass, field

from renderer.gate import VisibleText
from renderer.markup.blocks import BlockClosed, BlockOpen, BlockPatched, Blocks, BlockText
from renderer.markup.citations import Pages
from renderer.markup.html import JSON_OPENING, SafeHtml

STEP_COST = 6 * 1024
"""The cost that may be rendered in one step of an event loop, in the unit of ``tails``: about 3 ms, and 25 ms for the worst texts."""

STEP_CHARS = 8 * 1024
"""The most text that another thread renders at once, so that the result can be sent in steps, too."""


@dataclass(frozen=True, slots=True)
class MoreText:
    """More text of the open code block ``index``, to be appended as text."""

    index: int
    text: VisibleText = field(repr=False)


def in_steps(text: VisibleText) -> list[VisibleText]:
    """The text in pieces of at most STEP_CHARS characters."""
    if len(text) <= STEP_CHARS:
        return [text]
    return [VisibleText(text[start : start + STEP_CHARS]) for start in range(0, len(text), STEP_CHARS)]


class GrowingMarkdown:
    """Text that passed the gate in, blocks of HTML out. Takes only VisibleText, so nothing else can be rendered into a stream. The caller
    runs expensive calls in another thread, and never two calls at once.
    """

    def __init__(self, pages: Pages | None = None, *, is_json: bool = False) -> None:
        """``pages``: see ``Blocks``. ``is_json``: the message is shown as code."""
        self._blocks = Blocks(pages)
        if is_json:
            self._blocks.feed(JSON_OPENING)

    def cost_to_feed(self, text: VisibleText) -> int:
        """The most that ``feed`` with this text, and ``tail`` after it, can cost: see STEP_COST."""
        return self._blocks.cost_to_feed(text)

    def cost_to_finish(self) -> int:
        """The most that ``finish`` can cost: see STEP_COST."""
        return self._blocks.cost_to_finish()

    def feed(self, text: VisibleText) -> list[BlockClosed | BlockPatched]:
        """Add text of the message. Returns the blocks that this closed or changed."""
        return self._blocks.feed(text)

    def tail(self) -> BlockOpen | MoreText | None:
        """The open block, if there is something new to show. Called about 20 times a second."""
        tail = self._blocks.tail()
        if isinstance(tail, BlockText):
            return MoreText(tail.index, VisibleText(tail.text))
        return tail

    def finish(self, *, is_cut: bool) -> list[BlockClosed | BlockPatched]:
        """Signal the end of the message. Returns its last blocks. ``is_cut``: the message was cut off."""
        return self._blocks.finish(is_cut=is_cut)

    def html(self) -> tuple[SafeHtml, ...]:
        """The message so far, block by block."""
        return self._blocks.html()
