"""Requests of programs that come at once wait for their answers, apart from those of the key's owner, and only so many for so long."""

import asyncio
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.utils import timezone

from chatui.models.conversation import Conversation
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.turns import running
from tests.chatui.api.asking import Program, events_of, json_of, new_key, whole
from tests.support.environment import change
from tests.support.scripted import ANALYSIS, ScriptedBackend, answer, frame
from tests.support.turns import ask, begin

pytestmark = pytest.mark.django_db(transaction=True)

ASKED = {"input": "What is two and two?"}


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.01)


async def test_ten_requests_at_once_are_all_answered(program: Program, backend: ScriptedBackend) -> None:
    responses = await asyncio.gather(*(program.post("/v1/responses", ASKED | {"stream": number % 2 == 0}) for number in range(10)))
    bodies = await asyncio.gather(*map(whole, responses))
    assert [response.status_code for response in responses] == [200] * 10 and len(backend.requests) == 10
    assert all(b"Four." in body and b'error":{' not in body for body in bodies)


async def test_what_waits_is_apart_from_people_and_beyond_it_is_refused_with_a_time(
    program: Program, ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, {"api_at_once": 1, "api_waiting": 1, "max_running_answers": 1})
    gate = asyncio.Event()
    backend.script, backend.following = [*frame(ANALYSIS, "hm"), gate, *answer()], [answer(), answer()]
    first = asyncio.create_task(program.post("/v1/responses", ASKED))
    await asyncio.wait_for(backend.waiting.wait(), 20)
    second = await program.post("/v1/responses", ASKED | {"stream": True})
    assert second.status_code == 200, "a stream begins, and waits"
    refused = await program.post("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]})
    assert refused.status_code == 429 and json_of(refused)["error"]["code"] == "too_many_at_once"
    assert 1 <= int(refused.headers["Retry-After"]) <= 60 and refused.headers["x-ratelimit-limit-requests"] == "60"
    async with asyncio.timeout(20):
        while await Turn.objects.filter(is_queued=True).acount() != 1:
            await asyncio.sleep(0.01)
    assert len(backend.requests) == 1
    started = await begin(ada, ask())  # the person still has the place of a person
    await until(lambda: len(backend.requests) == 2)
    gate.set()
    assert (await first).status_code == 200
    assert events_of(await whole(second))[-1]["type"] == "response.completed"
    await running.settle()
    assert await Turn.objects.filter(pk=started.turn.pk, state="completed").aexists()
    assert (await program.post("/v1/responses", ASKED)).status_code == 200, "the places are free again"


async def test_whoever_waited_too_long_or_left_has_no_place_any_more(
    program: Program, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, {"api_at_once": 1, "api_wait_seconds": 0.2})
    gate = asyncio.Event()
    backend.script = [gate, *answer()]
    first = asyncio.create_task(program.post("/v1/responses", ASKED))
    await asyncio.wait_for(backend.waiting.wait(), 20)
    late = await program.post("/v1/responses", ASKED | {"store": False})
    assert late.status_code == 429 and late.headers["Retry-After"] and "x-should-retry" not in late.headers
    streamed = events_of(await whole(await program.post("/v1/responses", ASKED | {"stream": True})))
    assert streamed[-1]["type"] == "response.failed" and streamed[-2]["error"]["code"] == "too_many_at_once"
    assert len(backend.requests) == 1, "no model was asked for what was refused"
    gate.set()
    assert (await first).status_code == 200
    await running.settle()
    assert await Conversation.objects.acount() == 2


async def test_members_of_a_group_have_its_number_and_a_key_its_own(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, {"api_at_once": 1, "group_api_at_once": {"batch": 3}})
    await database_sync_to_async(lambda: ada.groups.create(name="batch"))()
    gate = asyncio.Event()
    backend.script = [gate, *answer()]
    wide, narrow = Program(await new_key(ada)), Program(await new_key(ada, at_once=1))
    posts = [asyncio.create_task(each.post("/v1/responses", ASKED)) for each in (narrow, narrow, wide, wide, wide)]
    async with asyncio.timeout(20):
        while await Turn.objects.filter(state="running").acount() < 5:
            await asyncio.sleep(0.01)
    await until(lambda: len(backend.requests) >= 3)
    assert len(backend.requests) == 3, "the other of the narrow key waits, and one of the others"
    gate.set()
    assert {(await post).status_code for post in posts} == {200}


async def test_several_answers_to_one_request_are_counted_in_what_is_said_to_be_left(ada: User, backend: ScriptedBackend) -> None:
    program = Program(await new_key(ada, per_minute=4))
    for left, status in (("1", 200), ("0", 429)):
        response = await program.post("/v1/chat/completions", {"messages": [{"role": "user", "content": "?"}], "n": 3})
        assert (response.status_code, response.headers["x-ratelimit-remaining-requests"]) == (status, left)


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/messages"])
async def test_each_response_says_how_many_requests_are_left_and_until_when(path: str, ada: User, backend: ScriptedBackend) -> None:
    """As OpenAI's and Anthropic's libraries read it, also where the request is refused for that."""
    program = Program(await new_key(ada, per_minute=2, for_messages=True))
    body: dict[str, Any] = ASKED if path == "/v1/responses" else {"messages": [{"role": "user", "content": "?"}], "max_tokens": 100}
    backend.following = [answer()]
    for left, status in (("1", 200), ("0", 200), ("0", 429)):
        response = await program.post(path, body)
        headers = response.headers
        assert response.status_code == status
        assert [headers[f"x-ratelimit-{name}-requests"] for name in ("limit", "remaining")] == ["2", left]
        found = re.fullmatch(r"(?:(\d)m)?(\d+)s", headers["x-ratelimit-reset-requests"])
        assert found and 0 < (seconds := 60 * int(found[1] or 0) + int(found[2])) <= 60
        assert status == 200 or int(headers["Retry-After"]) == seconds
        is_named = path == "/v1/messages"
        names = [f"anthropic-ratelimit-requests-{name}" for name in ("limit", "remaining", "reset")]
        assert [name in headers for name in names] == [is_named] * 3
        if is_named:
            ends = datetime.fromisoformat(headers[names[2]])
            assert headers[names[1]] == left and abs((ends - timezone.now()).total_seconds() - seconds) < 5
