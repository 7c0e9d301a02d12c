"""Renders a visible message as blocks of safe HTML while it is being written."""

from __future__ import annotations

from dataclasses import dataclass, field

from renderer.gate import VisibleText
from renderer.markup.blocks import BlockClosed, BlockOpen, BlockPatched, Blocks, BlockText
from renderer.markup.html import SafeHtml


@dataclass(frozen=True, slots=True)
class MoreText:
    """More text of the open code block ``index``, to be appended as text."""

    index: int
    text: VisibleText = field(repr=False)


class GrowingMarkdown:
    """Text that passed the gate in, blocks of HTML out. Takes only VisibleText, so nothing else can be rendered into a stream."""

    def __init__(self) -> None:
        self._blocks = Blocks()

    def feed(self, text: VisibleText) -> list[BlockClosed | BlockPatched]:
        """Take more of the message. Returns the blocks that this closed or changed."""
        return self._blocks.feed(text)

    def tail(self) -> BlockOpen | MoreText | None:
        """The open block, if there is something new to show. Called about 20 times a second."""
        tail = self._blocks.tail()
        if isinstance(tail, BlockText):
            return MoreText(tail.index, VisibleText(tail.text))
        return tail

    def finish(self) -> list[BlockClosed | BlockPatched]:
        """Signal the end of the message. Returns its last blocks."""
        return self._blocks.finish()

    def html(self) -> tuple[SafeHtml, ...]:
        """The message so far, block by block."""
        return self._blocks.html()
