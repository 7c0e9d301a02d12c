"""The streaming reader: the same events however the text is cut, nothing held back without need, and no event lost by an error."""

import random
import tracemalloc
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderer.errors import Code, Location
from renderer.events import FrameClosed, FrameOpened, FrameText
from renderer.frame_kinds import BROKEN
from renderer.frames import Frame, Header, Transcript
from renderer.ocml import document, document_header, frame_header
from renderer.ocml.document import dump
from renderer.ocml.document_header import DOCUMENT_HEADER_LIMIT
from renderer.ocml.reader import Reader
from renderer.ocml.scanning import DocumentOpened, ProblemFound
from renderer.tokens import Token
from tests.fuzz.promises import bytes_of, read_pieces
from tests.renderer.examples import raw, transcripts
from tests.renderer.refusing import refused
from tests.support.cases import for_each
from tests.support.cost import cost, costs_at_most

HEADER = "version: 2.2\n\n"
TEXT = (
    HEADER
    + "<|start|>user<|message|>é<<|start|>한😀<|literal|><|end|><|endliteral|><|end|>\r\n"
    + "<|start|>assistant to=functions.x call_id=c1<|channel|>commentary<|constrain|>json<|message|>{}<|call|>\n"
    + "<|start|>assistant<|channel|>final<|message|><<< done<|return|>"
)


def test_the_example_reads_as_it_should() -> None:
    result = read_pieces([TEXT])
    assert result.stopped is None
    texts = [event.text for event in result.events if isinstance(event, FrameText)]
    assert texts == ["é<|start|>한😀<|end|>", "{}", "<<< done"]


@given(raw, st.integers(), st.booleans(), st.booleans())
def test_no_cut_changes_the_events(data: bytes, seed: int, lenient: bool, fragment: bool) -> None:
    whole = read_pieces([data], lenient=lenient, fragment=fragment)
    assert read_pieces(bytes_of(data), lenient=lenient, fragment=fragment) == whole
    chance, pieces, rest = random.Random(seed), [], data
    while rest:
        length = chance.choice([0, 1, 2, 7, 30])
        pieces.append(rest[:length])
        rest = rest[length:]
    assert read_pieces(pieces, lenient=lenient, fragment=fragment) == whole


@pytest.mark.slow
@given(transcripts())
def test_a_visible_character_waits_for_the_longest_token_at_most(transcript: Transcript) -> None:
    longest = max(map(len, Token))
    frame = Frame(Header("user"), "x" * 50 + "".join(item.body for item in transcript.frames))
    text = dump(Transcript((frame,)))
    body_begins = text.index("<|message|>") + len("<|message|>")
    reader, seen = Reader(), 0
    for number, character in enumerate(text[: body_begins + 50]):
        seen += sum(len(event.text) for event in reader.feed(character) if isinstance(event, FrameText))
        assert number + 1 - body_begins - seen < longest
    assert seen >= 50 - longest


def test_nothing_of_a_body_comes_before_its_header() -> None:
    for text in (TEXT, HEADER + "<|start|>robot<|channel|>final<|message|>x<|end|>"):
        is_open = False
        for event in read_pieces(list(text), lenient=True).events:
            if isinstance(event, FrameText):
                assert is_open
            elif isinstance(event, tuple | FrameClosed):
                is_open = isinstance(event, tuple)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["one body", "escapes", "a literal block", "stray text", "brackets"])
def test_megabytes_are_never_buffered(kind: str) -> None:
    begin, piece = {
        "one body": ("<|start|>user<|message|>", "The quick brown fox. " * 50),
        "escapes": ("<|start|>user<|message|>", "<<|start|>" * 100),
        "a literal block": ("<|start|>user<|message|><|literal|>", "<|end|>" * 150),
        "stray text": ("", "stray " * 170),
        "brackets": ("<|start|>user<|message|>", "<" * 1000),
    }[kind]
    reader = Reader(lenient=True)
    reader.feed(HEADER + "<|start|>user<|message|>first<|end|>" + begin)
    tracemalloc.start()
    for _ in range(800):
        reader.feed(piece)
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 * 1024


@pytest.mark.slow
def test_time_grows_with_the_text() -> None:
    texts = {
        "one body": "<|start|>user<|message|>" + "word " * 5_000 + "<|end|>",
        "many frames": "<|start|>user<|message|>hi<|end|>\n" * 750,
        "many problems": "<|start|>user colour=red<|message|>hi<|end|> stray\n" * 500,
        "escapes": "<|start|>user<|message|>" + "<<|end|>" * 3_000 + "<|end|>",
        "no header ends": "<|start|>user<|channel|>" * 1_000,
    }
    for kind, text in texts.items():
        small, large = (partial(_read, HEADER + text * times) for times in (1, 8))
        assert costs_at_most(8 * cost(small) * 4 + 50, large), kind


def _read(text: str) -> None:
    reader = Reader(lenient=True)
    reader.feed(text)
    reader.finish()


def test_a_strict_reader_raises_in_the_call_that_finds_the_problem_and_no_event_is_lost() -> None:
    reader = Reader()
    with refused(Code.PARSE_HEADER) as caught:
        reader.feed(HEADER + "<|start|>user<|message|>Hi<|end|>stray<|start|>")
    events = reader.events_before_error
    assert [type(event) for event in events] == [DocumentOpened, FrameOpened, FrameText, FrameClosed]
    for call in (lambda: reader.feed("x"), lambda: reader.feed("x"), reader.finish):
        with refused(Code.PARSE_HEADER) as again:
            call()
        assert again.value is caught.value


def test_an_empty_literal_block_is_no_text() -> None:
    text = "<|start|>user<|message|><|literal|><|endliteral|><|end|>"
    for pieces in ([text], list(text)):
        reader = Reader(fragment=True)
        events = [event for piece in pieces for event in reader.feed(piece)]
        assert [type(event) for event in events] == [DocumentOpened, FrameOpened, FrameClosed]


def test_reading_is_strict_by_default() -> None:
    broken = HEADER + "<|start|>robot<|message|>Hi<|end|>"
    for strict in (Reader().feed, document.FrameReader().feed, document.parse, document.read_strictly):
        with refused(Code.PARSE_HEADER):
            strict(broken)
    for lenient in (Reader(lenient=True).feed, document.FrameReader(lenient=True).feed, document.read_leniently):
        assert lenient(broken)


def test_e_stream_truncated_points_at_the_frame_that_is_not_closed() -> None:
    reader = Reader()
    reader.feed(HEADER + "<|start|>user<|message|>one<|end|>\n<|start|>user<|message|>two")
    with refused(Code.STREAM_TRUNCATED) as caught:
        reader.finish()
    assert caught.value.location == Location(49, 4, 1, 1)


def test_each_frame_knows_where_it_begins() -> None:
    opened = [event[0] for event in read_pieces(bytes_of(TEXT.encode())).events if isinstance(event, tuple)]
    locations = [event.location for event in opened]
    data = TEXT.encode()
    assert [location.offset for location in locations] == [
        data.index(b"<|start|>user"),
        data.index(b"<|start|>assistant"),
        data.rindex(b"<|start|>"),
    ]
    assert [(location.line, location.column, location.frame) for location in locations] == [(3, 1, 0), (4, 1, 1), (5, 1, 2)]


def test_a_lenient_reading_hides_what_it_cannot_read() -> None:
    result = read_pieces([HEADER, "stray<|start|>user<|message|>a<|end|>"], lenient=True, fragment=False)
    assert isinstance(result.events[0], ProblemFound)
    stray = read_pieces(["<|start|>user<|message|>a<|end|>stray"], lenient=True, fragment=True)
    assert [event[0].header for event in stray.events if isinstance(event, tuple)] == [Header("user"), BROKEN]
    assert stray.events[-1] == FrameClosed(None, Code.PARSE_HEADER)


def test_a_finished_reader_takes_nothing_more() -> None:
    reader = Reader(fragment=True)
    reader.finish()
    for call in (lambda: reader.feed("x"), reader.finish):
        with pytest.raises(ValueError):
            call()


def test_text_may_not_follow_half_a_character() -> None:
    reader = Reader(fragment=True)
    reader.feed(b"<|start|>user<|message|>\xe2\x82")
    with pytest.raises(ValueError):
        reader.feed("x")
    assert reader.feed(b"\xac") == [FrameText("€")]


@pytest.mark.parametrize("length", [frame_header.HEADER_LIMIT - 1, frame_header.HEADER_LIMIT, frame_header.HEADER_LIMIT + 1])
def test_the_longest_header_is_the_same_however_it_is_cut(length: int) -> None:
    text = HEADER + "<|start|>user name=" + "n" * (length - len("user name=")) + "<|message|>x<|end|>"
    whole = read_pieces([text])
    assert (whole.stopped is None) == (length <= frame_header.HEADER_LIMIT)
    assert read_pieces(list(text)) == whole
    assert read_pieces(list(text), lenient=True) == read_pieces([text], lenient=True)


@pytest.mark.parametrize(
    "pieces",
    [
        ["<|start|>user name=a<", "<|message|> x=1<|message|>x<|end|>"],
        ["<|start|>user name=a", "<", "<|message|>", "x<|end|>"],
        ["<|start|>user name=a<<", "|message|>b<|message|>x<|end|>"],
        ["<|start|>user<|message|>a<<", "|end|>b<|end|>"],
        ["<|start|>user<|channel|>final<<", "|end|>b<|message|>x<|end|>"],
        ["<|start|>user name=a<", "b<|message|>x<|end|>"],
        ["<|start|>user<|message|>a<", "<|end|>b<|end|>"],
        ["<|start|>user<|message|>a<", "b", "<|end|>"],
        ["<|start|>user<|message|>a", "\ufeffb<|end|>"],
        ["<|start|>user<|message|>", "\ufeff", "<|end|>\ufeff"],
        ["\ufeff", "\ufeff<|start|>user<|message|>a<|end|>"],
    ],
)
def test_a_bracket_or_a_byte_order_mark_at_the_edge_of_a_piece_means_what_it_means_in_the_middle(pieces: list[str]) -> None:
    whole = read_pieces(["".join(pieces)], lenient=True, fragment=True)
    assert read_pieces(pieces, lenient=True, fragment=True) == whole
    assert read_pieces([piece.encode() for piece in pieces], lenient=True, fragment=True) == whole


def test_only_the_first_byte_order_mark_is_left_out() -> None:
    events = read_pieces(["\ufeff<|start|>user<|message|>", "\ufeffa<|end|>"], fragment=True).events
    assert [event.text for event in events if isinstance(event, FrameText)] == ["\ufeffa"]


@pytest.mark.parametrize("before", ["<|start|>robot<|message|>x<|end|>", "<|end|>", "stray<|end|>", "<|start|>user<|message|>x<|end|>\n"])
def test_a_token_that_breaks_off_has_an_error_of_its_own(before: str) -> None:
    for pieces in ([f"{before}<|en"], [before, "<|en"]):
        last = document.read_leniently(pieces, fragment=True).finished[-1]
        assert (last.frame, last.complete, last.error) == (Frame(BROKEN, "<|en"), False, Code.STREAM_TRUNCATED)


def test_a_bracket_at_the_end_of_a_header_that_is_too_long_still_makes_a_token_text() -> None:
    begin = "<|start|>user " + "n" * frame_header.HEADER_LIMIT
    for pieces in ([f"{begin}<<|end|>b<|end|>"], [begin, "<", "<|end|>b<|end|>"], list(f"{begin}<<|end|>b<|end|>")):
        (done,) = document.read_leniently(pieces, fragment=True).finished
        assert done.frame == Frame(BROKEN, f"{begin}<|end|>b")


FRAME = "<|start|>user<|message|>x<|end|>"


@for_each(
    [
        (f"version: 2.2\n{FRAME}", {}, 1),
        (f"version: 2.2\na: b{FRAME}\n{FRAME}", {"a": f"b{FRAME}"}, 1),
        (f"version: 2.2\na: {FRAME}\n{FRAME}{FRAME}", {"a": FRAME}, 2),
        (f"version: 2.2\na:\n {FRAME}\n\n{FRAME}", {"a": FRAME}, 1),
        (f"version: 2.2\na:\n <|start\n\n{FRAME}", {"a": "<|start"}, 1),
        (f" \n\t{FRAME}", {}, 1),
        ("\nversion: 2.2\na: b\n", {"a": "b"}, 0),
        ("version: 2.2\na: |\n <\n", {"a": "<\n"}, 0),
        (f"version: 2.2\na: |\n <\n{FRAME}", {"a": "<\n"}, 1),
        (f"version: 2.2\na: |\n b\n\n{FRAME}", {"a": "b\n"}, 1),
    ]
)
def test_the_first_frame_begins_at_the_start_of_a_line_however_the_text_is_cut(text: str, extra: dict[str, str], count: int) -> None:
    for cut in range(len(text) + 1):
        reading = document.read_strictly([text[:cut], text[cut:]])
        assert (reading.document.extra, len(reading.finished), reading.problems) == (extra, count, ())
    assert document.read_strictly(list(text)) == document.read_strictly(text)


@for_each(["<|st", " <", "\n<|start|"])
def test_a_beginning_of_a_frame_alone_is_no_header(text: str) -> None:
    for pieces in (text, list(text)):
        (problem,) = document.check(pieces).problems
        assert problem.code is Code.PARSE_HEADER and problem.hint != "there is no document"


@for_each([("a", 1), ("é", 2), (" ", 1), ("\n", 1)])
def test_a_header_that_is_too_long_is_refused_before_it_ends(character: str, size: int) -> None:
    allowed = DOCUMENT_HEADER_LIMIT // size
    reader = Reader()
    for _ in range(2):
        reader.feed(character * (allowed // 2))
    with refused(Code.PARSE_HEADER, match="too long"):
        reader.feed(character)
    for end in ("", FRAME):
        report = document.check([character * allowed, character, end])
        assert report.document and report.document == document_header.UNREADABLE
        assert [problem.hint for problem in report.problems] == ["the document header is too long"]
