"""A model server is examined from the admin page at the real server, with a scripted model server."""

import asyncio
import re
import signal
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.chatui.operations.doctor.peers import (
    MODEL,
    PLANNED,
    THOUGHT,
    answering,
    chat,
    chat_answers,
    responses_answers,
)
from tests.support.limits import limit
from tests.support.served import Deployment, Server
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary

pytestmark = pytest.mark.served

KEEPER = ["view_storedbackend", "change_storedbackend"]
KEY = "sk-this-is-the-key"
PAGE = "/manage/servers/main/"
FAULTY = {**chat_answers(cut=chat({"reasoning": "I count."}, tokens=24)), **responses_answers()}


async def never(writer: asyncio.StreamWriter) -> None:
    """No answer at all, as long as the connection is open."""
    await asyncio.sleep(120)


SILENT: dict[str, Callable[[asyncio.StreamWriter], Awaitable[None]]] = dict.fromkeys(("chat", "responses", "ids"), never)


@contextmanager
def deployed(tmp_path: Path, url: str, kind: str = "chat") -> Iterator[tuple[Deployment, Server]]:
    deployment = Deployment(tmp_path, CHATUI_BACKEND_URL=url, CHATUI_BACKEND_KEY=KEY, CHATUI_BACKEND_KIND=kind)
    try:
        server = deployment.start()
        deployment.make_people(kim=(True, KEEPER), sam=(True, ["view_storedbackend"]), ada=(False, []))
        yield deployment, server
    finally:
        deployment.stop()


def post(client: httpx.Client) -> httpx.Response:
    token = client.get("/settings/").text.partition('name="csrf-token" content="')[2].partition('"')[0]
    return client.post(PAGE, headers={"X-CSRFToken": token, "Origin": str(client.base_url).rstrip("/")})


def until(client: httpx.Client, words: str, seconds: float = 60) -> str:
    end = time.monotonic() + seconds
    while words not in (text := client.get(PAGE).text):
        assert time.monotonic() < end, text
        time.sleep(0.3)
    return text


def test_staff_examine_a_server_and_see_no_text_of_it(tmp_path: Path) -> None:
    with answering(FAULTY) as peer, deployed(tmp_path, peer.url) as (_, server):
        kim, sam = server.sign_in("kim"), server.sign_in("sam")
        assert "Not examined from here yet." in kim.get(PAGE).text
        assert f'href="{PAGE}"' in kim.get("/manage/servers/").text
        assert post(sam).status_code == 404 and "Examine again" not in sam.get(PAGE).text
        assert post(server.sign_in("ada")).status_code == 404
        assert post(kim).status_code == 302
        text = until(kim, "It works with these settings, but with the faults listed below.")
        assert "cut-unsaid" in text and "<code>responses</code>" in text and "Examine again" in text
        assert "cut-unsaid" in sam.get(PAGE).text
        secrets = (THOUGHT, "heron", PLANNED, "I count", MODEL, KEY)
        assert not [word for word in secrets if word in text]
        with sqlite3.connect(tmp_path / "chatui.sqlite3") as database:
            [row] = database.execute("SELECT * FROM chatui_examination").fetchall()
            lines = database.execute("SELECT actor_name, way FROM chatui_auditevent WHERE action = 'model server examined'").fetchall()
        assert not [word for word in secrets if word in repr(row)]
        assert lines == [("kim", "admin")]
        assert not [word for word in secrets if word in server.console]


def test_a_run_whose_process_was_killed_is_shown_as_ended_and_another_can_start(tmp_path: Path) -> None:
    with answering(SILENT) as peer, deployed(tmp_path, peer.url) as (deployment, server):
        kim = server.sign_in("kim")
        assert post(kim).status_code == 302
        text = until(kim, "Examining: ")
        assert "data-running" in text and re.search(r"<progress\b", text) and "Examine again" not in text
        refused = post(kim)
        assert refused.status_code == 409 and "This process is already examining" in refused.text
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(15)
        again = deployment.start_again(server).sign_in("kim")
        text = until(again, "ended without a report", limit("chatui.operations.doctor", "LEASE").total_seconds() + 10)
        assert "data-running" not in text and "Examine again" in text
        assert post(again).status_code == 302
        until(again, "Examining: ", 5)
