"""The product's own tools in API requests: only those the key names, only those that need no approval, and invisible to the client."""

import json
from dataclasses import replace
from typing import Any

import pytest
from channels.db import database_sync_to_async

from chatui.models.message import Message
from chatui.models.user import User
from chatui.store import transcripts
from chatui.tools import catalogue
from tests.chatui.api.asking import Program, json_of, key_of, text_of
from tests.chatui.api.functions import CLOCK, calling, calls_of, ids_of
from tests.chatui.turns.calls.calling import RAN, call, fetch
from tests.support import offering
from tests.support.scripted import PREAMBLE, ScriptedBackend, answer, frame

pytestmark = pytest.mark.django_db(transaction=True)


async def asks_first(key: str) -> str:
    """Sends something out."""
    RAN.append(f"asked {key}")
    return key


async def not_named(key: str) -> str:
    """Is for others than the key."""
    RAN.append(f"not named {key}")
    return key


@pytest.fixture
def program(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> Program:
    RAN.clear()
    offering.offer(monkeypatch, fetch, asks_first, not_named, tools_without_approval=["fetch", "not_named"])
    backend.script = calling(call("fetch", "c1", key="marmalade"), preamble=frame(PREAMBLE, "I look."))
    backend.following = [answer("Done.")]
    return Program(key_of(ada, tools=("fetch", "asks_first")))


async def test_calling_one_satisfies_a_required_call(program: Program) -> None:
    response = await program.ask({"input": "Fetch it.", "tool_choice": "required"})
    assert RAN == ["marmalade"] and (response["status"], text_of(response)) == ("completed", "Done. ")
    assert text_of(json_of(await program.get(f"/v1/responses/{response['id']}"))) == "Done. "


async def test_a_tool_named_by_the_key_runs_invisibly(program: Program, backend: ScriptedBackend) -> None:
    events = await program.stream({"input": "Fetch it.", "reasoning": {"summary": "auto"}})
    found = events[-1]["response"]
    assert RAN == ["marmalade"] and text_of(found) == "Done. " and [tool.name for tool in backend.requests[0].tools] == ["fetch"]
    assert not calls_of(found) and "marmalade" not in json.dumps(events) and "MARMALADE" not in json.dumps(events)
    stored = json_of(await program.get(f"/v1/responses/{found['id']}"))
    items = json_of(await program.get(f"/v1/responses/{found['id']}/input_items"))
    again = await program.ask({"input": "Again?", "previous_response_id": found["id"]})
    later = json_of(await program.get(f"/v1/responses/{again['id']}/input_items"))
    assert "function_call" not in json.dumps([stored, items, later]) and "armalade" not in json.dumps([stored, items, later])
    assert {row.role async for row in Message.objects.filter(call_id__startswith="call_")} == {"assistant", "tool"}, (
        "the premise: staff can see it"
    )


@pytest.mark.parametrize("choice", ["none", {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "clock"}]}])
async def test_a_tool_choice_without_it_excludes_it(choice: object, program: Program, backend: ScriptedBackend) -> None:
    await program.ask({"input": "Fetch it.", "tools": [CLOCK], "tool_choice": choice})
    assert RAN == [] and "fetch" not in [tool.name for tool in backend.requests[0].tools]


async def test_a_key_without_tools_gets_none(ada: User, program: Program, backend: ScriptedBackend) -> None:
    other = Program(await database_sync_to_async(key_of)(ada))
    await other.ask({"input": "Fetch it."})
    assert RAN == [] and backend.requests[0].tools == ()


async def test_a_tool_that_needs_approval_is_never_offered(program: Program, backend: ScriptedBackend) -> None:
    backend.script = calling(call("asks_first", "c1", key="x"))
    answered = await program.ask({"input": "Send it."})
    assert RAN == [] and text_of(answered) == "Done. " and [tool.name for tool in backend.requests[0].tools] == ["fetch"]


async def test_parallel_calls_of_both_kinds(program: Program, backend: ScriptedBackend) -> None:
    backend.script = calling(call("fetch", "c1", key="marmalade"), call("clock", "c2"))
    found = await program.ask({"input": "?", "tools": [CLOCK]})
    assert calls_of(found) == [("clock", {})] and RAN == ["marmalade"] and "armalade" not in json.dumps(found)
    reply = {"type": "function_call_output", "call_id": ids_of(found)[0], "output": "noon"}
    second = await program.ask({"input": [reply], "previous_response_id": found["id"]})
    seen = [frame.body for frame in backend.requests[-1].frames if frame.header.role == "tool"]
    assert text_of(second) == "Done. " and len(seen) == 2 and "MARMALADE" in seen[0] and seen[1] == "noon"
    items = json.dumps(json_of(await program.get(f"/v1/responses/{second['id']}/input_items")))
    assert "noon" in items and "armalade" not in items and "MARMALADE" not in items


async def test_a_reply_that_is_sent_again_tells_nothing_of_replies_of_the_products_tools(program: Program) -> None:
    first = await program.ask({"input": "Fetch it."})
    stored = await Message.objects.aget(role="tool")
    codes = set()
    for guess in (transcripts.frame_of(stored).body, "another"):
        reply = {"type": "function_call_output", "call_id": stored.call_id, "output": guess}
        body = {"input": [reply, {"role": "user", "content": "?"}], "previous_response_id": first["id"]}
        codes.add(json_of(await program.post("/v1/responses", body)).get("error", {}).get("code"))
    assert codes == {"unknown_call"}


async def test_a_client_function_replaces_a_tool_of_the_same_name(program: Program, backend: ScriptedBackend) -> None:
    parameters = {"type": "object", "properties": {"key": {"type": "string"}}}
    own_tool: dict[str, Any] = {"type": "function", "name": "fetch", "parameters": parameters}
    found = await program.ask({"input": "?", "tools": [own_tool]})
    assert calls_of(found) == [("fetch", {"key": "marmalade"})] and RAN == [] and len(backend.requests[0].tools) == 1


@pytest.mark.parametrize(("facts", "offered"), [("neither", {"clock", "fetch"}), ("private", {"clock"}), ("outside", {"clock"})])
async def test_tools_that_read_or_send_are_not_combined_with_client_functions(
    facts: str, offered: set[str], ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    offering.offer(monkeypatch, fetch, tool_facts={"fetch": (facts,)})
    program = Program(await database_sync_to_async(key_of)(ada, tools=("fetch",)))
    await program.ask({"input": "?", "tools": [CLOCK]})
    await program.ask({"input": "?"})
    assert [{tool.name for tool in request.tools} for request in backend.requests] == [offered, {"fetch"}]


@pytest.fixture
def with_python(ada: User, monkeypatch: pytest.MonkeyPatch) -> Program:
    """A program whose key offers a tool that gpt-oss was trained to call ``python``."""
    tool = replace(offering.made(fetch, "run_python"), recipient="python")
    offering.offer(monkeypatch, fetch, tools=["python"], tools_without_approval=["python"], tool_facts={"python": ("neither",)})
    monkeypatch.setattr(catalogue, "tools", lambda: {"run_python": tool})
    return Program(key_of(ada, tools=("run_python",)))


async def test_a_function_with_the_trained_name_of_an_offered_tool_is_refused_by_name(with_python: Program) -> None:
    asked = {"input": "Calculate.", "tools": [{"type": "function", "name": "python"}]}
    response = await with_python.post("/v1/responses", asked)
    assert response.status_code == 400 and "The function python" in json_of(response)["error"]["message"]
