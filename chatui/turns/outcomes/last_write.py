"""The last frames of a turn and its end, in one write: a commit less, and one wait for the writer less, for every answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chatui.models import Message
from chatui.turns import ledger
from chatui.turns.kept_frames import LastFrames
from chatui.turns.ledger import Account, Job, LeaseLostError, Outcome
from chatui.turns.statements import ending
from chatui.usage import settling


def finish(
    job: Job, outcome: Outcome, account: Account, has_pieces: Callable[[], bool], last: LastFrames | None = None
) -> Sequence[Message]:
    """Store the ``last`` frames, if there are any, and give the turn its end: a write for the writer. Returns their messages; none, where
    an attempt of which nobody heard has done it all.

    ``has_pieces`` is asked behind everything else, when no more can be written. Raises as ``ledger.keep``; nothing is stored then.
    """
    try:
        kept = _kept(job, last) if last is not None else ()
    except LeaseLostError:
        # Both are one transaction: where the one is stored, so is the other.
        if last is None or not ending.is_kept(last.written[-1][0]):
            raise
        return ()
    ledger.finish(job, outcome, account, has_pieces=has_pieces)
    return kept


def _kept(job: Job, last: LastFrames) -> Sequence[Message]:
    if job.asked.reserved_tokens is not None:
        # Whoever asks in the conversation locks the person's count before the branch that is open in it.
        settling.hold([job.asked_by_id])
    return ledger.keep(job, last.parents, last.written)
