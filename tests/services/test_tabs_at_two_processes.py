"""A question to the person and a message that is added to a running answer, while the person's tabs are at two processes."""

import asyncio
import contextlib
import html
import re
import signal
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest
import websockets.exceptions

from tests.services.asking import Model, asking
from tests.support.browser_socket import ENDS
from tests.support.served import Deployment, LiveSocket, Server, signed_in

pytestmark = [pytest.mark.asyncio, pytest.mark.services]

SECONDS = 90.0
"""What a step takes at most, on a busy machine."""
FILLED = {"Bake a cake.": {"field-0": "Bela's"}, "Order a shirt.": {"field-0": "3", "field-2": "blue"}}
TOLD = {"Bake a cake.": "Bela's", "Order a shirt.": "blue"}


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with asking(tmp_path_factory.mktemp("tabs")) as deployment:
        yield deployment


class Tab:
    """A page of somebody's: its socket, and what it fetches from its process."""

    def __init__(self, server: Server, client: httpx.Client, socket: LiveSocket) -> None:
        self.server, self._client, self.socket = server, client, socket
        self.send, self.until = socket.send, socket.until

    async def get(self, path: str) -> httpx.Response:
        return await asyncio.to_thread(self._client.get, self.server.url + path)

    async def cards(self, turn: dict[str, str]) -> str:
        """The cards of a turn as the page fetches them, which are those that a page has that is loaded now."""
        cards = _tidy((await self.get(f"{turn['url']}turns/{turn['turn']}/calls/")).text)
        assert cards in _tidy((await self.get(turn["url"])).text)
        return cards

    async def decide(self, turn: dict[str, str], decision: str, **filled: str) -> httpx.Response:
        shown = (await self.get(f"{turn['url']}turns/{turn['turn']}/calls/")).text
        return await self.post(re.findall(r'action="(/c/[^"]+/calls/[^"]+/)"', shown)[-1], decision=decision, **filled)

    async def post(self, path: str, **fields: str) -> httpx.Response:
        headers = {"accept": "application/json", "x-csrftoken": self._client.cookies["chatui_csrf"], "origin": self.server.url}
        return await asyncio.to_thread(self._client.post, self.server.url + path, data=fields, headers=headers)

    async def ask(self, text: str, conversation: str | None = None) -> dict[str, str]:
        await self.send("send", client_id=str(uuid4()), conversation=conversation, text=text, effort="low")
        reply: dict[str, str] = (await self.until("chatui:accepted", "chatui:refused"))[-1]
        return reply

    async def waits(self, count: int) -> None:
        """Wait until the page hears that so many calls wait for its person."""
        while (await self.until("chatui:calls_wait"))[-1]["count"] != count:
            pass

    async def follow(self, turn: dict[str, str]) -> dict[str, Any]:
        """Open the conversation; returns the snapshot, or that no turn runs."""
        await self.send("subscribe", conversation=turn["conversation"])
        reply: dict[str, Any] = (await self.until("chatui:snapshot", "chatui:idle"))[-1]
        return reply


def _tidy(page: str) -> str:
    """Without what differs between two loads of a page: tokens, and the time that is left."""
    same = re.sub(r'<input type="hidden"[^>]*>|<p class="approval-hint">Without an answer[^<]*</p>', "", page)
    return " ".join(html.unescape(same).split())


@contextlib.asynccontextmanager
async def tabs(*servers: Server, name: str = "ada") -> AsyncIterator[list[Tab]]:
    """Pages of one person at these processes."""
    client = await asyncio.to_thread(signed_in, servers[-1], name)
    async with asyncio.timeout(SECONDS), contextlib.AsyncExitStack() as open_:
        yield [Tab(server, client, await open_.enter_async_context(LiveSocket(server, client))) for server in servers]
    client.close()


@pytest.mark.parametrize("text", list(FILLED))
async def test_a_form_is_shown_answered_and_closed_in_every_tab(text: str, deployment: Deployment) -> None:
    one, two = deployment.servers
    async with tabs(one, one, two) as (asker, beside, away):
        turn = await asker.ask(text)
        await asker.waits(1)
        for tab in (beside, away):
            assert (await tab.follow(turn))["calls_wait"] == 1
        shown = [await tab.cards(turn) for tab in (asker, beside, away)]
        assert shown[0].count("data-form") == 1 and len(set(shown)) == 1
        assert (await away.decide(turn, "send", **FILLED[text])).json() == {"ok": True}
        for tab in (asker, beside, away):
            await tab.waits(0)
            assert (await tab.until(*ENDS))[-1]["type"] == "response.completed"
        shown = [await tab.cards(turn) for tab in (asker, beside, away)]
        assert "You sent your answer" in shown[0] and TOLD[text] in shown[0] and len(set(shown)) == 1


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_of_two_answers_at_once_one_counts_and_the_other_is_told(order: tuple[int, int], deployment: Deployment) -> None:
    async with tabs(*deployment.servers) as pages:
        turn = await pages[0].ask("Bake a cake.")
        await pages[0].waits(1)
        names = ["Ada's", "Bela's"]
        replies = await asyncio.gather(*(pages[at].decide(turn, "send", **{"field-0": names[at]}) for at in order))
        assert sorted(reply.status_code for reply in replies) == [200, 409]
        [won] = [names[at] for at, reply in zip(order, replies, strict=True) if reply.status_code == 200]
        await pages[0].until("response.completed")
        first, second = [await page.cards(turn) for page in pages]
        assert won in first and first == second and won in Model.asked[-1][1]


@pytest.mark.parametrize("decision", ["decline", "cancel"])
async def test_a_form_that_is_refused_or_closed_in_one_tab_is_so_in_the_other(decision: str, deployment: Deployment) -> None:
    async with tabs(*deployment.servers) as (asker, away):
        turn = await asker.ask("Order a shirt.")
        await asker.waits(1)
        assert (await away.follow(turn))["calls_wait"] == 1
        assert (await away.decide(turn, decision)).json() == {"ok": True}
        for tab in (asker, away):
            await tab.waits(0)
            await tab.until("response.completed")
        first, second = [await tab.cards(turn) for tab in (asker, away)]
        assert {"decline": "You declined", "cancel": "You closed the form"}[decision] in first and first == second


async def test_the_second_form_of_an_answer_waits_in_both_tabs_after_the_first(deployment: Deployment) -> None:
    async with tabs(*deployment.servers) as (asker, away):
        turn = await asker.ask("Bake two cakes.")
        for tab in (away, asker):
            await asker.waits(1)
            await away.follow(turn)
            first, second = await asker.cards(turn), await away.cards(turn)
            assert first == second and first.count("data-form") == 1
            assert (await tab.decide(turn, "send", **{"field-0": "Bela's"})).json() == {"ok": True}
        for tab in (asker, away):
            await tab.until("response.completed")
        assert (await asker.cards(turn)).count("You sent your answer") == 2


async def test_stop_in_one_tab_ends_the_form_in_both(deployment: Deployment) -> None:
    async with tabs(*deployment.servers) as (asker, away):
        turn = await asker.ask("Bake a cake.")
        await asker.waits(1)
        await away.follow(turn)
        form = await away.cards(turn)
        await away.send("stop", conversation=turn["conversation"], turn=turn["turn"])
        for tab in (asker, away):
            await tab.until("response.cancel")
            assert "The answer ended before you answered" in await tab.cards(turn)
        path = re.findall(r'action="(/c/[^"]+/calls/[^"]+/)"', form)[0]
        assert (await away.post(path, decision="send", **{"field-0": "Bela's"})).status_code == 409


async def test_a_form_that_nobody_answers_is_over_for_every_page_that_hears_so(deployment: Deployment) -> None:
    _, two = deployment.servers
    hasty = deployment.start(CHATUI_TOOL_APPROVAL_SECONDS="3")
    try:
        async with tabs(hasty, two) as (asker, away):
            turn = await asker.ask("Bake a cake.")
            await asker.waits(1)
            assert (await away.follow(turn))["calls_wait"] == 1
            await away.waits(0)
            assert "Nobody answered in time" in await away.cards(turn)
            await away.until("response.completed")
    finally:
        deployment.servers.remove(hasty)
        await asyncio.to_thread(hasty.stop)


@pytest.mark.parametrize("is_answered", [True, False])
async def test_a_form_of_a_process_that_ends_waits_as_long_as_its_answer(is_answered: bool, deployment: Deployment) -> None:
    _, two = deployment.servers
    ending = deployment.start(CHATUI_DRAIN_SECONDS="60" if is_answered else "1")
    try:
        async with tabs(ending, two) as (asker, away):
            turn = await asker.ask("Bake a cake.")
            await asker.waits(1)
            assert (await away.follow(turn))["calls_wait"] == 1
            ending.process.send_signal(signal.SIGTERM)
            with pytest.raises(websockets.exceptions.ConnectionClosed):
                await asker.until("never")
            if is_answered:
                assert (await away.decide(turn, "send", **FILLED["Bake a cake."])).json() == {"ok": True}
            await away.waits(0)
            assert (await away.until(*ENDS))[-1]["type"] == ("response.completed" if is_answered else "response.failed")
            assert ("You sent your answer" if is_answered else "The answer ended before you answered") in await away.cards(turn)
            assert await asyncio.to_thread(ending.process.wait, SECONDS) == 0
    finally:
        deployment.servers.remove(ending)
        await asyncio.to_thread(ending.stop)


async def test_nobody_else_sees_or_answers_a_form(deployment: Deployment) -> None:
    async with tabs(deployment.servers[0]) as [asker], tabs(*deployment.servers, name="bela") as others:
        for other in others:
            await other.ask("Hello.")
            await other.until(*ENDS)
        turn = await asker.ask("Bake a cake.")
        await asker.waits(1)
        path = re.findall(r'action="(/c/[^"]+/calls/[^"]+/)"', await asker.cards(turn))[0]
        for other in others:
            await other.send("subscribe", conversation=turn["conversation"])
            heard = await other.until("chatui:refused")
            assert heard[-1]["code"] == "E-X-NOT-FOUND" and turn["conversation"] not in str(heard)
            for place in (turn["url"], f"{turn['url']}turns/{turn['turn']}/", f"{turn['url']}turns/{turn['turn']}/calls/"):
                assert (await other.get(place)).status_code == 404
            assert (await other.post(path, decision="send", **{"field-0": "Bela's"})).status_code == 404
        assert (await asker.decide(turn, "send", **FILLED["Bake a cake."])).json() == {"ok": True}
        await asker.until("response.completed")


async def adds(tab: Tab, turn: dict[str, str], *, is_wanted: bool = True) -> None:
    """Have the turn make way for a message of this tab, or no longer; returns once its process has heard that: the snapshot is asked of it
    behind."""
    await tab.send("make_way", conversation=turn["conversation"], turn=turn["turn"], is_wanted=is_wanted)
    await tab.follow(turn)


async def test_a_message_that_another_process_adds_is_taken_before_the_next_sampling(deployment: Deployment) -> None:
    async with tabs(*deployment.servers) as (asker, away):
        turn = await asker.ask("Bake a cake.")
        await asker.waits(1)
        await adds(away, turn)
        assert (await asker.decide(turn, "send", **FILLED["Bake a cake."])).json() == {"ok": True}
        for tab in (asker, away):
            assert (await tab.until(*ENDS))[-1]["type"] == "response.completed"
        assert len(Model.asked[-1]) == 1, "the model was not asked again"
        added = await away.ask("For Sunday.", turn["conversation"])
        assert added["type"] == "chatui:accepted"
        for tab in (asker, away):
            assert (await tab.until("response.completed"))[-1]["turn"] == added["turn"]
        [first, told, second] = Model.asked[-1]
        assert (first, second) == ("Bake a cake.", "For Sunday.") and "Bela's" in told
        pages = [_tidy((await tab.get(turn["url"])).text) for tab in (asker, away)]
        assert all(page.index("Bake a cake.") < page.index("For Sunday.") < page.index("Told: For Sunday.") for page in pages)


async def test_of_two_messages_that_are_added_at_once_both_are_answered(deployment: Deployment) -> None:
    async with tabs(*deployment.servers) as pages:
        turn = await pages[0].ask("Bake a cake.")
        await pages[0].waits(1)
        for page in pages:
            await adds(page, turn)
        await pages[0].decide(turn, "send", **FILLED["Bake a cake."])
        for page in pages:
            await page.until("response.completed")
        replies = await asyncio.gather(*(page.ask(text, turn["conversation"]) for page, text in zip(pages, ("Red.", "Blue."), strict=True)))
        assert sorted((reply["type"], reply.get("code")) for reply in replies)[1] == ("chatui:refused", "E-X-BUSY")
        late = next(at for at, reply in enumerate(replies) if reply["type"] == "chatui:refused")
        await pages[late].until("response.completed")
        again = await pages[late].ask(("Red.", "Blue.")[late], turn["conversation"])
        await pages[late].until("response.completed")
        assert again["type"] == "chatui:accepted" and {"Red.", "Blue."} < set(Model.asked[-1])


@pytest.mark.parametrize("end", ["stop", "send"])
async def test_a_message_that_is_added_as_the_answer_ends_is_not_lost(end: str, deployment: Deployment) -> None:
    async with tabs(*deployment.servers) as (asker, away):
        turn = await asker.ask("Bake a cake.")
        await asker.waits(1)
        await away.follow(turn)
        if end == "stop":
            await adds(away, turn)
            await asker.send("stop", conversation=turn["conversation"], turn=turn["turn"])
        else:
            await asker.decide(turn, "send", **FILLED["Bake a cake."])
        assert (await away.until(*ENDS))[-1]["type"] == {"stop": "response.cancel", "send": "response.completed"}[end]
        await adds(away, turn)
        added = await away.ask("For Sunday.", turn["conversation"])
        assert added["type"] == "chatui:accepted", "what came too late changes nothing, and refuses nothing"
        for tab in (asker, away):
            while (await tab.until("response.completed"))[-1]["turn"] != added["turn"]:
                pass
        assert Model.asked[-1][-1] == "For Sunday."


async def test_a_message_that_is_withdrawn_at_another_process_changes_nothing(deployment: Deployment) -> None:
    async with tabs(*deployment.servers) as (asker, away):
        turn = await asker.ask("Bake a cake.")
        await asker.waits(1)
        for is_wanted in (True, False):
            await adds(away, turn, is_wanted=is_wanted)
        await asker.decide(turn, "send", **FILLED["Bake a cake."])
        await asker.until("response.completed")
        assert len(Model.asked[-1]) == 2


async def test_a_form_whose_process_was_killed_is_over_in_another_and_the_answer_can_be_continued(deployment: Deployment) -> None:
    one, _ = deployment.servers
    victim = deployment.start()
    async with tabs(victim, one) as (asker, away):
        turn = await asker.ask("Bake a cake.")
        await asker.waits(1)
        assert (await away.follow(turn))["calls_wait"] == 1
        form = await away.cards(turn)
        assert "The model asks you" in form and "Whose cake is it?" in form
        await asyncio.to_thread(victim.stop, signal.SIGKILL)
        deployment.servers.remove(victim)
        over = (await away.until("chatui:idle"))[-1]
        assert (over["turn"], over["state"]) == (turn["turn"], "interrupted"), "told without asking again"
        page = _tidy((await away.get(turn["url"])).text)
        assert "The answer ended before you answered" in page and "data-form" not in page
        assert "“Whose cake is it?”" in page, "what was asked is still there"
        path = re.findall(r'action="(/c/[^"]+/calls/[^"]+/)"', form)[0]
        assert (await away.post(path, decision="send", **FILLED["Bake a cake."])).status_code == 409
        await away.send("continue", client_id=str(uuid4()), conversation=turn["conversation"], turn=turn["turn"])
        assert (await away.until("chatui:accepted", "chatui:refused"))[-1]["type"] == "chatui:accepted"
        assert (await away.until(*ENDS))[-1]["type"] == "response.completed"
        assert "Told:" in (await away.get(turn["url"])).text


@pytest.mark.parametrize("is_wanted", [True, False])
async def test_what_a_page_of_a_killed_process_wanted_is_over(is_wanted: bool, deployment: Deployment) -> None:
    one, _ = deployment.servers
    victim = deployment.start()
    try:
        async with tabs(one, victim) as (asker, away):
            turn = await asker.ask("Bake a cake.")
            await asker.waits(1)
            await adds(away, turn)
            await asyncio.to_thread(victim.stop, signal.SIGKILL)
            if is_wanted:
                await adds(asker, turn)
            await asker.decide(turn, "send", **FILLED["Bake a cake."])
            await asker.until("response.completed")
            assert len(Model.asked[-1]) == (1 if is_wanted else 2), "the answer goes on if no page is there that sends a message"
    finally:
        deployment.servers.remove(victim)
