"""A turn that searches, opens pages and cites them, over each wire format: citations are links both while streaming and after a reload."""

from typing import Any

import pytest
from channels.db import database_sync_to_async

from chatui.display import fragments
from chatui.display.conversation import EndedTurn, shown_exchange
from chatui.models.message import OpenedPage
from chatui.models.tools import ToolCall
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.store import erasure, opened_pages
from chatui.transfer import shares
from renderer.harmony.vocabulary import Vocabulary
from renderer.markup.citations import CitableSource
from tests.chatui.backends.formats import Format, format_of
from tests.chatui.backends.wire import posts
from tests.chatui.turns.calls.test_wire_formats import model_of, transcript
from tests.support import page_stream
from tests.support.browsing import SECRET, set_up, web
from tests.support.offering import install
from tests.support.turns import ask, run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.served]

CITING = "Green tea is not roasted【1†L2】. Nor is this【7†L1】."
CALLS: list[tuple[str, dict[str, Any]]] = [("search", {"query": SECRET}), ("open", {"id": 0})]


def answers(of: Format) -> list[bytes]:
    calls = [of.called(f"browser_{name}", given, call_id=f"c{at}", of_ids=f"browser.{name}") for at, (name, given) in enumerate(CALLS)]
    return [*calls, of.says(CITING)]


@database_sync_to_async
def reloaded(turn: Turn) -> Any:
    row = Turn.objects.select_related("conversation", "question").get(pk=turn.pk)
    answer = shown_exchange(row.conversation, row).answer
    assert answer is not None
    return answer


@pytest.mark.parametrize("kind", ["chat", "responses", "harmony-vllm"])
async def test_a_citation_over_each_wire_format(kind: str, ada: User, monkeypatch: pytest.MonkeyPatch, vocabulary: Vocabulary) -> None:
    streams = page_stream.noted(monkeypatch)
    of = format_of(vocabulary, kind)
    async with web() as peer, model_of(monkeypatch, of, *answers(of)) as server:
        set_up(monkeypatch, peer)
        install(monkeypatch, *browser_tools())
        page_stream.watch_all(monkeypatch)
        turn = await run(ada, ask())
        assert (turn.state, turn.error_code) == ("completed", "")
        tea = "http://tea.example/tea"
    frames, seen = await transcript(turn)
    assert [text for _, text in seen[1:]] == ["Searching the web", "Reading a web page", CITING]
    replies = [frame for frame in frames if frame.header.role == "tool"]
    channel = "analysis" if of.vocabulary else "commentary"
    assert [frame.header.channel for frame in replies] == [channel] * 2 and replies[1].body.startswith("[1] All about tea")
    assert "L2: Green tea is not roasted." in of.sent(posts(server)[-1])
    answer = await reloaded(turn)
    html = "".join(block.html for block in answer.parts[-1].blocks)
    assert f'href="{tea}"' in html and "†" not in html and "Nor is this." in html
    assert answer.sources == (CitableSource(tea, "All about tea"),)
    below = await database_sync_to_async(end_of)(turn, answer)
    assert f'<a href="{tea}" rel="noopener noreferrer nofollow ugc" target="_blank">' in below and "<bdi>All about tea</bdi>" in below
    assert "<section" not in below, "the landmarks of two answers would have one name"
    [live] = streams
    assert live.snapshot(0).messages[-1].blocks == answer.parts[-1].blocks, "as it was written"
    assert SECRET not in html and not await OpenedPage.objects.filter(title__contains=SECRET).aexists()


def end_of(turn: Turn, answer: Any) -> str:
    row = Turn.objects.select_related("conversation", "question", "continued_message").get(pk=turn.pk)
    below = fragments.answer_end(EndedTurn(row, (), is_first=True), "en", answer.sources).html
    assert below is not None
    return below.html


def browser_tools() -> list[Any]:
    from chatui.tools import browser

    return browser.browser_tools()


async def test_opened_pages_are_deleted_with_the_conversation_and_shown_in_shared_copies(
    ada: User, monkeypatch: pytest.MonkeyPatch, vocabulary: Vocabulary
) -> None:
    of = format_of(vocabulary, "chat")
    async with web() as peer, model_of(monkeypatch, of, *answers(of)):
        set_up(monkeypatch, peer)
        install(monkeypatch, *browser_tools())
        turn = await run(ada, ask())
    known = await database_sync_to_async(opened_pages.of_conversation)(turn.conversation_id)
    assert list(known) == [0, 1] and known[0].url == ""
    shared = (await database_sync_to_async(shares.preview)(ada, turn.conversation_id)).shared.messages
    assert "tea.example" in shared[-1].blocks[0].html and "†" not in shared[-1].blocks[0].html
    assert await ToolCall.objects.aexists()
    await database_sync_to_async(erasure.erase_conversation)(turn.conversation_id)
    assert not await OpenedPage.objects.aexists() and not await ToolCall.objects.aexists()
