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
    """Has the writer carry something out, in a transaction."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]:
        """Its result."""


@dataclass(frozen=True, slots=True)
class End:
    """How a turn ends. ``has_pieces`` is asked behind everything else, when no more can be written."""

    job: Job
    outcome: Outcome
    account: Account
    has_pieces: Callable[[], bool]

    def store(self, last: LastFrames | None) -> Sequence[Message]:
        """Store the ``last`` frames, if there are any, and end the turn: a write for the writer. Returns their messages; none if an
        earlier commit, whose result was lost, did it all. Raises as ``ledger.keep``; nothing is stored then."""
        try:
            kept = self._kept(last) if last is not None else ()
        except LeaseLostError:
            # The turn is not running any more. If it has exactly this end, this process ended it: another one would have stored its own.
            if not ending.has_ended(self.job.turn_id, self.outcome.state, self.account.ended_at):
                raise
            return ()
        ledger.finish(self.job, self.outcome, self.account, has_pieces=self.has_pieces)
        return kept

    def _kept(self, last: LastFrames) -> Sequence[Message]:
        if self.job.asked.reserved_tokens is not None:
            # Whoever asks in the conversation locks the person's count before the branch that is open in it.
            settling.hold([self.job.asked_by_id])
        return ledger.keep(self.job, last.parents, last.written)


async def store(end: End, last: LastFrames, write: Write) -> tuple[Sequence[Message], Exception | None]:
    """Store both: the messages, and why the frames cannot be stored, where that is so; then the end is not stored either.

    Where both at once fail, the frames come first, by themselves: an end that is refused takes nothing along of what was written.

    Raises:
        LeaseLostError: the turn is not ours any more.
    """
    try:
        return await write(partial(end.store, last)), None
    except LeaseLostError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, the frames are tried once more
        log_without_content(log, end.job.turn_id, error)
    try:
        kept = await write(partial(ledger.keep, end.job, last.parents, last.written))
    except LeaseLostError:
        raise
    except Exception as error:  # noqa: BLE001 - said to the caller
        return (), error
    await write(partial(end.store, None))
    return kept, None
