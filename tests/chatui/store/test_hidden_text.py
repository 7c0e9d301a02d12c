"""Retention of hidden text: when it expires, its words are nowhere in the database, its place remains, and the conversation works."""

import zlib
from collections.abc import Iterable
from datetime import timedelta
from io import StringIO

import pytest
from channels.db import database_sync_to_async
from django.apps import apps
from django.core.management import call_command
from django.utils import timezone

from chatui.backends.base import BackendError
from chatui.codes import ProductCode
from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.message import Author, Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.store import hidden_text, transcripts
from renderer import frame_kinds
from renderer.activities.activity import Activity
from renderer.frames import Frame, Header, Intent, Role, Terminator
from renderer.gate import Audience, may_see
from renderer.history import frames_for_prompt
from renderer.ocml import document
from tests.chatui.store import pieces
from tests.support.environment import change
from tests.support.messages import add_message, branch_of
from tests.support.other_processes import reap
from tests.support.scripted import ANALYSIS, CALL, FINAL, PREAMBLE, REPLY, ScriptedBackend, Step, answer, frame
from tests.support.turns import ask, run, stored

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "quixotic-zeppelin"
LOOP: list[Step] = [*frame(PREAMBLE, "I look it up."), *frame(ANALYSIS, SECRET), *frame(CALL, f'{{"q":"{SECRET}"}}', Terminator.CALL)]
LOOP += [*frame(REPLY, SECRET), *answer("Four.", SECRET)]
HIDDEN = [
    ANALYSIS,
    Header(Role.ASSISTANT, "final", intent=Intent.STATUS),
    Header(Role.ASSISTANT, "final", recipient="functions.x"),
    Header(Role.ASSISTANT, "thought", content_type="text"),
    Header("oracle"),
    frame_kinds.BROKEN,
]


def named(header: Header) -> str:
    return "-".join(header.as_written().values())


async def ask_question(person: User, text: str = "What is 2 + 2?", conversation: Conversation | None = None) -> Turn:
    return await run(person, ask(text=text, conversation=conversation and conversation.pk))


@database_sync_to_async
def branch(turn: Turn, person: User) -> list[Message]:
    return branch_of(turn.conversation, person)


def rows_with(text: str) -> set[str]:
    """The tables in which ``text`` occurs, in any column, compressed or not."""
    found = set()
    for model in (each for each in apps.get_models() if not each._meta.proxy):
        for row in model._default_manager.values():
            values: Iterable[object] = row.values()
            if any(text in str(each) or (isinstance(each, bytes) and text.encode() in unpacked(each)) for each in values):
                found.add(model.__name__)
    return found


def unpacked(value: bytes) -> bytes:
    try:
        return zlib.decompress(value)
    except zlib.error:
        return value


@database_sync_to_async
def forget(days: float = 0.0) -> str:
    return hidden_text.forget_old(timezone.now() + timedelta(days=days))


async def test_hidden_text_expires_and_the_transcript_stays_valid(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend.script = LOOP
    turn = await ask_question(ada)
    await Turn.objects.filter(pk=turn.pk).aupdate(request=b"x", error_detail=SECRET)
    before = await branch(turn, ada)
    change(monkeypatch, {"hidden_days": 30})
    assert "of 0 messages" in await forget(29.9) and await database_sync_to_async(rows_with)(SECRET) == {"Message", "Turn"}
    assert "of 4 messages" in await forget(30.1)
    assert await database_sync_to_async(rows_with)(SECRET) == set()
    assert "of 0 messages" in await forget(30.1), "deleted text is not written again"

    after = await branch(turn, ada)
    assert [row.pk for row in after] == [row.pk for row in before]
    assert [row.text for row in after if row.is_visible] == [row.text for row in before if row.is_visible]
    assert [(row.role, row.channel, row.recipient, row.call_id, row.terminator, row.author) for row in after] == [
        (row.role, row.channel, row.recipient, row.call_id, row.terminator, row.author) for row in before
    ]
    frames = [transcripts.frame_of(row) for row in after]
    assert [frame.body for row, frame in zip(after, frames, strict=True) if not row.is_visible] == [
        hidden_text.REMOVED,
        hidden_text.REMOVED_CALL,
        *[hidden_text.REMOVED] * 2,
    ]
    whole = await database_sync_to_async(transcripts.document)(turn.conversation, after, Audience.DEBUG)
    assert list(document.parse(whole).frames) == frames and not document.check(whole).problems
    assert [item.body for item in frames_for_prompt(frames)] == ["What is 2 + 2?", "I look it up. ", "Four. "], "none is sent again"

    backend.script = answer("Five.")
    following = await ask_question(ada, "And one more?", turn.conversation)
    assert following.state == "completed"
    again = [item.body for item in backend.requests[-1].frames if item.header.role in (Role.USER, Role.ASSISTANT, Role.TOOL)]
    assert again == ["What is 2 + 2?", "I look it up. ", "Four. ", "And one more?"]


async def test_reasoning_is_deleted_with_its_turn_but_calls_stay_for_their_replies(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, {"hidden_days": 0})
    backend.script = [
        *frame(ANALYSIS, SECRET),
        *frame(CALL, '{"q":"kept"}', Terminator.CALL),
        *frame(REPLY, "kept"),
        *answer("Four.", SECRET),
    ]
    turn = await ask_question(ada)
    assert turn.state == "completed" and turn.request is None and turn.thought_seconds is not None
    assert await database_sync_to_async(rows_with)(SECRET) == set()
    bodies = [transcripts.frame_of(row).body.strip() for row in await branch(turn, ada) if not row.is_visible]
    assert bodies == [hidden_text.REMOVED, '{"q":"kept"}', "kept", hidden_text.REMOVED]
    assert "of 2 messages" in await forget(1.1)


@pytest.mark.parametrize(("days", "places"), [(0, set()), (30, {"Turn"})])
async def test_the_words_of_a_failing_server_which_may_quote_reasoning_are_stored_only_where_reasoning_is(
    days: int, places: set[str], ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, {"hidden_days": days})
    backend.script = [BackendError(ProductCode.BACKEND, f"the server quoted {SECRET}")]
    turn = await ask_question(ada)
    assert (turn.state, turn.error_code) == ("failed", ProductCode.BACKEND)
    assert await database_sync_to_async(rows_with)(SECRET) == places


async def test_reasoning_of_a_dead_process_is_deleted_when_its_turn_is_closed(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, {"hidden_days": 0})
    turn = (await stored(ada, ask(text="Hello"), "a process that died")).turn
    for channel, text in (("analysis", SECRET), ("final", "Half")):
        await database_sync_to_async(pieces.leave)(turn.pk, text, f"assistant<|channel|>{channel}")
    await reap()
    rows = [transcripts.frame_of(row).body async for row in Message.objects.filter(turn=turn).order_by("position")]
    assert rows == [hidden_text.REMOVED, "Half"] and await database_sync_to_async(rows_with)(SECRET) == set()


async def test_nothing_is_deleted_without_a_setting_or_from_a_running_turn(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend.script = answer("Four.", SECRET)
    turn = await ask_question(ada)
    assert await forget(36_500) == ""
    change(monkeypatch, {"hidden_days": 1})
    await Turn.objects.filter(pk=turn.pk).aupdate(state="running")
    assert "of 0 messages" in await forget(100)
    assert "Message" in await database_sync_to_async(rows_with)(SECRET)


@pytest.mark.parametrize("header", HIDDEN, ids=named)
def test_every_kind_of_hidden_frame_is_emptied_and_nothing_visible(ada: User, header: Header, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = Conversation.objects.create(owner=ada)
    row = add_message(talk, None, Frame(header, SECRET), Author.IMPORT)
    Message.objects.filter(pk=row.pk).update(raw=SECRET.encode())
    change(monkeypatch, {"hidden_days": 5})
    hidden_text.forget_old(timezone.now() + timedelta(days=6))
    row.refresh_from_db()
    frame_now = transcripts.frame_of(row)
    assert (row.raw, row.intent, row.is_visible, frame_now.body) == (None, "debug", False, hidden_text.REMOVED)
    assert (frame_now.header.role, frame_now.header.channel or "") == (row.role, row.channel) and not rows_with(SECRET)
    assert not any(may_see(frame_now.header, each) for each in Audience if each is not Audience.DEBUG)


@pytest.mark.parametrize(
    "header",
    [Header(Role.SYSTEM), Header(Role.DEVELOPER), Header(Role.USER), frame_kinds.NOTES, frame_kinds.DOCUMENT, FINAL, frame_kinds.SUMMARY],
    ids=repr,
)
def test_visible_text_and_text_of_operators_and_users_stays(ada: User, header: Header, monkeypatch: pytest.MonkeyPatch) -> None:
    row = add_message(Conversation.objects.create(owner=ada), None, Frame(header, "said"), Author.IMPORT)
    change(monkeypatch, {"hidden_days": 0})
    hidden_text.forget_old(timezone.now() + timedelta(days=60))
    assert transcripts.frame_of(Message.objects.get(pk=row.pk)).body == "said"


@pytest.mark.parametrize("lines", [None, (Activity("count"),)])
def test_of_summaries_only_those_of_earlier_versions_are_emptied(
    lines: tuple[Activity, ...] | None, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = Frame(frame_kinds.SUMMARY, "- Counting")
    row = add_message(Conversation.objects.create(owner=ada), None, frame, Author.PRODUCT, activities=lines)
    change(monkeypatch, {"hidden_days": 0})
    hidden_text.forget_old(timezone.now() + timedelta(days=60))
    assert ("Counting" in Message.objects.get(pk=row.pk).text) is (lines is not None)


def test_the_nightly_run_deletes_in_batches_and_is_logged_first(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = Conversation.objects.create(owner=ada)
    for _ in range(5):
        add_message(talk, None, Frame(ANALYSIS, SECRET), Author.MODEL)
    call_command("purge", stdout=StringIO())
    assert "hidden" not in AuditEvent.objects.get(action="retention run").detail and rows_with(SECRET)
    change(monkeypatch, {"hidden_days": 0})
    monkeypatch.setattr(hidden_text, "MIN_DAYS", -1)
    monkeypatch.setattr(hidden_text, "BATCH_ROWS", 2)
    out = StringIO()
    call_command("purge", stdout=out)
    assert "Took hidden text out of 5 messages stored before" in out.getvalue() and not rows_with(SECRET)
    assert "; hidden text stored before 20" in AuditEvent.objects.order_by("number").filter(action="retention run").last().detail  # type: ignore[union-attr]
