"""The tools that gpt-oss was trained with, against a real llama.cpp server over token ids: called on analysis, answered, and cited."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import date

import pytest
import pytest_asyncio

from chatui.backends.base import Endpoint, EndReason
from chatui.backends.harmony.backend import HarmonyCompletionsBackend
from chatui.tools.browser.tools import browser_tools
from chatui.tools.replies import Reply
from chatui.turns.calls.requested import Requested, reply_frame, requested
from renderer.frames import Terminator
from renderer.harmony.vocabulary import Vocabulary
from renderer.history import seen_again
from renderer.markup import html
from renderer.markup.citations import Cited
from tests.llama.test_chat import LIMITS
from tests.support import environment
from tests.support.sampling import asked, outcome

pytestmark = [pytest.mark.llama, pytest.mark.asyncio]


@pytest_asyncio.fixture
async def backend(llama_server: str, vocabulary: Vocabulary) -> AsyncIterator[HarmonyCompletionsBackend]:
    endpoint = Endpoint(llama_server, limits=LIMITS)
    found = HarmonyCompletionsBackend(endpoint, vocabulary=lambda: vocabulary, today=lambda: date(2026, 11, 20))
    yield found
    await found.aclose()


async def test_the_browser_is_called_on_analysis_and_its_page_is_cited(
    backend: HarmonyCompletionsBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.change(monkeypatch, {"search": "searxng", "search_url": "http://127.0.0.1:9"})
    tools = {each.name: each for each in browser_tools()}
    request = replace(asked("Search the web for the Harmony format."), tools=tuple(each.definition for each in tools.values()))
    first = await outcome(backend, request)
    assert first.ended is not None and first.ended.reason is EndReason.TOOL_CALLS and first.visible == ""
    written = [done.frame for done in first.finished]
    [called] = [frame for frame in written if frame.terminator is Terminator.CALL]
    assert (called.header.channel, called.header.recipient) == ("analysis", "browser.search")
    read = requested(called, tools)
    assert isinstance(read, Requested) and read.tool.recipient == "browser.search"
    page = "[0] Harmony (https://harmony.example/)\n**viewing lines [0 - 1] of 1**\n\nL0: The Harmony format.\nL1: It has channels."
    reply = reply_frame(called.header, Reply(page))
    second = await outcome(backend, replace(request, frames=seen_again((*request.frames, *written, reply))))
    assert second.error is None and "【0†" in second.visible
    [shown, *_] = html.render_blocks(second.visible, pages={0: Cited("https://harmony.example/", "Harmony")})
    assert 'href="https://harmony.example/"' in shown.html and "†" not in shown.html
