"""Every way in which a program can ask for raw reasoning, at every address: one attempt in the audit log, and an answer without it."""

from collections.abc import Mapping

import pytest

from chatui.api.request_parts import WAYS_TO_ASK
from chatui.api.urls import urlpatterns
from chatui.models.audit import AuditEvent
from chatui.models.user import User
from tests.chatui.api.asking import Program, json_of, key_of, whole
from tests.support.scripted import ScriptedBackend, answer

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "the hidden marmalade"
BODIES: Mapping[str, Mapping[str, object]] = {
    "/v1/responses": {"input": "?"},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "?"}]},
    "/v1/responses/compact": {"model": "demo", "input": "?"},
}
READ = {"/v1/responses/{}", "/v1/responses/{}?stream=false", "/v1/responses/{}/input_items"}
WITHOUT_ANSWERS = {"models", "models/<path:model_id>", "responses/<slug:answer_id>/cancel"}
IN_A_BODY: Mapping[str, tuple[object, ...]] = {
    "include": (["reasoning.content"], ["reasoning.encrypted_content", "reasoning.content"]),
    "include[]": (["reasoning.content"], "reasoning.content"),
    "include_reasoning": (True, "true"),
    "reasoning": ({"exclude": False},),
}
IN_A_QUERY = ("include=reasoning.content", "include=reasoning.encrypted_content&include=reasoning.content", "include[]=reasoning.content")
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
    assert IN_A_BODY.keys() == WAYS_TO_ASK.keys()
    asked = {path.removeprefix("/v1/").replace("{}", "<slug:answer_id>").partition("?")[0] for path in (*BODIES, *READ)}
    assert asked | WITHOUT_ANSWERS == {str(each.pattern) for each in urlpatterns}


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
        for query in IN_A_QUERY:
            address = path.format(stored)
            response = await program.get(f"{address}{'&' if '?' in address else '?'}{query}")
            assert response.status_code == 200 and len(attempts) == 1, (path, query)
            assert b"marmalade" not in await whole(response)
            attempts.clear()


async def test_the_line_says_who_asked_and_how(program: Program) -> None:
    assert "marmalade" not in str(
        json_of(await program.post("/v1/responses/compact", {"model": "demo", "input": "?", "include": ["reasoning.content"]}))
    )
    line = await AuditEvent.objects.aget(code="E-PERM-VISIBILITY")
    assert (line.actor_name, line.action, line.way) == ("ada", "asked for raw reasoning", "program")
