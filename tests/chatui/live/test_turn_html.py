"""The HTML in events of a turn equals what a loaded page shows, reaches only its followers, and delays nothing."""

import asyncio
import re
import time
from typing import Any
from uuid import UUID, uuid4

import pytest
from channels.db import database_sync_to_async

from chatui.display import fragments
from chatui.display.conversation import EndedTurn
from chatui.models.conversation import Conversation
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.transfer.imports import import_transcript
from chatui.turns import running
from tests.chatui.conftest import signed_in
from tests.support.answer_rows import rows_of
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.limits import set_limits
from tests.support.scripted import ANALYSIS, FINAL, PREAMBLE, ScriptedBackend, Step, answer, ended, frame

pytestmark = pytest.mark.django_db(transaction=True)

TOKEN = re.compile(r'<input type="hidden" name="csrfmiddlewaretoken" value="[^"]+">')
QUESTION = re.compile(r'<div class="question".*</div>(?=\s*<div class="answer">)', re.S)
ROW = re.compile(r"<answer-row .*</answer-row>")
END = re.compile(r'(?<=<div class="answer-end">).*(?=</div>\s*</div>\s*</article>)', re.S)

SENT = {"type": "send", "text": "Is <b>2</b> + 2 *four*?\nSay it.", "effort": "low"}
LEFT_HALF: list[Step] = [*frame(ANALYSIS, "HIDDEN-MARK"), *frame(FINAL, "Two and")[:-1]]


async def turn(socket: BrowserSocket, **command: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run one turn. Returns its acceptance, with the event that began it as ``created``, and its end."""
    await socket.send(**{"client_id": str(uuid4()), "conversation": None} | command)
    accepted = (await socket.until("chatui:accepted"))[-1]
    created = (await socket.until("response.created"))[-1]
    return accepted | {"begun": created}, (await socket.until(*ENDS))[-1]


async def page_of(person: User, accepted: dict[str, Any]) -> str:
    """The exchange as rendered over HTTP."""
    path = f"{accepted['url']}turns/{accepted['turn']}/"
    found = await database_sync_to_async(lambda: signed_in(person).get(path).content.decode())()
    return TOKEN.sub("", found)


def same(html: str) -> str:
    return " ".join(html.split())


async def agree(person: User, accepted: dict[str, Any], end: dict[str, Any]) -> None:
    page = await page_of(person, accepted)
    question, below = QUESTION.search(page), END.search(page)
    assert question and below and rows_of(below[0]) == [end["row"]], page
    sent = end.get("html", "")
    assert same(sent) == same(ROW.sub("", below[0]))
    if "html" in accepted["begun"]:
        assert same(accepted["begun"]["html"]) == same(question[0])
    assert "csrf" not in sent and "HIDDEN-MARK" not in str(end)


async def test_every_kind_of_turn_carries_the_html_of_a_page(ada: User, backend: ScriptedBackend) -> None:
    async with BrowserSocket(ada) as socket:
        first, end = await turn(socket, **SENT)
        assert "&lt;b&gt;2&lt;/b&gt;" in first["begun"]["html"]
        await agree(ada, first, end)
        where = {"conversation": first["conversation"], "effort": "low"}
        backend.script = [*frame(PREAMBLE, "I will look."), *answer("Yes.", "HIDDEN-MARK")]
        second, end = await turn(socket, **SENT | where)
        await agree(ada, second, end)
        again, end = await turn(socket, type="regenerate", question=second["question"], **where)
        assert "html" not in again["begun"], "the page has the question"
        assert 'aria-hidden="true">2/2' in end["html"]
        await agree(ada, again, end)
        edited, end = await turn(socket, type="edit", question=second["question"], text="And 3 + 3?", **where)
        assert "Versions of your message" in edited["begun"]["html"]
        await agree(ada, edited, end)
        backend.script = [ValueError("HIDDEN-MARK")]
        failed, end = await turn(socket, **SENT | where)
        assert "Retry" in end["html"]
        await agree(ada, failed, end)


async def test_stopped_and_continued_answers_carry_the_html_of_a_page(ada: User, backend: ScriptedBackend) -> None:
    async with BrowserSocket(ada) as socket:
        backend.script = [*LEFT_HALF, asyncio.Event()]
        await socket.send(client_id=str(uuid4()), conversation=None, **SENT)
        cut = (await socket.until("chatui:accepted"))[-1]
        cut["begun"] = (await socket.until("response.created"))[-1]
        await asyncio.wait_for(backend.waiting.wait(), 20)
        await socket.send("stop", conversation=cut["conversation"], turn=cut["turn"])
        end = (await socket.until(*ENDS))[-1]
        assert "continue" in end["row"]["has"] and "Stopped" in end["row"]["facts"]
        await agree(ada, cut, end)
        backend.script = [ValueError("HIDDEN-MARK")]
        vain, end = await turn(socket, type="continue", conversation=cut["conversation"], turn=cut["turn"])
        await agree(ada, vain, end)
        backend.script = [*frame(ANALYSIS, "HIDDEN-MARK"), *frame(FINAL, "Two and two are four."), ended()]
        whole, end = await turn(socket, type="continue", conversation=cut["conversation"], turn=vain["turn"])
        assert "html" not in whole["begun"] and "regenerate" in end["row"]["has"]
        await agree(ada, whole, end)
        where = {"conversation": cut["conversation"], "effort": "low"}
        again, end = await turn(socket, type="regenerate", question=whole["question"], **where)
        assert "Versions of this answer" in end["html"]
        await agree(ada, again, end)


async def test_a_repeated_ask_is_answered_with_the_current_state(ada: User, backend: ScriptedBackend) -> None:
    async with BrowserSocket(ada) as socket:
        accepted, _ = await turn(socket, **SENT | {"client_id": (key := str(uuid4()))})
        async with BrowserSocket(ada) as again:
            await again.send(client_id=key, conversation=None, **SENT)
            events = await again.until("chatui:idle")
    assert [event["type"] for event in events] == ["chatui:accepted", "chatui:idle"]
    assert {event.get("turn") for event in events} == {accepted["turn"]}


@pytest.mark.parametrize("how", ["fails", "takes too long"])
async def test_the_end_of_a_turn_does_not_wait_for_the_html_below_it(
    how: str, ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*_: object, **__: object) -> None:
        if how == "fails":
            raise ValueError("HIDDEN-MARK")
        time.sleep(1)

    monkeypatch.setattr(fragments, "question", slow)
    monkeypatch.setattr(fragments, "answer_end", slow)
    monkeypatch.setattr(EndedTurn, "reads_nothing", how == "fails")  # the rendering alone takes almost no time
    set_limits(monkeypatch, "chatui.turns", SHOWN_SECONDS=0.05)
    async with BrowserSocket(ada) as socket:
        accepted, end = await turn(socket, **SENT)
    assert end["type"] == "response.completed" and "row" not in end and "html" not in accepted["begun"]
    assert rows_of(await page_of(ada, accepted)), "the page can fetch it"


async def test_list_changes_reach_only_the_persons_own_pages(ada: User, bela: User, backend: ScriptedBackend) -> None:
    async with BrowserSocket(ada) as socket, BrowserSocket(ada) as aside, BrowserSocket(bela) as stranger:
        accepted, _ = await turn(socket, **SENT)
        listed = await aside.next()
        assert listed["type"] == "chatui:listed" and listed["conversation"] == accepted["conversation"]
        assert (listed["title"], listed["url"], listed["is_imported"]) == (accepted["title"], accepted["url"], False)
        await turn(socket, **SENT | {"conversation": accepted["conversation"]})
        assert (await aside.next())["type"] == "chatui:answered"
        moved = await aside.next()
        assert moved["conversation"] == accepted["conversation"] and moved["updated_at"] > listed["updated_at"]
        assert (await aside.next())["type"] == "chatui:answered"
        client = await database_sync_to_async(signed_in)(ada)
        for action, event in (("delete", "chatui:unlisted"), ("restore", "chatui:listed")):
            await database_sync_to_async(client.post)(f"{accepted['url']}{action}/")
            changed = await aside.next()
            assert (changed["type"], changed["conversation"]) == (event, accepted["conversation"])
        await database_sync_to_async(client.post)(f"{accepted['url']}rename/", {"title": "Sums"})
        assert (await aside.next())["title"] == "Sums"
        await stranger.send("probe")
        assert await stranger.next() == {"type": "chatui:alive"}, "nothing came before it"
    assert accepted["conversation"] not in "".join(stranger.raw)


async def test_deleting_a_conversation_ends_its_answer_and_undo_restores_the_text(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatui.turns.leases.TICK_SECONDS", 3600.0)  # so that the lease renewal does not end it
    async with BrowserSocket(ada) as socket, BrowserSocket(ada) as other:
        backend.script = [*LEFT_HALF, asyncio.Event()]
        await socket.send(client_id=str(uuid4()), conversation=None, **SENT)
        accepted = (await socket.until("chatui:accepted"))[-1]
        await other.send("subscribe", conversation=accepted["conversation"])
        await other.until("chatui:snapshot")
        await asyncio.wait_for(backend.waiting.wait(), 20)
        client = await database_sync_to_async(signed_in)(ada)
        await database_sync_to_async(client.post)(f"{accepted['url']}delete/")
        for each in (socket, other):
            assert (await each.until(*ENDS))[-1]["type"] == "response.cancel"
        await running.settle()
        assert backend.closed == 1
        assert await database_sync_to_async(lambda: client.get(accepted["url"]).status_code)() == 404, "the premise: it is in the bin"
        await database_sync_to_async(client.post)(f"{accepted['url']}restore/")
        page = await page_of(ada, accepted)
    assert "Two" in page and 'data-state="stopped"' in page and "HIDDEN-MARK" not in page
    turn = await Turn.objects.aget(pk=UUID(accepted["turn"]))
    assert (turn.state, turn.error_code) == ("stopped", "")
    assert (await Conversation.objects.aget()).deleted_at is None


async def test_a_question_that_came_without_an_answer_can_get_one(ada: User, backend: ScriptedBackend) -> None:
    """As in a copy of a conversation whose last answer was stopped."""
    written = b"version: 2.2\n<|start|>user<|message|>What is 2 + 2?<|end|>\n"
    row = (await database_sync_to_async(import_transcript)(ada, written)).conversation
    button = 'data-action="regenerate">'
    page = await database_sync_to_async(lambda: signed_in(ada).get(f"/c/{row.pk}/").content.decode())()
    [question] = re.findall(r'<article class="exchange"\s+data-question="([0-9a-f-]{36})"', page)
    assert "Get an answer" in page.split(button)[1].split("</button>")[0]
    async with BrowserSocket(ada) as socket:
        asked, end = await turn(socket, type="regenerate", question=question, conversation=str(row.pk), effort="low")
        assert end["type"] == "response.completed"
        await agree(ada, asked, end)
        assert "Get an answer" not in await page_of(ada, asked)
