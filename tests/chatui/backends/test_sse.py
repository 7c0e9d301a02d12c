"""The event stream decoder: follows the standard at every split, within limits."""

import random
from functools import partial

import pytest

from chatui.backends.sse import MAX_MARKS, Decoder
from tests.support.cases import example_count

TORTURE = (
    b"\xef\xbb\xbf: a comment\r\n"
    b"data: one\r\ndata: two\r\n\r\n"
    b"event: named\rdata:no space\r\r"
    b"id: 7\nretry: 10\ndata\ndata:  two spaces\n\n"
    b"data: after\nevent: late\n\n"
    b"event: without data\n\n" + 'data: {"text":"a\u2028b\u0085c 👋"}\n\n'.encode() + b"data: bad \xff byte\n\n"
    b"data: never finished"
)
EVENTS = [
    ("", "one\ntwo"),
    ("named", "no space"),
    ("", "\n two spaces"),
    ("late", "after"),
    ("", '{"text":"a\u2028b\u0085c 👋"}'),
    ("", "bad \ufffd byte"),
]


Event = tuple[str, str]
"""Its name and its data."""


def fed(decoder: Decoder, chunk: bytes) -> list[Event]:
    return [(event.name, event.data) for event in decoder.feed(chunk)]


def decode(chunks: list[bytes]) -> list[Event]:
    decoder = Decoder(1000)
    found = [event for piece in chunks for event in decoder.feed(piece)] + decoder.finish()
    return [(event.name, event.data) for event in found]


def test_a_whole_stream_is_decoded_by_the_standard() -> None:
    assert decode([TORTURE]) == EVENTS


def test_splits_change_nothing_down_to_single_bytes() -> None:
    assert decode([TORTURE[i : i + 1] for i in range(len(TORTURE))]) == EVENTS
    for seed in range(example_count(200)):
        chooser = random.Random(seed)
        places = sorted(chooser.sample(range(len(TORTURE)), chooser.randint(0, 30)))
        chunks = [TORTURE[a:b] for a, b in zip([0, *places], [*places, len(TORTURE)], strict=True)]
        assert decode(chunks) == EVENTS


@pytest.mark.parametrize("ended", [b"", b"\n", b"\r", b"\r\n", b"\n: a comment", b"\nevent: x"])
@pytest.mark.parametrize("data", ['{"a": 1}', "[DONE]", '{"a":\ndata: 1}'])
def test_a_whole_event_at_the_end_needs_no_blank_line(ended: bytes, data: str) -> None:
    sent = f"data: b\n\ndata:{data}".encode() + ended
    assert [data for _, data in decode([sent[i : i + 1] for i in range(len(sent))])] == ["b", data.replace("data: ", "").strip()]


@pytest.mark.parametrize("cut", [b'data: {"a": 1', b"data: 12", b"data: [DON", b'dat: {"a": 1}', b'data: {"a": "\n', b"data: [1]\n"])
def test_an_event_that_was_cut_is_dropped(cut: bytes) -> None:
    assert decode([cut]) == []


def test_an_endless_line_is_refused_at_the_limit() -> None:
    decoder = Decoder(100)
    decoder.feed(b"data: " + b"x" * 90)
    with pytest.raises(ValueError, match="of more than"):
        decoder.feed(b"x" * 10)


def test_a_line_and_an_event_may_be_as_long_as_the_limit_and_no_longer() -> None:
    assert fed(Decoder(10), b"data: 0123\n\n") == [("", "0123")]
    with pytest.raises(ValueError, match="of more than"):
        Decoder(10).feed(b"data: 01234\n")
    lines = b"data: 01234\ndata: 56789\n"
    assert fed(Decoder(11), lines + b"data: x\n\n") == [("", "01234\n56789\nx")]
    with pytest.raises(ValueError, match="of more than"):
        Decoder(11).feed(lines + b"data: xy\n")


@pytest.mark.parametrize("rest", [b"data: 0123456789\n\n", b"data: 0123456789", b"data: 0123\ndata: 456789\n\n"])
def test_what_came_before_too_much_is_read_however_it_was_cut(rest: bytes) -> None:
    for begun in (b"data: a\n\n", b"data: a\n\ndata: b\n\n"):
        decoder, expected = Decoder(10), [("", "a"), ("", "b")][: begun.count(b":")]
        assert fed(decoder, begun + rest) == expected
        for read in (decoder.check, partial(decoder.feed, b"data: c\n\n"), decoder.finish):
            with pytest.raises(ValueError, match="of more than"):
                read()


def test_each_event_has_the_whole_limit() -> None:
    longest = b"data: 01234\ndata: 56789\ndata: x\n"
    decoder = Decoder(11)
    assert [event.data for event in decoder.feed((longest + b"\n") * 3)] == ["01234\n56789\nx"] * 3
    decoder.feed(longest)
    decoder.finish()
    assert len(decoder.feed(longest + b"\n")) == 1


def test_a_mark_of_the_byte_order_is_dropped_only_at_the_beginning_of_the_stream() -> None:
    mark = b"\xef\xbb\xbf"
    assert fed(Decoder(100), mark + b"data: a\n\n" + mark + b"data: b\n\ndata: c\n\n") == [
        ("", "a"),
        ("", "c"),
    ]
    assert fed(Decoder(100), mark + mark + b"data: a\n\ndata: b\n\n") == [("", "b")]


def test_an_empty_piece_between_the_two_ends_of_a_line_changes_nothing() -> None:
    decoder = Decoder(100)
    assert [fed(decoder, piece) for piece in (b"data: a\r", b"", b"\ndata: b\r", b"\r")] == [[], [], [], [("", "a\nb")]]


def test_nothing_of_an_unfinished_event_is_left() -> None:
    decoder = Decoder(30)
    assert decoder.feed(b"event: x\ndata: 0123456789012345\ndata: unfinished") == []
    assert decoder.finish() == []
    assert fed(decoder, b"\n\ndata: 0123456789012345\n\n") == [("", "0123456789012345")]


def test_the_name_of_an_event_is_the_last_one_and_may_hold_bad_bytes() -> None:
    assert fed(Decoder(100), b"event: a\nevent:b\xff\nDATA: x\nid: 1\ndata: y\n\n") == [("b\ufffd", "y")]


def test_a_line_of_too_many_values_is_not_parsed_to_find_its_end() -> None:
    """A tool server may send four megabytes of them, which everybody would wait for."""
    for count, are_two in ((10, True), (MAX_MARKS, False)):
        line = '{"a": [' + "[]," * count + "[]]}"
        found = Decoder(1_000_000).feed(f'data: {line}\ndata: {{"b": 1}}\n\n'.encode())
        assert [event.data for event in found] == ([line, '{"b": 1}'] if are_two else [f'{line}\n{{"b": 1}}'])
