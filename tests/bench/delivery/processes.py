"""The processes of a run: the model server, the product, the relays. The measured ones share one core, all others use the rest."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from uuid import uuid4

import psycopg

from tests.bench.delivery.load.job import Job, Outcome
from tests.bench.delivery.process_table import pin
from tests.support.places import ROOT
from tests.support.served import Deployment

CORES = sorted(os.sched_getaffinity(0))
MEASURED, OTHERS = {CORES[-1]}, set(CORES[:-1]) or {CORES[-1]}
START_SECONDS = 60
COUNTING = "tests.bench.delivery.servers.counting"

MAKE_SESSIONS = """
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.test import Client
from chatui.accounts import api_keys
from chatui.audit_log.record import SHELL
from chatui.models import User
nobody = make_password(None)
for number in range({count}):
    person = User.objects.create(username=f"person{{number:04}}", password=nobody)
    client = Client()
    client.force_login(person)
    print(f"{{settings.SESSION_COOKIE_NAME}}={{client.cookies[settings.SESSION_COOKIE_NAME].value}}")
    wanted = api_keys.NewKeyOptions(name="bench", for_responses=True, for_chat=False, per_minute=api_keys.MAX_PER_MINUTE)
    print(api_keys.create(SHELL.of(person), wanted).text)
"""

MAKE_CONVERSATIONS = """
from chatui.models import Conversation, User
from chatui.models.message import Author
from renderer.frames import Frame, Header
from tests.support.messages import add_message, open_branch
person = User.objects.get(username="{person}")
Conversation.objects.bulk_create([Conversation(owner=person, title=f"Talk {{number}}") for number in range(100)])
row, last = Conversation.objects.create(owner=person, title="A long talk"), None
for place in range(200):
    header, author = (Header("assistant", channel="final"), Author.MODEL) if place % 2 else (Header("user"), Author.PERSON)
    last = add_message(row, last, Frame(header, f"Message {{place}} of *this* talk."), author)
open_branch(row, person, last)
print(f"/c/{{row.pk}}/")
"""


@dataclass(frozen=True, slots=True)
class ModelServer:
    """The model server's address and process."""

    url: str
    pid: int


@dataclass(frozen=True, slots=True)
class Stores:
    """Addresses of a PostgreSQL server and of Redis; empty for SQLite, and for storage in memory. ``workers``: the product's processes,
    which share both."""

    database: str = ""
    redis: str = ""
    workers: int = 1

    @property
    def name(self) -> str:
        """The name under which ratios are committed."""
        several = f", {self.workers} processes" if self.workers > 1 else ""
        return f"services{several}" if self.database or self.redis else "sqlite"


@dataclass(frozen=True, slots=True)
class Target:
    """A server under load. ``counter`` is the file in which it counts what a turn takes, empty if it does not. ``pages``: the addresses of
    those whose cost is counted, by name; they are shown to the last of ``cookies``."""

    name: str
    port: int
    pid: int
    upstream: ModelServer
    cookies: tuple[str, ...] = ()
    counter: str = ""
    keys: tuple[str, ...] = ()
    pages: Mapping[str, str] = field(default_factory=dict)

    def as_programs(self) -> "Target":
        """The same server, as used by programs with keys."""
        return replace(self, name="program", cookies=tuple(f"Bearer {key}" for key in self.keys))

    def job(self, streams: int, tokens: int, rate: int, **more: object) -> Job:
        """A job for it."""
        known = {"cookies": self.cookies[:streams], "counter": self.counter, **more}
        return Job(self.name, self.port, self.pid, self.upstream.pid, streams, tokens, rate, **known)  # type: ignore[arg-type]


def run(job: Job) -> Outcome:
    """Run a job in a separate process, away from the measured core."""
    command = [sys.executable, "-m", "tests.bench.delivery.load"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        pin(process.pid, OTHERS)
        output, _ = process.communicate(json.dumps(asdict(job)))
    if process.returncode:
        raise SystemExit(f"The load on the {job.dialect} failed.")
    return Outcome(**json.loads(output))


@contextlib.contextmanager
def model_server() -> Iterator[ModelServer]:
    """Start the model server."""
    port = free_port()
    with started([sys.executable, "-m", "tests.bench.delivery.servers.upstream", str(port)], port, OTHERS) as pid:
        yield ModelServer(f"http://127.0.0.1:{port}", pid)


@contextlib.contextmanager
def relay(kind: str, upstream: ModelServer) -> Iterator[Target]:
    """One of the two relays, ``relay`` or ``floor``, on Daphne."""
    port = free_port()
    command = [sys.executable, "-m", "daphne", "-b", "127.0.0.1", "-p", str(port), "--no-server-name", "-v", "0"]
    application = f"tests.bench.delivery.servers.{kind}:application"
    with started([*command, application], port, MEASURED, BENCH_UPSTREAM=upstream.url) as pid:
        yield Target(kind, port, pid, upstream)


@contextlib.contextmanager
def chainlit(program: str, upstream: ModelServer) -> Iterator[Target]:
    """Chainlit, installed separately by the developer; ``program`` is its command."""
    port = free_port()
    application = str(ROOT / "tests/bench/delivery/servers/chainlit_app.py")
    with tempfile.TemporaryDirectory(prefix="chatui-bench-") as place:
        command = [program, "run", application, "--headless", "--host", "127.0.0.1", "--port", str(port)]
        with started(command, port, MEASURED, BENCH_UPSTREAM=upstream.url, CHAINLIT_APP_ROOT=place, DO_NOT_TRACK="true") as pid:
            yield Target("chainlit", port, pid, upstream)


@contextlib.contextmanager
def product(upstream: ModelServer, people: int, stores: Stores, *, is_counted: bool = False) -> Iterator[Target]:
    """The product, served as usual, with that many people signed in."""
    with tempfile.TemporaryDirectory(prefix="chatui-bench-") as place, _database(stores.database) as database:
        counter = f"{place}/counts" if is_counted else ""
        counting = {"DJANGO_SETTINGS_MODULE": COUNTING, "BENCH_COUNTS": counter} if is_counted else {}
        stores_settings = {"CHATUI_DATABASE_URL": database, "CHATUI_REDIS_URL": stores.redis}
        deployment = Deployment(Path(place), CHATUI_BACKEND_URL=upstream.url, CHATUI_LOG_LEVEL="WARNING", **stores_settings)
        # Python's warning filters are not to be measured.
        del deployment.environment["PYTHONWARNINGS"]
        deployment.workers = stores.workers
        try:
            server = deployment.start(**counting)
            pin(server.process.pid, MEASURED)
            # Each page belongs to a different person, because the product limits each person's load. They have sessions and no
            # passwords: hashing hundreds of them is not what is measured.
            # In a server that counts, one person more looks at pages.
            cookies = deployment.manage("shell", "--no-imports", "-c", MAKE_SESSIONS.format(count=people + is_counted))
            fields = cookies.split()
            sessions, keys = tuple(fields[::2]), tuple(fields[1::2])
            pages = _pages(deployment, people) if is_counted else {}
            yield Target("product", server.port, server.process.pid, upstream, sessions, counter, keys, pages)
        finally:
            deployment.stop()


def _pages(deployment: Deployment, people: int) -> dict[str, str]:
    """The addresses of the home page, of a page of the list and of a long conversation, for a person with many of them."""
    path = deployment.manage("shell", "--no-imports", "-c", MAKE_CONVERSATIONS.format(person=f"person{people:04}")).split()[-1]
    return {"home": "/", "list_of_60": "/conversations/", "conversation_of_200": path}


@contextlib.contextmanager
def _database(url: str) -> Iterator[str]:
    """The address of a new database on that PostgreSQL server, dropped at the end. An empty ``url`` stays empty, which means SQLite."""
    if not url:
        yield ""
        return
    name = f"chatui_bench_{uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')  # type: ignore[arg-type]
        try:
            yield f"{url.rpartition('/')[0]}/{name}"
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')  # type: ignore[arg-type]


def free_port() -> int:
    """A port of this machine on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@contextlib.contextmanager
def started(command: list[str], port: int, cores: set[int], **environment: str) -> Iterator[int]:
    """Start a process on these cores that listens on ``port``; yields its pid."""
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment})
    try:
        pin(process.pid, cores)
        _wait_for(port, process)
        yield process.pid
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        time.sleep(0.05)
    raise SystemExit(f"{process.args!r} did not start.")
