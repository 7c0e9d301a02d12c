"""A proxy or an origin that is set up wrongly is named in one line of the log, and pages say so; with a real nginx."""

import asyncio
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import websockets.asyncio.client
import websockets.exceptions

from tests.support.served import Deployment, Server, free_port, served
from tests.tools import fault_programs

pytestmark = pytest.mark.served

CONFIGURATION = """
daemon off;
pid {place}/pid;
error_log {place}/errors;
events {{}}
http {{
    access_log off;
    client_body_temp_path {place}/body; proxy_temp_path {place}/proxy; fastcgi_temp_path {place}/fastcgi;
    uwsgi_temp_path {place}/uwsgi; scgi_temp_path {place}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass {url};
            proxy_http_version 1.1;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header X-Forwarded-Proto {scheme};
            {rest}
        }}
    }}
}}
"""
HOST = "proxy_set_header Host $http_host;"
HOST_WITHOUT_PORT = "proxy_set_header Host $host;"
UPGRADE = 'proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";'


@contextmanager
def nginx(place: Path, server: Server, port: int, *rest: str, scheme: str = "http") -> Iterator[str]:
    """The address of an nginx before the server. ``rest``: what it passes on beside the documented headers for the visitor and scheme."""
    program = fault_programs.find("nginx")
    if program is None:
        pytest.skip(fault_programs.why_not("nginx"))
    place.mkdir(mode=0o777)
    file = place / "nginx.conf"
    file.write_text(CONFIGURATION.format(place=place, port=port, url=server.url, scheme=scheme, rest="\n".join(rest)))
    process = subprocess.Popen([program, "-c", str(file), "-p", str(place), "-e", str(place / "errors")])
    try:
        address = f"http://localhost:{port}"
        for _ in range(600):
            try:
                httpx.get(address)
                break
            except httpx.TransportError:
                assert process.poll() is None, (place / "errors").read_text()
                time.sleep(0.05)
        yield address
    finally:
        process.terminate()
        process.wait(30)


def refused(address: str, origin: str) -> int:
    """The status with which a socket is refused; 0 if it is not."""

    async def connect() -> int:
        try:
            async with websockets.asyncio.client.connect(f"ws{address[4:]}/ws/", origin=origin, proxy=None):  # type: ignore[arg-type]
                return 0
        except websockets.exceptions.InvalidStatus as error:
            return error.response.status_code

    return asyncio.run(connect())


def lines_with(server: Server, words: str) -> list[str]:
    return [line for line in server.console.splitlines() if words in line]


def test_a_proxy_for_https_that_is_not_trusted_gets_a_page_in_place_of_a_loop(tmp_path: Path) -> None:
    port = free_port()
    origin = f"https://localhost:{port}"
    with (
        served(Deployment(tmp_path / "data", CHATUI_ORIGINS=origin)) as server,
        nginx(tmp_path / "n", server, port, HOST, scheme="https") as url,
    ):
        pages = [httpx.get(f"{url}{path}") for path in ("/", "/sign-in/", "/v1/models")]
        assert [page.status_code for page in pages] == [400, 400, 400]
        assert all("E-X-WRONG-PROXY" in page.text for page in pages)
        at_start, line = lines_with(server, "CHATUI_TRUSTED_PROXIES")
        assert "W063" in at_start and "127.0.0.1" in line
    trusting = Deployment(tmp_path / "trusting", CHATUI_ORIGINS=origin, CHATUI_TRUSTED_PROXIES="127.0.0.1")
    with served(trusting) as server, nginx(tmp_path / "m", server, port, HOST_WITHOUT_PORT, scheme="https") as url:
        page = httpx.get(f"{url}/sign-in/")
        assert page.status_code == 200
        assert httpx.get(f"{server.url}/sign-in/", headers={"Host": "localhost"}).headers["Location"] == f"{origin}/sign-in/", (
            "with its port"
        )


def test_a_proxy_that_does_not_pass_on_upgrade_is_named(tmp_path: Path) -> None:
    port = free_port()
    with served(Deployment(tmp_path / "data")) as server:
        origin = f"http://localhost:{port}"
        with nginx(tmp_path / "n", server, port, HOST, UPGRADE) as url:
            assert refused(url, origin) in (0, 403), "the premise: nobody is signed in, but the socket arrives"
            assert httpx.get(f"{url}/ws/?origin={origin}").status_code == 404
        with nginx(tmp_path / "m", server, port, HOST) as url:
            assert [refused(url, origin) for _ in range(3)] == [426] * 3
            assert "E-X-WRONG-PROXY" in httpx.get(f"{url}/ws/?origin={origin}").text
        [line] = lines_with(server, "/ws/")
        assert "Upgrade" in line


def test_an_origin_that_is_not_allowed_is_named_with_those_that_are(tmp_path: Path) -> None:
    with served(Deployment(tmp_path, CHATUI_ORIGINS="http://localhost:8123")) as server:
        assert [refused(server.url, server.url) for _ in range(3)] == [403] * 3
        assert httpx.get(f"{server.url}/ws/?origin={server.url}").status_code == 426
        assert httpx.get(f"{server.url}/ws/?origin=http://localhost:8123").status_code == 404
        [line] = lines_with(server, "CHATUI_ORIGINS")
        assert server.url in line
        assert "http://localhost:8123" in line


def test_monitors_ask_each_process_at_its_own_address(tmp_path: Path) -> None:
    settings = {"CHATUI_HOSTS": "chat.example.org", "CHATUI_ORIGINS": "https://chat.example.org", "CHATUI_METRICS_TOKEN": "t" * 20}
    with served(Deployment(tmp_path, **settings)) as server:
        statuses = {path: httpx.get(f"{server.url}{path}", headers={"Authorization": f"Bearer {'t' * 20}"}).status_code for path in PATHS}
        assert statuses == {"/healthz": 200, "/readyz": 200, "/metrics": 200, "/sign-in/": 400}
        assert httpx.get(f"{server.url}/metrics").status_code == 404


PATHS = ("/healthz", "/readyz", "/metrics", "/sign-in/")
