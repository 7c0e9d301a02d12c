"""Two workers behind one address, on PostgreSQL and Redis: people at either follow one answer, a worker is killed, the parent is ended."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest

from chatui import workers
from tests.processes.counting import Reader, counts, counts_until
from tests.services.databases import own_database
from tests.support import stub
from tests.support.places import ROOT
from tests.support.served import Deployment, LiveSocket, Server, free_port

pytestmark = pytest.mark.services
TOKEN = "a token of this test"
WAIT_SECONDS = 60.0
MOST_SOCKETS = 60


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    """Two workers, not started yet."""
    with own_database() as address:
        deployment = Deployment(
            tmp_path,
            CHATUI_DATABASE_URL=address,
            CHATUI_REDIS_URL=os.environ["CHATUI_TEST_REDIS_URL"],
            CHATUI_BACKEND_MODEL="stub",
            CHATUI_METRICS_TOKEN=TOKEN,
            CHATUI_DRAIN_SECONDS="30",
            CHATUI_PURGE_DAILY="false",
        )
        deployment.workers = 2
        yield deployment
        deployment.stop()


def children(process: int) -> set[int]:
    return {int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()}


def is_gone(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def sample(server: Server, metric: str) -> dict[str, float]:
    """The values of a metric without other labels, by worker."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    text = httpx.get(f"{server.url}/metrics", headers=headers, trust_env=False, timeout=30).text
    return {number: float(value) for number, value in re.findall(rf'^{metric}{{worker="(\d+)"}} (\S+)$', text, re.MULTILINE)}


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while not is_so():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.1)


def is_closed(server: Server) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", server.port)) != 0


def owner(deployment: Deployment) -> int:
    """The process that writes the running answer."""
    with psycopg.connect(deployment.environment["CHATUI_DATABASE_URL"]) as connection:
        [(name,)] = connection.execute("SELECT lease_owner FROM chatui_turn WHERE state = 'running'").fetchall()
    return int(name.rpartition(":")[0].rpartition(":")[2])


async def one_socket_at_each(server: Server, client: httpx.Client, kept: AsyncExitStack) -> tuple[LiveSocket, LiveSocket]:
    """Open sockets until both workers have one."""
    found: dict[str, LiveSocket] = {}
    before = await asyncio.to_thread(sample, server, "chatui_sockets")
    assert set(before) == {"1", "2"}
    for _ in range(MOST_SOCKETS):
        opened = await kept.enter_async_context(LiveSocket(server, client))
        await opened.send("probe")
        await opened.until("chatui:alive")
        after = await asyncio.to_thread(sample, server, "chatui_sockets")
        [number] = [number for number in after if after[number] > before[number]]
        found[number], before = opened, after
        if len(found) == 2:
            return found["1"], found["2"]
    raise AssertionError(f"of {MOST_SOCKETS} sockets, all are at one worker")


@pytest.mark.asyncio
async def test_people_at_both_follow_an_answer_and_one_worker_is_killed(deployment: Deployment) -> None:
    async with stub.running(counts(3000)) as model, AsyncExitStack() as kept:
        deployment.environment["CHATUI_BACKEND_URL"] = model.url
        server = await asyncio.to_thread(deployment.start)
        parent = server.process.pid
        await asyncio.to_thread(lambda: deployment.make_people(ada=(False, []), bela=(False, [])))
        client, other = await asyncio.to_thread(server.sign_in, "ada"), await asyncio.to_thread(server.sign_in, "bela")
        readers = [Reader(each) for each in await one_socket_at_each(server, client, kept)]
        aside = await one_socket_at_each(server, other, kept)
        await readers[0].ask()
        readers[1].accepted = readers[0].accepted
        await readers[1].follow(readers[1].socket)
        writing = await asyncio.to_thread(owner, deployment)
        assert writing in children(parent)
        reading = [asyncio.create_task(reader.read()) for reader in readers]
        while min(reader.last_seen() for reader in readers) < 20:
            await asyncio.sleep(0.05)
        os.kill(writing, signal.SIGKILL)
        ended = await asyncio.wait_for(asyncio.gather(*reading, return_exceptions=True), WAIT_SECONDS)
        assert sum(isinstance(each, Exception) for each in ended) == 1, "whoever was at the other worker stays connected"
        [stayed] = [reader for reader, each in zip(readers, ended, strict=True) if each is None]
        assert stayed.end and stayed.end["state"] == "interrupted", stayed.end
        assert stayed.last_seen() >= 20
        await asyncio.to_thread(until, lambda: len(children(parent)) == 2 and sample(server, "chatui_worker_up") == {"1": 1, "2": 1})
        assert writing not in children(parent)
        said = [line for line in server.console.splitlines() if "chatui.workers" in line]
        assert len(said) == 1 and f"(process {writing}) was ended by SIGKILL. It is started again in 1 s." in said[0], said
        alive = 0
        for each in aside:
            try:
                await each.send("probe")
                await each.until("chatui:alive")
                alive += 1
            except Exception:  # noqa: BLE001 - of the worker that was killed
                continue
        assert alive == 1, "others are not disturbed"
        assert (await asyncio.to_thread(client.get, "/")).status_code == 200


@pytest.mark.asyncio
async def test_sigterm_lets_every_worker_finish_its_answers_and_closes_the_port(deployment: Deployment) -> None:
    end = asyncio.Event()
    async with stub.running(lambda writer: counts_until(end, 0.1)(writer)) as model, AsyncExitStack() as kept:
        deployment.environment["CHATUI_BACKEND_URL"] = model.url
        server = await asyncio.to_thread(deployment.start)
        processes = children(server.process.pid)
        assert len(processes) == 2
        await asyncio.to_thread(lambda: deployment.make_people(ada=(False, [])))
        client = await asyncio.to_thread(server.sign_in, "ada")
        for each in await one_socket_at_each(server, client, kept):
            await Reader(each).ask()
        for process in (server.process.pid, *processes):  # as systemd ends a unit
            os.kill(process, signal.SIGTERM)
        await asyncio.to_thread(until, lambda: is_closed(server))
        await asyncio.sleep(1)
        assert server.process.poll() is None and children(server.process.pid) == processes, "the answers are still written"
        end.set()
        assert await asyncio.to_thread(server.process.wait, WAIT_SECONDS) == 0
        assert all(map(is_gone, processes))
    with psycopg.connect(deployment.environment["CHATUI_DATABASE_URL"]) as connection:
        assert connection.execute("SELECT state, count(*) FROM chatui_turn GROUP BY 1").fetchall() == [("completed", 2)]


def test_workers_end_with_a_parent_that_is_killed_and_one_says_for_all_that_they_serve(deployment: Deployment) -> None:
    server = deployment.start()
    until(lambda: len(sample(server, "chatui_ready")) == 2)
    assert server.console.count("Chat is at") == 1
    assert server.console.count("code for the first one") == 1
    processes = children(server.process.pid)
    server.process.kill()
    until(lambda: is_closed(server) and all(map(is_gone, processes)))


@pytest.mark.parametrize(
    ("arguments", "left_out", "says"),
    [
        (("--workers", "0"), "", "--workers takes a number of processes, from 1."),
        (("--workers", "two"), "", "invalid int value"),
        (("--workers", "2"), "CHATUI_REDIS_URL", "--workers needs PostgreSQL and Redis"),
        (("--workers", "2"), "CHATUI_DATABASE_URL", "--workers needs PostgreSQL and Redis"),
    ],
)
def test_workers_that_cannot_serve_are_refused(arguments: tuple[str, ...], left_out: str, says: str, deployment: Deployment) -> None:
    environment = {name: value for name, value in deployment.environment.items() if name != left_out}
    command = [sys.executable, "manage.py", "serve", "--port", str(free_port()), *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=WAIT_SECONDS)
    assert done.returncode in (1, 2)
    assert says in (done.stdout + done.stderr).strip().splitlines()[-1], done.stderr


WORKER = """
import os, sys, time
from chatui import starting, workers
workers.FIRST_PAUSE_SECONDS, workers.LONGEST_PAUSE_SECONDS, workers.END_SECONDS = 0.01, 0.02, 0.2
workers.run(starting.begin(sys.argv[2:]), starting.waiting)
own = workers.own
own.end_with_parent(0)
if own.number:
    {does}
"""


@contextmanager
def parent(tmp_path: Path, does: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A parent whose two workers do this, in place of the product."""
    program = tmp_path / "program.py"
    program.write_text(WORKER.format(does=does))
    command = [sys.executable, str(program), "serve", "--port", str(free_port()), "--workers", "2"]
    place = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)} | environment
    with subprocess.Popen(command, env=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_parent_whose_workers_fail_at_their_start_ends_with_their_code(log_format: str, tmp_path: Path) -> None:
    with parent(tmp_path, "sys.exit(7)", CHATUI_LOG_FORMAT=log_format) as process:
        _, said = process.communicate(timeout=WAIT_SECONDS)
    lines = said.splitlines()
    assert process.returncode == 7, said
    assert "in a row before it served: giving up." in lines[-1]
    assert all("ended with exit code 7" in line and line.startswith("{") == (log_format == "json") for line in lines), said
    assert workers.MOST_FAILED_STARTS <= len(lines) < 2 * workers.MOST_FAILED_STARTS
    assert list(tmp_path.iterdir()) == [tmp_path / "program.py"], "nothing is left behind"


def test_a_worker_that_fails_while_the_other_serves_is_tried_again_and_again(tmp_path: Path) -> None:
    does = "own.serves() if own.number == 1 else (time.sleep(0.5), sys.exit(7)); time.sleep(60)"  # the other serves before five failures
    with parent(tmp_path, does) as process:
        assert process.stderr
        lines = [process.stderr.readline() for _ in range(2 * workers.MOST_FAILED_STARTS)]
        assert all("Worker 2" in line and "It is started again" in line for line in lines), lines
        process.terminate()
        process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode in (-signal.SIGTERM, 7)


def test_a_second_signal_kills_a_worker_that_does_not_end(tmp_path: Path) -> None:
    ignored = "import signal; [signal.signal(each, lambda *_: time.sleep(99)) for each in (signal.SIGINT, workers.DRAIN)]"
    does = f"{ignored}; own.serves(); os.write(1, b'.'); time.sleep(99)"
    with parent(tmp_path, does) as process:
        assert process.stdout
        assert process.stdout.read(2) == ".."
        processes = children(process.pid)
        for _ in range(2):
            process.terminate()
            time.sleep(0.5)
        process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == 128 + signal.SIGKILL
    assert all(map(is_gone, processes))
