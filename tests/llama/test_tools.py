"""The tool loop against a real llama.cpp server, over each wire format: the model calls an offered tool and answers from the reply. Over
token ids it also calls the browser and Python tools that it was trained with."""

from dataclasses import replace

import pytest

from chatui.backends.base import Backend, EndReason
from chatui.tools.browser import browser_tools
from chatui.tools.python.tool import PYTHON
from chatui.tools.replies import ToolReply
from chatui.turns.calls.requested import reply_frame
from renderer.frames import Frame, Header, Role, Terminator
from renderer.history import frames_for_prompt
from renderer.markup import html
from renderer.markup.citations import CitableSource
from tests.backends.recorded import FIBONACCI, PARIS, PLAN, TOKYO
from tests.llama.asked import WEATHER, over
from tests.support import environment
from tests.support.sampling import outcome, sample_request
from tests.support.tool_calls import call_in

pytestmark = pytest.mark.llama


@pytest.mark.parametrize(
    ("question", "call", "text"), [("What is the weather in Tokyo?", TOKYO, ""), ("Plan a weekend trip to Paris.", PARIS, PLAN)]
)
async def test_weather_with_and_without_a_preamble(backend: Backend, question: str, call: tuple[str, str], text: str) -> None:
    request = replace(sample_request(question), tools=(WEATHER,))
    first = await outcome(backend, request)
    assert (first.calls, first.visible) == ([call], text)
    assert first.ended is not None and first.ended.reason is EndReason.TOOL_CALLS
    written = [done.frame for done in first.finished]
    assert [frame.header.intent for frame in written if frame.body == text] == (["preamble"] if text else [])
    [called] = [frame for frame in written if frame.terminator is Terminator.CALL]
    header = Header(Role.TOOL, "commentary", recipient="assistant", call_id=called.header.call_id, name=called.header.recipient)
    reply = Frame(header, '{"ok": true, "content": {"temperature": 20, "sky": "sunny"}, "error": null}')
    given = {called.header.call_id or "": first.ended.reasoning} if first.ended.reasoning else {}
    second = await outcome(backend, replace(request, frames=frames_for_prompt((*request.frames, *written, reply)), given_back=given))
    assert second.error is None and second.visible


@over("harmony")
async def test_the_browser_is_called_on_analysis_and_its_page_is_cited(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    environment.change(monkeypatch, {"search": "searxng", "search_url": "http://127.0.0.1:9"})
    tools = {each.name: each for each in browser_tools()}
    request = replace(sample_request("Search the web for the Harmony format."), tools=tuple(each.definition for each in tools.values()))
    first = await outcome(backend, request)
    assert first.ended is not None and first.ended.reason is EndReason.TOOL_CALLS and first.visible == ""
    written = [done.frame for done in first.finished]
    [called] = [frame for frame in written if frame.terminator is Terminator.CALL]
    assert (called.header.channel, called.header.recipient) == ("analysis", "browser.search")
    assert call_in(called, tools).tool.recipient == "browser.search"
    page = "[0] Harmony (https://harmony.example/)\n**viewing lines [0 - 1] of 1**\n\nL0: The Harmony format.\nL1: It has channels."
    reply = reply_frame(called.header, ToolReply(page))
    second = await outcome(backend, replace(request, frames=frames_for_prompt((*request.frames, *written, reply))))
    assert second.error is None and "【0†" in second.visible
    [shown, *_] = html.render_blocks(second.visible, pages={0: CitableSource("https://harmony.example/", "Harmony")})
    assert 'href="https://harmony.example/"' in shown.html and "†" not in shown.html


@over("harmony")
async def test_code_for_python_is_called_on_analysis_and_answered_from_its_output(backend: Backend) -> None:
    request = replace(sample_request("Use Python to compute the 10th Fibonacci number."), tools=(PYTHON.definition,))
    first = await outcome(backend, request)
    assert first.ended is not None and first.ended.reason is EndReason.TOOL_CALLS
    assert (first.calls, first.visible) == ([FIBONACCI], "")
    written = [done.frame for done in first.finished]
    [called] = [frame for frame in written if frame.terminator is Terminator.CALL]
    assert (called.header.channel, called.header.recipient, called.header.content_type) == ("analysis", "python", "code")
    assert call_in(called, {PYTHON.name: PYTHON}).arguments == {"code": FIBONACCI[1]}
    reply = reply_frame(called.header, ToolReply("55\n"))
    second = await outcome(backend, replace(request, frames=frames_for_prompt((*request.frames, *written, reply))))
    assert second.error is None and "55" in second.visible
