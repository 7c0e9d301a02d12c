"""Background responses: polled, followed, and resumed after a disconnect with the same events under the same sequence numbers."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Permission
from django.http import HttpResponseBase

from chatui.database.faults import DatabaseBusyError
from chatui.models.programs import ApiKey
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.turns import running
from renderer.events import FrameClosed, FrameWithdrawn
from renderer.frames import Terminator
from tests.chatui.api.asking import Program, events_of, json_of, new_key, text_of, whole
from tests.support import background_answers
from tests.support.scripted import ANALYSIS, FINAL, PREAMBLE, ScriptedBackend, answer, frame

pytestmark = pytest.mark.django_db(transaction=True)

ASKED = {"input": "Take your time.", "background": True}
SECRET = "the hidden marmalade"


@pytest.fixture
def program(key: str, backend: ScriptedBackend) -> Iterator[Program]:
    backend.script = [*frame(PREAMBLE, "I shall look."), *answer("It is four.", SECRET)]
    yield Program(key)
    background_answers.forget()


async def ended(program: Program, answer_id: str) -> dict[str, Any]:
    """Poll until the response has ended."""
    for _ in range(400):
        found: dict[str, Any] = json_of(await program.get(f"/v1/responses/{answer_id}"))
        if found["status"] not in ("queued", "in_progress"):
            return found
        await asyncio.sleep(0.02)
    raise AssertionError("it does not end")


def may_see_hidden(person: User) -> User:
    person.is_staff = True
    person.save()
    person.user_permissions.add(Permission.objects.get(codename="view_hidden_channels"))
    return User.objects.get(pk=person.pk)


async def some(response: HttpResponseBase, until: bytes) -> AsyncIterator[bytes]:
    """Read a stream up to the chunk that contains ``until``, and disconnect."""
    chunks: Any = aiter(response)  # type: ignore[arg-type]
    async for chunk in chunks:
        yield chunk
        if until in chunk:
            break
    await chunks.aclose()
    await sync_to_async(response.close)()


async def test_a_background_response_is_written_and_polled(program: Program, backend: ScriptedBackend) -> None:
    wait = asyncio.Event()
    backend.script = [wait, *answer("It is four.", SECRET)]
    response = await program.ask(ASKED)
    assert (response["status"], response["background"], response["output"]) == ("queued", True, [])
    await asyncio.wait_for(backend.waiting.wait(), 10)
    assert json_of(await program.get(f"/v1/responses/{response['id']}"))["status"] == "queued"
    refused = await program.post("/v1/responses", {"input": "And now?", "previous_response_id": response["id"]})
    assert refused.status_code == 409 and "The previous response is still being written." in json_of(refused)["error"]["message"]
    wait.set()
    found = await ended(program, response["id"])
    assert found["status"] == "completed" and found["background"] is True and text_of(found) == "It is four. "
    assert "marmalade" not in json.dumps(found)


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_a_response_that_is_being_written_is_read_with_all_of_its_text_so_far_and_nothing_sealed(
    elsewhere: bool, program: Program, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the process that writes it, and through another, which has only what that one stores."""
    wait = asyncio.Event()
    script = [*frame(ANALYSIS, SECRET), *frame(PREAMBLE, "I look."), *frame(ANALYSIS, SECRET), *frame(FINAL, "It is")[:-1], wait]
    backend.script = [*script, *answer("four.", SECRET)[-3:]]
    response = await program.ask(ASKED | {"include": ["reasoning.encrypted_content"]})
    if elsewhere:
        background_answers.be_elsewhere(monkeypatch)
    await asyncio.wait_for(backend.waiting.wait(), 10)
    async with asyncio.timeout(20):
        while "It is " not in json.dumps(found := json_of(await program.get(f"/v1/responses/{response['id']}"))):
            assert found["status"] in ("queued", "in_progress") and bool(found["output"]) is (found["status"] == "in_progress")
            await asyncio.sleep(0.02)
    assert found["status"] == "in_progress" and [item["status"] for item in found["output"]] == [*["completed"] * 3, "in_progress"]
    assert text_of(found) == "It is " and "marmalade" not in json.dumps(found) and "encrypted_content" not in json.dumps(found)
    wait.set()
    whole = await ended(program, response["id"])
    assert text_of(whole).startswith("It is ")
    assert [item["id"] for item in whole["output"]] == [item["id"] for item in found["output"]], "the same items"


async def test_each_key_reads_of_a_response_that_is_being_written_what_it_may_see(
    ada: User, program: Program, backend: ScriptedBackend
) -> None:
    wait = asyncio.Event()
    backend.script = [*frame(ANALYSIS, SECRET), *frame(FINAL, "It is")[:-1], wait, *answer("four.", SECRET)[-3:]]
    response = await program.ask(ASKED)
    trusted = Program(await new_key(await sync_to_async(may_see_hidden)(ada), views_hidden=True, reads_all=True))
    path = f"/v1/responses/{response['id']}?include=reasoning.content"
    await asyncio.wait_for(backend.waiting.wait(), 10)
    async with asyncio.timeout(20):
        while "It is " not in (read := json.dumps(json_of(await trusted.get(path)))):
            await asyncio.sleep(0.02)
    assert SECRET in read, "the premise: the reasoning is stored by now"
    assert SECRET not in json.dumps(json_of(await program.get(path)))
    wait.set()
    await ended(program, response["id"])


async def test_an_abandoned_stream_resumes_without_a_gap(program: Program, backend: ScriptedBackend) -> None:
    wait = asyncio.Event()
    backend.script = [*frame(ANALYSIS, SECRET), *frame(FINAL, "It is")[:-1], wait, *answer("four.", SECRET)[-5:]]
    response = await program.post("/v1/responses", ASKED | {"stream": True})
    read = b"".join([chunk async for chunk in some(response, b"output_text.delta")])
    first = events_of(read + b"data: [DONE]\n\n")
    assert [event["type"] for event in first][:3] == ["response.created", "response.queued", "response.in_progress"]
    assert first[0]["response"]["status"] == first[1]["response"]["status"] == "queued"
    await asyncio.wait_for(backend.waiting.wait(), 10)
    path, last = f"/v1/responses/{first[0]['response']['id']}?stream=true", first[-1]["sequence_number"]
    following = asyncio.create_task(program.get(f"{path}&starting_after={last}"))
    wait.set()
    rest = events_of(await whole(await following))
    assert rest[-1]["type"] == "response.completed"
    assert [event["sequence_number"] for event in first + rest] == list(range(last + 1 + len(rest)))
    again = events_of(await whole(await program.get(path)))
    assert again == first + rest, "the same events under the same numbers, also after the end"
    deltas = "".join(event["delta"] for event in again if event["type"] == "response.output_text.delta")
    assert deltas == text_of(again[-1]["response"]) and "marmalade" not in json.dumps(again)
    behind = events_of(await whole(await program.get(f"{path}&starting_after={len(again) - 1}")))
    assert behind == []


async def test_withdrawn_text_is_not_sent_to_later_readers(program: Program, backend: ScriptedBackend) -> None:
    wait = asyncio.Event()
    backend.script = [*frame(FINAL, "Some marmalade")[:-1], wait, FrameWithdrawn(), FrameClosed(Terminator.END), *answer()]
    response = await program.post("/v1/responses", ASKED | {"stream": True})
    read = b"".join([chunk async for chunk in some(response, b"marmalade")])
    wait.set()
    first = events_of(read + b"data: [DONE]\n\n")
    found = await ended(program, first[0]["response"]["id"])
    again = await whole(await program.get(f"/v1/responses/{found['id']}?stream=true"))
    numbers = [event["sequence_number"] for event in events_of(again)]
    assert b"marmalade" not in again and numbers == list(range(len(numbers)))
    assert [event["type"] for event in events_of(again)][: len(first)] == [event["type"] for event in first]
    assert b"response.failed" in again


async def test_revoking_a_key_stops_its_responses(program: Program, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatui.api.answering.CHECK_SECONDS", 0.05)
    backend.script = [*frame(FINAL, "Some words")[:-1], asyncio.Event()]
    await program.ask(ASKED)
    await asyncio.wait_for(backend.waiting.wait(), 10)
    await ApiKey.objects.aupdate(revoked_at="2026-01-01T00:00Z")
    await asyncio.wait_for(running.settle(), 10)
    assert (await Turn.objects.aget()).state == "stopped"


async def test_a_key_that_cannot_be_checked_for_long_counts_as_revoked(
    program: Program, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(_: object) -> bool:
        raise DatabaseBusyError

    monkeypatch.setattr("chatui.api.answering.CHECK_SECONDS", 0.05)
    monkeypatch.setattr("chatui.api.answering.GRACE_SECONDS", 0.3)
    monkeypatch.setattr("chatui.accounts.key_admission.is_still_valid", busy)
    backend.script = [*frame(FINAL, "Some words")[:-1], asyncio.Event()]
    events = await asyncio.wait_for(program.stream({"input": "Tell me all."}), 20)
    assert events[-1]["type"] == "response.failed" and events[-2]["error"]["code"] == "server_busy"
    await asyncio.wait_for(running.settle(), 10)


async def test_only_the_owner_resumes_a_stream_and_only_a_few_at_once(program: Program, bela: User) -> None:
    response = await program.ask(ASKED)
    await ended(program, response["id"])
    path = f"/v1/responses/{response['id']}?stream=true"
    foreign, nothing = [await Program(await new_key(bela)).get(each) for each in (path, path.replace(response["id"], "resp_" + "0" * 32))]
    assert (foreign.status_code, json_of(foreign)) == (nothing.status_code, json_of(nothing)) and foreign.status_code == 404
    assert (await program.get(f"{path}&starting_after=-1")).status_code == 400
    owner = (await Turn.objects.aget()).asked_by_id
    with background_answers.many_readers(owner):
        assert (await program.get(path)).status_code == 429
        before = await Turn.objects.acount()
        assert (await program.post("/v1/responses", ASKED | {"stream": True})).status_code == 429
        assert await Turn.objects.acount() == before, "no answer is started that its owner could not follow"
    assert (await program.get(path)).status_code == 200
    await program.delete(f"/v1/responses/{response['id']}")
    assert (await program.get(path)).status_code == 404


async def test_a_stream_whose_process_does_not_answer_can_be_asked_for_again_until_the_response_ends(
    program: Program, backend: ScriptedBackend
) -> None:
    wait = asyncio.Event()
    backend.script = [wait, *answer("It is four.", SECRET)]
    begun = await program.ask(ASKED)
    path, turn = f"/v1/responses/{begun['id']}?stream=true", await Turn.objects.aget()
    background_answers.forget(begun["id"])
    await Turn.objects.aupdate(lease_owner="another process")
    refused = await program.get(path)
    assert (refused.status_code, refused["Retry-After"], json_of(refused)["error"]["code"]) == (503, "1", "server_busy")
    await Turn.objects.aupdate(lease_owner=turn.lease_owner)
    wait.set()
    await ended(program, begun["id"])
    await Turn.objects.aupdate(lease_owner="another process")
    refused = await program.get(path)
    assert (refused.status_code, json_of(refused)["error"]["code"]) == (400, "stream_not_available")


async def test_foreground_and_old_responses_are_read_as_a_whole(program: Program) -> None:
    for body in ({"input": "Now."}, ASKED):
        response = await program.ask(body)
        await ended(program, response["id"])
        background_answers.forget(response["id"])
        refused = await program.get(f"/v1/responses/{response['id']}?stream=true")
        assert refused.status_code == 400 and json_of(refused)["error"]["code"] == "stream_not_available"
    refused = await program.post("/v1/responses", ASKED | {"store": False})
    assert refused.status_code == 400 and json_of(refused)["error"]["param"] == "background"
