"""Prepares the cards of tool calls for the conversation's owner, and stores the decisions on them.

A call's text is made safe to judge: every character in it is visible, and none can reorder the text. What a tool's server says to the
person is shown likewise, under the server's name. The cards are for the conversation's owner only: no share link, search, event or file
contains them. Only the first decision on a call counts, and it is written to the audit log.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as noop
from django.utils.translation import ngettext

from chatui.audit_log.record import Visitor, record
from chatui.database import connections
from chatui.display import tool_forms
from chatui.display.tool_forms import ShownForm
from chatui.display.tool_words import Prospect, argument_name, prospect, title_in_words
from chatui.models.conversation import Conversation
from chatui.models.tool_sign_in import ToolSignIn
from chatui.models.tools import CardKind, Decision, ToolApproval, ToolRule
from chatui.models.turn import Turn, TurnState
from chatui.permissions import access
from chatui.permissions.tools import own_approval
from chatui.tools.ask_person import ASK
from renderer.characters import escape
from renderer.gate import VisibleText, approval_text

MAX_CHARS = 20_000
"""The limit for all arguments of a call together. Nobody reads more, and a page with a hundred thousand escaped characters is slow."""
MAX_ARGUMENTS = 100
NAME_CHARS = 100
_CLOCK_DIFFERENCE = timedelta(seconds=1)
"""How much two clocks may differ: that of the waiting process, and that of the database, which sets the times."""
_IN_LINES = json.JSONEncoder(ensure_ascii=False, indent=2)


@dataclass(frozen=True, slots=True)
class ShownArgument:
    """One argument of a call: a text as it is, and any other value as JSON, which is always shown from left to right. ``size``: in words,
    of a value that may be longer than its place on the card, where its end could be overlooked below empty lines."""

    name: VisibleText = field(repr=False)
    text: VisibleText = field(repr=False)
    is_text: bool = True
    size: str = ""


@dataclass(frozen=True, slots=True)
class ShownCard:
    """The card of a call."""

    id: str
    title: VisibleText
    will: Prospect
    """What it will do."""
    outcome: str
    """The decision, in words; empty while it waits."""
    arguments: tuple[ShownArgument, ...]
    left_out: int
    """How many characters of the arguments are not shown."""
    has_escapes: bool
    """Whether invisible characters are shown as escapes."""
    hint: str
    """What happens without a decision, and when."""
    has_lapsed: bool
    """Whether nobody decided in time."""

    @property
    def is_waiting(self) -> bool:
        """Whether the call still waits for a decision."""
        return not self.outcome

    @property
    def outcomes(self) -> dict[str, str]:
        """What the card says after each decision, by the word that is sent for it."""
        return {word: _outcome(decision) for word, decision in _BY_WORD.items()}


@dataclass(frozen=True, slots=True)
class ShownText:
    """What a tool's server says to the owner, as plain text, and the server's name."""

    id: str
    title: VisibleText
    server_words: VisibleText = field(repr=False)


@dataclass(frozen=True, slots=True)
class ShownNeed:
    """That a call was not made, because it needs the owner's account at a tool's server."""

    id: str
    title: VisibleText
    account: str
    """The server's name."""
    is_connected: bool
    """Whether the account is there by now."""


AnyCard = ShownCard | ShownText | ShownNeed | ShownForm


Filled = tool_forms.Filled


def _empty(number: int) -> list[str]:
    """Nothing was filled in."""
    return []


def of_turns(keys: Iterable[UUID]) -> dict[UUID, list[AnyCard]]:
    """The cards of these turns, oldest first, by the key of the turn. One statement; none if there are no turns."""
    wanted = set(keys)
    by_turn: dict[UUID, list[AnyCard]] = {}
    rows = ToolApproval.objects.filter(turn__in=wanted).exclude(arguments="").select_related("turn").defer("turn__request")
    for row in rows.order_by("asked_at", "pk") if wanted else ():
        by_turn.setdefault(row.turn_id, []).append(_SHOWN[CardKind(row.kind)](row))
    return by_turn


def of_turn(conversation: Conversation, turn_id: object) -> list[AnyCard]:
    """The cards of one turn of a conversation."""
    turn = access.turn_of(conversation, turn_id)
    return of_turns([turn.pk]).get(turn.pk, [])


def decisions_of(conversation: Conversation) -> dict[tuple[UUID | None, str], str]:
    """The decision about each call of a conversation, in words for staff, by turn and call id. Contains no arguments."""
    rows = ToolApproval.objects.filter(turn__conversation=conversation, kind=CardKind.CALL).only(
        "turn", "call_id", "decision", "asked_at", "decided_at"
    )
    return {(row.turn_id, row.call_id): _for_staff(row) for row in rows}


def _for_staff(row: ToolApproval) -> str:
    words = str(Decision(row.decision).label)
    if row.decided_at is None:
        return words
    seconds = number_format((row.decided_at - row.asked_at).total_seconds(), 1)
    return _("%(decision)s, after %(seconds)s s") % {"decision": words, "seconds": seconds}


def _text(row: ToolApproval) -> ShownText:
    server_words = str(json.loads(row.arguments).get("text", ""))
    return ShownText(str(row.pk), approval_text(escape(row.title)), approval_text(escape(server_words, is_prose=True)))


def _need(row: ToolApproval) -> ShownNeed:
    server = str(json.loads(row.arguments).get("server", ""))
    signed_in = ToolSignIn.objects.filter(person=row.turn.asked_by_id, server__startswith=f"{server} ", connected_at__gt=row.asked_at)
    return ShownNeed(str(row.pk), approval_text(escape(row.title)), server, signed_in.exists())


def _form(row: ToolApproval) -> ShownForm:
    is_cut_off = _is_cut_off(row, Decision(row.decision))
    return tool_forms.shown(row, _ENDED if is_cut_off else "", (row.lapses_at - timezone.now()).total_seconds())


def card(row: ToolApproval) -> ShownCard:
    """The card of one call. ``row`` must come with its turn."""
    values = json.loads(row.arguments)
    arguments, left_out, has_escapes = _arguments(row.tool, values)
    title = title_in_words(row.title)
    decision = Decision(row.decision)
    is_cut_off = _is_cut_off(row, decision)
    return ShownCard(
        id=str(row.pk),
        title=approval_text(title),
        will=prospect(row, title, values),
        outcome=_ending(row.turn.state) if is_cut_off else _outcome(decision),
        arguments=arguments,
        left_out=left_out,
        has_escapes=has_escapes,
        hint=_hint((row.lapses_at - timezone.now()).total_seconds()),
        has_lapsed=decision is Decision.LAPSED and not is_cut_off,
    )


def _arguments(tool: str, values: Mapping[str, object]) -> tuple[tuple[ShownArgument, ...], int, bool]:
    """The first MAX_ARGUMENTS, as far as MAX_CHARS go; how many characters are left out; and whether a character was escaped."""
    room, left_out, has_escapes = MAX_CHARS, 0, False
    shown = []
    for name, value in values.items():
        written = value if isinstance(value, str) else _json(value, room)
        # Cut before it is escaped, so that a long argument costs no more than the part that is shown.
        shown_text, label = written[:room], name[:NAME_CHARS]
        left_out += len(written) - len(shown_text) + len(name) - len(label)
        room -= len(shown_text)
        text, title = escape(shown_text), escape(label)
        has_escapes = has_escapes or (text, title) != (shown_text, label)
        shown.append(ShownArgument(argument_name(tool, label), approval_text(text), isinstance(value, str), _size(written)))
        if len(shown) == MAX_ARGUMENTS:
            # Names count too: a tool may accept any names, so they can carry data as well.
            left_out += sum(len(other_name) + len(str(other)) for other_name, other in list(values.items())[MAX_ARGUMENTS:])
            break
    return tuple(shown), left_out, has_escapes


_FITS_CHARS, _FITS_LINES = 250, 8
"""What fits into the place of a value on a phone, in letters of any width."""


def _size(text: str) -> str:
    if len(text) <= _FITS_CHARS and text.count("\n") < _FITS_LINES:
        return ""
    return _("%(count)s characters in all.") % {"count": number_format(len(text), force_grouping=True)}


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


_ENDED = noop("The answer ended before you answered, so nothing was sent.")


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


def _hint(seconds_left: float) -> str:
    """Coarse, because the card is fetched again while it waits, and the line may then change."""
    if seconds_left < 60:
        return _("Without a decision, the call is declined in less than a minute.")
    minutes = round(seconds_left / 60)
    words = ngettext(
        "Without a decision, the call is declined in %(count)d minute.",
        "Without a decision, the call is declined in %(count)d minutes.",
        minutes,
    )
    return words % {"count": minutes}


_SHOWN: Mapping[CardKind, Callable[[ToolApproval], AnyCard]] = {
    CardKind.CALL: card,
    CardKind.TEXT: _text,
    CardKind.ACCOUNT: _need,
    CardKind.FORM: _form,
}
_BY_WORD = {each.value: each for each in (Decision.ONCE, Decision.ALWAYS, Decision.DECLINED, Decision.NEVER)}
_FOR_ALL = (Decision.ALWAYS, Decision.NEVER)


def decide(visitor: Visitor, conversation_id: UUID, approval_id: UUID, word: str, filled: Filled = _empty) -> Turn | None:
    """Decide about a call in the person's own conversation, or answer a form there. ``filled``: the texts that were sent for a field.
    Returns its turn, whose process must be notified; None if nothing has changed: it was already decided, its turn has ended, its time is
    over, or there is no such decision.

    Raises:
        FormError: what was filled in does not fit.
    """
    row = own_approval(visitor, conversation_id, approval_id)
    if row.kind == CardKind.FORM:
        return _answer(visitor, row, word, filled)
    decision = _BY_WORD.get(word)
    # A call that was not shown in full cannot be always allowed.
    if decision is None or (decision is Decision.ALWAYS and card(row).left_out):
        return None
    with transaction.atomic():
        if not _decide(row, decision):
            return None
        record("tool call decided", visitor, row.turn.conversation, detail=f"{row.tool}: {decision.value}")
    return row.turn


def _answer(visitor: Visitor, row: ToolApproval, word: str, filled: Filled) -> Turn | None:
    decision = tool_forms.BY_WORD.get(word)
    if decision is None:
        return None
    answer = tool_forms.answer(row, filled) if decision is Decision.ANSWERED else ""
    with transaction.atomic():
        decided = {"decision": decision, "answer": answer, "decided_at": connections.now()}
        if not _still_waiting().filter(pk=row.pk).update(**decided):
            return None
        record("tool call decided", visitor, row.turn.conversation, detail=f"{row.title or ASK.name}: {decision.value}")
    return row.turn


def _still_waiting() -> QuerySet[ToolApproval]:
    """What somebody can decide about now."""
    running = Turn.objects.filter(pk=OuterRef("turn"), state=TurnState.RUNNING)
    return ToolApproval.objects.filter(Exists(running), decision=Decision.WAITING, lapses_at__gt=connections.now())


def _decide(row: ToolApproval, decision: Decision) -> bool:
    """Store the decision in one statement, so that only one of several simultaneous decisions counts. Its condition is on the row itself,
    which PostgreSQL checks again after it has waited for a lock."""
    waiting = _still_waiting()
    decided = {"decision": decision, "decided_at": connections.now()}
    if not waiting.filter(pk=row.pk).update(**decided):
        return False
    if decision not in _FOR_ALL:
        return True
    is_allowed = decision is Decision.ALWAYS
    ToolRule.objects.update_or_create(
        conversation=row.turn.conversation,
        tool=row.tool,
        defaults={"is_allowed": is_allowed, "fingerprint": row.fingerprint if is_allowed else ""},
    )
    # The decision also applies to the other waiting calls of that tool in the turn.
    same = waiting.filter(turn=row.turn, tool=row.tool, fingerprint=row.fingerprint)
    same.update(**decided)
    return True
