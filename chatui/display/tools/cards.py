"""The approval cards of tool calls, for the conversation's owner only: no share link, search, event or file contains them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chatui.display.tools.visible_text import visible
from chatui.env import environment
from chatui.models import Conversation, ToolApproval
from chatui.models.tools.approval import Decision
from chatui.models.turn import TurnState
from chatui.permissions import access
from renderer.gate import VisibleText, approval_text

MAX_CHARS = 20_000
"""The limit for all arguments of a call together. Nobody reads more, and a page with a hundred thousand escaped characters is slow."""
NAME_CHARS = 100
_CLOCK_DIFFERENCE = timedelta(seconds=1)
"""How much two clocks may differ: that of the waiting process, and that of the database, which sets the times."""
_IN_LINES = json.JSONEncoder(ensure_ascii=False, indent=2)


@dataclass(frozen=True, slots=True)
class ShownArgument:
    """One argument of a call: a text as it is, and any other value as JSON, which is always shown from left to right."""

    name: VisibleText = field(repr=False)
    text: VisibleText = field(repr=False)
    is_text: bool = True


@dataclass(frozen=True, slots=True)
class ShownCard:
    """The card of a call. ``outcome``: the decision, in words; empty while it waits. ``left_out``: how many characters of the arguments are
    not shown. ``has_escapes``: invisible characters are shown as escapes. ``hint``: what happens without a decision."""

    id: str
    title: VisibleText
    outcome: str
    arguments: tuple[ShownArgument, ...]
    left_out: int
    has_escapes: bool
    hint: str

    @property
    def is_waiting(self) -> bool:
        """Whether the call still waits for a decision."""
        return not self.outcome


def of_turns(keys: Iterable[UUID]) -> dict[UUID, list[ShownCard]]:
    """The cards of these turns, oldest first, by the key of the turn. One statement; none if there are no turns."""
    wanted = set(keys)
    found: dict[UUID, list[ShownCard]] = {}
    rows = ToolApproval.objects.filter(turn__in=wanted).exclude(arguments="").select_related("turn").defer("turn__request")
    for row in rows.order_by("asked_at", "pk") if wanted else ():
        found.setdefault(row.turn_id, []).append(card(row))
    return found


def of_turn(conversation: Conversation, turn_id: object) -> list[ShownCard]:
    """The cards of one turn of a conversation."""
    turn = access.turn_of(conversation, turn_id)
    return of_turns([turn.pk]).get(turn.pk, [])


def decisions_of(conversation: Conversation) -> dict[tuple[UUID | None, str], str]:
    """The decision about each call of a conversation, in words for staff, by turn and call id. Contains no arguments."""
    rows = ToolApproval.objects.filter(turn__conversation=conversation).only("turn", "call_id", "decision", "asked_at", "decided_at")
    return {(row.turn_id, row.call_id): _for_staff(row) for row in rows}


def _for_staff(row: ToolApproval) -> str:
    words = str(Decision(row.decision).label)
    if row.decided_at is None:
        return words
    seconds = number_format((row.decided_at - row.asked_at).total_seconds(), 1)
    return _("%(decision)s, after %(seconds)s s") % {"decision": words, "seconds": seconds}


def card(row: ToolApproval) -> ShownCard:
    """The card of one call. ``row`` must come with its turn."""
    values = json.loads(row.arguments)
    arguments, left_out, has_escapes = _arguments(values)
    decision = Decision(row.decision)
    return ShownCard(
        id=str(row.pk),
        title=approval_text(visible(row.title)),
        outcome=_ending(row.turn.state) if _is_cut_off(row, decision) else _outcome(decision),
        arguments=arguments,
        left_out=left_out,
        has_escapes=has_escapes,
        hint=_hint(environment().tool_approval_seconds),
    )


def _arguments(values: Mapping[str, object]) -> tuple[tuple[ShownArgument, ...], int, bool]:
    room, left_out, has_escapes = MAX_CHARS, 0, False
    shown = []
    for name, value in values.items():
        written = value if isinstance(value, str) else _json(value, room)
        # Cut before it is escaped, so that a long argument costs no more than the part that is shown.
        shown_text, label = written[:room], name[:NAME_CHARS]
        left_out += len(written) - len(shown_text) + len(name) - len(label)
        room -= len(shown_text)
        text, title = visible(shown_text), visible(label)
        has_escapes = has_escapes or (text, title) != (shown_text, label)
        shown.append(ShownArgument(approval_text(title), approval_text(text), isinstance(value, str)))
        if len(shown) == NAME_CHARS:
            # Names count too: a tool may accept any names, so they can carry data as well.
            left_out += sum(len(other) + len(str(each)) for other, each in list(values.items())[NAME_CHARS:])
            break
    return tuple(shown), left_out, has_escapes


def _json(value: object, room: int) -> str:
    """A value on several lines, or on one if that would not fit: the indentation of deep lists can be a thousand times their length."""
    pieces, length = [], 0
    for piece in _IN_LINES.iterencode(value):
        length += len(piece)
        if length > room:
            return json.dumps(value, ensure_ascii=False)
        pieces.append(piece)
    return "".join(pieces)


def _is_cut_off(row: ToolApproval, decision: Decision) -> bool:
    """Whether the answer ended while there was time to decide."""
    if decision is Decision.WAITING:
        return row.turn.state != TurnState.RUNNING
    return decision is Decision.LAPSED and row.decided_at is not None and row.decided_at + _CLOCK_DIFFERENCE < row.lapses_at


def _ending(state: str) -> str:
    """The outcome of a call that was not decided when the answer ended. A turn that is being stopped may still be running."""
    if state in (TurnState.STOPPED, TurnState.RUNNING):
        return _("The answer was stopped before you decided, so the call was not made.")
    return _("The answer ended before you decided, so the call was not made.")


def _outcome(decision: Decision) -> str:
    return {
        Decision.ONCE: _("You allowed this call."),
        Decision.ALWAYS: _("You allowed this tool for the whole conversation."),
        Decision.DECLINED: _("You declined this call."),
        Decision.NEVER: _("You declined this call, and switched the tool off in this conversation."),
        Decision.LAPSED: _("Nobody decided in time, so the call was declined."),
    }.get(decision, "")


def _hint(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    words = ngettext(
        "Without a decision, the call is declined after %(count)d minute.",
        "Without a decision, the call is declined after %(count)d minutes.",
        minutes,
    )
    return words % {"count": minutes}
