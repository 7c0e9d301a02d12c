"""A response that fails midway closes its connection at once and affects no other."""

import os
import time

import httpx
import pytest

from tests.support.served import Server

pytestmark = pytest.mark.served


def test_the_reader_of_a_response_that_fails_midway_learns_it_and_a_later_failure_is_reported_too() -> None:
    server = Server(dict(os.environ), program=("-m", "tests.chatui.live.raising_server"))
    try:
        server.wait_until_healthy()
        with httpx.Client(base_url=server.url, timeout=20, trust_env=False) as client:
            for first in ("/cut", "/ended"):
                started = time.monotonic()
                if first == "/cut":
                    with pytest.raises(httpx.RemoteProtocolError):
                        client.get(first)
                else:
                    client.get(first)
                assert time.monotonic() - started < 10
                time.sleep(1.5)  # the server collects failures once a second
                assert client.get("/early").status_code == 500
                assert client.get("/").text == "a page"
        assert "half a page" not in server.console
    finally:
        server.stop()
