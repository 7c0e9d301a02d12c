"""The answer of a running turn as its process has stored it, for pages in other processes while no events reach them.

The process stores its text about once a second, so these pages lag by that. Only the answer is shown this way. What people see before it
stays as it is: the summary, calls that wait for them, and the place in the queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from chatui import wire
from chatui.database import clock
from chatui.models import Turn
from chatui.models.turn import TurnState
from chatui.store import transcripts, turn_pieces
from chatui.store.browsing import opened_pages
from chatui.turns.leases import LEASE
from renderer.frame_kinds import is_answer
from renderer.frames import Frame
from renderer.gate import Audience, may_see
from renderer.markup.citations import CitableSource

FRESH = timedelta(seconds=2)
"""How old the stored text may be: if the process could not write for longer, it may contain what has been withdrawn since."""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The visible frames of a running turn, each with the key of its message, and the pages that they may cite."""

    turn_id: UUID
    frames: Sequence[tuple[UUID, Frame]] = field(repr=False)
    pages: dict[int, CitableSource] = field(default_factory=dict, repr=False)


def stored_answer(turn_id: UUID) -> StoredAnswer | None:
    """The answer so far; None before its first text, if the turn continues another one, and if what is stored is older than FRESH."""
    running = Turn.objects.filter(pk=turn_id, state=TurnState.RUNNING, continued_message=None)
    turn = running.filter(lease_until__gt=clock.after(LEASE - FRESH)).defer("request").first()
    if turn is None:
        return None
    # In this order: a frame that is completed meanwhile is in the pieces, in the messages, or in both.
    pieces = [(key, frame) for key, frame in turn_pieces.frames_of(turn) if frame.body and may_see(frame.header, Audience.END_USER)]
    stored = {message.pk: transcripts.frame_of(message) for message in turn.messages.filter(is_visible=True).order_by("position")}
    hidden = set(turn.messages.filter(is_visible=False, pk__in=[key for key, _ in pieces]).values_list("pk", flat=True))
    frames = [*stored.items(), *((key, frame) for key, frame in pieces if key not in stored and key not in hidden)]
    if not any(is_answer(frame.header) for _, frame in frames):
        return None
    return StoredAnswer(turn_id, frames, opened_pages.cited_by(turn.conversation_id, [frame.body for _, frame in frames]))


def snapshot_of(answer: StoredAnswer, messages: Sequence[wire.MessageSoFar]) -> wire.Snapshot:
    """The snapshot with the rendered ``messages``. It holds none of the turn's events, so a page that gets one again asks its process for a
    snapshot of its own."""
    shown = (tuple(messages), 0, False, 0, 0)
    return wire.Snapshot(str(answer.turn_id), 0, 0, False, (), None, *shown)
