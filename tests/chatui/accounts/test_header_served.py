"""A trusted proxy's header at the real server: how the server itself handles repeated headers and underscores."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.served import Deployment, Server, served

pytestmark = [pytest.mark.served, pytest.mark.extended]

PROXY, ELSEWHERE = "127.0.0.2", "127.0.0.1"
NAME, SECRET = ("X-Remote-User", "ada.l"), ("X-Proxy-Secret", "hush")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """The product behind a proxy at another address of loopback."""
    config = f'[header]\nname = "X-Remote-User"\nproxies = ["{PROXY}"]\nsecret = "hush"\n'
    (tmp_path / "sign-in.toml").write_text(config, encoding="utf-8")
    deployment = Deployment(tmp_path / "data", CHATUI_SIGN_IN_FILE=str(tmp_path / "sign-in.toml"))
    with served(deployment, "first") as server:
        yield server


def status_of(server: Server, *headers: tuple[str, str], peer: str = PROXY, path: str = "/sign-in/ways/") -> int:
    with httpx.Client(transport=httpx.HTTPTransport(local_address=peer), base_url=server.url) as client:
        return client.get(path, headers=list(headers)).status_code


def test_only_the_proxy_is_trusted_and_only_with_a_single_name(server: Server) -> None:
    assert status_of(server, NAME, SECRET) == 200
    assert status_of(server, NAME, ("X-Remote-User", "evil"), SECRET) == 403
    assert status_of(server, ("X-Remote-User", "ada.l,evil"), SECRET) == 403
    assert status_of(server, ("X_Remote_User", "ada.l"), SECRET) == 302, "the server drops it, so nobody is signed in"
    assert status_of(server, NAME) == 403
    assert status_of(server, NAME, SECRET, peer=ELSEWHERE) == 403
    assert status_of(server, NAME, SECRET, ("X-Forwarded-For", PROXY), peer=ELSEWHERE) == 403
    assert status_of(server, SECRET) == 302
    assert status_of(server, peer=ELSEWHERE, path="/healthz") == 200
