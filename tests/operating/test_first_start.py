"""The first start in an empty directory collects the static files, creates the database, and serves."""

import re
import shutil
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from chatui import starting
from tests.support.served import NewDeployment, Server, free_port

pytestmark = pytest.mark.served


@pytest.mark.extended
def test_a_start_in_an_empty_directory_serves_pages_with_their_style_sheets(tmp_path: Path) -> None:
    deployment = NewDeployment(tmp_path)
    shutil.rmtree(tmp_path)
    try:
        server = deployment.start()
        page = httpx.get(f"{server.url}/setup/", trust_env=False)
        sheets = re.findall(r'href="(/static/[^"]+\.css)"', page.text)
        assert page.status_code == 200 and sheets and server.first_account_code
        for sheet in sheets:
            assert httpx.get(server.url + sheet, trust_env=False).status_code == 200
    finally:
        deployment.stop()


@pytest.mark.parametrize("host", ["127.0.0.1", pytest.param("::1", marks=pytest.mark.extended)])
def test_a_process_that_starts_says_that_it_lives_and_loses_no_request(host: str, tmp_path: Path) -> None:
    """Asked without pause from before it starts until it serves: no connection is refused once there was one, none is cut."""
    deployment, seen = NewDeployment(tmp_path), list[tuple[int, str]]()
    server = Server(deployment.environment, (*deployment.program,), free_port(), host)
    deployment.servers.append(server)
    try:
        with httpx.Client(trust_env=False, timeout=120) as client:
            while not seen or '"starting"' in seen[-1][1]:
                assert server.process.poll() is None, server.console
                try:
                    lives, ready, page = (client.get(f"{server.url}{path}") for path in ("/healthz", "/readyz", "/setup/"))
                except httpx.TransportError:
                    assert not seen
                    continue
                assert lives.status_code == 200
                seen.append((page.status_code, ready.text))
                assert page.status_code == 200 or (page.status_code, page.headers["Refresh"]) == (503, "2")
        assert '"starting"' in seen[0][1], "the premise: it answered before it served"
        assert httpx.get(f"{server.url}/setup/", trust_env=False).status_code == 200
    finally:
        deployment.stop()


def test_a_request_that_has_been_accepted_is_answered_before_the_socket_is_handed_over() -> None:
    listener = starting.listening("127.0.0.1", 0)
    waiting = starting.WaitingSocket(("127.0.0.1", 0), listener)
    with socket.create_connection(listener.getsockname()) as slow, socket.create_connection(listener.getsockname()) as silent:
        slow.sendall(b"GET / HTTP/1.1\r\n")
        until(lambda: is_answered(f"http://127.0.0.1:{listener.getsockname()[1]}/healthz"))  # so both have been accepted
        threading.Timer(0.3, slow.sendall, [b"\r\n"]).start()
        begun = time.monotonic()
        assert waiting.hand_over() is listener
        assert time.monotonic() - begun < 30, "it does not wait for one that is silent"
        slow.settimeout(60)
        assert b"503" in slow.recv(100)
        silent.settimeout(60)
        assert silent.recv(100) == b""
    listener.close()


def test_what_answers_during_a_start_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    server = Server(NewDeployment(tmp_path).environment)
    address = f"{server.url}/healthz"
    until(lambda: is_answered(address))
    server.process.kill()
    server.process.wait()
    until(lambda: not is_answered(address))
    server.stop()


def is_answered(address: str) -> bool:
    try:
        return httpx.get(address, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_address_that_was_given_is_named_and_answers_and_no_other_name_does(tmp_path: Path) -> None:
    deployment = NewDeployment(tmp_path)
    deployment.environment.pop("CHATUI_HOSTS", None)
    server = Server(deployment.environment, (*deployment.program,), free_port(), "127.0.0.2")
    deployment.servers.append(server)
    try:
        server.wait_until_healthy()
        assert f"Chat is at {server.url}/" in server.console and "reads passwords" not in server.console
        for host, status in ((f"127.0.0.2:{server.port}", 200), (f"localhost:{server.port}", 200), ("chat.example.org", 400)):
            assert httpx.get(f"{server.url}/setup/", headers={"Host": host}, trust_env=False).status_code == status, host
    finally:
        deployment.stop()


def test_the_first_public_address_is_named_and_where_it_listens(tmp_path: Path) -> None:
    deployment = NewDeployment(tmp_path)
    public = {"CHATUI_ORIGINS": "http://chat.example.org,http://other.example.org", "CHATUI_HOSTS": "chat.example.org,other.example.org"}
    server = Server(deployment.environment | public, (*deployment.program,), free_port(), "127.0.0.1")
    deployment.servers.append(server)
    try:
        until(lambda: "the code for the first one: " in server.console)
        assert f"Chat is at http://chat.example.org/ (it listens on 127.0.0.1:{server.port})" in server.console
        assert server.console.count("Chat is at") == 1 and "reads passwords" not in server.console
    finally:
        deployment.stop()
