"""Sealed reasoning that a client passes back without reading it, and clients that may read it: by permission, logged each time."""

import json
from typing import Any

import pytest
import pytest_django
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Permission

from chatui.models.audit import AuditEvent
from chatui.models.user import User
from tests.chatui.api.asking import Program, events_of, json_of, key_of, new_key, text_of, whole
from tests.support.scripted import ANALYSIS, PREAMBLE, ScriptedBackend, answer, frame

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "the hidden marmalade"
SEALED = {"include": ["reasoning.encrypted_content"], "store": False}
RAW = {"include": ["reasoning.content"]}


@pytest.fixture
def program(ada: User, backend: ScriptedBackend) -> Program:
    backend.script = answer("It is four.", SECRET)
    return Program(key_of(ada))


@pytest.fixture
def staff(ada: User) -> User:
    ada.is_staff = True
    ada.save()
    ada.user_permissions.add(Permission.objects.get(codename="view_hidden_channels"))
    return User.objects.get(pk=ada.pk)


def thoughts_in(backend: ScriptedBackend) -> list[str]:
    """The reasoning that the model was sent as its own."""
    return [frame.body for frame in backend.requests[-1].frames if frame.header.channel == "analysis"]


async def test_a_client_passes_back_reasoning_that_it_cannot_read(program: Program, backend: ScriptedBackend, bela: User) -> None:
    events = await program.stream({"input": "What is two and two?"} | SEALED)
    thought = events[-1]["response"]["output"][0]
    assert thought["type"] == "reasoning" and thought["encrypted_content"] and "marmalade" not in json.dumps(events)
    assert next(event["item"] for event in events if event["type"] == "response.output_item.done") == thought
    question = {"role": "user", "content": "What is two and two?"}
    body = {"input": [question, thought, {"role": "user", "content": "Go on."}]}
    await program.ask(body | SEALED)
    assert thoughts_in(backend) == [SECRET + " "], "the model continues from its reasoning"
    await program.ask({"input": [question, thought, events[-1]["response"]["output"][1], {"role": "user", "content": "And now?"}]})
    assert thoughts_in(backend) == [], "after an answer it is not sent again"
    await Program(await new_key(bela)).ask(body)
    assert thoughts_in(backend) == [], "somebody else's token is ignored"
    for forged in ("x", thought["encrypted_content"][:-8] + "AAAAAAAA", 5, None):
        await program.ask({"input": [question, thought | {"encrypted_content": forged, "content": [{"text": "FORGED"}]}, question]})
        assert thoughts_in(backend) == ["FORGED"], "what does not open is as if absent, and the rest is the program's own text"
    assert not await AuditEvent.objects.filter(code="E-PERM-VISIBILITY").aexists(), "which nobody asked to read"


async def test_a_trusted_key_reads_raw_reasoning_and_each_read_is_logged(staff: User, backend: ScriptedBackend) -> None:
    program = Program(await new_key(staff, views_hidden=True))
    backend.script = [*frame(ANALYSIS, SECRET), *frame(PREAMBLE, "I shall look."), *answer("It is four.", "more of it")]
    plain = await program.ask({"input": "?"})
    assert "marmalade" not in json.dumps(plain) and not await AuditEvent.objects.filter(action="raw reasoning to program").aexists()
    events = await program.stream({"input": "?"} | RAW)
    kinds = [event["type"].removeprefix("response.") for event in events]
    start_index = kinds.index("output_item.added")
    assert kinds[start_index + 1 : start_index + 3] == ["content_part.added", "reasoning_text.delta"]
    deltas = "".join(event["delta"] for event in events if event["type"] == "response.reasoning_text.delta")
    output = events[-1]["response"]["output"]
    thoughts = [item["content"][0]["text"] for item in output if item["type"] == "reasoning"]
    assert thoughts == [SECRET + " ", "more of it "] and deltas == "".join(thoughts) and text_of(events[-1]["response"]) == "It is four. "
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    path = f"/v1/responses/{events[-1]['response']['id']}"
    assert b"marmalade" not in await whole(await program.get(path))
    assert b"marmalade" in await whole(await program.get(f"{path}?include[]=reasoning.content"))
    lines = [line async for line in AuditEvent.objects.filter(action="raw reasoning to program")]
    assert [(line.actor_name, line.owner_name, line.code, line.way) for line in lines] == [("ada", "ada", "", "program")] * 2


async def test_its_events_have_the_names_of_the_schema_if_the_request_says_so(staff: User, backend: ScriptedBackend) -> None:
    program, kinds = Program(await new_key(staff, views_hidden=True)), dict[str, set[str]]()
    backend.script = answer("It is four.", SECRET)
    for names in ("openai", "open_responses"):
        for way in ({}, {"background": True}):
            events = await program.stream({"input": "?", "chatui:reasoning_events": names, **way} | RAW)
            found = {event["type"] for event in events if event.get("delta") and event["type"] != "response.output_text.delta"}
            assert kinds.setdefault(names, found) == found
    assert kinds == {"openai": {"response.reasoning_text.delta"}, "open_responses": {"response.reasoning.delta"}}
    refused = await program.post("/v1/responses", {"input": "?", "chatui:reasoning_events": "both"})
    assert refused.status_code == 400 and json_of(refused)["error"]["param"] == "chatui:reasoning_events"


CHAT = {"messages": [{"role": "user", "content": "?"}]}


async def test_a_trusted_key_gets_reasoning_with_a_chat_completion_unless_it_is_excluded(staff: User, backend: ScriptedBackend) -> None:
    program = Program(await new_key(staff, views_hidden=True))
    backend.script = [*frame(ANALYSIS, SECRET), *frame(PREAMBLE, "I shall look."), *answer("It is four.", "more of it")]
    completion = await program.ask(CHAT, "/v1/chat/completions")
    assert completion["choices"][0]["message"]["reasoning"] == f"{SECRET} \n\nmore of it "
    chunks = await program.stream(CHAT, "/v1/chat/completions")
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert "".join(delta.get("reasoning", "") for delta in deltas) == f"{SECRET} \n\nmore of it "
    assert "".join(delta.get("content", "") for delta in deltas) == completion["choices"][0]["message"]["content"]
    assert await AuditEvent.objects.filter(action="raw reasoning to program").acount() == 2
    for without in (
        {"reasoning": {"exclude": True}},
        {"reasoning": {"enabled": False}},
        {"include_reasoning": False},
        {"include_reasoning": "0"},
    ):
        assert "reasoning" not in (await program.ask(CHAT | without, "/v1/chat/completions"))["choices"][0]["message"]
    assert await AuditEvent.objects.filter(action="raw reasoning to program").acount() == 2
    assert not await AuditEvent.objects.filter(code="E-PERM-VISIBILITY").aexists()


async def test_reasoning_that_a_program_sends_back_is_read_until_there_is_an_answer(ada: User, backend: ScriptedBackend) -> None:
    program = Program(await new_key(ada))
    asked: dict[str, Any] = {"role": "user", "content": "?"}
    function = {"name": "clock", "arguments": "{}"}
    called = {
        "role": "assistant",
        "content": None,
        "reasoning": SECRET,
        "tool_calls": [{"id": "c", "type": "function", "function": function}],
    }
    loop = [asked, called, {"role": "tool", "tool_call_id": "c", "content": "noon"}]
    of_responses = [
        asked,
        {"type": "reasoning", "content": [{"type": "reasoning_text", "text": SECRET}]},
        {"type": "function_call", "call_id": "c", **function},
        {"type": "function_call_output", "call_id": "c", "output": "noon"},
    ]
    stored = ""
    for path, body in (("/v1/chat/completions", {"messages": loop}), ("/v1/responses", {"input": of_responses})):
        found = await program.ask(body, path)
        assert thoughts_in(backend) == [SECRET] and "marmalade" not in json.dumps(found)
        stored = found["id"]
    for later, thoughts in (([], [SECRET]), ([{"role": "assistant", "content": "Noon."}], [])):
        await program.ask({"messages": [*loop, *later, asked]}, "/v1/chat/completions")
        assert thoughts_in(backend) == thoughts, "until there is an answer"
    for path in (f"/v1/responses/{stored}", f"/v1/responses/{stored}/input_items", f"/v1/responses/{stored}?include=reasoning.content"):
        assert b"marmalade" not in await whole(await program.get(path))
    visible = {"type": "message", "role": "assistant", "content": [{"type": "reasoning_text", "text": SECRET}]}
    assert (await program.post("/v1/responses", {"input": [asked, visible, asked]})).status_code == 400, "it is no text of a message"


@pytest.mark.parametrize("lost", ["permission", "approval", "key"])
async def test_without_the_permission_a_trusted_key_is_an_ordinary_one(
    lost: str, staff: User, backend: ScriptedBackend, settings: pytest_django.Settings
) -> None:
    program = Program(await new_key(staff, views_hidden=lost != "key"))
    backend.script = answer("It is four.", SECRET)
    if lost == "permission":
        await sync_to_async(staff.user_permissions.clear)()
    elif lost == "approval":
        settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"debug_approval": True})
    stored = await program.ask({"input": "?"} | RAW)
    assert text_of(stored) == "It is four. " and "marmalade" not in json.dumps(stored)
    chat = await program.ask(CHAT, "/v1/chat/completions")
    assert "marmalade" not in json.dumps(chat) and "reasoning" not in json.dumps(chat)
    again = json_of(await program.get(f"/v1/responses/{stored['id']}?include=reasoning.content"))
    assert "marmalade" not in json.dumps(again) and text_of(again) == "It is four. "
    lines: list[Any] = [line async for line in AuditEvent.objects.all()]
    assert [line.code for line in lines if line.action == "asked for raw reasoning"] == ["E-PERM-VISIBILITY"]
    assert not [line for line in lines if line.action == "raw reasoning to program"]


async def test_raw_reasoning_in_the_background_needs_the_permission_to_resume(staff: User, backend: ScriptedBackend) -> None:
    program = Program(await new_key(staff, views_hidden=True, reads_all=True))
    backend.script = answer("It is four.", SECRET)
    events = await program.stream({"input": "?", "background": True} | RAW)
    path = f"/v1/responses/{events[0]['response']['id']}?stream=true"
    assert events_of(await whole(await program.get(path))) == events
    assert await AuditEvent.objects.filter(action="raw reasoning to program").acount() == 2
    other = Program(await new_key(staff, reads_all=True))
    assert (await other.get(path.partition("?")[0])).status_code == 200
    refused = await other.get(path)
    assert refused.status_code == 403 and b"marmalade" not in await whole(refused)
    await sync_to_async(staff.user_permissions.clear)()
    assert (await program.get(path)).status_code == 403
    assert await AuditEvent.objects.filter(code="E-PERM-VISIBILITY").aexists()


@pytest.mark.parametrize("named", ["", "&include=reasoning.content"])
async def test_a_refused_stream_with_raw_reasoning_is_one_attempt(
    named: str, staff: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend.script = answer("It is four.", SECRET)
    trusted = Program(await new_key(staff, views_hidden=True, reads_all=True))
    events = await trusted.stream({"input": "?", "background": True} | RAW)
    attempts: list[object] = []
    monkeypatch.setattr("chatui.permissions.programs.record_attempt", attempts.append)
    other = Program(await new_key(staff, reads_all=True))
    refused = await other.get(f"/v1/responses/{events[0]['response']['id']}?stream=true{named}")
    assert (refused.status_code, len(attempts)) == (403, 1)


async def test_making_a_trusted_key_needs_the_permission(ada: User) -> None:
    from chatui.permissions.access import NotFoundError

    with pytest.raises(NotFoundError):
        await new_key(ada, views_hidden=True)


async def test_stored_responses_belong_to_their_key_unless_another_may_read_all(program: Program, ada: User) -> None:
    stored = await program.ask({"input": "?"})
    other, all_of_them = Program(await new_key(ada)), Program(await new_key(ada, reads_all=True))
    path = f"/v1/responses/{stored['id']}"
    for address in (path, f"{path}/input_items"):
        assert (await other.get(address)).status_code == 404 and (await all_of_them.get(address)).status_code == 200
    for post in (f"{path}/cancel", "/v1/responses"):
        assert (await other.post(post, {"input": "?", "previous_response_id": stored["id"]})).status_code == 404
    assert (await other.delete(path)).status_code == 404
    assert (await all_of_them.post("/v1/responses", {"input": "?", "previous_response_id": stored["id"]})).status_code == 200
    assert (await all_of_them.delete(path)).status_code == 200
