"""Prepares tool calls and tools for people: the approval cards, the decisions on them, and the tool menu at the message box.

A call's text is made safe to judge: every character in it is visible, and none can reorder the text. What a tool's server says to the
person is shown likewise, under the server's name. The cards are for the conversation's owner only: no share link, search, event or file
contains them. Only the first decision on a call counts, and it is written to the audit
log.

An API key can allow the tools of its owner that run without approval, because nobody is there to give one. The menu has the tools that are
on in a conversation, and which of them exclude each other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
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
from chatui.display.tool_words import Prospect, argument_name, own_title, prospect, title_in_words
from chatui.model_servers import choice, connected
from chatui.models.conversation import Conversation
from chatui.models.tool_sign_in import ToolSignIn
from chatui.models.tools import CardKind, Decision, ToolApproval, ToolRule
from chatui.models.turn import Turn, TurnState
from chatui.models.user import User
from chatui.permissions import access
from chatui.permissions.tools import ToolsHere, own_approval, server_tools_combine_with, tools_here
from chatui.permissions.tools import prompt_servers as may_ask_for_prompts
from chatui.permissions.tools import resource_servers as may_attach_from
from chatui.tools import catalogue, rules
from chatui.tools.ask_person import ASK
from chatui.tools.document_search import FIND
from chatui.tools.tool import Tool
from renderer.characters import escape
from renderer.gate import VisibleText, approval_text

MAX_CHARS = 20_000
"""The limit for all arguments of a call together. Nobody reads more, and a page with a hundred thousand escaped characters is slow."""
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
    said: VisibleText = field(repr=False)


@dataclass(frozen=True, slots=True)
class ShownNeed:
    """That a call was not made, because it needs the owner's account at a tool's server. ``account``: the server's name. ``is_connected``:
    it is there by now."""

    id: str
    title: VisibleText
    account: str
    is_connected: bool


AnyCard = ShownCard | ShownText | ShownNeed | ShownForm


Filled = tool_forms.Filled


def _empty(number: int) -> list[str]:
    """Nothing was filled in."""
    return []


def of_turns(keys: Iterable[UUID]) -> dict[UUID, list[AnyCard]]:
    """The cards of these turns, oldest first, by the key of the turn. One statement; none if there are no turns."""
    wanted = set(keys)
    found: dict[UUID, list[AnyCard]] = {}
    rows = ToolApproval.objects.filter(turn__in=wanted).exclude(arguments="").select_related("turn").defer("turn__request")
    for row in rows.order_by("asked_at", "pk") if wanted else ():
        found.setdefault(row.turn_id, []).append(_SHOWN[CardKind(row.kind)](row))
    return found


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
    said = str(json.loads(row.arguments).get("text", ""))
    return ShownText(str(row.pk), approval_text(escape(row.title)), approval_text(escape(said, is_prose=True)))


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
        if len(shown) == NAME_CHARS:
            # Names count too: a tool may accept any names, so they can carry data as well.
            left_out += sum(len(other) + len(str(each)) for other, each in list(values.items())[NAME_CHARS:])
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


def tools_for_keys(person: User) -> list[tuple[str, str]]:
    """The name and title of each tool, sorted by title. At most one statement."""
    is_demo = connected.is_demo()
    if not catalogue.has_any(is_demo=is_demo):
        return []
    found = [tool for tool in access.usable_tools(person, is_demo=is_demo).values() if catalogue.is_for_programs(tool)]
    return sorted(((tool.name, own_title(tool)) for tool in found), key=lambda each: each[1].casefold())


STATES = ("on", "off", "ask")
"""The choices for a tool: switch it on or off, or be asked again before each call."""


@dataclass(frozen=True, slots=True)
class ShownTool:
    """A tool in the menu. ``is_on``: the model may call it. ``can_be_on``: it can be switched on. ``note``: a remark about it.
    ``is_allowed``: it runs without approval, because the person always allowed it in this conversation."""

    name: str
    title: str
    is_on: bool
    can_be_on: bool
    is_allowed: bool
    note: str


@dataclass(frozen=True, slots=True)
class ShownTools:
    """All tools that a person is offered, by title. ``count``: how many of them the model may call. ``by_server``: the tools that the model
    server may use by itself, in words; they cannot be switched here."""

    all: tuple[ShownTool, ...]
    count: int
    by_server: str = ""


def has_tools(person: User) -> bool:
    """Whether a person is offered any tools, or a model server uses some by itself. At most two statements."""
    if choice.any_server_tools(person):
        return True
    is_demo = connected.is_demo()
    return catalogue.has_any(is_demo=is_demo) and bool(access.usable_tools(person, is_demo=is_demo))


def resource_servers(person: User) -> list[str]:
    """The names of the tool servers whose resources a person may attach. No statement without tool servers."""
    return may_attach_from(person, is_demo=connected.is_demo()) if rules.has_servers() else []


def prompt_servers(person: User) -> list[str]:
    """The names of the tool servers that a person may ask for prompts. No statement without tool servers."""
    return may_ask_for_prompts(person, is_demo=connected.is_demo()) if rules.has_servers() else []


def shown_tools(person: User, row: Conversation | None, model: str = "", off: Set[str] = frozenset(), on: str = "") -> ShownTools:
    """The tools for a conversation, or for a new one if ``row`` is None. ``model``: the one that is chosen at the message box, with the
    names of the tools that are ``off`` in a new conversation, and of the one that is now switched ``on``."""
    here = tools_here(person, row, is_demo=connected.is_demo())
    if row is None:
        here = replace(here, off=off)
        here = here.switched(on, is_on=True) if on else here
    by_server = choice.server_tools(person, model or (row.choice if row else ""))
    of_row = {rule.tool: rule for rule in ToolRule.objects.filter(conversation=row)} if row and here.offered else {}
    offered = here.together().offered
    shown = [_shown(tool, here, of_row.get(tool.name)) for tool in _in_menu(here)]
    return ShownTools(
        tuple(sorted(shown, key=lambda each: each.title.casefold())),
        sum(tool.is_on for tool in shown),
        _by_server(by_server, offered.values(), row),
    )


def tools_to_choose(person: User, chosen: Collection[str]) -> list[tuple[str, str]]:
    """The name and title of each tool in the person's menu, by title, then of those of ``chosen`` that are not in it any more."""
    offered = {tool.name: own_title(tool) for tool in _in_menu(tools_here(person, None, is_demo=connected.is_demo()))}
    gone = [(name, _("%(tool)s (not offered now)") % {"tool": title_of(name)}) for name in chosen if name not in offered]
    return [*sorted(offered.items(), key=lambda each: each[1].casefold()), *gone]


def title_of(name: str) -> str:
    """The title of the tool with that name, or the name, if there is no such tool any more."""
    tool = {**catalogue.of_demo(), **catalogue.tools()}.get(name)
    return own_title(tool) if tool else name


@dataclass(frozen=True, slots=True)
class BegunTools:
    """The tools of a new conversation with an assistant. ``off``: the names of those that are off, separated by commas. ``missing``: of its
    tools, the titles of those that the person is not offered."""

    off: str
    missing: tuple[str, ...]


def begun_with(person: User, wanted: Collection[str]) -> BegunTools:
    """Those that are wanted, among those that the person is offered. At most one statement."""
    offered = {tool.name for tool in _in_menu(tools_here(person, None, is_demo=connected.is_demo()))}
    return BegunTools(",".join(sorted(offered - set(wanted))), tuple(map(title_of, sorted(set(wanted) - offered))))


def _in_menu(here: ToolsHere) -> list[Tool]:
    """The search in the person's own documents is in no menu, and some tools are a part of another one there."""
    return [tool for name, tool in here.offered.items() if name != FIND.name and not tool.switched_with]


def _by_server(kinds: Collection[str], tools: Collection[Tool], row: Conversation | None) -> str:
    """The hosted tools in words; empty if there are none, or they may not be combined with the other tools of the conversation."""
    if not kinds or not server_tools_combine_with(tools, row):
        return ""
    known = {
        "web_search": _("web search"),
        "web_search_preview": _("web search"),
        "browser_search": _("web search"),
        "file_search": _("file search"),
        "code_interpreter": _("code execution"),
        "image_generation": _("image generation"),
    }
    return ", ".join(dict.fromkeys(known.get(kind) or escape(kind.replace("_", " ")) for kind in kinds))


def _shown(tool: Tool, here: ToolsHere, rule: ToolRule | None) -> ShownTool:
    offered = here.together().offered
    is_on, needs_approval = tool.name in offered, catalogue.needs_approval(tool)
    can_be_on = is_on or tool.name in here.switched(tool.name, is_on=True).together().offered
    is_allowed = rule is not None and rule.is_allowed and rule.fingerprint == tool.fingerprint and needs_approval
    others = ", ".join(own_title(each) for each in catalogue.against(tool, offered.values()))
    if not can_be_on:
        note = _(
            "Not available: this conversation has private data or text by others (a file, an import), and this tool could send data out."
        )
    elif not is_on:
        note = _("Turning this on turns off %(others)s: one could send out what the other reads.") % {"others": others} if others else ""
    elif is_allowed:
        note = _("Runs without asking you in this conversation.")
    else:
        note = _("You are asked before each call.") if needs_approval else ""
    return ShownTool(tool.name, own_title(tool), is_on, can_be_on, is_allowed, note)


def switch(person: User, conversation_id: object, name: str, state: str) -> Conversation:
    """Switch a tool on or off in the person's own conversation or have them asked again. One that goes on switches off what it excludes."""
    row = access.own_conversation(person, conversation_id)
    # Any valid name is accepted: the tool may have been available when the page was rendered.
    if state not in STATES or not _is_name(name):
        raise access.NotFoundError
    if state == "ask":
        # What goes on and off with the tool is part of it for people.
        parts = [each.name for each in catalogue.tools().values() if each.switched_with == name]
        ToolRule.objects.filter(conversation=row, tool__in=[name, *parts], is_allowed=True).delete()
        return row
    before = tools_here(person, row, is_demo=connected.is_demo())
    after = before.switched(name, is_on=state == "on")
    off = after.off | {name} if state == "off" else after.off
    ToolRule.objects.filter(conversation=row, tool__in=before.off - off, is_allowed=False).delete()
    for each in sorted(off - before.off):
        ToolRule.objects.update_or_create(conversation=row, tool=each, defaults={"is_allowed": False, "fingerprint": ""})
    return row


def _is_name(name: str) -> bool:
    return bool(catalogue.names_of(name)) and "," not in name
