"""Renders the stored messages of a turn."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from chatui import wire
from renderer.frame_kinds import is_json, is_preamble, is_tool_line
from renderer.frames import Frame
from renderer.gate import Audience, show
from renderer.markup import html
from renderer.markup.citations import Pages
from renderer.markup.growing import GrowingMarkdown
from renderer.markup.html import SafeHtml


def messages_of(
    frames: Sequence[tuple[UUID, Frame]], cut: UUID | None, pages: Pages | None = None, unfinished: Collection[UUID] = ()
) -> list[wire.MessageSoFar]:
    """Render stored frames as messages. Call it in a thread: a long answer takes a second. ``cut``: the message that was cut off.
    ``pages``: those it may cite. ``unfinished``: the messages that are still being written, and are shown as in a stream, without what is
    not complete at their end."""
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
