"""Rows of every table that a turn writes, written in plain SQL and read by it and by the ORM: on any database, nothing may differ."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import uuid4

from django.db import transaction
from django.db.models import F, Model
from django.db.models.functions import Now

from chatui.database import connections
from chatui.database.statements import insert, new, read, update
from chatui.models.conversation import ActiveLeaf, Conversation, Effort
from chatui.models.message import Author, Message, SearchEntry
from chatui.models.programs import ProgramAnswer
from chatui.models.turn import Turn, TurnState
from chatui.models.usage import UsageEntry, UsageKind
from chatui.models.user import User
from renderer.frames import Role, Terminator

MOMENT = datetime(2026, 2, 28, 23, 59, 59, 999_999, tzinfo=UTC)
TEXT = "100%s of 'it' \"said\" — 東京\n"
GIVEN: dict[str, Any] = {"names": ["é", None, 1.5, True], "none": {}}


def rows(person: User) -> list[Model]:
    """A conversation of this person with a message, a turn, and all that belongs to them."""
    conversation = new(
        Conversation, owner=person, title=TEXT, effort=Effort.LOW, sampled_with=GIVEN, temporary_until=MOMENT, is_pinned=True, folder=None
    )
    columns: dict[str, Any] = {"role": Role.USER, "terminator": Terminator.END, "author": Author.PERSON, "is_visible": True}
    message = new(Message, conversation=conversation, position=0, text=TEXT, raw=b"\0\xff", activities=[], created_at=MOMENT, **columns)
    turn = new(
        Turn, conversation=conversation, question=message, asked_by=person, client_id=uuid4(), effort="high", error_cause="", request=b"\0"
    )
    usage = {"kind": UsageKind.ANSWER, "output_tokens": 2**40, "is_estimate": True}
    return [
        conversation,
        message,
        turn,
        new(ActiveLeaf, conversation=conversation, person=person, message=message),
        new(SearchEntry, conversation_id=conversation.pk, message_id=message.pk, terms="said it"),
        new(UsageEntry, person_id=person.pk, day=date(2026, 2, 28), **usage),
        new(ProgramAnswer, id=uuid4(), turn=turn, is_kept=False, given=GIVEN),
    ]


def differences(person: User) -> list[str]:
    """What is read otherwise than it was written, and what plain SQL reads otherwise than the ORM."""
    found = []
    with transaction.atomic():
        for row in rows(person):
            insert([row], **({"lease_until": connections.after_sql(timedelta(seconds=15))} if isinstance(row, Turn) else {}))
            found += _differences(row, {each.attname: getattr(row, each.attname) for each in row._meta.concrete_fields})
        turn = Turn.objects.annotate(left=F("lease_until") - Now()).get()
        left: timedelta = turn.left  # type: ignore[attr-defined]
        found += [] if timedelta(seconds=10) < left < timedelta(seconds=20) else [f"lease of {left}"]
        changes = {"state": TurnState.STOPPED, "by_server": GIVEN, "request": None, "finished_at": MOMENT, "error_detail": TEXT}
        changed = [update("chatui_turn", changes, "id = %s AND lease_owner = %s", key, "") for key in (turn.pk, uuid4())]
        found += [] if changed == [1, 0] else [f"{changed} rows were changed"]
        found += _differences(turn, changes)
        models: list[type[Model]] = [User, *(type(row) for row in rows(person))]
        for model in models:
            found += _read_differences(model)
        found += _related_differences(turn)
    return found


def _related_differences(turn: Turn) -> list[str]:
    """Those of a row that is read with its turn and without some columns; first it has none."""
    found = []
    for key in (None, turn.pk):
        Message.objects.update(turn=key)
        [(ours, _)] = read(Message, "1 = 1", with_its="turn", without=("raw", "request"))
        theirs = Message.objects.select_related("turn").defer("raw", "turn__request").get()
        known = [ours._state.fields_cache, theirs._state.fields_cache]
        found += [f"{ours} is read otherwise"] if not _is_same(ours, theirs) or known[0].keys() != known[1].keys() else []
        is_same = _is_same(ours.turn, theirs.turn) if ours.turn and theirs.turn else not (ours.turn or theirs.turn or key)
        found += [] if is_same else [f"{ours.turn} is read otherwise"]
    return found


def _is_same(one: Model, two: Model) -> bool:
    return all(getattr(one, name) == getattr(two, name) for name in vars(one) if name != "_state") and (
        one.get_deferred_fields() == two.get_deferred_fields() and vars(one).keys() == vars(two).keys()
    )


def _read_differences(model: type[Model]) -> list[str]:
    read_rows, same = read(model, "1 = 1"), list(model.objects.filter(pk__isnull=False))  # type: ignore[attr-defined]
    found = [] if same and [more for _, more in read_rows] == [()] * len(same) else [f"{len(read_rows)} rows of {model.__name__}"]
    for (one, _), two in zip(read_rows, same, strict=False):
        known = (vars(row) | {"_state": (row._state.adding, row._state.db), "deferred": row.get_deferred_fields()} for row in (one, two))
        pairs = {name: tuple(_plain(each[name]) for each in (first, second)) for first, second in [known] for name in first | second}
        found += [
            f"{model.__name__}.{name} is read as {ours!r}, not {theirs!r}" for name, (ours, theirs) in pairs.items() if ours != theirs
        ]
    return found


def _differences(row: Model, written: dict[str, Any]) -> list[str]:
    again = type(row).objects.values().get(**({"pk": row.pk} if row.pk else {}))  # type: ignore[attr-defined]
    unread = {"lease_until"} | ({type(row)._meta.pk.attname} if type(row)._meta.auto_field else set())
    pairs = {name: (value, _plain(again[name])) for name, value in written.items() if name not in unread}
    return [f"{type(row).__name__}.{name}: {one!r} is {two!r}" for name, (one, two) in pairs.items() if one != two]


def _plain(value: object) -> object:
    return bytes(value) if isinstance(value, memoryview) else value
