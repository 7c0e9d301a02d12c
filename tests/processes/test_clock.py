"""Machines whose clocks are an hour wrong work with one whose clock is right: leases, order and answers are unaffected."""

import asyncio
import contextlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import psycopg
import pytest

from tests.processes.counting import Reader, counts
from tests.services.databases import own_database
from tests.support import stub
from tests.support.served import Deployment, LiveSocket
from tests.tools import fault_programs

pytestmark = [pytest.mark.services, pytest.mark.asyncio, pytest.mark.faults]

WORDS, PAUSE = 30, 0.5
TIMEOUT_SECONDS = 120.0
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


async def test_an_hours_error_of_one_machine_ends_no_answer_of_the_other(tmp_path: Path) -> None:
    shifted = {"LD_PRELOAD": faketime_library(), "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    clocks: list[dict[str, str]] = [{}, {**shifted, "FAKETIME": "+1h"}, {**shifted, "FAKETIME": "-1h"}]
    async with stub.running(counts(WORDS, PAUSE)) as model:
        with deployed(tmp_path, model.url) as deployment:
            processes = [await asyncio.to_thread(partial(deployment.start, **clock)) for clock in clocks]
            await asyncio.to_thread(deployment.make_people, ada=(False, []))
            started = datetime.now(UTC)
            async with asyncio.timeout(TIMEOUT_SECONDS), contextlib.AsyncExitStack() as sockets:
                readers = []
                for process in processes:
                    client = await asyncio.to_thread(process.sign_in, "ada")
                    readers.append(Reader(await sockets.enter_async_context(LiveSocket(process, client))))
                await asyncio.gather(*map(ask_and_read, readers))
                assert all(reader.seen[-1][0] - reader.seen[0][0] > 11 for reader in readers), "the other processes had time to sweep"
            with psycopg.connect(deployment.environment["CHATUI_DATABASE_URL"]) as connection:
                turns = connection.execute("SELECT state, started_at FROM chatui_turn").fetchall()
    assert [state for state, _ in turns] == ["completed"] * len(clocks)
    errors = sorted(at - started for _, at in turns)
    assert errors[0] < -ERROR / 2 and errors[-1] > ERROR / 2, "the premise: the clocks of two processes are wrong"
    assert [reader.last_seen() for reader in readers] == [WORDS] * len(clocks)
