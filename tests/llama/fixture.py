"""pytest fixtures: addresses of running llama.cpp servers with the tiny gpt-oss model, for import into conftest modules."""

import os
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from tests.llama.prepare import HERE, NotAvailableError, Prepared, prepare
from tests.support.served import free_port

CACHE = Path(os.environ.get("CHATUI_CACHE_DIR") or HERE.parents[1] / ".cache") / "llama"
START_SECONDS = 180
CONTEXT, SMALL_CONTEXT = 4096, 512
"""The context size: tokens of prompt and answer together."""


@dataclass
class Server:
    process: subprocess.Popen[bytes]
    log: IO[bytes]
    url: str
    users: int = 0


_running: dict[tuple[str, int], Server] = {}


@pytest.fixture(scope="session")
def llama_server() -> Iterator[str]:
    """A server that separates reasoning from the answer, as llama.cpp does by default."""
    yield from _served("auto")


@pytest.fixture(scope="session")
def llama_server_unparsed() -> Iterator[str]:
    """A server that puts half of the Harmony markup, reasoning included, into the answer."""
    yield from _served("none")


@pytest.fixture(scope="session")
def llama_server_with_a_small_context() -> Iterator[str]:
    """A server with a context of SMALL_CONTEXT tokens."""
    yield from _served("auto", SMALL_CONTEXT)


@pytest.fixture
def llama_server_of_one_test() -> Iterator[Server]:
    """A server that a test may kill."""
    server = _started("auto", CONTEXT)
    yield server
    _stop(server)


def _served(reasoning_format: str, context: int = CONTEXT) -> Iterator[str]:
    """Fixtures imported in several places share one server: the first use starts it, and the end of the last use stops it."""
    key = (reasoning_format, context)
    if key not in _running:
        _running[key] = _started(reasoning_format, context)
    server = _running[key]
    server.users += 1
    yield server.url
    server.users -= 1
    if not server.users:
        _stop(_running.pop(key))


def _started(reasoning_format: str, context: int) -> Server:
    """A running server. If none can run here, skip the test with the reason."""
    try:
        return _start(prepare(CACHE), reasoning_format, context)
    except NotAvailableError as error:
        pytest.skip(f"The llama.cpp test server cannot be set up here: {error}")


def _start(prepared: Prepared, reasoning_format: str, context: int) -> Server:
    port = free_port()
    command = [str(prepared.python), str(HERE / "serve.py"), str(prepared.model), str(port), reasoning_format, str(context)]
    log = tempfile.TemporaryFile()
    server = Server(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT), log, f"http://127.0.0.1:{port}")
    try:
        _wait_until_healthy(server)
    except NotAvailableError:
        _stop(server)
        raise
    return server


def _wait_until_healthy(server: Server) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            server.log.seek(0)
            last = server.log.read().decode("utf-8", "replace").strip().splitlines()[-1:]
            raise NotAvailableError(f"it ended at once: {' '.join(last)}")
        try:
            with urllib.request.urlopen(f"{server.url}/health", timeout=1) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise NotAvailableError(f"it was not ready after {START_SECONDS} seconds")


def _stop(server: Server) -> None:
    server.process.terminate()
    try:
        server.process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        server.process.kill()
        server.process.wait()
    server.log.close()
