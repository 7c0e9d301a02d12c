"""A response that fails midway closes its connection at once and affects no other."""

import os
import time
from collections.abc import Iterator

import httpx
import pytest

from tests.support.served import Server

pytestmark = pytest.mark.served


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server(dict(os.environ), program=("-m", "tests.chatui.live.raising_server"))
    try:
        server.wait_until_healthy()
        yield server
    finally:
        server.stop()


def test_the_reader_of_a_response_that_fails_midway_learns_that_it_is_truncated(server: Server) -> None:
    started = time.monotonic()
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.get(f"{server.url}/cut", timeout=20, trust_env=False)
    assert time.monotonic() - started < 10
    assert "half a page" not in server.console


@pytest.mark.parametrize("first", ["/cut", "/ended"])
def test_a_later_failure_is_reported_too(server: Server, first: str) -> None:
    with httpx.Client(base_url=server.url, timeout=20, trust_env=False) as client:
        try:
            client.get(first)
        except httpx.RemoteProtocolError:
            assert first == "/cut"
        time.sleep(1.5)  # the server collects failures once a second
        assert client.get("/early").status_code == 500
        assert client.get("/").text == "a page"
