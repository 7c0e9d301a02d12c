"""Machines whose clocks are wrong: leases, order and answers are unaffected, and one that is days ahead removes nothing."""

import asyncio
import contextlib
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import httpx
import psycopg
import pytest

from tests.processes.counting import Reader, counts
from tests.services.databases import own_database
from tests.support import stub
from tests.support.deployments import process
from tests.support.served import Deployment, LiveSocket
from tests.tools import fault_programs

pytestmark = [pytest.mark.services, pytest.mark.asyncio, pytest.mark.faults]

WORDS, PAUSE = 30, 0.5
TIMEOUT_SECONDS = 120.0
PURGED = 0
"""How ``purge`` ends, unless the clock is wrong."""
WRONG_CLOCK = 3
ERROR = timedelta(hours=1)


def faketime_library() -> str:
    """The library that shifts the clock of a process."""
    if fault_programs.find("faketime") is None:
        pytest.skip(fault_programs.why_not("faketime"))
    [library, *_] = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    return str(library)


@contextlib.contextmanager
def deployed(directory: Path, model: str) -> Iterator[Deployment]:
    with own_database() as address:
        deployment = Deployment(
            directory,
            CHATUI_DATABASE_URL=address,
            CHATUI_REDIS_URL=os.environ["CHATUI_TEST_REDIS_URL"],
            CHATUI_BACKEND_URL=model,
            CHATUI_BACKEND_MODEL="stub",
        )
        try:
            yield deployment
        finally:
            deployment.stop()


async def ask_and_read(reader: Reader) -> None:
    await reader.ask()
    await reader.read()


def shifted(by: str) -> dict[str, str]:
    """The environment of a process whose clock is wrong ``by`` so much."""
    return {"LD_PRELOAD": faketime_library(), "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME": by}


async def test_an_hours_error_of_one_machine_ends_no_answer_of_the_other(tmp_path: Path) -> None:
    clocks: list[dict[str, str]] = [{}, shifted("+1h"), shifted("-1h")]
    async with stub.running(counts(WORDS, PAUSE)) as model:
        with deployed(tmp_path, model.url) as deployment:
            servers = [await asyncio.to_thread(partial(deployment.start, **clock)) for clock in clocks]
            await asyncio.to_thread(deployment.make_people, ada=(False, []))
            started = datetime.now(UTC)
            async with asyncio.timeout(TIMEOUT_SECONDS), contextlib.AsyncExitStack() as sockets:
                readers = []
                for server in servers:
                    client = await asyncio.to_thread(server.sign_in, "ada")
                    readers.append(Reader(await sockets.enter_async_context(LiveSocket(server, client))))
                await asyncio.gather(*map(ask_and_read, readers))
                assert all(reader.seen[-1][0] - reader.seen[0][0] > 11 for reader in readers), "the other processes had time to sweep"
            with psycopg.connect(deployment.environment["CHATUI_DATABASE_URL"]) as connection:
                turns = connection.execute("SELECT state, started_at FROM chatui_turn").fetchall()
    assert [state for state, _ in turns] == ["completed"] * len(clocks)
    errors = sorted(at - started for _, at in turns)
    assert errors[0] < -ERROR / 2 and errors[-1] > ERROR / 2, "the premise: the clocks of two processes are wrong"
    assert [reader.last_seen() for reader in readers] == [WORDS] * len(clocks)


IN_THE_BIN = """
from datetime import timedelta
from django.utils import timezone
from chatui.audit_log.record import SHELL, record
from chatui.models.conversation import Conversation
from chatui.models.user import User
record("a line of an old database", SHELL)
ada, now = User.objects.get(), timezone.now()
for days in (1, 45):
    Conversation.objects.create(owner=ada, title=f"deleted {days} days ago", deleted_at=now - timedelta(days=days))
"""


async def test_a_machine_whose_clock_is_days_wrong_purges_nothing_and_says_so(tmp_path: Path) -> None:
    with deployed(tmp_path, "http://127.0.0.1:9/v1") as deployment:
        deployment.make_people(ada=(False, []))
        deployment.manage("shell", "--no-imports", "-c", IN_THE_BIN)

        def purge(by: str = "") -> tuple[int, str, list[str]]:
            """How it ends, what it says, and which conversations are left."""
            done = process.run(["manage.py", "purge"], deployment.environment | (shifted(by) if by else {}))
            with psycopg.connect(deployment.environment["CHATUI_DATABASE_URL"]) as rows:
                left = [title for (title,) in rows.execute("SELECT title FROM chatui_conversation ORDER BY title")]
            return done.returncode, done.stdout + done.stderr, left

        both = ["deleted 1 days ago", "deleted 45 days ago"]
        for by, way in (("+40d", "40 days, 0:00:00 ahead of"), ("-400s", "0:06:40 behind")):
            code, said, left = purge(by)
            assert (code, left) == (WRONG_CLOCK, both) and f"the clock of this machine is {way} that of the database" in said, said
            assert "Traceback" not in said
        deployment.program = ("-m", "tests.operating.test_daily_purge")
        fast = deployment.start(**shifted("+40d"))
        end = time.monotonic() + TIMEOUT_SECONDS
        while "nothing was purged: the clock of this machine differs" not in fast.console:
            assert time.monotonic() < end, fast.console
            await asyncio.sleep(0.2)
        await asyncio.sleep(3.0)  # it looks twice a second
        assert fast.console.count("nothing was purged") == 1 and "Nothing was purged" not in fast.console, "and it starts no purge"
        answer = httpx.get(f"{fast.url}/readyz", trust_env=False)
        assert answer.status_code == 200 and answer.json()["clock"] == "degraded"
        fast.stop()
        code, said, left = purge("+200s")
        assert (code, left) == (PURGED, both[:1]), said
