"""The loop of a tool against a real llama.cpp server, over each wire format: it calls what is offered, and answers with the reply."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
import pytest_asyncio

from chatui.backends.base import Backend, Endpoint, EndReason
from chatui.backends.chat.backend import ChatCompletionsBackend
from chatui.backends.harmony.backend import HarmonyCompletionsBackend
from chatui.backends.responses.backend import ResponsesBackend
from renderer.frames import Frame, Header, Role, Terminator
from renderer.harmony.vocabulary import Vocabulary
from renderer.history import seen_again
from tests.chatui.backends.chat.test_recordings import PARIS, PLAN, TOKYO
from tests.llama.test_chat import LIMITS
from tests.llama.test_harmony import WEATHER
from tests.support.sampling import asked, outcome

pytestmark = [pytest.mark.llama, pytest.mark.asyncio]


@pytest_asyncio.fixture(params=["chat", "responses", "harmony"])
async def backend(request: Any, llama_server: str, vocabulary: Vocabulary) -> AsyncIterator[Backend]:
    endpoint = Endpoint(llama_server, limits=LIMITS)
    if request.param == "harmony":
        found: Backend = HarmonyCompletionsBackend(endpoint, vocabulary=lambda: vocabulary, today=lambda: date(2026, 11, 20))
    else:
        found = (ChatCompletionsBackend if request.param == "chat" else ResponsesBackend)(endpoint)
    yield found
    await found.aclose()


@pytest.mark.parametrize(
    ("question", "call", "said"), [("What is the weather in Tokyo?", TOKYO, ""), ("Plan a weekend trip to Paris.", PARIS, PLAN)]
)
async def test_weather_with_and_without_a_preamble(backend: Backend, question: str, call: tuple[str, str], said: str) -> None:
    request = replace(asked(question), tools=(WEATHER,))
    first = await outcome(backend, request)
    assert (first.calls, first.visible) == ([call], said)
    assert first.ended is not None and first.ended.reason is EndReason.TOOL_CALLS
    written = [done.frame for done in first.finished]
    assert [frame.header.intent for frame in written if frame.body == said] == (["preamble"] if said else [])
    [called] = [frame for frame in written if frame.terminator is Terminator.CALL]
    header = Header(Role.TOOL, "commentary", recipient="assistant", call_id=called.header.call_id, name=called.header.recipient)
    reply = Frame(header, '{"ok": true, "content": {"temperature": 20, "sky": "sunny"}, "error": null}')
    given = {called.header.call_id or "": first.ended.reasoning} if first.ended.reasoning else {}
    second = await outcome(backend, replace(request, frames=seen_again((*request.frames, *written, reply)), given_back=given))
    assert second.error is None and second.visible
