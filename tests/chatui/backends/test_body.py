"""Our parser of HTTP/1.1 response bodies agrees with h11, however the bytes are split."""

from __future__ import annotations

from itertools import pairwise

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatui.backends.http1 import Body, BrokenBodyError, Chunked, Sized, UntilClosed

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
FRAGMENTS = (
    b"3\r\nabc\r\n",
    b"3;a=b\r\nabc\r\n",
    b"A\r\n0123456789\r\n",
    b"0\r\n",
    b"\r\n",
    b"X: y\r\n",
    b"\n",
    b"\r",
    b"zz\r\n",
    b"-1\r\n",
)
pieces = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.binary(max_size=4)), max_size=8).map(b"".join)


def parse_with_h11(data: bytes) -> tuple[bytes, bool] | None:
    """The body and whether it is complete; None if it is refused."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("Host", "x")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(CHUNKED + data)
    body = bytearray()
    try:
        while (event := connection.next_event()) is not h11.NEED_DATA:
            if isinstance(event, h11.Data):
                body += event.data
            if isinstance(event, h11.EndOfMessage):
                return bytes(body), True
    except h11.RemoteProtocolError:
        return None
    return bytes(body), False


def parse_with_ours(body: Body, data: bytes, cuts: list[int]) -> tuple[bytes, bool] | None:
    places = [0, *sorted(cut for cut in cuts if cut <= len(data)), len(data)]
    found = bytearray()
    try:
        for start, end in pairwise(places):
            if data[start:end]:
                found += body.feed(data[start:end])
    except BrokenBodyError:
        return None
    return bytes(found), body.is_done


@given(pieces, st.lists(st.integers(0, 60), max_size=6))
def test_chunked_bodies_are_read_as_by_h11_or_refused(data: bytes, cuts: list[int]) -> None:
    expected, actual = parse_with_h11(data), parse_with_ours(Chunked(), data, cuts)
    if expected is not None and actual is not None:
        assert actual == expected
    if expected is None:
        assert actual is None or not actual[1], "what h11 refuses is never a whole body here"


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=6), st.lists(st.integers(0, 300), max_size=6))
def test_valid_bodies_are_read_whole(chunks: list[bytes], cuts: list[int]) -> None:
    data = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\nX-Trailer: y\r\n\r\n"
    body = Chunked()
    assert parse_with_ours(body, data + b"behind", [*cuts, len(data)]) == (b"".join(chunks), True)
    assert parse_with_ours(Chunked(), data, cuts) == parse_with_h11(data)


def test_bytes_after_the_end_are_not_part_of_the_body() -> None:
    chunked, sized = Chunked(), Sized(3)
    assert (chunked.feed(b"1\r\na\r\n0\r\n\r\nmore"), chunked.is_done, chunked.rest) == (b"a", True, b"more")
    assert (sized.feed(b"abcd"), sized.is_done, sized.rest) == (b"abc", True, b"d")


@pytest.mark.parametrize("body", [Chunked(), Sized(4)])
def test_an_early_close_breaks_the_body(body: Body) -> None:
    body.feed(b"1\r\n")
    with pytest.raises(BrokenBodyError, match="peer closed"):
        body.feed(b"")


def test_without_a_length_the_close_ends_the_body() -> None:
    body = UntilClosed()
    assert (body.feed(b"abc"), body.is_done) == (b"abc", False)
    assert (body.feed(b""), body.is_done) == (b"", True)


@pytest.mark.parametrize("flood", [b"1;" + b"a" * 20_000, b"0\r\n" + b"X: y\r\n" * 5_000])
def test_chunk_lines_and_trailers_are_bounded(flood: bytes) -> None:
    with pytest.raises(BrokenBodyError):
        Chunked().feed(flood)
