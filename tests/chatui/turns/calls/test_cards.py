"""The card of a call says what will happen and who receives what, and the call that runs is the one that was shown."""

import asyncio
import json
import re
from html import unescape
from typing import Any
from uuid import UUID, uuid4

import pytest
from channels.db import database_sync_to_async
from django.test import Client

from chatui.env import environment as current
from chatui.models.tools import ToolApproval
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.outbound.addresses import parse_target, receiver
from chatui.tools import browser
from chatui.tools.browser import Browser
from chatui.tools.fetcher import Fetcher, Hosts
from chatui.tools.tool import CallingTurn, ToolError
from chatui.turns import running
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.formats import format_of
from tests.chatui.turns.calls.test_approval import decide, wait_for_approvals
from tests.chatui.turns.calls.test_wire_formats import model_of, transcript
from tests.support import environment
from tests.support.browsing import set_up, web
from tests.support.offering import install
from tests.support.stub import DONE, chunk
from tests.support.turns import ask, begin
from tests.support.web_servers import Peer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.served]


def words_of(card: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", card)).split())


@database_sync_to_async
def page_of(person: User, turn_id: UUID, *, reload: bool = False) -> str:
    client = Client()
    client.force_login(person)
    conversation = Turn.objects.get(pk=turn_id).conversation_id
    address = f"/c/{conversation}/" if reload else f"/c/{conversation}/turns/{turn_id}/calls/"
    content: str = client.get(address).content.decode()
    return content


async def asked(monkeypatch: pytest.MonkeyPatch, peer: Peer, ada: User) -> UUID:
    set_up(monkeypatch, peer)
    environment.change(monkeypatch, {"tools_without_approval": []})
    install(monkeypatch, *browser.browser_tools())
    return (await begin(ada, ask())).turn.pk


async def decided(ada: User, turn_id: UUID, *cards: str) -> list[str]:
    """Allow the calls that wait, each after it was seen. Returns what their cards say."""
    rows = await wait_for_approvals(turn_id, len(cards))
    live = await page_of(ada, turn_id)
    loaded = await page_of(ada, turn_id, reload=True)
    shown = re.findall(r'<section class="approval".*?</section>', live, re.DOTALL)
    assert [words_of(each) for each in shown] == [
        words_of(each) for each in re.findall(r'<section class="approval".*?</section>', loaded, re.DOTALL)
    ], "a reload shows the same"
    for row in rows:
        await decide(ada, row, "once")
    return [words_of(each) for each in shown]


async def test_search_and_pages_name_who_receives_what(ada: User, monkeypatch: pytest.MonkeyPatch, vocabulary: Vocabulary) -> None:
    of = format_of(vocabulary, "chat")
    steps: list[tuple[str, dict[str, Any]]] = [
        ("search", {"query": "green\u202e tea"}),
        ("open", {"id": 0}),
        ("find", {"pattern": "roasted"}),
        ("open", {"id": 0}),
        ("open", {"id": 1, "cursor": 1}),
    ]
    called = [of.called(f"browser_{name}", given, call_id=f"c{at}") for at, (name, given) in enumerate(steps)]
    async with web() as peer, model_of(monkeypatch, of, *called, of.says("It is not.")):
        turn_id = await asked(monkeypatch, peer, ada)
        [search] = await decided(ada, turn_id, "search")
        assert search.startswith(f"Search the web? 127.0.0.1:{peer.port} will receive these words. Words green\\u202e tea")
        [opened] = await decided(ada, turn_id, "open")
        tea = "tea.example"
        assert opened.startswith(f"Open this page? {tea} will receive the address that you see.")
        assert f"Address http://{tea}/tea " in opened, "not the number of a link, which says nothing"
        [found] = await decided(ada, turn_id, "find")
        assert found.startswith("Look at an open page again? Nobody receives anything: the page is open already.")
        [match] = await decided(ada, turn_id, "match")
        assert match.startswith("Look at an open page again?")
        [milk] = await decided(ada, turn_id, "milk")
        assert milk.startswith("Open this page? other.example will receive")
        await running.settle()
        turn = await Turn.objects.select_related("conversation").aget(pk=turn_id)
        last = await page_of(ada, turn_id, reload=True)
    assert turn.state == "completed"
    assert "Read web pages ( other.example ) · You allowed this call." in words_of(last)
    frames, _seen = await transcript(turn)
    replies = [frame.body for frame in frames if frame.header.role == "tool"]
    assert len(replies) == 5 and "milk" in replies[-1] and "roasted" in replies[3]


async def test_the_page_that_opens_is_the_one_on_the_card(ada: User, monkeypatch: pytest.MonkeyPatch, vocabulary: Vocabulary) -> None:
    """Two links of the latest page at once: once the first has opened, another page is the latest."""
    of = format_of(vocabulary, "chat")
    both = [
        {"index": at, "id": f"c{at + 1}", "function": {"name": "browser_open", "arguments": json.dumps({"id": link})}}
        for at, link in enumerate((0, 2))
    ]
    searched = of.called("browser_search", {"query": "tea"}, call_id="c0")
    async with web() as peer, model_of(monkeypatch, of, searched, chunk("tool_calls", tool_calls=both) + DONE, of.says("Done.")):
        turn_id = await asked(monkeypatch, peer, ada)
        await decided(ada, turn_id, "search")
        first, second = await wait_for_approvals(turn_id, 2)
        await decide(ada, first, "once")
        async with asyncio.timeout(10):
            while not any(path.startswith("/tea") for path in peer.requested):
                await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)
        await decide(ada, second, "once")
        await running.settle()
    receivers = [row.receiver async for row in ToolApproval.objects.filter(turn=turn_id).order_by("asked_at", "pk")]
    assert receivers[1:] == ["tea.example"] * 2 and "/black" in peer.requested


def test_an_engine_is_named_in_letters_that_look_like_no_others() -> None:
    names = {
        "https://www.example.org/a?b": "www.example.org",
        "http://example.org:8080": "example.org:8080",
        "https://user@evil.example/x": "evil.example",
        "https://аррle.com": "xn--le-6kc8da.com",
        "https://[::1": "",
        "https://[::1]:8888/find": "[::1]:8888",
        "https://ⓔxample.org": "",
    }
    assert {address: receiver(address) for address in names} == names


@pytest.mark.parametrize(
    "address",
    [
        *("https://faß.de/x", "https://βόλος.com", "https://straße.example.org", "https://bücher.example", "https://аррӏе.com"),
        *(
            "https://example.org:443/",
            "http://example.org:80/",
            "https://EXAMPLE.org/a?b=@bank.example",
            "https://example.org#@bank.example",
        ),
    ],
)
def test_a_card_names_the_host_that_the_request_goes_to(address: str) -> None:
    """Two ways to write a name in ASCII differ in some letters, such as ß: a card must name the one that is used."""
    seen = browser_that_was_told(address).foreseen("open", {"id": address})
    assert seen.receiver == parse_target(seen.arguments["id"]).url.split("/")[2]
    assert seen.receiver.isascii()


@pytest.mark.parametrize(
    "address", ["https://xn--80ak6aa92e.com", "https://bücher.de:8443/a", "https://𝐛ank.com", "https://tools.internal"]
)
def test_nobody_is_asked_about_an_address_that_is_never_requested(address: str) -> None:
    with pytest.raises(ToolError, match="cannot be opened here"):
        browser_that_was_told(address).foreseen("open", {"id": address})


def browser_that_was_told(*questions: str) -> Browser:
    return Browser(CallingTurn(uuid4(), uuid4(), uuid4(), questions), current(), Fetcher(Hosts((), ())))


def test_what_would_be_in_vain_is_not_asked() -> None:
    made = browser_that_was_told("See example.org")
    assert made.foreseen("open", {"id": "example.org"}).receiver == "example.org"
    for name, given in (("open", {"id": "https://elsewhere.example"}), ("open", {"id": 3}), ("find", {"pattern": "a"}), ("open", {})):
        with pytest.raises(ToolError):
            made.foreseen(name, given)
