"""Renews the leases of this process's turns about once a second, all in one transaction, using the database's clock.

The same transaction stores the new text of their open frames, and checks which turns are still ours and which should stop. So a deletion
or a Stop in another process ends the request to the model within about a second, even if Redis is down.

These are two statements for all turns together. The first renews the leases, and finds the turns that no longer exist or must stop, because
of Stop, a deleted conversation or a closed account. The other appends the text that no message holds yet: in pieces, which are read after a
crash.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterable
from contextvars import Context
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db import OperationalError, transaction

from chatui.database import connections, pools
from chatui.database.connections import as_uuid
from chatui.database.faults import DatabaseBusyError, ends_one_statement, is_transient, outages
from chatui.database.statements import insert, locking, new, one_of, query
from chatui.models.keys import new_key
from chatui.models.turn import Turn, TurnPiece, TurnState
from chatui.wire.bus import PROCESS
from renderer import strict_json
from renderer.activities.activity import Activity, as_stored, by_place
from renderer.errors import OpenChatMLError
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import BROKEN, SUMMARY
from renderer.frames import Frame, Header
from renderer.ocml import document
from renderer.strict_json import JsonError

log = logging.getLogger(__name__)

OWNER = PROCESS
"""Identifies this process in leases."""

LEASE = timedelta(seconds=15)
TICK_SECONDS = 0.75
"""Less than a second, so that even with the time for the write itself a crash loses at most the last second of text."""

OUTAGE_SECONDS = 4.0


@dataclass(slots=True)
class _UnstoredFrame:
    """A frame that is not stored yet. ``header`` is None if the database has it already."""

    header: Header | None
    parts: list[str] = field(default_factory=list, repr=False)
    is_written: bool = False


class Pieces:
    """The unstored text of one turn. ``take`` every event; ``rows`` returns what to write now; ``drop`` a frame once it is stored."""

    def __init__(self, turn_id: UUID) -> None:
        self.are_written = False
        """Whether any row was ever asked for, and may be in the database."""
        self._turn_id = turn_id
        self._number = 0
        self._frames: dict[UUID, _UnstoredFrame] = {}
        self._open = _UnstoredFrame(None)
        self._returned: list[TurnPiece] = []

    @cached_property
    def summary(self) -> UUID:
        """The key of the frame that holds the lines about the turn's work."""
        return new_key()

    def take(self, event: RawEvent, key: UUID) -> None:
        if isinstance(event, FrameOpened):
            self._frames[key] = self._open = _UnstoredFrame(event.header)
            return
        frame = self._open
        match event:
            case FrameText(text=text):
                frame.parts.append(text)
            case FrameWithdrawn():
                frame.header = BROKEN
            case FrameClosed(header=Header() as header):
                frame.header = header

    def note_line(self, line: Activity, place: UUID | None) -> None:
        """A line that people see from now on. ``place``: the frame that a program saw before it."""
        frame = self._frames.setdefault(self.summary, _UnstoredFrame(SUMMARY))
        frame.parts.append(json.dumps(as_stored([line], [place] if place else ())) + "\n")

    def rows(self) -> list[TurnPiece]:
        """The rows to write: text since the last call, and rows that were put back."""
        found, self._returned = self._returned, []
        for key, frame in self._frames.items():
            if frame.parts or (frame.header is not None and frame.is_written):
                self._number += 1
                header = "" if frame.header is None else _dumped(frame.header)
                found.append(
                    new(TurnPiece, turn_id=self._turn_id, number=self._number, frame=key, header=header, text="".join(frame.parts))
                )
                frame.header, frame.parts, frame.is_written = None, [], True
        self.are_written = self.are_written or bool(found)
        return found

    def put_back(self, rows: list[TurnPiece]) -> None:
        """Return rows that may not have been written: they come again, with the same numbers."""
        self._returned = [row for row in rows if row.frame in self._frames] + self._returned

    def drop(self, key: UUID) -> None:
        """The frame is stored, or never will be."""
        self._frames.pop(key, None)
        self._returned = [row for row in self._returned if row.frame != key]


def lines_in(frame: Frame) -> tuple[list[Activity], list[UUID]] | None:
    """The lines about the turn's work that a frame of pieces holds, and the place of each, if a program saw them; None if the frame is no
    summary. No model writes a frame with that header (``sampling.ModelFrames``)."""
    if frame.header != SUMMARY:
        return None
    try:
        found = by_place([item for row in frame.body.splitlines() for item in strict_json.list_of(strict_json.loads(row))])
    except JsonError:
        return [], []  # lost, as the text of a frame that cannot be read
    places = [UUID(hex=place) for place, lines in found.items() if place for _ in lines]
    return [line for lines in found.values() for line in lines], places


def frames_in_pieces(turn: Turn) -> list[tuple[UUID, Frame]]:
    """The frames in a turn's pieces, in order, each with the key of its message. Text without a header is dropped."""
    headers: dict[UUID, str] = {}
    parts: dict[UUID, list[str]] = {}
    for piece in turn.pieces.order_by("number"):
        headers[piece.frame] = piece.header or headers.get(piece.frame, "")
        parts.setdefault(piece.frame, []).append(piece.text)
    found: list[tuple[UUID, Frame]] = []
    for key, texts in parts.items():
        try:
            found.append((key, Frame(document.parse_frame(headers[key]).header, "".join(texts))))
        except OpenChatMLError:
            # This text is lost, but the conversation must stay usable, and the server, which recovers turns at its start, must start.
            log.warning("turn %s: the pieces of a frame could not be read", turn.pk)
    return found


FRESH = timedelta(seconds=2)
"""How old the stored text may be: if the process could not write for longer, it may contain what has been withdrawn since."""


def fresh_pieces(turn: Turn) -> list[tuple[UUID, Frame]]:
    """As ``frames_in_pieces``, while the turn runs and its process writes; otherwise none."""
    if turn.state != TurnState.RUNNING:
        return []
    is_fresh = Turn.objects.filter(pk=turn.pk, lease_until__gt=connections.after(LEASE - FRESH)).exists()
    return frames_in_pieces(turn) if is_fresh else []


def _dumped(header: Header) -> str:
    try:
        return document.dump_frame(document.writable(Frame(header, "")))
    except OpenChatMLError:
        return ""


@dataclass(frozen=True, slots=True)
class LeasedTurn:
    """A turn that this process runs: its text that is not stored yet, and callbacks for a lost lease and for a request to stop."""

    pieces: Pieces
    lost: Callable[[], None]
    stop: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Renewed:
    """What became of the leases of the turns of this process."""

    ours: dict[UUID, bool]
    """The turns that still run here, and whether each should stop."""
    written: set[UUID]
    """Those whose lease and text are stored; the others were locked by another transaction at that moment."""


class Leases:
    """The turns of this process. Its task runs as long as there are any, on their event loop."""

    def __init__(self) -> None:
        self._turns: dict[UUID, LeasedTurn] = {}
        self._task: asyncio.Task[None] | None = None
        self._renewed_at = 0.0
        self._is_urgent = asyncio.Event()

    def hold(self, turn_id: UUID, turn: LeasedTurn) -> None:
        """Start renewing the lease of a turn that runs here."""
        self._turns[turn_id] = turn
        if self._task is None or self._task.done() or self._task.get_loop() is not asyncio.get_running_loop():
            self._is_urgent = asyncio.Event()
            self._renewed_at = time.monotonic()
            self._task = asyncio.create_task(self._renew_often(), name="leases", context=Context())

    def release(self, turn_id: UUID) -> None:
        self._turns.pop(turn_id, None)

    @property
    def may_be_lost(self) -> bool:
        """Whether others may have our turns: this process stood still for longer than a lease. In an outage nobody can take them."""
        seconds = time.monotonic() - self._renewed_at
        return seconds > LEASE.total_seconds() and outages.seconds_since() > seconds

    def keys(self) -> list[UUID]:
        """The turns that run here. Safe to call from any thread."""
        return list(self._turns)

    def renew_now(self) -> None:
        """Renew and write at once, because the stored text of an open frame is now wrong."""
        self._is_urgent.set()

    async def _renew_often(self) -> None:
        while self._turns:
            try:
                async with asyncio.timeout(TICK_SECONDS):
                    await self._is_urgent.wait()
            except TimeoutError:
                pass
            self._is_urgent.clear()
            if self._turns:
                await self._renew(dict(self._turns))

    async def _renew(self, turns: dict[UUID, LeasedTurn]) -> None:
        rows = {key: turn.pieces.rows() for key, turn in turns.items()}
        try:
            renewed = await pools.leases.run(renew, list(turns), [row for found in rows.values() for row in found])
        except Exception as error:  # noqa: BLE001 - whatever the cause, the next attempt may still come in time
            for key, turn in turns.items():
                turn.pieces.put_back(rows[key])
            if time.monotonic() - self._renewed_at > OUTAGE_SECONDS and (isinstance(error, DatabaseBusyError) or is_transient(error)):
                outages.record()  # other processes cannot renew theirs either
            log.warning("leases could not be renewed (%s)", type(error).__name__)
            return
        self._renewed_at = time.monotonic()
        for key, turn in turns.items():
            if key not in renewed.written:
                turn.pieces.put_back(rows[key])
            if key in self._turns:  # otherwise it has ended meanwhile
                _react(turn, is_ours=key in renewed.ours, is_to_stop=renewed.ours.get(key, False))


def _react(turn: LeasedTurn, *, is_ours: bool, is_to_stop: bool) -> None:
    if not is_ours:
        turn.lost()
    elif is_to_stop:
        turn.stop()


def renew(keys: list[UUID], rows: list[TurnPiece]) -> Renewed:
    """Renew the leases of these turns of this process, and store the pieces. Safe to repeat with the same pieces."""
    try:
        with transaction.atomic():
            return _renew(keys, rows)
    except OperationalError as error:
        if not ends_one_statement(error):
            raise
    # Another transaction has locked one of the rows: skip that one and write the others.
    with transaction.atomic():
        free = _ours("SELECT id FROM chatui_turn", keys, locking("chatui_turn", waits=False))
        renewed = _renew([as_uuid(key) for (key,) in free], rows)
        return Renewed(_states(_ours(f"SELECT {_STATE} FROM chatui_turn", keys)), renewed.written)  # noqa: S608 - all of it is ours


def _renew(keys: list[UUID], rows: list[TurnPiece]) -> Renewed:
    # The update comes first: its row locks keep others from ending one of these turns before its pieces are written.
    begin = f"UPDATE chatui_turn SET lease_until = {connections.after_sql(LEASE)}"  # noqa: S608 - so is this
    ours = _states(_ours(begin, keys, f" RETURNING {_STATE}"))
    insert([row for row in rows if row.turn_id in ours], "ON CONFLICT DO NOTHING")
    return Renewed(ours, set(ours))


def _ours(statement: str, keys: list[UUID], end: str = "") -> list[tuple[Any, ...]]:
    """The rows of a statement about those of these turns that run here."""
    return query(f"{statement} WHERE id {one_of(keys)} AND lease_owner = %s AND state = 'running'{end}", *keys, OWNER) if keys else []


def _states(rows: Iterable[tuple[Any, ...]]) -> dict[UUID, bool]:
    return {as_uuid(key): bool(is_to_stop) for key, is_to_stop in rows}


_STATE = (
    "id, stop_requested OR EXISTS (SELECT 1 FROM chatui_conversation WHERE id = conversation_id AND deleted_at IS NOT NULL) "
    "OR EXISTS (SELECT 1 FROM chatui_user WHERE id = asked_by_id AND NOT is_active)"
)
"""The key of a turn, and whether it must stop. Deleting a conversation also counts as a request to stop: what was shown is stored, so that
Undo can restore it. So does closing an account."""


leases = Leases()
"""The leases of this process."""
