"""The fetcher against hostile addresses and hostile servers: nothing but the public internet is reached, and nothing without bounds."""

import asyncio
import gzip
import zlib
from contextlib import nullcontext

import pytest

from tests.chatui.tools.hostile import HOSTILE
from tests.support.limits import limit
from tests.support.web_servers import Fetching, NotFetchedError, answers, fetcher, page, serving

ADDRESS_REFUSED = limit("chatui.tools", "ADDRESS_REFUSED")
NOT_LOADED = limit("chatui.tools", "NOT_LOADED")


async def test_no_hostile_address_reaches_this_machine() -> None:
    async with serving(answers(page(b"reached"))) as peer:
        real = fetcher(peer, seconds=5.0, resolver=None, may_be_loopback=False)
        for line in HOSTILE:
            with pytest.raises(NotFetchedError):
                await real.fetch(line.replace("{PORT}", str(peer.port)))
        assert len(HOSTILE) > 70 and peer.requested == []
        assert (await fetcher(peer).fetch(f"http://tea.example:{peer.port}/")).body == b"reached", "the server can be reached"


async def test_lists_of_hosts() -> None:
    hosts = {
        "example.org": True,
        "a.example.org": True,
        "notexample.org": False,
        "secret.example.org": False,
        "x.secret.example.org": False,
    }
    async with serving(answers(page(b"x"))) as peer:
        some = fetcher(peer, allowed=["example.org", "b.example"], denied=["secret.example.org"])
        for host, is_allowed in hosts.items():
            with nullcontext() if is_allowed else pytest.raises(NotFetchedError, match=ADDRESS_REFUSED):
                await some.fetch(f"http://{host}:{peer.port}/")
        assert len(peer.requested) == 2
    async with serving(answers(page(b"x"))) as peer:
        with pytest.raises(NotFetchedError, match=ADDRESS_REFUSED):
            await fetcher(peer, denied=["tea.example"]).fetch(f"http://www.tea.example:{peer.port}/")
        assert peer.requested == []


async def test_a_request_says_nothing_of_anybody() -> None:
    async with serving(answers(page(b"x", "text/html", "200 OK", "Set-Cookie: a=b"))) as peer:
        agent = fetcher(peer)
        for _ in range(2):
            await agent.fetch(f"http://tea.example:{peer.port}/")
    names = {line.partition(":")[0].lower() for head in peer.heads for line in head.split("\r\n")[1:] if line}
    assert names == {"host", "user-agent", "accept", "accept-encoding", "connection"}


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with serving(answers(page(b"direct"))) as peer:
        assert (await fetcher(peer).fetch(f"http://tea.example:{peer.port}/")).body == b"direct"


@pytest.mark.parametrize(
    "leads", ["http://127.0.0.2:{port}/", "http://169.254.169.254/latest", "file:///etc/passwd", "http://[::ffff:127.0.0.2]:{port}/",
              "http://tea.example:22/", "//10.0.0.1/", "http://user@tea.example:{port}/", "http://secret.example:{port}/"]
)  # fmt: skip
async def test_where_a_redirect_leads_is_checked_like_the_address(leads: str) -> None:
    async with serving(answers(b"")) as peer:
        there = leads.format(port=peer.port)

    async def answer(writer: asyncio.StreamWriter, path: str) -> None:
        writer.write(page(b"", "text/html", "302 Found", f"Location: {leads.format(port=other.port)}"))

    async with serving(answer) as other:
        with pytest.raises(NotFetchedError):
            await fetcher(other, denied=["secret.example"], seconds=3).fetch(f"http://tea.example:{other.port}/")
        assert len(other.requested) == 1 and there


async def test_redirects_are_followed_but_not_in_circles() -> None:
    async def answer(writer: asyncio.StreamWriter, path: str) -> None:
        number = int(path[1:] or 0)
        last = page(b"there")
        writer.write(last if number == 5 else page(b"", "text/html", "301 Moved", f"Location: /{number + 1}"))

    async with serving(answer) as peer:
        found = await fetcher(peer).fetch(f"http://tea.example:{peer.port}/0")
        assert (found.body, found.url) == (b"there", f"http://tea.example:{peer.port}/5")
        with pytest.raises(NotFetchedError, match="too often"):
            await fetcher(peer).fetch(f"http://tea.example:{peer.port}/6")


async def test_a_name_is_looked_up_once_and_that_address_is_connected_to() -> None:
    looked_up: list[str] = []

    async def rebinding(host: str, port: int) -> list[str]:
        looked_up.append(host)
        return ["127.0.0.1"] if len(looked_up) > 1 else ["203.0.113.7"]

    async with serving(answers(page(b"reached"))) as peer:
        with pytest.raises(NotFetchedError, match=NOT_LOADED):
            await fetcher(peer, seconds=2.0, resolver=rebinding, may_be_loopback=False).fetch(f"http://tea.example:{peer.port}/")
        assert looked_up == ["tea.example"] and peer.requested == []


@pytest.mark.parametrize("addresses", [["8.8.8.8", "127.0.0.1"], ["127.0.0.1", "8.8.8.8"], ["::1"], []])
async def test_a_host_with_one_address_that_is_not_public_is_refused_as_a_whole(addresses: list[str]) -> None:
    async def mixed(host: str, port: int) -> list[str]:
        return addresses

    async with serving(answers(page(b"reached"))) as peer:
        with pytest.raises(NotFetchedError, match=NOT_LOADED):
            await fetcher(peer, seconds=2.0, resolver=mixed, may_be_loopback=False).fetch(f"http://tea.example:{peer.port}/")
        assert peer.requested == []


async def test_refused_silent_and_closed_sound_the_same() -> None:
    async def silent(writer: asyncio.StreamWriter, path: str) -> None:
        await asyncio.sleep(5)

    messages = set()
    async with serving(silent) as peer, serving(answers(b"")) as closing:
        closed = Fetching((1,), seconds=1.0)
        private = Fetching((1,), seconds=1.0, may_be_loopback=False)
        tried = (fetcher(peer, seconds=0.5), peer.port), (closed, 1), (private, 1), (fetcher(closing), closing.port)
        for agent, port in tried:
            with pytest.raises(NotFetchedError) as caught:
                await agent.fetch(f"http://tea.example:{port}/")
            messages.add(str(caught.value))
    assert messages == {"The page could not be loaded."}


async def test_a_server_that_drips_is_left_when_the_time_is_over() -> None:
    async def drip(writer: asyncio.StreamWriter, path: str) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        while True:  # until it is left
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.1)

    async with serving(drip) as peer:
        with pytest.raises(NotFetchedError, match=NOT_LOADED):
            await fetcher(peer, seconds=0.6).fetch(f"http://tea.example:{peer.port}/")


async def test_an_endless_page_is_cut_while_it_is_read() -> None:
    written = 0

    async def endless(writer: asyncio.StreamWriter, path: str) -> None:
        nonlocal written
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        while written < 500_000_000:
            writer.write(b"y" * 65536)
            written += 65536
            await writer.drain()

    async with serving(endless) as peer:
        found = await fetcher(peer).fetch(f"http://tea.example:{peer.port}/")
        assert found.is_cut and len(found.body) == 100_000 and written < 50_000_000


@pytest.mark.slow
@pytest.mark.parametrize(("name", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
async def test_a_packed_bomb_is_never_unpacked_beyond_the_limit(name: str, pack: object) -> None:
    bomb = gzip.compress(b"\0" * 20_000_000) if name == "gzip" else zlib.compress(b"\0" * 20_000_000)
    async with serving(answers(page(bomb, "text/html", "200 OK", f"Content-Encoding: {name}"))) as peer:
        found = await fetcher(peer).fetch(f"http://tea.example:{peer.port}/")
        assert found.is_cut and len(found.body) == 100_000


async def test_packed_pages_are_read_though_nobody_asked_for_them() -> None:
    async with serving(answers(page(gzip.compress(b"tea"), "text/html", "200 OK", "Content-Encoding: gzip"))) as peer:
        assert (await fetcher(peer).fetch(f"http://tea.example:{peer.port}/")).body == b"tea"


async def test_what_comes_behind_the_end_of_a_packed_page_is_not_read() -> None:
    async def endless(writer: asyncio.StreamWriter, path: str) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"tea"))
        while True:
            writer.write(b"x" * 1000)
            await writer.drain()

    async with serving(endless) as peer:
        found = await fetcher(peer).fetch(f"http://tea.example:{peer.port}/")
        assert (found.body, found.is_cut) == (b"tea", False), "each piece would be copied with all before it"


@pytest.mark.parametrize(
    "whole",
    [page(b"x", "image/png"), page(b"x", "application/octet-stream"), page(b"x", "text/html", "404 Not Found"),
     page(b"x", "text/html", "200 OK", "Content-Encoding: br"), b"no http\r\n\r\n",
     b"HTTP/1.1 200 OK\r\nX: " + b"y" * 300_000 + b"\r\n\r\n"],
)  # fmt: skip
async def test_what_is_no_text_or_no_http_is_refused(whole: bytes) -> None:
    async with serving(answers(whole)) as peer:
        with pytest.raises(NotFetchedError):
            await fetcher(peer).fetch(f"http://tea.example:{peer.port}/")
