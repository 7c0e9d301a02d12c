"""Retention, special cases: places that could keep expired hidden text, and what must not break once it is gone."""

from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chatui.models.conversation import Conversation
from chatui.models.message import Author, Message
from chatui.models.tools import ToolApproval
from chatui.models.turn import Turn, TurnPiece
from chatui.models.user import User
from chatui.store import hidden_text, transcripts
from renderer.frames import Frame, Header, Intent, Role, Terminator
from renderer.ocml.frame_header import spelled
from tests.chatui.api.asking import Program, json_of, new_key
from tests.chatui.store.test_hidden_text import SECRET, ask_question, forget, rows_with
from tests.support.environment import change
from tests.support.messages import add_message, open_branch
from tests.support.scripted import ANALYSIS, ScriptedBackend, answer, frame

pytestmark = pytest.mark.django_db(transaction=True)

CALL = Header(Role.ASSISTANT, "commentary", recipient="functions.weather", call_id="call_1", constrain="json")
TOOLS = [{"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}]


@database_sync_to_async
def places_of(text: str) -> set[str]:
    return rows_with(text)


def stored(person: User, item: Frame, author: Author = Author.IMPORT) -> Message:
    return add_message(Conversation.objects.create(owner=person), None, item, author)


async def test_reasoning_passed_back_by_a_client_is_deleted_with_its_turn(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, {"hidden_days": 0})
    backend.script = answer("It is four.", SECRET)
    program = Program(await new_key(ada))
    first = await program.ask({"input": "What is two and two?", "include": ["reasoning.encrypted_content"]})
    thought = first["output"][0]
    assert thought["encrypted_content"], "the premise"
    backend.script = answer("Five.", "other")
    before = {"role": "user", "content": "What is two and two?"}
    await program.ask({"input": [before, thought, {"role": "user", "content": "Go on."}]})
    assert any(SECRET in each.body for each in backend.requests[-1].frames), "the premise: the model had it"
    assert await places_of(SECRET) == set()


async def test_imported_reasoning_expires_even_if_its_conversation_is_used(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, {"hidden_days": 0})
    row = await database_sync_to_async(stored)(ada, Frame(ANALYSIS, SECRET))
    await database_sync_to_async(open_branch)(row.conversation, ada, row)
    backend.script = answer("Four.")
    await ask_question(ada, "And?", row.conversation)
    assert await places_of(SECRET) == {"Message"}


@pytest.mark.parametrize("intent", [None, Intent.DEBUG])
async def test_text_that_quotes_the_placeholder_is_deleted_as_well(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch, intent: str | None
) -> None:
    change(monkeypatch, {"hidden_days": 0})
    header = Header(Role.ASSISTANT, "analysis", intent=intent)
    for text in ("{0} {1}", "{1} {0}", "{1}<|message|>{0}", "{0}<|end|>{1}", "<|message|>{0}<|foo {1}", "{0}<{1}<"):
        backend.script = [*frame(header, text.format(hidden_text.REMOVED, SECRET)), *answer("Four.")]
        await ask_question(ada, f"What does {hidden_text.REMOVED} mean?")
    assert await places_of(SECRET) == set()


async def test_pieces_and_call_arguments_are_deleted(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"hidden_days": 3})
    turn = await ask_question(ada)
    words = {"turn": turn, "call_id": "c1", "tool": "x", "title": "X", "fingerprint": "f", "decision": "once", "arguments": SECRET}
    await ToolApproval.objects.acreate(lapses_at=timezone.now(), **words)
    await TurnPiece.objects.acreate(turn=turn, number=1, frame=uuid4(), header="", text=SECRET)
    await forget(2.9)
    assert await places_of(SECRET) == {"ToolApproval", "TurnPiece"}
    await forget(3.1)
    assert await places_of(SECRET) == set()


async def test_a_reply_to_a_deleted_call_is_refused(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"hidden_days": 0})
    program = Program(await new_key(ada))
    firsts = []
    for _ in range(2):
        backend.script = [*frame(ANALYSIS, "think"), *frame(CALL, '{"city":"X"}', Terminator.CALL)]
        firsts.append(await program.ask({"input": "Weather?", "tools": TOOLS}))
    backend.script = answer("Sun.")

    async def reply(first: Any) -> tuple[int, object]:
        [call] = [item for item in first["output"] if item["type"] == "function_call"]
        output = {"type": "function_call_output", "call_id": call["call_id"], "output": "It is sunny"}
        response = await program.post("/v1/responses", {"input": [output], "previous_response_id": first["id"], "tools": TOOLS})
        return response.status_code, json_of(response)

    assert (await reply(firsts[0]))[0] == 200 and "It is sunny" in str([each.body for each in backend.requests[-1].frames])
    await forget(1.1)
    assert (await reply(firsts[1]))[0] == 400
    assert (await program.get(f"/v1/responses/{firsts[1]['id']}")).status_code == 200


def test_large_deletions_run_in_short_steps(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"hidden_days": 1})
    monkeypatch.setattr(hidden_text, "BATCH_ROWS", 2)
    for _ in range(7):
        row = stored(ada, Frame(ANALYSIS, SECRET), Author.MODEL)
        values = {"conversation": row.conversation, "question": row, "asked_by": ada, "client_id": uuid4(), "lease_until": timezone.now()}
        Turn.objects.create(state="completed", effort="low", request=b"x" * 100, **values)
    with CaptureQueriesContext(connection) as ran:
        hidden_text.forget_old(timezone.now() + timedelta(days=3))
    assert not rows_with(SECRET) and not Turn.objects.filter(request__isnull=False).exists()
    for table in ("chatui_turn", "chatui_message"):
        assert sum(query["sql"].startswith(f'UPDATE "{table}"') for query in ran) == 4


@pytest.mark.parametrize("days", [36_500, 20_900])
def test_the_longest_retention_setting_deletes_nothing(ada: User, monkeypatch: pytest.MonkeyPatch, days: int) -> None:
    stored(ada, Frame(ANALYSIS, SECRET))
    change(monkeypatch, {"hidden_days": days})
    call_command("purge", stdout=StringIO())
    assert rows_with(SECRET)


def test_an_unreadable_row_is_deleted_too(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"hidden_days": 1})
    row = stored(ada, Frame(ANALYSIS, SECRET), Author.MODEL)
    Message.objects.filter(pk=row.pk).update(text=SECRET)
    hidden_text.forget_old(timezone.now() + timedelta(days=3))
    assert not rows_with(SECRET)


@pytest.mark.parametrize("spare", range(0, 16, 3))
def test_columns_match_a_frame_with_a_nearly_too_long_header(ada: User, monkeypatch: pytest.MonkeyPatch, spare: int) -> None:
    change(monkeypatch, {"hidden_days": 1})
    short = Header(Role.TOOL, "commentary", recipient="assistant", call_id="c", name="n")
    name = "n" * (4096 - len(spelled(short)) + 1 - spare)
    row = stored(ada, Frame(Header(Role.TOOL, "commentary", recipient="assistant", call_id="c", name=name), SECRET))
    hidden_text.forget_old(timezone.now() + timedelta(days=3))
    row.refresh_from_db()
    now = transcripts.frame_of(row).header
    assert (now.role, now.channel, (now.name or "")[:128]) == (row.role, row.channel, row.name)


@pytest.mark.parametrize("role", ["developer", "system", "user"])
def test_model_text_under_an_exempt_role_is_deleted(ada: User, monkeypatch: pytest.MonkeyPatch, role: str) -> None:
    change(monkeypatch, {"hidden_days": 1})
    stored(ada, Frame(Header(role, "commentary", intent=Intent.DEBUG), SECRET), Author.MODEL)
    hidden_text.forget_old(timezone.now() + timedelta(days=3))
    assert not rows_with(SECRET)
