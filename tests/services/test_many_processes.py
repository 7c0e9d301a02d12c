"""A team's deployment: two server processes on PostgreSQL and Redis, with people connected to either."""

import asyncio
import json
import os
import re
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import httpx
import pytest

from tests.services.databases import own_database
from tests.support.answer_rows import rows_of
from tests.support.browser_socket import ENDS, shown_text
from tests.support.served import Deployment, LiveSocket, Server
from tests.support.staff_pages import failure_number

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Two processes on a new database, whose tables the first of them creates."""
    with own_database(is_empty=True) as address:
        deployment = Deployment(
            tmp_path_factory.mktemp("data"),
            CHATUI_DATABASE_URL=address,
            CHATUI_REDIS_URL=os.environ["CHATUI_TEST_REDIS_URL"],
            CHATUI_DEMO_TOKENS_PER_SECOND="150",
        )
        try:
            deployment.start()
            deployment.start()
            deployment.make_people(ada=(False, []), bela=(False, []))
            yield deployment
        finally:
            deployment.stop()


async def ask(socket: LiveSocket, text: str) -> dict[str, str]:
    await socket.send("send", client_id=str(uuid4()), conversation=None, text=text, effort="low")
    accepted: dict[str, str] = (await socket.until("chatui:accepted", "chatui:refused"))[-1]
    assert accepted["type"] == "chatui:accepted", accepted
    return accepted


async def test_a_turn_that_one_process_runs_is_followed_and_stopped_through_the_other(deployment: Deployment) -> None:
    one, two = deployment.servers
    client = one.sign_in("ada")
    async with asyncio.timeout(30), LiveSocket(one, client) as asker, LiveSocket(two, client) as follower:
        accepted = await ask(asker, "Please explain")
        await follower.send("subscribe", conversation=accepted["conversation"])
        await follower.until("chatui:snapshot")
        await follower.until("response.delta")
        await follower.send("stop", conversation=accepted["conversation"], turn=accepted["turn"])
        assert (await follower.until(*ENDS))[-1]["type"] == "response.cancel"


async def test_a_persons_list_and_a_deletion_reach_the_pages_of_the_other_process(deployment: Deployment) -> None:
    one, two = deployment.servers
    client = one.sign_in("ada")
    async with asyncio.timeout(60), LiveSocket(one, client) as asker, LiveSocket(two, client) as aside:
        await aside.send("probe")
        await aside.until("chatui:alive")
        accepted = await ask(asker, "Please explain")
        listed = (await aside.until("chatui:listed"))[-1]
        assert (listed["conversation"], listed["title"]) == (accepted["conversation"], "Please explain")
        await aside.send("subscribe", conversation=accepted["conversation"])
        await aside.until("response.delta")
        headers = {"X-CSRFToken": client.get("/").text.split('name="csrf-token" content="')[1].split('"')[0], "Origin": two.url}
        for action in ("delete", "restore"):
            assert client.post(f"{two.url}{accepted['url']}{action}/", headers=headers | {"Referer": two.url}).status_code == 302
            event = "chatui:unlisted" if action == "delete" else "chatui:listed"
            for socket in (asker, aside):
                assert (await socket.until(event))[-1]["conversation"] == accepted["conversation"]
        page = client.get(accepted["url"]).text
    assert 'data-state="stopped"' in page or 'data-state="running"' in page, "it is back, whether or not the answer has been stored by now"


async def test_both_processes_show_the_same_answer(deployment: Deployment) -> None:
    one, two = deployment.servers
    client = one.sign_in("ada")
    async with asyncio.timeout(60), LiveSocket(one, client) as asker, LiveSocket(two, client) as follower:
        accepted = await ask(asker, "Hello!")
        shown = []
        for socket in (asker, follower):
            await socket.send("subscribe", conversation=accepted["conversation"])
        for socket in (asker, follower):
            first = await socket.until("chatui:snapshot")
            number = first[-1]["sequence_number"]
            rest = [event for event in await socket.until(*ENDS) if event.get("sequence_number", 0) > number]
            shown.append(shown_text([first[-1], *rest]))
    assert shown[0] == shown[1] != ""
    pages = [server.sign_in("ada").get(accepted["url"]).text for server in (one, two)]
    assert all(shown[0][-60:] in page for page in pages)


async def test_an_answer_cut_in_one_process_is_continued_in_the_other(deployment: Deployment) -> None:
    one, two = deployment.servers
    client = one.sign_in("ada")
    async with asyncio.timeout(60), LiveSocket(one, client) as asker, LiveSocket(two, client) as other:
        accepted = await ask(asker, "Please truncate.")
        conversation = accepted["conversation"]
        await asker.send("subscribe", conversation=conversation)
        assert (await asker.until(*ENDS))[-1]["type"] == "response.incomplete"
        await other.send("continue", client_id=str(uuid4()), conversation=conversation, turn=accepted["turn"])
        continued = (await other.until("chatui:accepted", "chatui:refused"))[-1]
        assert continued["type"] == "chatui:accepted", continued
        assert (await asker.until(*ENDS))[-1]["type"] == "response.completed"
    pages = [server.sign_in("ada").get(accepted["url"]).text for server in (one, two)]
    assert all(page.count("smallest set of permissions that their work needs") == 1 for page in pages)


async def test_sign_out_in_one_process_closes_the_socket_in_the_other(deployment: Deployment) -> None:
    one, two = deployment.servers
    client = one.sign_in("ada")
    async with asyncio.timeout(30), LiveSocket(two, client) as socket:
        token = client.get("/").text.split('name="csrf-token" content="')[1].split('"')[0]
        assert client.post("/sign-out/", headers={"X-CSRFToken": token}).status_code == 302
        assert (await socket.until("chatui:closing"))[-1]["code"] == "E-X-SIGNED-OUT"


async def test_a_back_end_of_the_admin_pages_comes_and_goes_in_every_process_within_seconds(deployment: Deployment) -> None:
    async def rows(change: str) -> None:
        code = f"from chatui.models import StoredBackend as Row; {change}"
        await asyncio.to_thread(deployment.manage, "shell", "--no-imports", "-c", code)

    async def answer(server: Server) -> str:
        async with LiveSocket(server, server.sign_in("ada")) as socket:
            await socket.send("send", client_id=str(uuid4()), conversation=None, text="Hello!", effort="low", choice="tour")
            result = (await socket.until("chatui:accepted", "chatui:refused"))[-1]
            return str(result.get("code") or result["type"])

    async def comes(expected: str) -> None:
        """Wait until every process answers so: a matter of seconds, with a limit for a busy machine."""
        async with asyncio.timeout(30):
            for server in deployment.servers:
                while await answer(server) != expected:
                    await asyncio.sleep(0.2)

    assert await answer(deployment.servers[0]) == "E-X-NO-SUCH-MODEL", "the premise"
    try:
        await rows("[Row.objects.create(name=name, kind='demo') for name in ('first', 'tour')]")
        await comes("chatui:accepted")
        await rows("Row.objects.filter(name='tour').update(is_enabled=False)")
        await comes("E-X-NO-SUCH-MODEL")
    finally:
        await rows("Row.objects.all().delete()")


CHAIN = """
from chatui.audit_log.record import digest
from chatui.models import AuditEvent, User
from chatui.permissions import attempts
lines = list(AuditEvent.objects.order_by("number"))
whole = all(line.hash == digest(line) for line in lines)
chained = all(after.previous_hash == before.hash for before, after in zip(lines, lines[1:]))
refused = [line for line in lines if line.code == "E-PERM-VISIBILITY"]
print(len(refused), attempts.attempts_of(User.objects.get(username="NAME")), whole and chained)
"""


@pytest.mark.faults
def test_many_attempts_at_once_are_all_refused_and_counted_and_leave_few_lines_in_one_chain(deployment: Deployment) -> None:
    name = f"knocker{uuid4().hex[:8]}"
    deployment.make_people(**{name: (False, [])})
    clients = [server.sign_in(name) for server in deployment.servers]

    def knock(addresses: list[str]) -> None:
        with ThreadPoolExecutor(20) as pool:
            answers = pool.map(lambda number: clients[number % 2].get(addresses[number]).status_code, range(len(addresses)))
            assert list(answers) == [403] * len(addresses)

    def recorded() -> tuple[int, int, str]:
        lines, counted, is_whole = deployment.manage("shell", "--no-imports", "-c", CHAIN.replace("NAME", name)).split()
        return int(lines), int(counted), is_whole

    before = recorded()[0]
    knock([f"/c/{uuid4()}/debug/"] * 40)
    assert recorded() == (before + 1, 40, "True"), "one line for the first attempt, and all attempts are counted"
    knock([f"/c/{uuid4()}/debug/" for _ in range(40)])
    assert recorded() == (before + 21, 80, "True"), "twenty single lines, and one that says that the rest is only counted"


@pytest.mark.faults
async def test_ten_people_who_ask_at_once_all_get_their_answer(deployment: Deployment) -> None:
    deployment.make_people(**{f"person{number}": (False, []) for number in range(10)})

    async def one_person(number: int) -> str:
        server = deployment.servers[number % 2]
        client = await asyncio.to_thread(server.sign_in, f"person{number}")
        async with LiveSocket(server, client) as socket:
            accepted = await ask(socket, "Hello!")
            await socket.send("subscribe", conversation=accepted["conversation"])
            end = (await socket.until(*ENDS, "chatui:idle"))[-1]
            return str(end["state"])

    async with asyncio.timeout(90):
        states = await asyncio.gather(*(one_person(number) for number in range(10)))
    assert states == ["completed"] * 10


@pytest.mark.faults
async def test_a_turn_of_a_killed_process_is_closed_by_another_unasked_and_what_was_seen_stays(deployment: Deployment) -> None:
    victim = deployment.start(CHATUI_DEMO_TOKENS_PER_SECOND="30")
    survivor, other = deployment.servers[:2]
    client = survivor.sign_in("ada")
    # Whichever of the two closes it, pages of both are told so.
    async with asyncio.timeout(90), LiveSocket(survivor, client) as one, LiveSocket(other, client) as two:
        async with LiveSocket(victim, client) as asker:
            accepted = await ask(asker, "Please explain")
            for follower in (one, two):
                await follower.send("subscribe", conversation=accepted["conversation"])
                await follower.until("response.delta.flush")
            await asyncio.sleep(1.5)
            victim.stop(signal.SIGKILL)
            deployment.servers.remove(victim)  # the next tests have two processes, as before
        ends = [(await follower.until("chatui:idle"))[-1] for follower in (one, two)]
    assert [(end["turn"], end["state"]) for end in ends] == 2 * [(accepted["turn"], "interrupted")]
    page = client.get(accepted["url"]).text
    assert failure_number(UUID(accepted["turn"])) in page
    assert 'class="block"' in page, "what was shown is still there"


# When a temporary chat ends, pages of both processes are informed, and no row is left.

ROWS = """
from chatui.models import Conversation, Message, SearchEntry, Turn
rows = [model.objects.filter(conversation="{key}").count() for model in (Message, Turn, SearchEntry)]
print("ANSWER", [Conversation.objects.filter(pk="{key}").count(), *rows])
"""
OVER = "from chatui.models import Conversation; Conversation.objects.filter(pk='{key}').update(temporary_until='2026-01-01T00:00Z')"


def rows(deployment: Deployment, url: str) -> str:
    """The numbers of rows of a conversation: itself, messages, turns and entries of the search index."""
    return deployment.manage("shell", "--no-imports", "-c", ROWS.format(key=url.split("/")[2])).split("ANSWER ", 1)[1].strip()


async def asked_temporarily(socket: LiveSocket) -> str:
    """Ask in a temporary chat; returns its address once the answer has ended."""
    await socket.send("send", client_id=str(uuid4()), conversation=None, text="Hello", effort="low", temporary=True)
    accepted = (await socket.until("chatui:accepted"))[-1]
    await socket.until(*ENDS)
    return str(accepted["url"])


def post(server: Server, client: httpx.Client, path: str, **data: str) -> int:
    token = re.search(r'name="csrf-token" content="([^"]+)"', client.get("/").text)
    assert token
    headers = {"X-CSRFToken": token[1], "Origin": server.url, "Referer": server.url}
    return client.post(f"{server.url}{path}", data=data, headers=headers).status_code


async def test_a_chat_that_the_other_process_closes_is_deleted_and_its_page_informed(deployment: Deployment) -> None:
    one, two = deployment.servers
    client = one.sign_in("bela")
    async with asyncio.timeout(60), LiveSocket(one, client) as socket:
        url = await asked_temporarily(socket)
        assert rows(deployment, url).endswith(" 1, 0]"), "the premise: it is there, and not one word of it is in the index"
        assert await asyncio.to_thread(post, two, client, f"{url}temporary/close/") == 200
        assert (await socket.until("chatui:unlisted"))[-1]["conversation"] in url
    assert rows(deployment, url) == "[0, 0, 0, 0]"


async def test_an_expired_chat_is_deleted_without_a_request(deployment: Deployment) -> None:
    one, _ = deployment.servers
    async with asyncio.timeout(60), LiveSocket(one, one.sign_in("bela")) as socket:
        url = await asked_temporarily(socket)
        deployment.manage("shell", "--no-imports", "-c", OVER.format(key=url.split("/")[2]))
        assert (await socket.until("chatui:unlisted"))[-1]["conversation"] in url
        while rows(deployment, url) != "[0, 0, 0, 0]":
            await asyncio.sleep(0.2)


async def test_one_that_is_kept_is_found_and_can_be_rated(deployment: Deployment) -> None:
    one, two = deployment.servers
    client = one.sign_in("bela")
    async with asyncio.timeout(60), LiveSocket(one, client) as socket:
        url = await asked_temporarily(socket)
        page = await asyncio.to_thread(client.get, url)
        assert ["thumbs" in row["has"] for row in rows_of(page.text)] == [False]
        assert await asyncio.to_thread(post, two, client, f"{url}temporary/keep/") == 200
        assert (await socket.until("chatui:listed"))[-1]["title"] == "Hello"
    [row] = rows_of(client.get(url).text)
    assert "thumbs" in row["has"]
    assert post(one, client, f"{row['finals'][0]}rating/", verdict="down", reason="wrong", note="It is five.") == 302
    assert url in client.get("/search/?q=hello").text
    exported = [json.loads(line) for line in deployment.manage("ratings", "--format", "harmony").splitlines()]
    assert [line["note"] for line in exported] == ["It is five."] and exported[0]["harmony"].endswith("<|return|>")
