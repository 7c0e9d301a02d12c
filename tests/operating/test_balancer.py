"""The load balancer of ``compose.yaml``: a real haproxy runs its configuration, with two local processes instead of containers."""

import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from tests.support.places import ROOT
from tests.support.served import free_port
from tests.tools import fault_programs

pytestmark = pytest.mark.served
CONFIGURATION = (ROOT / "deploy/haproxy.cfg").read_text(encoding="utf-8")
HOSTS = ".chat.example.org,other.example.org"


@pytest.fixture
def program() -> str:
    found = fault_programs.find("haproxy")
    if found is None:
        pytest.skip(fault_programs.why_not("haproxy"))
    return str(found)


class Process:
    """A stand-in for one process of the product: records its requests, and answers 200 only under the product's host name."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str | None, list[str]]] = []
        requests = self.requests

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                host, forwarded = self.headers["Host"], self.headers.get_all("X-Forwarded-For") or []
                requests.append((self.path, host, forwarded))
                is_known = host == "chat.example.org"
                self.send_response(200 if is_known else 400)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@contextmanager
def balanced(program: str, directory: Path, processes: list[Process]) -> Iterator[str]:
    """The address of a balancer before these processes, which are configured by address instead of by name."""
    port = free_port()
    servers = "\n".join(f"    server number{number} 127.0.0.1:{each.port}" for number, each in enumerate(processes))
    text, templates = re.subn(r"^ +server-template app 1-8 app:8000$", servers, CONFIGURATION, flags=re.MULTILINE)
    text, binds = re.subn(r"^    bind :8000$", f"    bind 127.0.0.1:{port}", text, flags=re.MULTILINE)
    # Without Docker's DNS server, no name may need to be resolved.
    text, names = re.subn(r" resolvers docker init-addr none$", "", text, flags=re.MULTILINE)
    assert (templates, binds, names) == (1, 1, 1)
    file = directory / "haproxy.cfg"
    file.write_text(text, encoding="utf-8")
    running = subprocess.Popen([program, "-db", "-q", "-f", str(file)], env={**os.environ, "CHATUI_HOSTS": HOSTS})
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        running.kill()
        running.wait()


def until(address: str, status: int) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            if httpx.get(f"{address}/up", headers={"Host": "chat.example.org"}, trust_env=False).status_code == status:
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < end
        time.sleep(0.1)


def test_haproxy_accepts_the_configuration_unchanged(program: str) -> None:
    command = [program, "-c", "-f", str(ROOT / "deploy/haproxy.cfg")]
    done = subprocess.run(command, env={**os.environ, "CHATUI_HOSTS": HOSTS}, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr


def test_both_processes_get_requests_with_the_clients_address_and_a_stopped_one_is_skipped(program: str, tmp_path: Path) -> None:
    one, other = Process(), Process()
    try:
        with balanced(program, tmp_path, [one, other]) as address:
            until(address, 200)
            end = time.monotonic() + 60
            while not all(any(path == "/page" for path, *_ in each.requests) for each in (one, other)):
                sent = {"Host": "chat.example.org", "X-Forwarded-For": "192.0.2.7"}
                assert httpx.get(f"{address}/page", headers=sent, trust_env=False).status_code in (200, 503)
                assert time.monotonic() < end
            for path, host, forwarded in [each for each in one.requests if each[0] in ("/page", "/healthz")]:
                assert host == "chat.example.org"
                assert path == "/healthz" or forwarded == ["192.0.2.7", "127.0.0.1"]
            assert any(path == "/healthz" for path, *_ in one.requests), "the premise"
            other.stop()
            until(address, 200)
            answers = [httpx.get(f"{address}/page", headers={"Host": "chat.example.org"}, trust_env=False) for _ in range(8)]
            assert [answer.status_code for answer in answers] == [200] * 8
    finally:
        one.stop()
        other.stop()
