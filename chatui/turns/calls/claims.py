"""Claims tool calls before they run, so that none runs twice, and replies to the calls of a turn whose process died.

Everything here must run inside a transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from chatui.models.message import Author
from chatui.models.tools import ToolCall
from chatui.models.turn import Turn
from chatui.store import opened_pages, transcripts
from chatui.tools import replies, rules
from chatui.tools.replies import Provenance
from chatui.tools.tool import EFFECT_UNKNOWN, Tool
from chatui.turns import ledger
from chatui.turns.calls import approvals
from chatui.turns.calls.requested import reply_frame, unanswered
from renderer.errors import Code
from renderer.frames import Role, Terminator
from renderer.markup.citations import CitableSource


def claim(turn: Turn, wanted: Sequence[tuple[UUID, str, Tool]]) -> set[str]:
    """Claim calls, each given as key, call id and tool. Returns the ids of the calls that are ours to run: none of a tool that was switched
    off, or whose confirmation was withdrawn, while the answer was written or the person decided.

    A claim is never given up. If this is run again because the result of a commit was lost, it finds its own keys.

    Raises:
        LeaseLostError: the turn has ended, or another process has it.
    """
    wanted = [each for each in wanted if not rules.is_off(each[2].offered_as) and (each[2].may_run is None or each[2].may_run())]
    ledger.check_ours(turn)
    rows = [ToolCall(pk=key, turn_id=turn.pk, call_id=call_id, tool=tool.name) for key, call_id, tool in wanted]
    ToolCall.objects.bulk_create(rows, ignore_conflicts=True)
    mine = ToolCall.objects.filter(pk__in=[key for key, *_ in wanted])
    return set(mine.values_list("call_id", flat=True))


def store_pages(turn: Turn, pages: Mapping[int, CitableSource]) -> None:
    """Store the pages that the turn opened.

    Raises:
        LeaseLostError: the turn has ended, or another process has it.
    """
    ledger.check_ours(turn)
    opened_pages.save(turn.pk, pages)


def reply_to_abandoned(turn: Turn) -> None:
    """Reply to the calls of a turn whose process died. The reply to a claimed call says that its result is unknown."""
    approvals.lapse(turn.pk)
    traffic = turn.messages.filter(terminator=Terminator.CALL) | turn.messages.filter(role=Role.TOOL)
    calls = unanswered([transcripts.frame_of(message) for message in traffic.order_by("position")])
    if not calls:
        return
    claimed = set(ToolCall.objects.filter(turn=turn).values_list("call_id", flat=True))
    metadata = transcripts.FrameMetadata(turn_id=turn.pk, error_code=Code.TOOL_CANCELLED)
    rows = []
    for frame in calls:
        sentence = _CLAIMED if frame.header.call_id in claimed else _NOT_BEGUN
        reply = replies.failed(Code.TOOL_CANCELLED, sentence, Provenance("chatui"))
        rows.append((reply_frame(frame.header, reply), Author.PRODUCT, metadata))
    last = turn.messages.latest("position")
    transcripts.follow(turn.asked_by_id, transcripts.append_chain(turn.conversation, last, rows)[-1], last.pk)


_CLAIMED = f"The server ended while the tool was at work. {EFFECT_UNKNOWN} It is not run again."
_NOT_BEGUN = "The server ended before the tool was run. It had no effect."
