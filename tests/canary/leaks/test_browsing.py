"""The core guarantee for the web: a model's queries, results and pages stay hidden, except a page that its answer cites."""

import asyncio
import json
import logging
from typing import Any

import pytest

import chatui.asgi  # noqa: F401 - sets up logging, which must not happen in the middle of a test, because its log lines would be missed
from chatui.backends.base import EndReason
from chatui.models.message import Message, OpenedPage
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.tools import browser
from renderer.frames import Header, Terminator
from tests.canary.leaks.test_streaming import assert_silent, begin, everything_of, pages_of
from tests.canary.listening import BusRecorder, open_debug_view
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.browsing import set_up
from tests.support.canary import Canary
from tests.support.scripted import ANALYSIS, ScriptedBackend, Step, answer, ended, frame
from tests.support.web_servers import page, serving

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]


def call(canary: Canary, name: str, **arguments: Any) -> list[Step]:
    header = Header(
        "assistant", "commentary", recipient=f"browser.{name}", call_id=canary.plant(f"id of a call of {name}"), constrain="json"
    )
    return [*frame(header, json.dumps(arguments), Terminator.CALL), ended(EndReason.TOOL_CALLS)]


@pytest.mark.slow
async def test_only_cited_pages_of_what_was_searched_or_read_become_visible(
    canary: Canary,
    ada: User,
    bela: User,
    grace: User,
    backend: ScriptedBackend,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "chatui")  # other packages log only warnings, because their other lines quote the data that they send
    layer = BusRecorder(monkeypatch)
    path, title, text = canary.plant("path of a page"), canary.plant("title of a page"), canary.plant("text of a page")
    name, about = canary.plant("title of a result"), canary.plant("words about a result")

    async def web(writer: asyncio.StreamWriter, requested: str) -> None:
        if requested.startswith("/search?"):
            found = [{"url": f"http://tea.example/{path}", "title": name, "content": about}]
            writer.write(page(json.dumps({"results": found}).encode(), "application/json"))
        else:
            writer.write(page(f"<title>{title}</title><p>{text}</p>".encode(), "text/html; charset=utf-8"))

    async with serving(web) as peer:
        set_up(monkeypatch, peer)
        offered = {each.name: each for each in browser.browser_tools()}
        monkeypatch.setattr("chatui.tools.catalogue.tools", lambda: offered)
        backend.script = [*frame(ANALYSIS, canary.plant("thought")), *call(canary, "search", query=canary.plant("query"))]
        backend.following = [
            call(canary, "open", id=0),
            call(canary, "find", pattern=canary.plant("pattern")),
            call(canary, "open", id=canary.plant("address that nobody named")),
            answer("Here it is.", canary.plant("last thought")),
        ]
        async with BrowserSocket(ada) as socket, BrowserSocket(bela) as stranger:
            accepted = await begin(socket)
            await socket.until(*ENDS)
    turn = await Turn.objects.aget(pk=accepted["turn"])
    read = "".join([row.text async for row in Message.objects.filter(turn=turn, role="tool")])
    assert all(marker in read for marker in (name, text)), "the premise: it was found and read"
    assert await OpenedPage.objects.filter(title=title).aexists(), "the premise: it could be cited"
    pages = [*await everything_of(ada, accepted), *await everything_of(bela, accepted)]
    assert_silent(canary, layer, caplog, [socket, stranger], *pages)
    assert any("Here it is." in raw_frame for raw_frame in socket.raw), "the premise: the answer arrived"
    await open_debug_view(grace, accepted["conversation"])
    [debug] = await pages_of(grace, f"/c/{accepted['conversation']}/debug/")
    assert {"query", "text of a page"} <= set(canary.found(debug)), "permitted staff see calls and replies"
