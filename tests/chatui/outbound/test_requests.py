"""Requests for JSON to an operator's services are bounded in time and bytes, follow no redirect, and quote nothing in their errors."""

import asyncio

import pytest

from chatui.outbound.requests import MAX_MARKS, JsonRequestError, request_json
from tests.support.web_servers import answers, page, serving


async def asked(answer: bytes, *, seconds: float = 5.0, is_left: asyncio.Event | None = None) -> object:
    async def reply(writer: asyncio.StreamWriter, request: str) -> None:
        writer.write(answer)
        if is_left:
            await is_left.wait()

    async with serving(reply) as peer:
        found = await request_json("POST", f"http://127.0.0.1:{peer.port}/secret", seconds=seconds, max_bytes=1000, json={})
        assert len(peer.requested) == 1, "no redirect is followed"
        return found


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (page(b'{"a": 1}', "application/json"), (200, {"a": 1})),
        (page(b"[1]", "application/json"), (200, None)),
        (page(b"[" * 999, "application/json"), (200, None)),
        (b"HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n", (302, None)),
        (b'HTTP/1.1 401 No\r\nContent-Length: 14\r\n\r\n{"error": "x"}', (401, {"error": "x"})),
    ],
)
async def test_a_response_is_a_status_and_perhaps_an_object(answer: bytes, expected: object) -> None:
    assert await asked(answer) == expected


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (page(b'{"a": "' + b"x" * 1000 + b'"}', "application/json"), "sent a response that is too long"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", r"cannot be reached \(RemoteProtocolError\)"),
        (b"junk\r\n\r\n", r"cannot be reached \(RemoteProtocolError\)"),
    ],
)
async def test_a_failure_is_a_few_words(answer: bytes, words: str) -> None:
    with pytest.raises(JsonRequestError, match=rf"^{words}$"):
        await asked(answer)


async def test_a_response_of_too_many_values_is_no_object() -> None:
    for count, is_read in ((100, True), (MAX_MARKS, False)):
        async with serving(answers(page(b'{"a": [' + b"[]," * count + b"[]]}", "application/json"))) as peer:
            status, found = await request_json("GET", f"http://127.0.0.1:{peer.port}/", seconds=5, max_bytes=1_000_000)
            assert status == 200 and (found is not None) is is_read


async def test_a_service_is_told_the_name_of_the_product_and_of_no_library() -> None:
    async with serving(answers(page(b"{}", "application/json"))) as peer:
        assert await request_json("GET", f"http://127.0.0.1:{peer.port}/", seconds=5, max_bytes=1000) == (200, {})
        (head,) = peer.heads
        assert [line for line in head.split("\r\n") if line.lower().startswith("user-agent:")] == ["User-Agent: chatui"]


async def test_a_slow_service_is_left_in_time() -> None:
    is_left = asyncio.Event()
    with pytest.raises(JsonRequestError, match=r"^did not respond in time$"):
        await asked(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", seconds=0.3, is_left=is_left)
    is_left.set()
    await asyncio.sleep(0.1)
