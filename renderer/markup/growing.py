"""A visible message on its way to safe HTML: what has passed the gate goes in, piece by piece, and blocks of HTML come out."""

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
    """A visible message on its way to safe HTML: takes VisibleText only, so that nothing else can be rendered into a stream."""

    def __init__(self) -> None:
        self._blocks = Blocks()

    def feed(self, text: VisibleText) -> list[BlockClosed | BlockPatched]:
        """More of the message; the blocks that this closed, or changed late."""
        return self._blocks.feed(text)

    def tail(self) -> BlockOpen | MoreText | None:
        """The open block, where there is something new to show. Called at frame rate."""
        tail = self._blocks.tail()
        if isinstance(tail, BlockText):
            return MoreText(tail.index, VisibleText(tail.text))
        return tail

    def finish(self) -> list[BlockClosed | BlockPatched]:
        """The message is complete; its last blocks."""
        return self._blocks.finish()

    def html(self) -> tuple[SafeHtml, ...]:
        """The message so far, block by block."""
        return self._blocks.html()
