"""Requests as bytes: each head is validated."""

from __future__ import annotations

import h11
import httpx
import pytest

from chatui.backends.http1 import FOR_PROXY, TARGET, written

KEY = {"Authorization": "Bearer of-ada"}


def post(body: bytes, headers: dict[str, str] | None = None) -> httpx.Request:
    lengths = {"Content-Length": str(len(body))}
    return httpx.Request("POST", "http://model.example/v1/chat", headers={**KEY, **(headers or {}), **lengths}, content=body)


def read(written: bytes) -> tuple[h11.Request, bytes]:
    """The request as a server reads it, which must be all that was written."""
    server = h11.Connection(h11.SERVER)
    server.receive_data(written)
    request, body = server.next_event(), b""
    assert isinstance(request, h11.Request)
    while isinstance(event := server.next_event(), h11.Data):
        body += bytes(event.data)
    assert isinstance(event, h11.EndOfMessage)
    assert server.trailing_data[0] == b""
    return request, body


def test_a_server_reads_each_request_as_it_was_meant() -> None:
    for body in (b"{}", b'{"longer":1}', b"", b"GET / HTTP/1.1\r\n\r\n"):
        request, received = read(written(post(body), body))
        assert received == body
        assert dict(request.headers)[b"content-length"] == b"%d" % len(body)
        assert dict(request.headers)[b"authorization"] == b"Bearer of-ada"


def test_a_header_that_would_begin_another_is_refused() -> None:
    with pytest.raises(httpx.LocalProtocolError):
        written(post(b"{}", {"Cookie": "route=2\r\nX-Other: 1"}), b"{}")


def test_a_length_that_is_not_the_bodys_is_refused() -> None:
    for body in (b"{}{}", b"{"):
        with pytest.raises(httpx.LocalProtocolError):
            written(post(b"{}"), body)


def test_the_target_and_the_headers_for_a_proxy_are_written() -> None:
    asked = post(b"{}")
    asked.extensions = {TARGET: b"http://model.example/v1", FOR_PROXY: [(b"Proxy-Authorization", b"Basic eA==")]}
    request, body = read(written(asked, b"{}"))
    assert (request.target, body) == (b"http://model.example/v1", b"{}")
    assert dict(request.headers)[b"proxy-authorization"] == b"Basic eA=="


def test_a_body_without_a_length_is_written_as_its_head_says() -> None:
    request = httpx.Request("POST", "http://model.example/", headers={"Transfer-Encoding": "chunked"}, content=b"hello")
    assert read(written(request, b"hello"))[1] == b"hello"
