"""CHATUI_SUMMARY_GROUPS: who gets reasoning summaries. For others no model is asked, nothing is stored, and pages show the plain line."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import Group

from chatui.backends.base import Endpoint
from chatui.backends.responses.backend import ResponsesBackend
from chatui.models.user import User
from chatui.permissions import shares
from chatui.turns.opening import spec_for
from renderer.frame_kinds import SUMMARY_NAME
from tests.chatui.api.asking import Program, new_key
from tests.chatui.backends.chat.test_backend import then
from tests.chatui.backends.responses.test_backend import BEGUN, ended, message_event
from tests.chatui.turns.test_summarizing import NEUTRAL, STEP, page_of, stored_messages, watch
from tests.support import stub
from tests.support.environment import change
from tests.support.sampling import PATIENT, outcome, sample_request
from tests.support.scripted import ScriptedBackend
from tests.support.summarizer import Summarizer, install, thinks

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]


@database_sync_to_async
def join(person: User, name: str) -> None:
    person.groups.add(Group.objects.get_or_create(name=name)[0])


async def test_an_outsider_gets_the_plain_line_and_no_model_is_asked(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, {"summary_groups": ["readers"]})
    gate, summarizer = asyncio.Event(), Summarizer(STEP, "none")
    install(monkeypatch, backend, summarizer)
    backend.script = thinks(gate)
    watched = await watch(ada, gate)
    assert watched.steps == [] and STEP not in watched.raw and summarizer.judged == 0
    assert SUMMARY_NAME not in [message.name for message in await stored_messages(watched.turn)]
    assert NEUTRAL.search(await page_of(ada, watched.turn))


async def test_a_member_gets_summaries_and_keeps_them_after_leaving(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, {"summary_groups": ["readers"]})
    await join(ada, "readers")
    gate, summarizer = asyncio.Event(), Summarizer(STEP, "none")
    install(monkeypatch, backend, summarizer)
    backend.script = thinks(gate)
    watched = await watch(ada, gate, lambda: summarizer.judged > 0)
    assert watched.steps == [STEP]
    await database_sync_to_async(ada.groups.clear)()
    assert STEP in await page_of(ada, watched.turn)
    turn = watched.turn
    for groups, sums_up in ((["readers"], False), ([], True)):
        change(monkeypatch, {"summary_groups": groups})
        assert ((await database_sync_to_async(spec_for)(turn)).summaries == "model") is sums_up


async def test_a_member_of_another_group_is_an_outsider(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    await join(ada, "writers")
    for groups, is_member in ((["readers"], False), (["readers", "writers"], True)):
        change(monkeypatch, {"summary_groups": groups})
        assert await database_sync_to_async(shares.may_have_summaries)(ada) is is_member


async def test_an_outsiders_api_program_gets_an_empty_summary(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"summary_groups": ["readers"]})
    gate, summarizer = asyncio.Event(), Summarizer(STEP, "none")
    install(monkeypatch, backend, summarizer)
    gate.set()
    backend.script = thinks(gate)
    response = await Program(await new_key(ada)).ask({"input": "How?", "reasoning": {"summary": "auto"}})
    assert [item["summary"] for item in response["output"] if item["type"] == "reasoning"] == [[]]
    assert summarizer.judged == 0 and not backend.requests[0].wants_summary


@pytest.mark.parametrize("wants", [True, False])
async def test_a_server_trusted_with_summaries_is_not_asked_for_them(wants: bool) -> None:
    async with stub.running(then(BEGUN, message_event("Hi"), ended())) as server:
        backend = ResponsesBackend(Endpoint(server.url, model="m", limits=PATIENT), summaries_are_trusted=True)
        await outcome(backend, replace(sample_request("Hello!"), wants_summary=wants))
        await backend.aclose()
    assert ("summary" in server.posted["reasoning"]) is wants
