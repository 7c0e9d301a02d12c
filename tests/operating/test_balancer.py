"""The load balancer of ``compose.yaml``: a real haproxy runs its configuration, with two local processes instead of containers."""

import os
import re
import socket
import socketserver
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

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
    """A stand-in for one process of the product: records its requests, and answers only under the product's host name. ``is_ready``: it can
    serve pages. Its socket repeats what it gets."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str | None, list[str]]] = []
        self.is_ready = True
        process = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                host, forwarded = self.headers["Host"], self.headers.get_all("X-Forwarded-For") or []
                process.requests.append((self.path, host, forwarded))
                is_served = process.is_ready or self.path == "/healthz"
                self.send_response((200 if is_served else 503) if host == "chat.example.org" else 400)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.do_GET()

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
    port, count = free_port(), len(re.findall("^backend ", CONFIGURATION, flags=re.MULTILINE))
    servers = "\n".join(f"    server number{number} 127.0.0.1:{each.port}" for number, each in enumerate(processes))
    text, templates = re.subn(r"^ +server-template app 1-8 app:8000$", servers, CONFIGURATION, flags=re.MULTILINE)
    text, binds = re.subn(r"^    bind :8000$", f"    bind 127.0.0.1:{port}", text, flags=re.MULTILINE)
    # Without Docker's DNS server, no name may need to be resolved.
    text, names = re.subn(r" resolvers docker init-addr none$", "", text, flags=re.MULTILINE)
    assert (templates, binds, names) == (count, 1, count)
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
            for path, host, forwarded in [each for each in one.requests if each[0] in ("/page", "/healthz", "/readyz")]:
                assert host == "chat.example.org"
                assert path != "/page" or forwarded == ["192.0.2.7", "127.0.0.1"]
            while not {"/healthz", "/readyz"} <= {path for path, *_ in one.requests}:
                assert time.monotonic() < end
                time.sleep(0.05)
            other.stop()
            until(address, 200)
            answers = [httpx.get(f"{address}/page", headers={"Host": "chat.example.org"}, trust_env=False) for _ in range(8)]
            assert [answer.status_code for answer in answers] == [200] * 8
    finally:
        one.stop()
        other.stop()


def asked(address: str, method: str = "GET") -> int:
    content = b"a=b" if method == "POST" else None
    return httpx.request(method, f"{address}/page", content=content, headers={"Host": "chat.example.org"}, trust_env=False).status_code


@pytest.fixture
def three() -> Iterator[list[Process]]:
    processes = [Process() for _ in range(3)]
    yield processes
    for process in processes:
        process.stop()


@pytest.mark.parametrize("balancer", ["haproxy", "nginx"])
def test_no_page_is_lost_while_a_process_can_serve_it_and_forms_only_at_first(balancer: str, three: list[Process], tmp_path: Path) -> None:
    with BALANCERS[balancer](tmp_path, three) as address:
        until(address, 200)
        three[0].is_ready = False
        begun, lost = time.monotonic(), dict[float, int]()
        assert [status for status in (asked(address) for _ in range(30)) if status != 200] == []
        while (seconds := time.monotonic() - begun) < 8:
            if asked(address, "POST") != 200:
                lost[seconds] = asked(address)
            # nginx counts a refused page, but not a refused form, so pages must get to each process: with three requests in a round,
            # the form would always be the first process's.
            assert [asked(address) for _ in range(2 + len(three))] == [200] * (2 + len(three))
        assert set(lost.values()) <= {200}
        if balancer == "haproxy":
            assert all(second < 5 for second in lost), "the limit for a check, on a busy machine; without load it is two seconds"
        else:
            assert len(lost) <= 8, "one of a form's tries in two seconds"


@pytest.mark.parametrize("balancer", ["haproxy", "nginx"])
def test_while_no_process_can_serve_pages_those_that_live_say_so(balancer: str, three: list[Process], tmp_path: Path) -> None:
    with BALANCERS[balancer](tmp_path, three) as address:
        until(address, 200)
        if balancer == "haproxy":  # which knows who lives, as nginx does not
            three[2].stop()
        else:
            three[2].is_ready = False
        for process in three[:2]:
            process.is_ready = False
        until(address, 503)
        count = sum(len(process.requests) for process in three)
        time.sleep(3)  # so that the balancer knows of all of them
        assert {asked(address, method) for method in ("GET", "POST") for _ in range(20)} == {503}
        assert sum(len(process.requests) for process in three) >= count + 40, "their own answer, and not the balancer's"
        for process in three:
            process.is_ready = True
        until(address, 200)
        time.sleep(3)
        assert {asked(address, method) for method in ("GET", "POST") for _ in range(20)} == {200}


def test_a_running_socket_outlives_a_process_that_can_serve_no_pages(program: str, tmp_path: Path) -> None:
    arrived = threading.Event()

    class Echo(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            head = b"".join(iter(self.rfile.readline, b"\r\n"))
            if b" /ws/ " not in head:
                status = b"503 Busy" if b"/readyz" in head and arrived.is_set() else b"200 OK"
                self.wfile.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n")
            self.wfile.write(b"Sec-WebSocket-Accept: ICX+Yqv66kxgM0FcWaLWlFLwTAI=\r\n\r\n")  # to the key below
            while line := self.rfile.readline():
                self.wfile.write(line)

    class Threads(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Threads(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        stand_in = SimpleNamespace(port=server.server_address[1])
        with balanced(program, tmp_path, [stand_in]) as address:  # type: ignore[list-item]
            until(address, 200)
            with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), 60) as page:
                page.sendall(b"GET /ws/ HTTP/1.1\r\nHost: chat.example.org\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n")
                page.sendall(b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
                reader = page.makefile("rb")
                assert b"101" in reader.readline()
                while reader.readline() != b"\r\n":
                    pass
                arrived.set()
                time.sleep(3)
                page.sendall(b"still there\n")
                assert reader.readline() == b"still there\n"
        server.shutdown()


@contextmanager
def nginx_balanced(directory: Path, processes: list[Process]) -> Iterator[str]:
    """The documented nginx, with these processes."""
    program = fault_programs.find("nginx")
    if program is None:
        pytest.skip(fault_programs.why_not("nginx"))
    port = free_port()
    page = (ROOT / "docs/operating/https.md").read_text(encoding="utf-8")
    [location] = re.findall(r"^location / \{$.*?^\}$", page, flags=re.MULTILINE | re.DOTALL)
    [upstream] = re.findall(r"^upstream chatui \{$.*?^\}$", page, flags=re.MULTILINE | re.DOTALL)
    [retries] = re.findall(r"^    proxy_next_upstream error.*?(?=^```)", page, flags=re.MULTILINE | re.DOTALL)
    named = re.findall(r"server 127\.0\.0\.1:(\d+)", upstream)
    lines = [line for line in upstream.splitlines() if "server" in line]
    assert len(named) == len(lines) == 2 * len(set(named)), "the premise: each process in both groups"
    own = [line.replace(named[0], str(each.port)) for line in lines if named[0] in line for each in processes]
    upstream = "\n".join(["upstream chatui {", *(line for line in upstream.splitlines()[1:-1] if line not in lines), *own, "}"])
    location = location.replace("proxy_pass http://127.0.0.1:8000;", "proxy_pass http://chatui;\n" + retries)
    assert "chatui;" in location
    text = f"pid {directory}/pid; error_log {directory}/error; events {{}}\nhttp {{ access_log off;\n{upstream}\n"
    file = directory / "nginx.conf"
    file.write_text(f"{text}server {{ listen 127.0.0.1:{port};\n{location}\n}} }}\n", encoding="utf-8")
    command = [program, "-g", "daemon off;", "-p", str(directory), "-c", str(file)]
    running = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        running.terminate()
        running.wait()


@contextmanager
def haproxy_balanced(directory: Path, processes: list[Process]) -> Iterator[str]:
    program = fault_programs.find("haproxy")
    if program is None:
        pytest.skip(fault_programs.why_not("haproxy"))
    with balanced(str(program), directory, processes) as address:
        yield address


BALANCERS: dict[str, Callable[[Path, list[Process]], AbstractContextManager[str]]] = {"haproxy": haproxy_balanced, "nginx": nginx_balanced}
