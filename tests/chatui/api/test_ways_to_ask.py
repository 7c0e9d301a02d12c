"""Every way in which a program can ask for raw reasoning, at every address: one attempt in the audit log, and an answer without it."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any
from uuid import uuid4

import pytest

from chatui.models.audit import AuditEvent
from chatui.models.user import User
from tests.chatui.api.asking import Program, api_patterns, json_of, key_of, new_key, whole
from tests.support.limits import limit
from tests.support.scripted import ScriptedBackend, answer

RAW_REASONING_FIELDS = limit("chatui.api", "RAW_REASONING_FIELDS")

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "the hidden marmalade"
BODIES: Mapping[str, Mapping[str, object]] = {
    "/v1/responses": {"input": "?"},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "?"}]},
    "/v1/responses/compact": {"model": "demo", "input": "?"},
    "/v1/responses/input_tokens": {"input": "?"},
    "/v1/messages": {"max_tokens": 500, "messages": [{"role": "user", "content": "?"}]},
    "/v1/messages/count_tokens": {"messages": [{"role": "user", "content": "?"}]},
}
READ = {"/v1/responses/{}", "/v1/responses/{}?stream=false", "/v1/responses/{}/input_items"}
OF_CONVERSATIONS = ("conversations", *(f"conversations/<slug:conversation_id>{rest}" for rest in ("", "/items", "/items/<slug:item_id>")))
WITHOUT_ANSWERS = {"models", "models/<path:model_id>", "responses/<slug:answer_id>/cancel"}
IN_A_BODY: Mapping[str, tuple[object, ...]] = {
    "include": (["reasoning.content"], ["reasoning.encrypted_content", "reasoning.content"]),
    "include[]": (["reasoning.content"], "reasoning.content"),
    "include_reasoning": (True, "true"),
    "reasoning": ({"exclude": False},),
}
IN_A_QUERY = (
    *("include=reasoning.content", "include=reasoning.encrypted_content&include=reasoning.content", "include[]=reasoning.content"),
    *("include[0]=reasoning.content", "include_reasoning=true", "reasoning[exclude]=false", "reasoning.exclude=false"),
)
NOT_IN_A_QUERY = ("", "include=reasoning.encrypted_content", "include_reasoning=false", "reasoning.exclude=true", "includes=reasoning")
REFUSED: tuple[Mapping[str, object], ...] = (
    *({"input": value} for value in (7, [], [{"type": "message", "role": "user", "content": [{"type": "input_file"}]}])),
    *({"temperature": 9}, {"top_logprobs": 3}, {"model": "no such model"}, {"tools": [{"type": "acme:search"}]}, {"messages": "x"}),
)
NOT_ASKED: tuple[Mapping[str, object], ...] = ({}, {"include": ["reasoning.encrypted_content"]}, {"reasoning": {"effort": "low"}})


@pytest.fixture
def program(ada: User, backend: ScriptedBackend) -> Program:
    backend.script = answer("It is four.", SECRET)
    return Program(key_of(ada))


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    found: list[object] = []
    monkeypatch.setattr("chatui.permissions.programs.record_attempt", found.append)
    return found


async def test_the_tables_name_every_way_and_every_address() -> None:
    assert IN_A_BODY.keys() == RAW_REASONING_FIELDS.keys()
    asked = {path.removeprefix("/v1/").replace("{}", "<slug:answer_id>").partition("?")[0] for path in (*BODIES, *READ)}
    assert asked | WITHOUT_ANSWERS | {*OF_CONVERSATIONS} == {str(each.pattern) for each in api_patterns()}


@pytest.mark.parametrize("path", BODIES)
async def test_a_body_that_asks_is_one_attempt_and_is_answered_without(path: str, program: Program, attempts: list[object]) -> None:
    for fields in NOT_ASKED:
        response = await program.post(path, {**BODIES[path], "store": False, **fields})
        assert response.status_code == 200 and not attempts, fields
    for name, values in IN_A_BODY.items():
        for value in values:
            response = await program.post(path, {**BODIES[path], name: value})
            assert response.status_code == 200 and len(attempts) == 1, (name, value, await whole(response))
            assert b"marmalade" not in await whole(response) and b"reasoning_text" not in await whole(response)
            attempts.clear()


async def test_a_query_that_asks_is_one_attempt_and_is_answered_without(program: Program, attempts: list[object]) -> None:
    stored = (await program.ask({"input": "?"}))["id"]
    for path in READ:
        for query in IN_A_QUERY[:4]:
            address = path.format(stored)
            response = await program.get(f"{address}{'&' if '?' in address else '?'}{query}")
            assert response.status_code == 200 and len(attempts) == 1, (path, query)
            assert b"marmalade" not in await whole(response)
            attempts.clear()


async def test_what_is_read_of_a_conversation_has_none_of_it_however_it_is_asked_for(program: Program, attempts: list[object]) -> None:
    begun = json_of(await program.post("/v1/conversations", {}))["id"]
    await program.ask({"input": "?", "conversation": begun})
    items = json_of(await program.get(f"/v1/conversations/{begun}/items"))["data"]
    assert "It is four." in str(items), "the premise"
    addresses = [path.replace("<slug:conversation_id>", begun).replace("<slug:item_id>", items[0]["id"]) for path in OF_CONVERSATIONS[1:]]
    for address in addresses:
        for query in IN_A_QUERY[:4]:
            response = await program.get(f"/v1/{address}?{query}")
            assert response.status_code == 200 and len(attempts) == 1, (address, query)
            assert b"marmalade" not in await whole(response)
            attempts.clear()
    for address in OF_CONVERSATIONS[0], addresses[1]:
        await program.post(f"/v1/{address}", {"items": [{"role": "user", "content": "?"}], "include": ["reasoning.content"]})
        assert len(attempts) == 1, address
        attempts.clear()


async def test_a_query_is_an_attempt_at_any_address(program: Program, attempts: list[object]) -> None:
    calls: list[Callable[[str], Awaitable[Any]]] = [
        *(partial(lambda path, query: program.post(f"{path}?{query}", {**BODIES[path]}), path) for path in BODIES),
        *(
            partial(lambda path, query: program.get(f"{path}?{query}"), path)
            for path in ("/v1/models", "/v1/models/demo", "/v1/responses/x")
        ),
        lambda query: program.post(f"/v1/models?{query}", {}),  # a method that the address does not know
        lambda query: program.post(f"/v1/responses/{uuid4()}/cancel?{query}", {}),
        lambda query: program.post(f"/v1/responses?{query}", {"input": "?", "include": ["reasoning.content"]}),
    ]
    await whole(await calls[0]("include=reasoning.encrypted_content"))
    assert not attempts, "the premise"
    for number, call in enumerate(calls):
        for query in ("include[]=reasoning.content", "include=reasoning.content"):
            assert b"marmalade" not in await whole(await call(query))
            assert len(attempts) == 1, (number, query)
            attempts.clear()


async def test_a_query_asks_in_all_the_ways_in_which_libraries_write_it(program: Program, attempts: list[object]) -> None:
    for query in NOT_IN_A_QUERY:
        await program.get(f"/v1/models?{query}")
        assert not attempts, query
    for query in IN_A_QUERY:
        await program.get(f"/v1/models?{query}")
        assert len(attempts) == 1, query
        attempts.clear()


@pytest.mark.parametrize("path", BODIES)
async def test_a_body_that_is_refused_for_another_reason_is_an_attempt_all_the_same(
    path: str, program: Program, attempts: list[object]
) -> None:
    refused = 0
    for fields in REFUSED:
        if (await program.post(path, {**BODIES[path], **fields})).status_code >= 400:
            refused += 1
            assert not attempts, fields
            response = await program.post(path, {**BODIES[path], **fields, "include": ["reasoning.content"]})
            assert response.status_code >= 400 and len(attempts) == 1, fields
        attempts.clear()
    assert refused >= 2, "the premise"


async def test_a_key_for_another_format_asks_as_well(ada: User, attempts: list[object]) -> None:
    program = Program(await new_key(ada, for_responses=False))
    response = await program.post("/v1/responses", {"input": "?", "include": ["reasoning.content"]})
    assert response.status_code == 403 and len(attempts) == 1


async def test_the_line_says_who_asked_and_how(program: Program) -> None:
    assert "marmalade" not in str(
        json_of(await program.post("/v1/responses/compact", {"model": "demo", "input": "?", "include": ["reasoning.content"]}))
    )
    line = await AuditEvent.objects.aget(code="E-PERM-VISIBILITY")
    assert (line.actor_name, line.action, line.way) == ("ada", "asked for raw reasoning", "program")
