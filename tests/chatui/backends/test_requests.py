"""Requests as bytes: each new head is validated, and a head that only differs in its length is reused."""

from __future__ import annotations

import h11
import httpx
import pytest

from chatui.backends.http1 import FOR_PROXY, TARGET, RequestWriter

KEY = {"Authorization": "Bearer of-ada"}


def post(body: bytes, headers: dict[str, str] | None = None, path: str = "/v1/chat/completions") -> httpx.Request:
    lengths = {"Content-Length": str(len(body))}
    return httpx.Request("POST", f"http://model.example{path}", headers={**KEY, **(headers or {}), **lengths}, content=body)


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


@pytest.fixture
def validated(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The targets of the requests that h11 has validated."""
    targets: list[bytes] = []
    original = h11.Request

    def counted(**fields: object) -> h11.Request:
        request = original(**fields)  # type: ignore[arg-type]  # passed on
        targets.append(request.target)
        return request

    monkeypatch.setattr("chatui.backends.http1.h11.Request", counted)
    return targets


def test_a_head_is_validated_once_and_each_request_has_its_own_length(validated: list[bytes]) -> None:
    writer = RequestWriter()
    written = [(body, writer.written(post(body), body)) for body in (b"{}", b'{"longer":1}', b"", b"[1]")]
    assert validated == [b"/v1/chat/completions"]
    for body, each in written:
        assert each == RequestWriter().written(post(body), body), "as if it were the first"


def test_a_server_reads_each_request_as_it_was_meant() -> None:
    writer = RequestWriter()
    for body in (b"{}", b'{"longer":1}', b"GET / HTTP/1.1\r\n\r\n"):
        request, received = read(writer.written(post(body), body))
        assert received == body
        assert dict(request.headers)[b"content-length"] == b"%d" % len(body)
        assert dict(request.headers)[b"authorization"] == b"Bearer of-ada"


@pytest.mark.parametrize(
    "other",
    [
        post(b"{}", {"Authorization": "Bearer of-ben"}),
        post(b"{}", {"Cookie": "route=2"}),
        post(b"{}", path="/v1/responses"),
        httpx.Request("PUT", "http://model.example/v1/chat/completions", headers={**KEY, "Content-Length": "2"}, content=b"{}"),
    ],
)
def test_any_other_difference_makes_a_new_head(other: httpx.Request) -> None:
    writer = RequestWriter()
    writer.written(post(b"{}"), b"{}")
    assert writer.written(other, b"{}") == RequestWriter().written(other, b"{}")


def test_a_header_that_would_begin_another_is_refused_also_after_a_valid_one() -> None:
    writer = RequestWriter()
    writer.written(post(b"{}"), b"{}")
    for _ in range(2):
        with pytest.raises(httpx.LocalProtocolError):
            writer.written(post(b"{}", {"Cookie": "route=2\r\nX-Other: 1"}), b"{}")


def test_a_length_that_is_not_the_bodys_is_refused_also_after_a_right_one() -> None:
    writer = RequestWriter()
    writer.written(post(b"{}"), b"{}")
    for body in (b"{}{}", b"{"):
        with pytest.raises(httpx.LocalProtocolError):
            writer.written(post(b"{}"), body)


def test_the_target_and_the_headers_for_a_proxy_are_written() -> None:
    writer = RequestWriter()
    writer.written(post(b"{}"), b"{}")
    asked = post(b"{}")
    asked.extensions = {TARGET: b"http://model.example/v1", FOR_PROXY: [(b"Proxy-Authorization", b"Basic eA==")]}
    request, body = read(writer.written(asked, b"{}"))
    assert (request.target, body) == (b"http://model.example/v1", b"{}")
    assert dict(request.headers)[b"proxy-authorization"] == b"Basic eA=="
    assert b"Proxy" not in writer.written(post(b"{}"), b"{}")


def test_a_body_without_a_length_is_written_as_its_head_says() -> None:
    request = httpx.Request("POST", "http://model.example/", headers={"Transfer-Encoding": "chunked"}, content=b"hello")
    assert read(RequestWriter().written(request, b"hello"))[1] == b"hello"
