"""CHATUI_SUMMARY_GROUPS: who gets reasoning summaries. For others no model is asked, nothing is stored, and pages show the time alone."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import Group

from chatui.backends.base import Endpoint
from chatui.backends.responses.backend import ResponsesBackend
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.permissions import shares
from chatui.turns.opening import spec_for
from tests.chatui.api.asking import Program, new_key
from tests.chatui.backends.wire import BEGUN, ended, message_event, then
from tests.chatui.turns.test_summarized_turns import follow, summaries
from tests.support import stub
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.environment import change
from tests.support.sampling import PATIENT, outcome, sample_request
from tests.support.scripted import ScriptedBackend
from tests.support.summarizer import COMPARING, Summarizer, install, thinks

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]


@database_sync_to_async
def join(person: User, name: str) -> None:
    person.groups.add(Group.objects.get_or_create(name=name)[0])


async def test_an_outsider_gets_the_time_alone_and_no_model_is_asked(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, {"summary_groups": ["readers"]})
    gate, summarizer = asyncio.Event(), Summarizer("Counting")
    install(monkeypatch, backend, summarizer)
    backend.script = thinks(gate)
    async with BrowserSocket(ada) as socket:
        page = await follow(socket)
        await asyncio.sleep(0.5)
        gate.set()
        await page.until(*ENDS)
    assert (await page.turn()).state == "completed"
    assert page.lines == [] and summarizer.requests == [] and await summaries() == []


async def test_a_member_gets_summaries(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"summary_groups": ["readers"]})
    await join(ada, "readers")
    gate = asyncio.Event()
    install(monkeypatch, backend)
    backend.script = thinks(gate)
    async with BrowserSocket(ada) as socket:
        page = await follow(socket)
        await page.until_line()
        gate.set()
        await page.until(*ENDS)
    assert page.lines == [COMPARING]
    await database_sync_to_async(ada.groups.clear)()
    turn = await database_sync_to_async(lambda key: Turn.objects.select_related("asked_by").get(pk=key))((await page.turn()).pk)
    for groups, sums_up in ((["readers"], False), ([], True)):
        change(monkeypatch, {"summary_groups": groups})
        assert ((await database_sync_to_async(spec_for)(turn)).summaries == "built-in") is sums_up


async def test_a_member_of_another_group_is_an_outsider(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    await join(ada, "writers")
    for groups, is_member in ((["readers"], False), (["readers", "writers"], True)):
        change(monkeypatch, {"summary_groups": groups})
        assert await database_sync_to_async(shares.may_have_summaries)(ada) is is_member


async def test_an_outsiders_api_program_gets_an_empty_summary(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"summary_groups": ["readers"]})
    gate, summarizer = asyncio.Event(), Summarizer("Counting")
    install(monkeypatch, backend, summarizer)
    backend.script = thinks(gate)
    asyncio.get_running_loop().call_later(0.8, gate.set)
    response = await Program(await new_key(ada)).ask({"input": "How?", "reasoning": {"summary": "auto"}})
    assert [item["summary"] for item in response["output"] if item["type"] == "reasoning"] == [[]]
    assert summarizer.requests == [] and not backend.requests[0].wants_summary


@pytest.mark.parametrize("wants", [True, False])
async def test_a_server_trusted_with_summaries_is_not_asked_for_them(wants: bool) -> None:
    async with stub.running(then(BEGUN, message_event("Hi"), ended())) as server:
        backend = ResponsesBackend(Endpoint(server.url, model="m", limits=PATIENT), summaries_are_trusted=True)
        await outcome(backend, replace(sample_request("Hello!"), wants_summary=wants))
        await backend.aclose()
    assert ("summary" in server.posted["reasoning"]) is wants
