"""The Responses API for clients: whole and streamed, stored and continued, and never with reasoning."""

import asyncio
import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.models.programs import ApiKey, ProgramAnswer
from chatui.models.turn import Turn, TurnPiece
from chatui.models.user import User
from chatui.turns import running
from renderer.frames import Terminator
from tests.chatui.api.asking import Program, json_of, new_key, text_of, whole
from tests.chatui.turns.test_statements import IN_ALL
from tests.support.database import Statements
from tests.support.database import statements as statements  # a fixture
from tests.support.other_processes import reap
from tests.support.scripted import ANALYSIS, FINAL, PREAMBLE, ScriptedBackend, answer, ended, frame

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "the hidden marmalade"


@pytest.fixture
def program(key: str, backend: ScriptedBackend) -> Program:
    backend.script = [
        *frame(ANALYSIS, SECRET),
        *frame(PREAMBLE, "I shall look."),
        *frame(ANALYSIS, SECRET),
        *frame(FINAL, "It is four.", Terminator.RETURN),
        ended(),
    ]
    return Program(key)


async def test_a_response_has_the_answer_the_preamble_and_no_reasoning(program: Program) -> None:
    answer = await program.ask({"model": "demo", "input": "What is two and two?"})
    kinds = [(item["type"], item.get("phase")) for item in answer["output"]]
    assert kinds == [("reasoning", None), ("message", "commentary"), ("reasoning", None), ("message", "final_answer")]
    assert text_of(answer) == "It is four. " and answer["status"] == "completed" and answer["usage"]["output_tokens"] == 20
    assert "marmalade" not in json.dumps(answer) and answer["output"][0]["summary"] == []
    assert set(answer["output"][0]) == {"id", "type", "status", "summary"}


async def test_a_streamed_response_has_its_events_in_order(program: Program) -> None:
    events = await program.stream({"input": "What is two and two?"})
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    kinds = [event["type"].removeprefix("response.") for event in events]
    assert kinds[:3] == ["created", "in_progress", "output_item.added"] and kinds[-1] == "completed"
    assert "marmalade" not in json.dumps(events) and not any("reasoning.delta" in kind or "reasoning_text" in kind for kind in kinds)
    deltas = "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
    done = [event["text"] for event in events if event["type"] == "response.output_text.done"]
    assert deltas == "".join(done) == "I shall look. It is four. "
    items = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert events[-1]["response"]["output"] == items and [item["status"] for item in items] == ["completed"] * 4
    opened: set[int] = set()
    for event in events:
        if event["type"] == "response.output_item.added":
            assert event["output_index"] not in opened
            opened.add(event["output_index"])
        elif "output_index" in event:
            assert event["output_index"] == max(opened), "items do not interleave"


async def test_a_response_is_continued_read_again_and_deleted(program: Program, ada: User, backend: ScriptedBackend) -> None:
    first = await program.ask({"input": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "First?"}]})
    second = await program.ask({"input": "Second?", "previous_response_id": first["id"], "instructions": "In French."})
    sent = [(frame.header.role, frame.body) for frame in backend.requests[-1].frames]
    assert sent[0] == ("developer", "Be brief.\n\nIn French.") and sent[1] == ("user", "First?") and sent[-1] == ("user", "Second?")
    assert ("assistant", "It is four. ") in sent and SECRET not in str(sent)
    again = json_of(await program.get(f"/v1/responses/{first['id']}"))
    assert text_of(again) == text_of(first) and again["status"] == "completed" and "marmalade" not in json.dumps(again)
    items = json_of(await program.get(f"/v1/responses/{second['id']}/input_items?order=asc"))
    assert [item["role"] for item in items["data"]] == ["user", "assistant", "assistant", "user"] and "marmalade" not in json.dumps(items)
    row = await Conversation.objects.aget()
    assert row.owner_id == ada.pk and row.archived_at is not None, "its person finds it in the archive"
    assert json_of(await program.delete(f"/v1/responses/{first['id']}")) == {"id": first["id"], "object": "response", "deleted": True}
    for path in ("", "/input_items"):
        assert (await program.get(f"/v1/responses/{first['id']}{path}")).status_code == 404
    refused = await program.post("/v1/responses", {"input": "Third?", "previous_response_id": first["id"]})
    assert refused.status_code == 404 and json_of(refused)["error"]["code"] == "previous_response_not_found"
    assert (await program.get(f"/v1/responses/{second['id']}")).status_code == 200
    await program.delete(f"/v1/responses/{second['id']}")
    assert (await Conversation.objects.aget()).deleted_at is not None


async def test_other_peoples_responses_look_nonexistent(program: Program, bela: User) -> None:
    own = await program.ask({"input": "Mine?"})
    other = Program(await new_key(bela))
    for path in ("", "/input_items"):
        foreign, nothing = [json_of(await other.get(f"/v1/responses/{name}{path}")) for name in (own["id"], "resp_" + "0" * 32)]
        assert foreign == nothing
    assert (await other.delete(f"/v1/responses/{own['id']}")).status_code == 404
    assert (await other.post(f"/v1/responses/{own['id']}/cancel", {})).status_code == 404
    assert (await other.post("/v1/responses", {"input": "Yours?", "previous_response_id": own["id"]})).status_code == 404


async def test_an_unstored_response_leaves_nothing(program: Program, ada: User) -> None:
    answer = await program.ask({"input": "Keep nothing?", "store": False})
    assert text_of(answer) == "It is four. " and answer["store"] is False
    for _ in range(200):
        if not await Conversation.objects.aexists():
            break
        await asyncio.sleep(0.05)
    for table in (Conversation, Message, Turn, TurnPiece, ProgramAnswer):
        assert not await table.objects.aexists(), table
    assert (await program.get(f"/v1/responses/{answer['id']}")).status_code == 404


async def test_an_unstored_answer_is_erased_after_a_crash(program: Program) -> None:
    stored = await program.ask({"input": "Keep this."})
    for is_kept in (True, False):
        await ProgramAnswer.objects.aupdate(is_kept=is_kept)
        await reap()
        assert await Conversation.objects.aexists() is is_kept, stored["id"]


async def test_a_client_that_disconnects_stops_the_model(program: Program, backend: ScriptedBackend) -> None:
    never = asyncio.Event()
    backend.script = [*frame(FINAL, "Some words")[:-1], never]
    response = await program.post("/v1/responses", {"input": "Tell me all.", "stream": True})
    chunks: Any = aiter(response)  # type: ignore[arg-type]
    async for chunk in chunks:
        if b"output_text.delta" in chunk:
            break
    await asyncio.wait_for(backend.waiting.wait(), 10)
    await chunks.aclose()
    await sync_to_async(response.close)()  # as Django does
    await asyncio.wait_for(running.settle(), 10)
    turn = await Turn.objects.aget()
    assert backend.closed == 1 and turn.state == "stopped"


async def test_revoking_a_key_ends_a_running_stream(program: Program, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatui.api.answering.CHECK_SECONDS", 0.05)
    backend.script = [*frame(FINAL, "Some words")[:-1], asyncio.Event()]
    response = await program.post("/v1/responses", {"input": "Tell me all.", "stream": True})
    await User.objects.aupdate(is_active=False)
    body = await asyncio.wait_for(whole(response), 20)
    assert b'"response.failed"' in body and b"invalid_api_key" in body
    await asyncio.wait_for(running.settle(), 10)


@pytest.mark.parametrize(("path", "body"), [
    ("/v1/responses", {"input": "Hi"}), ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]}),
])  # fmt: skip
async def test_a_program_gets_comments_while_the_text_of_an_answer_is_held(
    program: Program, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch, path: str, body: dict[str, Any]
) -> None:
    monkeypatch.setattr("chatui.api.answering.CHECK_SECONDS", 0.05)
    backend.script = [asyncio.Event()]
    response = await program.post(path, body | {"stream": True})
    chunks: Any = aiter(response)  # type: ignore[arg-type]
    comments = 0
    async with asyncio.timeout(10):
        async for chunk in chunks:
            comments += chunk.startswith(b":")
            if comments == 2:
                break
    await chunks.aclose()
    await sync_to_async(response.close)()
    await asyncio.wait_for(running.settle(), 10)


async def test_a_response_is_cancelled_by_another_request(program: Program, backend: ScriptedBackend) -> None:
    backend.script = [*frame(FINAL, "Some words")[:-1], asyncio.Event()]
    response = await program.post("/v1/responses", {"input": "Tell me all.", "stream": True})
    reading = asyncio.create_task(whole(response))
    await asyncio.wait_for(backend.waiting.wait(), 10)
    row = await ProgramAnswer.objects.aget()
    cancelled = json_of(await program.post(f"/v1/responses/resp_{row.pk.hex}/cancel", {}))
    assert cancelled["status"] == "cancelled"
    body = await asyncio.wait_for(reading, 10)
    assert b"response.incomplete" in body and b'"status":"cancelled"' in body
    assert (await program.post(f"/v1/responses/resp_{row.pk.hex}/cancel", {})).status_code == 400


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("include", ["what is not known"]),
        ("frequency_penalty", -2.1),
        (
            "input",
            [{"type": "message", "role": "user", "content": "?"}, {"type": "function_call", "call_id": "c", "name": "f", "arguments": ""}],
        ),
        ("text", {"format": {"type": "grammar"}}),
        ("text", {"format": {"type": "json_schema", "name": "a"}}),
        ("temperature", 9),
        ("max_output_tokens", 0),
        ("input", []),
        ("input", 5),
        ("input", None),
        ("input", [{"role": "assistant", "content": "I end."}]),
        ("input", [{"type": "function_call_output", "call_id": "c", "output": "x"}]),
        ("input", [{"role": "wizard", "content": "x"}]),
        ("metadata", {"a": 1}),
        ("previous_response_id", "resp_x"),
        ("model", "no-such-model"),
    ],
)
async def test_unsupported_fields_are_refused_by_name(field: str, value: object, program: Program, backend: ScriptedBackend) -> None:
    response = await program.post("/v1/responses", {"input": "Hello"} | {field: value})
    error = json_of(response)["error"]
    assert response.status_code in (400, 404) and set(error) == {"message", "type", "param", "code"}
    assert str(error["param"]).startswith(field) and not backend.requests
    assert not await Conversation.objects.aexists()


async def test_settings_reach_the_model_and_are_echoed(program: Program, backend: ScriptedBackend) -> None:
    settings = {"temperature": 0.3, "top_p": 0.5, "max_output_tokens": 77, "reasoning": {"effort": "high"}, "metadata": {"a": "b"}}
    answer = await program.ask({"input": "Hello"} | settings)
    request = backend.requests[-1]
    assert (dict(request.sampling), request.max_tokens, request.effort) == ({"temperature": 0.3, "top_p": 0.5}, 77, "high")
    assert request.must_fit and {name: answer[name] for name in settings if name != "reasoning"} == {
        name: value for name, value in settings.items() if name != "reasoning"
    }
    again = json_of(await program.get(f"/v1/responses/{answer['id']}"))
    assert again["metadata"] == {"a": "b"} and again["reasoning"]["effort"] == "high"


async def test_text_waiting_for_a_slow_reader_is_dropped_once_the_key_is_revoked(
    program: Program, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatui.api.answering.CHECK_SECONDS", 0.05)
    response = await program.post("/v1/responses", {"input": "Tell me all.", "stream": True})
    chunks: Any = aiter(response)  # type: ignore[arg-type]
    for _ in range(3):
        await anext(chunks)
    await asyncio.wait_for(running.settle(), 10)
    await ApiKey.objects.aupdate(revoked_at="2026-01-01T00:00Z")
    await asyncio.sleep(0.1)
    rest = b"".join([chunk async for chunk in chunks])
    await sync_to_async(response.close)()
    assert b"It is four." not in rest and b'"response.failed"' in rest and b"invalid_api_key" in rest


async def test_a_conversation_that_its_owner_continued_stays(program: Program) -> None:
    first = await program.ask({"input": "First?"})
    await Conversation.objects.aupdate(archived_at=None)  # as when its owner asks in it
    second = await program.ask({"input": "Second?", "previous_response_id": first["id"]})
    assert (await Conversation.objects.aget()).archived_at is None
    for each in (second, first):
        await program.delete(f"/v1/responses/{each['id']}")
    assert (await Conversation.objects.aget()).deleted_at is None


# The SQL statements of an API request: as few as for a question on a page, and mostly compiled once.


async def test_a_response_takes_as_few_statements_as_a_turn_of_a_page(ada: User, backend: ScriptedBackend, statements: Statements) -> None:
    program = Program(await new_key(ada))
    for _ in range(2):
        mark = len(statements)
        backend.script = answer("Four.")
        await program.ask({"input": "What is two and two?"})
        await running.settle()
    assert 0 < len(statements) - mark <= IN_ALL, statements.since(mark)
