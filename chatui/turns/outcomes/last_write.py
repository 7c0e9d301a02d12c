"""Stores a turn's last frames and its end in one write, which saves a commit for every answer."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from chatui.error_reports import log_without_content
from chatui.models import Message
from chatui.turns import ledger
from chatui.turns.frame_recorder import LastFrames
from chatui.turns.ledger import Account, Job, LeaseLostError, Outcome
from chatui.turns.statements import ending
from chatui.usage import settling

log = logging.getLogger(__name__)

T = TypeVar("T")


class Write(Protocol):
    """Runs work in the writer, in a transaction."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]:
        """The result of the work."""


@dataclass(frozen=True, slots=True)
class End:
    """How a turn ends. ``has_pieces`` is called last, when no more pieces can be written."""

    job: Job
    outcome: Outcome
    account: Account
    has_pieces: Callable[[], bool]

    def store(self, last: LastFrames | None) -> Sequence[Message]:
        """Store the ``last`` frames, if there are any, and end the turn. Run it in the writer. Returns the frames' messages; none if an
        earlier commit, whose result was lost, has already done it all.

        Raises:
            LeaseLostError: the turn is no longer ours. Nothing is stored.
        """
        try:
            stored = self._store_frames(last) if last is not None else ()
        except LeaseLostError:
            if not self._is_stored:
                raise
            return ()
        if not ledger.finish(self.job, self.outcome, self.account, has_pieces=self.has_pieces) and not self._is_stored:
            raise LeaseLostError
        return stored

    @property
    def _is_stored(self) -> bool:
        """Whether the turn has exactly this end. Then this process has ended it: any other would have stored a different end."""
        return ending.has_ended(self.job.turn_id, self.outcome.state, self.account.ended_at)

    def _store_frames(self, last: LastFrames) -> Sequence[Message]:
        if self.job.asked.reserved_tokens is not None:
            # The same lock order as for a new question, which locks the person's usage count before the open branch.
            settling.lock_counters([self.job.asked_by_id])
        return ledger.store_frames(self.job, last.parents, last.written)


async def store(end: End, last: LastFrames, write: Write) -> tuple[Sequence[Message], Exception | None]:
    """Store the last frames and the end. Returns the messages, and the error if the frames cannot be stored; then the end is not stored.

    If storing both at once fails, the frames are stored first, on their own, so that an end that cannot be stored does not lose them.

    Raises:
        LeaseLostError: the turn is no longer ours.
    """
    try:
        return await write(partial(end.store, last)), None
    except LeaseLostError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the error, the frames get a second try
        log_without_content(log, end.job.turn_id, error)
    try:
        stored = await write(partial(ledger.store_frames, end.job, last.parents, last.written))
    except LeaseLostError:
        raise
    except Exception as error:  # noqa: BLE001 - returned to the caller
        return (), error
    await write(partial(end.store, None))
    return stored, None
