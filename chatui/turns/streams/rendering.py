"""Renders messages in a thread if that would block the event loop too long."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from chatui import wire
from renderer.events import FrameClosed
from renderer.frame_kinds import is_json, is_preamble, is_tool_line
from renderer.frames import Frame
from renderer.gate import Audience, VisibleText, show
from renderer.markup import html
from renderer.markup.citations import Pages
from renderer.markup.growing import BlockClosed, BlockPatched, GrowingMarkdown, MoreText
from renderer.markup.html import SafeHtml
from renderer.markup.tails import BlockOpen


@dataclass(slots=True)
class OpenMessage:
    """A visible message that is being written."""

    key: str
    preamble: bool
    markdown: GrowingMarkdown
    is_tool: bool = False

    @property
    def delta(self) -> wire.DeltaType:
        """The type of its events."""
        return "chatui:preamble.delta" if self.preamble else "response.delta"

    @property
    def kind(self) -> wire.PartKind:
        """The kind of the message, for people."""
        return "tool" if self.is_tool else "preamble" if self.preamble else "final"


@dataclass(slots=True, eq=False)
class Rendering:
    """Work that is too much for one step of the event loop: ``text`` of a message, or its end. Call ``run`` in any thread, and then pass it
    to ``EndUserStream.rendered``."""

    message: OpenMessage = field(repr=False)
    text: VisibleText | None = field(repr=False)
    closed: FrameClosed | None
    before: tuple[SafeHtml, ...] = field(repr=False)
    is_handed_out: bool = False
    blocks: list[BlockClosed | BlockPatched] = field(default_factory=list, repr=False)
    tail: BlockOpen | MoreText | None = field(default=None, repr=False)

    def run(self) -> None:
        """Render. Nothing else may use the message while this runs."""
        markdown = self.message.markdown
        if self.text is None:
            self.blocks = markdown.finish(is_cut=self.closed is not None and self.closed.terminator is None)
        else:
            self.blocks = markdown.feed(self.text)
            self.tail = markdown.tail()


def messages_of(
    frames: Sequence[tuple[UUID, Frame]], cut: UUID | None, pages: Pages | None = None, unfinished: Collection[UUID] = ()
) -> list[wire.MessageSoFar]:
    """Render stored frames as messages, which can take seconds. ``cut``: the message that was cut off. ``pages``: those it may cite.
    ``unfinished``: the messages that are still being written, and are shown as in a stream, without what is not complete at their end."""
    return [
        _message(key, frame, _unfinished(frame, pages) if key in unfinished else _blocks(frame, pages, is_cut=key == cut))
        for key, frame in frames
    ]


def _message(key: UUID, frame: Frame, blocks: tuple[SafeHtml, ...]) -> wire.MessageSoFar:
    kind: wire.PartKind = "tool" if is_tool_line(frame.header) else "preamble" if is_preamble(frame.header) else "final"
    return wire.MessageSoFar(str(key), kind, blocks)


def _blocks(frame: Frame, pages: Pages | None, *, is_cut: bool) -> tuple[SafeHtml, ...]:
    return html.render_blocks(html.as_markdown(frame.header, show(frame, Audience.END_USER)), is_cut=is_cut, pages=pages)


def _unfinished(frame: Frame, pages: Pages | None) -> tuple[SafeHtml, ...]:
    markdown = GrowingMarkdown(pages or {}, is_json=is_json(frame.header))
    markdown.feed(show(frame, Audience.END_USER))
    markdown.tail()
    return markdown.html()
