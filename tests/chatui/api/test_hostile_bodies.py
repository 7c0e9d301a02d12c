"""Malicious request bodies: they are refused or cleaned, and delay nobody else."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.utils import timezone

from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.models.programs import ProgramAnswer
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.store import transcripts
from chatui.turns import running
from renderer.frames import Header, Role, Terminator
from tests.chatui.api.asking import Program, events_of, fields_of, json_of, key_of
from tests.support.limits import limit
from tests.support.other_processes import reap
from tests.support.program_requests import faults_looked_for
from tests.support.scripted import FINAL, PREAMBLE, ScriptedBackend, closed, ended, frame, open_frame, withdrawal

MAX_JSON_MARKS = limit("chatui.api", "MAX_JSON_MARKS")
MAX_MESSAGES = limit("chatui.api", "MAX_MESSAGES")

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def program(ada: User, backend: ScriptedBackend) -> Program:
    backend.script = [*frame(FINAL, "Yes.", Terminator.RETURN), ended()]
    return Program(key_of(ada))


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
@pytest.mark.parametrize("bad", ["\x00", "\ud800"])
async def test_request_text_never_contains_what_a_database_refuses(
    bad: str, encoding: str, program: Program, backend: ScriptedBackend
) -> None:
    items = [{"role": role, "content": f"a{bad}b"} for role in ("developer", "user")]
    body = json.dumps(
        {"model": "", "input": items, "instructions": f"i{bad}", "metadata": {f"n{bad}": bad}}, ensure_ascii=encoding == "ascii"
    )
    answer = await program.ask(body.encode(encoding, "surrogatepass" if encoding != "ascii" else "strict"))
    row = await ProgramAnswer.objects.aget()
    for text in (str(answer), row.orders, str(row.given), str([each.body for each in backend.requests[-1].frames])):
        assert bad not in text and repr(bad)[1:-1] not in text


@pytest.mark.parametrize("path", ["/responses", "/chat/completions"])
async def test_only_a_number_is_a_number_in_every_field_that_is_one(path: str, program: Program) -> None:
    numbers = [name for name, field in (await database_sync_to_async(fields_of)(path)).items() if _is_number(field)]
    assert {"temperature", "top_p", "top_logprobs"} < set(numbers) and len(numbers) >= 7
    body: dict[str, object] = {"input": "?", "messages": [{"role": "user", "content": "?"}]}
    for name, wrongs in {**dict.fromkeys(numbers, (True, False, "1", [1])), "stream": (1, 0, "true")}.items():
        for wrong in wrongs:
            refused = await program.post(f"/v1{path}", body | {name: wrong})
            assert (refused.status_code, json_of(refused)["error"]["param"]) == (400, name), (name, wrong)
    assert (await program.post(f"/v1{path}", body | dict.fromkeys(numbers, 1))).status_code == 200, "the twin"


def _is_number(field: dict[str, Any]) -> bool:
    return any(kind.get("type") in ("integer", "number") for kind in field.get("anyOf", [field]))


@pytest.mark.parametrize(
    "body",
    [
        {"input": [{"role": "user", "content": [{"type": []}]}]},
        {"input": [{"role": "user", "content": [{"type": {"a": 1}}]}]},
        {"input": [{"role": ["user"], "content": "x"}]},
        {"input": [{"type": [], "role": "user", "content": "x"}]},
        {"input": "x", "max_output_tokens": 10**100},
        {"messages": [{"role": "user", "content": "x"}], "reasoning": {"effort": []}},
        {"messages": [{"role": {"a": 1}, "content": "x"}]},
    ],
)
async def test_wrong_types_are_client_errors(body: dict[str, Any], program: Program) -> None:
    response = await program.post("/v1/chat/completions" if "messages" in body else "/v1/responses", body)
    assert response.status_code == 400 and not await Conversation.objects.aexists()


async def test_messages_are_stored_in_few_statements_and_bounded(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    chains: list[int] = []
    append = transcripts.append_chain

    def counted(conversation: Conversation, parent: Message | None, frames: Any) -> list[Message]:
        chains.append(len(frames))
        return append(conversation, parent, frames)

    monkeypatch.setattr(transcripts, "append_chain", counted)
    messages = [{"role": "user", "content": "a"}]
    await program.ask({"input": messages * 200})
    assert chains == [199]
    refused = await program.post("/v1/responses", {"input": messages * (MAX_MESSAGES + 1)})
    assert refused.status_code == 400 and json_of(refused)["error"]["code"] == "too_many_messages"


async def test_withdrawn_text_is_not_repeated_at_the_end(program: Program, backend: ScriptedBackend) -> None:
    withdrawn = asyncio.Event()
    backend.script = [*open_frame(PREAMBLE, "marmalade"), withdrawn, withdrawal(), closed(), ended()]
    response = await program.post("/v1/responses", {"input": "x", "stream": True})
    pieces = []
    async for piece in response.streaming_content:  # type: ignore[attr-defined]
        pieces.append(piece)
        if b"marmalade" in b"".join(pieces):
            withdrawn.set()
    assert withdrawn.is_set(), "the premise: it was shown"
    [end] = [event for event in events_of(b"".join(pieces)) if event["type"] == "response.failed"]
    assert "marmalade" not in json.dumps(end)


async def test_a_clients_turn_is_not_relaunched_without_its_client(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    await program.ask({"input": "x"})
    await running.settle()
    late = timezone.now() + timedelta(seconds=9)
    await Turn.objects.aupdate(state="running", lease_owner=limit("chatui.turns", "OWNER"), lease_until=late)
    with monkeypatch.context() as patch:
        patch.setattr(running, "known", list)  # as if this process had never launched it
        await reap()
    await running.settle()
    assert (await Turn.objects.aget()).state == "running"


async def test_a_body_of_more_values_than_can_be_read_at_once_is_refused_whatever_is_in_its_strings(program: Program) -> None:
    await program.ask({"input": "?", "unknown": ",[{" * MAX_JSON_MARKS})
    # The outer brackets, the name and the comma behind each value but the last count as well.
    fits = json.dumps({"input": [1] * (MAX_JSON_MARKS - 2)}).encode()
    assert json_of(await program.post("/v1/responses", fits))["error"]["code"] != "body_too_large"
    for body in (fits.replace(b"[1,", b"[1, 1,"), b'{"input": ' + b"[" * MAX_JSON_MARKS, b'{"a": "", ' * MAX_JSON_MARKS):
        refused = await program.post("/v1/responses", body)
        assert (refused.status_code, json_of(refused)["error"]["code"]) == (413, "body_too_large")


@pytest.mark.parametrize("codec", ["utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
async def test_a_body_in_another_encoding_whose_values_cannot_be_counted_is_refused(codec: str, program: Program) -> None:
    body = json.dumps({"model": None, "input": "\u2200", "unknown": [[]] * 10}, ensure_ascii=False)
    assert json.loads(body) == json.loads(body.encode(codec)), "Python would read it"
    answer = await program.post("/v1/responses", body.encode(codec))
    assert answer.status_code == (200 if codec == "utf-8" else 400)
    assert codec == "utf-8" or json_of(answer)["error"]["code"] == "invalid_json"


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/v1/responses", {"include": [1] * 9}),
        ("/v1/chat/completions", {"modalities": [1] * 9}),
        ("/v1/responses", {"metadata": dict.fromkeys("abcdefghi", 1)}),
        ("/v1/chat/completions", {"metadata": dict.fromkeys("abcdefghi", 1)}),
    ],
)
def test_only_the_first_wrong_item_of_a_field_is_looked_for(path: str, fields: dict[str, object]) -> None:
    assert faults_looked_for(path, fields) == 1


async def test_a_stored_answer_has_only_what_the_stream_had(program: Program, backend: ScriptedBackend) -> None:
    backend.script = [*frame(Header(Role.USER), "marmalade"), *frame(FINAL, "Yes.", Terminator.RETURN), ended()]
    answer = await program.ask({"input": "x"})
    again = json_of(await program.get(f"/v1/responses/{answer['id']}"))
    assert "Yes." in json.dumps(again) and "marmalade" not in json.dumps([answer, again])
