"""A turn that searches, opens pages and cites them, over each wire format: citations are links both while streaming and after a reload."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from channels.db import database_sync_to_async

from chatui.backends.base import Backend, Endpoint
from chatui.backends.chat.backend import ChatCompletionsBackend
from chatui.backends.harmony.backend import HarmonyCompletionsBackend
from chatui.backends.responses.backend import ResponsesBackend
from chatui.display import fragments
from chatui.display.conversation import EndedTurn, ShownAnswer, shown_exchange
from chatui.models.message import OpenedPage
from chatui.models.tools import ToolCall
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.store import erasure, opened_pages
from chatui.transfer import shares
from chatui.turns import publisher
from chatui.turns.streams.end_user import EndUserStream
from renderer.harmony.vocabulary import Vocabulary
from renderer.markup.citations import CitableSource
from tests.chatui.backends.wire import VLLM, event, ids_of, posts, sse, vllm
from tests.chatui.tools.browser.browsing import SECRET, set_up, web
from tests.chatui.turns.calls.test_wire_formats import DAY, model, transcript
from tests.chatui.turns.test_turns import ask, run
from tests.support.stub import DONE, Stub, chunk

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio, pytest.mark.served]

CITING = "Green tea is not roasted【1†L2】. Nor is this【7†L1】."
FIRST_MARKER = 199_998
CALLS: list[tuple[str, dict[str, Any]]] = [("search", {"query": SECRET}), ("open", {"id": 0})]


def over_chat() -> list[bytes]:
    calls = [
        {"index": 0, "id": f"c{number}", "function": {"name": f"browser_{name}", "arguments": json.dumps(arguments)}}
        for number, (name, arguments) in enumerate(CALLS)
    ]
    return [*(chunk("tool_calls", tool_calls=[each]) + DONE for each in calls), chunk("stop", content=CITING) + DONE]


def over_responses() -> list[bytes]:
    items: list[dict[str, Any]] = [
        {
            "type": "function_call",
            "id": f"f{number}",
            "call_id": f"c{number}",
            "name": f"browser_{name}",
            "arguments": json.dumps(arguments),
        }
        for number, (name, arguments) in enumerate(CALLS)
    ]
    items.append({"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": CITING}]})
    done = event("response.completed", response={"status": "completed", "model": "stub"})
    return [event("response.output_item.done", output_index=0, item=item) + done for item in items]


def over_ids(vocabulary: Vocabulary) -> list[bytes]:
    texts = [(f"<|channel|>analysis to=browser.{name} code<|message|>{json.dumps(arguments)}<|call|>", 200012) for name, arguments in CALLS]
    texts.append((f"<|channel|>final<|message|>{CITING}<|return|>", 200002))
    return [sse(vllm(*ids_of(vocabulary, text), finish="stop", stop=stop)) + DONE for text, stop in texts]


@database_sync_to_async
def reloaded(turn: Turn) -> ShownAnswer:
    row = Turn.objects.select_related("conversation", "question").get(pk=turn.pk)
    answer = shown_exchange(row.conversation, row).answer
    assert answer is not None
    return answer


def parts_of(format_: str, vocabulary: Vocabulary) -> tuple[Callable[[Endpoint], Backend], list[bytes], dict[str, Any]]:
    if format_ == "harmony":
        return (lambda end: HarmonyCompletionsBackend(end, vocabulary=lambda: vocabulary, today=lambda: DAY)), over_ids(vocabulary), VLLM
    return (ChatCompletionsBackend, over_chat(), {}) if format_ == "chat" else (ResponsesBackend, over_responses(), {})


def last_input(server: Stub, vocabulary: Vocabulary) -> str:
    """The model's last input, as text."""
    last = posts(server)[-1]
    ordinary = [id_ for id_ in last.get("prompt", ()) if id_ < FIRST_MARKER]
    return vocabulary.decode(ordinary).decode() if "prompt" in last else json.dumps(last, ensure_ascii=False)


@pytest.mark.parametrize("format_", ["chat", "responses", "harmony"])
async def test_a_citation_over_each_wire_format(format_: str, ada: User, monkeypatch: pytest.MonkeyPatch, vocabulary: Vocabulary) -> None:
    streams: list[Any] = []

    class Noted(EndUserStream):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            streams.append(self)

    monkeypatch.setattr(publisher, "EndUserStream", Noted)
    make_backend, answers, options = parts_of(format_, vocabulary)
    async with web() as peer, model(monkeypatch, make_backend, *answers, **options) as server:
        set_up(monkeypatch, peer)
        monkeypatch.setattr("chatui.tools.catalogue.tools", lambda: {each.name: each for each in browser_tools()})
        monkeypatch.setattr("chatui.turns.publisher.Publisher.is_watched", True)
        turn = await run(ada, ask())
        assert (turn.state, turn.error_code) == ("completed", "")
        tea = f"http://tea.example:{peer.port}/tea"
    frames, seen = await transcript(turn)
    assert [text for _, text in seen[1:]] == ["Searching the web", "Reading a web page", CITING]
    replies = [frame for frame in frames if frame.header.role == "tool"]
    channel = "analysis" if format_ == "harmony" else "commentary"
    assert [frame.header.channel for frame in replies] == [channel] * 2 and replies[1].body.startswith("[1] All about tea")
    assert "L2: Green tea is not roasted." in last_input(server, vocabulary)
    answer = await reloaded(turn)
    html = "".join(block.html for block in answer.parts[-1].blocks)
    assert f'href="{tea}"' in html and "†" not in html and "Nor is this." in html
    assert answer.sources == (CitableSource(tea, "All about tea"),)
    below = await database_sync_to_async(end_of)(turn, answer)
    assert f'<a href="{tea}" rel="noopener noreferrer nofollow ugc" target="_blank">' in below and "<bdi>All about tea</bdi>" in below
    [live] = streams
    assert live.snapshot(0).messages[-1].blocks == answer.parts[-1].blocks, "as it was written"
    assert SECRET not in html and not await OpenedPage.objects.filter(title__contains=SECRET).aexists()


def end_of(turn: Turn, answer: ShownAnswer) -> str:
    row = Turn.objects.select_related("conversation", "question", "continued_message").get(pk=turn.pk)
    below = fragments.answer_end(EndedTurn(row, (), is_first=True), "en", answer.sources).html
    assert below is not None
    return below.html


def browser_tools() -> list[Any]:
    from chatui.tools.browser import tools

    return tools.browser_tools()


async def test_opened_pages_are_deleted_with_the_conversation_and_shown_in_shared_copies(
    ada: User, monkeypatch: pytest.MonkeyPatch, vocabulary: Vocabulary
) -> None:
    async with web() as peer, model(monkeypatch, ChatCompletionsBackend, *over_chat()):
        set_up(monkeypatch, peer)
        monkeypatch.setattr("chatui.tools.catalogue.tools", lambda: {each.name: each for each in browser_tools()})
        turn = await run(ada, ask())
    known = await database_sync_to_async(opened_pages.of_conversation)(turn.conversation_id)
    assert list(known) == [0, 1] and known[0].url == ""
    rows = await database_sync_to_async(lambda: list(turn.conversation.messages.order_by("position")))()
    shared = await database_sync_to_async(shares._shared_messages)([row for row in rows if row.is_visible], rows)
    assert "tea.example" in shared[-1].blocks[0].html and "†" not in shared[-1].blocks[0].html
    assert await ToolCall.objects.aexists()
    await database_sync_to_async(erasure.erase_conversation)(turn.conversation_id)
    assert not await OpenedPage.objects.aexists() and not await ToolCall.objects.aexists()
