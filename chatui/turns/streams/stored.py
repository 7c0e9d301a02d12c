"""The answer of a running turn as its process has stored it, for pages in other processes while no events reach them.

The process stores its text about once a second, so these pages lag by that. Only the answer is shown this way. What people see before it
stays as it is: the summary, calls that wait for them, and the place in the queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import DurationField, ExpressionWrapper, F
from django.utils import timezone

from chatui import wire
from chatui.database import connections
from chatui.models.turn import Turn, TurnState
from chatui.permissions import files
from chatui.store import opened_pages, transcripts
from chatui.turns.leases import FRESH, LEASE, frames_in_pieces
from chatui.turns.streams.end_user import kind_of
from renderer.frame_kinds import BROKEN, SUMMARY_NAME, is_answer, is_json
from renderer.frames import Frame
from renderer.gate import Audience, may_see, show
from renderer.markup import html
from renderer.markup.citations import CitableSource, Pages
from renderer.markup.growing import GrowingMarkdown
from renderer.markup.html import SafeHtml

BEFORE_ALL = -1
"""The sequence number of the snapshot. No event follows it, not even the first one (1): a page that gets an event again, from a Redis that
only stood still, must not add to this text what it contains already. It asks the turn's process for a snapshot."""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The visible frames of a running turn, each with the key of its message."""

    turn_id: UUID
    frames: Sequence[tuple[UUID, Frame]] = field(repr=False)
    pages: dict[int, CitableSource] = field(repr=False)
    """The pages that they may cite."""
    unfinished: frozenset[UUID]
    """The messages that are still being written."""
    seconds: float
    """How old the text may be."""
    elapsed: int
    """Milliseconds since the turn began."""
    has_withdrawn: bool
    """Whether text that was shown may have been withdrawn."""

    @property
    def has_answer(self) -> bool:
        return any(is_answer(frame.header) for _, frame in self.frames)


def stored_answer(turn_id: UUID) -> StoredAnswer | None:
    """What is stored of a turn; None if that may be older than FRESH, or the turn continues another one or has ended."""
    running = Turn.objects.filter(
        pk=turn_id, state=TurnState.RUNNING, continued_message=None, lease_until__gt=connections.after(LEASE - FRESH)
    )
    left = ExpressionWrapper(F("lease_until") - connections.now(), output_field=DurationField())
    turn = running.annotate(left=left).defer("request").first()
    if turn is None:
        return None
    # In this order: a frame that is completed meanwhile is in the pieces, in the messages, or in both.
    pieces = frames_in_pieces(turn)
    shown = [(key, frame) for key, frame in pieces if frame.body and may_see(frame.header, Audience.END_USER)]
    messages = turn.messages.filter(is_visible=True).exclude(name=SUMMARY_NAME)
    stored = {message.pk: transcripts.frame_of(message) for message in messages.order_by("position")}
    others = turn.messages.filter(is_visible=False)
    hidden = set(others.filter(pk__in=[key for key, _ in shown]).values_list("pk", flat=True))
    unfinished = {key: frame for key, frame in shown if key not in stored and key not in hidden}
    frames = [*stored.items(), *unfinished.items()]
    is_broken = any(frame.header == BROKEN for _, frame in pieces) or others.filter(channel=BROKEN.channel, intent=BROKEN.intent).exists()
    return StoredAnswer(
        turn_id,
        frames,
        dict(files.titled(turn.conversation, opened_pages.cited_by(turn.conversation_id, [frame.body for _, frame in frames]))),
        frozenset(unfinished),
        (LEASE - vars(turn)["left"]).total_seconds(),
        max(0, round((timezone.now() - turn.started_at).total_seconds() * 1000)),
        is_broken or bool(hidden),
    )


async def snapshot_of(answer: StoredAnswer) -> wire.Snapshot:
    """The answer as a snapshot that contains no event. Until the answer begins, the model is working."""
    messages = await asyncio.to_thread(messages_of, answer.frames, None, answer.pages, answer.unfinished)
    shown = (tuple(messages), 0, False, 0, 0)
    return wire.Snapshot(str(answer.turn_id), BEFORE_ALL, answer.elapsed, not answer.has_answer, (), None, *shown)


def messages_of(
    frames: Sequence[tuple[UUID, Frame]], cut: UUID | None, pages: Pages | None = None, unfinished: Collection[UUID] = ()
) -> list[wire.MessageSoFar]:
    """Render stored frames as messages. Call it in a thread: a long answer takes a second. ``cut``: the message that was cut off.
    ``pages``: those it may cite. ``unfinished``: the messages that are still being written, and are shown as in a stream, without what is
    not complete at their end."""
    messages = []
    for key, frame in frames:
        if key in unfinished:
            blocks = _unfinished(frame, pages)
        else:
            text = html.as_markdown(frame.header, show(frame, Audience.END_USER))
            blocks = html.render_blocks(text, is_cut=key == cut, pages=pages)
        messages.append(wire.MessageSoFar(str(key), kind_of(frame.header), blocks))
    return messages


def _unfinished(frame: Frame, pages: Pages | None) -> tuple[SafeHtml, ...]:
    markdown = GrowingMarkdown(pages or {}, is_json=is_json(frame.header))
    markdown.feed(show(frame, Audience.END_USER))
    markdown.tail()
    return markdown.html()
