"""Bytes that are not UTF-8 and halves of surrogate pairs in a document's text: reported once, where they are, and then replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from renderer.errors import Code, Location
from renderer.events import FrameClosed, FrameOpened, FrameText
from renderer.frames import Frame, Header
from renderer.ocml import document
from renderer.ocml.reader import Reader
from renderer.ocml.scanning import DocumentOpened
from tests.renderer.refusing import refused
from tests.support.cases import for_each

BEGIN = "<|start|>user<|message|>"
BYTES, HALF = "the bytes are not valid UTF-8", "an unpaired surrogate"
CUT = "the text ends inside a body"


@for_each(
    [
        ([b"a\xffb\xffc"], "a\ufffdb\ufffdc", [(BYTES, 25)]),
        ([b"a\xff", b"\xffb"], "a\ufffd\ufffdb", [(BYTES, 25)]),
        ([b"a\xc3", b"\xa9b"], "aéb", []),
        ([b"a\xc3", b"b"], "a\ufffdb", [(BYTES, 25)]),
        ([b"a\xe2\x82", b"\xe2\x82\xac"], "a\ufffd€", [(BYTES, 25)]),
        ([b"\xc3\xa9\xed\xa0\x80"], "é\ufffd\ufffd\ufffd", [(BYTES, 26)]),
        (["a\ud800b\udfffc"], "a\ufffdb\ufffdc", [(HALF, 25)]),
        (["é\udbff", "\udc00"], "é\ufffd\ufffd", [(HALF, 26)]),
        (["\ud7ff\ue000"], "\ud7ff\ue000", []),
        ([b"a\xffb", "\ud800c"], "a\ufffdb\ufffdc", [(BYTES, 25)]),
        (["a\ud800", b"b\xffc", "é"], "a\ufffdb\ufffdcé", [(HALF, 25)]),
        (["a<|e", b"\xff<|end"], "a<|e\ufffd<|end", [(BYTES, 28)]),
        (["a<|e", "\ud800"], "a<|e\ufffd", [(HALF, 28)]),
    ]
)
def test_what_is_no_character_is_replaced_and_the_first_one_is_reported(
    pieces: Sequence[str | bytes], body: str, problems: list[tuple[str, int]]
) -> None:
    given: Any = [BEGIN, *pieces, "<|end|>"]
    reading = document.read_leniently(given, fragment=True)
    assert [done.frame for done in reading.finished] == [Frame(Header("user"), body)]
    found = [(problem.hint, problem.location and problem.location.offset) for problem in reading.problems]
    assert found == problems and all(problem.code is Code.PARSE_HEADER and problem.is_refused for problem in reading.problems)
    assert [done.error for done in reading.finished] == [Code.PARSE_HEADER if problems else None]
    if problems:
        with refused(Code.PARSE_HEADER) as caught:
            document.read_strictly(given, fragment=True)
        assert caught.value.problem == reading.problems[0]
    else:
        assert document.read_strictly(given, fragment=True) == reading


@for_each([b"\xc3", b"\xf0\x9f\x98"])
def test_a_text_that_ends_inside_a_character_has_two_problems(end: bytes) -> None:
    reading = document.read_leniently([BEGIN.encode() + b"a" + end], fragment=True)
    assert [(problem.hint, problem.location and problem.location.offset) for problem in reading.problems] == [(BYTES, 25), (CUT, 0)]
    assert [(done.frame.body, done.complete, done.error) for done in reading.finished] == [("a\ufffd", False, Code.PARSE_HEADER)]
    reader = Reader(fragment=True)
    reader.feed(BEGIN.encode() + b"a" + end)
    with refused(Code.PARSE_HEADER, match="not valid UTF-8"):
        reader.finish()
    complete = Reader(fragment=True)
    complete.feed(f"{BEGIN}a")
    with refused(Code.STREAM_TRUNCATED):
        complete.finish()


@for_each([(f"{BEGIN}a\ud800b<|end|>", 25), (f"{BEGIN}a\ud800b<|end|>".encode("utf-8", "surrogatepass"), 25)])
def test_a_strict_reader_gives_the_text_before_the_first_one_and_nothing_after_it(piece: str | bytes, offset: int) -> None:
    reader = Reader(fragment=True)
    with refused(Code.PARSE_HEADER) as caught:
        reader.feed(piece)
    assert caught.value.location == Location(offset, 1, 26, 0)
    assert [type(event) for event in reader.events_before_error] == [DocumentOpened, FrameOpened, FrameText]
    assert reader.events_before_error[-1] == FrameText("a")
    for again in (lambda: reader.feed("<|end|>"), lambda: reader.feed(b"<|end|>"), reader.finish):
        with refused(Code.PARSE_HEADER):
            again()


@for_each([(b"version: 2.2\na: \xff\n", 16, None), (b"version: 2.2\n\n" + BEGIN.encode() + b"x<|end|>\n\xff", 47, 1)])
def test_what_is_no_character_outside_a_body_has_its_place_too(data: bytes, offset: int, frame: int | None) -> None:
    for pieces in ([data], [data[at : at + 1] for at in range(len(data))]):
        problem = document.read_leniently(pieces).problems[0]
        assert (problem.hint, problem.location and problem.location.offset) == (BYTES, offset)
        assert problem.location and problem.location.frame == frame


def test_a_character_after_a_byte_order_mark_is_placed_without_it() -> None:
    for text in ("\ufeff", ""):
        for data in (f"{text}{BEGIN}\ud800", f"{text}{BEGIN}".encode() + b"\xff"):
            problem = document.check(data, fragment=True).problems[0]
            assert problem.location == Location(len(f"{text}{BEGIN}".encode()), 1, 25, 0)


def test_text_may_follow_bytes_that_end_with_a_character() -> None:
    reader = Reader(fragment=True)
    events = [*reader.feed(BEGIN.encode()), *reader.feed("a"), *reader.feed("é".encode()), *reader.feed("b<|end|>"), *reader.finish()]
    assert [event.text for event in events if isinstance(event, FrameText)] == ["a", "é", "b"]
    assert isinstance(events[-1], FrameClosed)
