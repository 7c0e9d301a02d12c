"""OpenChatML text: round trips, the specification's examples, and refusals that point at the location.

Of whole frames it is tested what is reported before which frame, and where strict reading stops.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renderer.errors import Code, Location, OpenChatMLError
from renderer.frames import Frame, Header, Terminator, Transcript
from renderer.gate import Audience, may_see
from renderer.ocml import document
from renderer.ocml.document import FrameEvent, FrameReader
from renderer.ocml.document_header import FutureVersionError
from renderer.ocml.scanning import DocumentOpened, ProblemFound
from renderer.tokens import escape
from tests.fuzz.promises import check
from tests.renderer.examples import bodies, frames, raw, transcripts
from tests.renderer.refusing import refused
from tests.support.cases import example_count, for_each


@given(frames())
def test_every_frame_survives_the_round_trip(frame: Frame) -> None:
    assert document.parse_frame(document.dump_frame(frame)) == frame


@pytest.mark.slow
@given(transcripts())
def test_every_transcript_survives_the_round_trip(transcript: Transcript) -> None:
    text = document.dump(transcript)
    assert document.parse(text) == transcript
    assert document.parse(text.encode()) == transcript
    assert document.dump(document.parse(text)) == text
    assert document.read_leniently(text).transcript == transcript
    assert document.check(text).is_accepted


@given(bodies)
def test_no_body_adds_or_ends_a_frame(body: str) -> None:
    text = document.dump(Transcript((Frame(Header("user"), body), Frame(Header("assistant", channel="final"), "4."))))
    assert [frame.body for frame in document.parse(text).frames] == [body, "4."]


@settings(max_examples=example_count(200))
@given(raw)
def test_the_readers_keep_their_promises_for_any_input(data: bytes) -> None:
    check(data)


@given(st.text(max_size=200))
def test_reading_anything_gives_a_transcript_or_one_of_our_errors(text: str) -> None:
    for candidate in (text, "version: 2.2\n" + text, f"version: 2.2\n<|start|>user<|message|>{text}<|end|>"):
        try:
            document.parse(candidate)
        except OpenChatMLError as error:
            assert isinstance(error.code, Code)


EXAMPLE = """version: 2.2
model: gpt-oss-120b

<|start|>user<|message|>What's the weather in Tokyo?<|end|>
<|start|>assistant<|channel|>analysis<|message|>Call functions.get_current_weather with location Tokyo.<|end|>
<|start|>assistant to=functions.get_current_weather call_id=wx1<|channel|>commentary<|constrain|>json<|message|>{"location":"Tokyo"}<|call|>
<|start|>tool name=functions.get_current_weather call_id=wx1 to=assistant<|channel|>commentary<|message|>{"ok":true}<|end|>
<|start|>assistant<|channel|>final<|message|>It is sunny.<|return|>
"""


def test_the_tool_call_of_section_16_is_read_as_specified() -> None:
    question, analysis, call, reply, answer = document.parse(EXAMPLE).frames
    assert question == Frame(Header("user"), "What's the weather in Tokyo?")
    assert analysis.header.channel == "analysis"
    assert (call.header.recipient, call.header.call_id, call.terminator) == ("functions.get_current_weather", "wx1", Terminator.CALL)
    assert (reply.header.role, reply.header.name, reply.header.recipient) == ("tool", "functions.get_current_weather", "assistant")
    assert answer.terminator is Terminator.RETURN


def test_a_legacy_tool_role_becomes_the_canonical_one() -> None:
    frame = document.parse_frame("<|start|>functions.search to=assistant<|channel|>commentary<|message|>{}<|end|>")
    assert (frame.header.role, frame.header.name) == ("tool", "functions.search")


def test_attributes_are_accepted_after_the_channel() -> None:
    frame = document.parse_frame("<|start|>assistant<|channel|>commentary to=functions.x intent=status<|message|>{}<|end|>")
    assert (frame.header.recipient, frame.header.intent) == ("functions.x", "status")


def test_a_literal_block_may_contain_tokens_and_its_markers_are_not_text() -> None:
    frame = document.parse_frame("<|start|>user<|message|>Print:\n<|literal|>\n<|start|><|end|>\n<|endliteral|><|end|>")
    assert frame.body == "Print:\n\n<|start|><|end|>\n"


def test_a_doubled_bracket_writes_a_token_as_text() -> None:
    assert document.parse_frame("<|start|>user<|message|>What does <<|start|> mean?<|end|>").body == "What does <|start|> mean?"
    assert escape("<|start|>") == "<<|start|>"


@pytest.mark.parametrize(
    "text",
    [
        "<|start|>robot<|message|>x<|end|>",
        "<|start|><|message|>x<|end|>",
        "<|start|>tool<|message|>x<|end|>",
        "<|start|>user colour=red<|message|>x<|end|>",
        "<|start|>user name=a name=b<|message|>x<|end|>",
        "<|start|>assistant<|channel|>final<|channel|>final<|message|>x<|end|>",
        "<|start|>assistant<|channel|><|message|>x<|end|>",
        "<|start|>user<|message|>a<|start|>user<|message|>b<|end|>",
        "stray <|start|>user<|message|>a<|end|>",
        "<|start|>user<|message|>a<|end|> stray",
    ],
)
def test_e_parse_header(text: str) -> None:
    with refused(Code.PARSE_HEADER) as caught:
        document.parse_frame(text)
    assert caught.value.location is not None


@pytest.mark.parametrize("text", ["<|start|>user", "<|start|>user<|message|>secret", "<|start|>user<|message|><|literal|>secret<|end|>"])
def test_e_stream_truncated(text: str) -> None:
    with refused(Code.STREAM_TRUNCATED) as caught:
        document.parse_frame(text)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "header",
    [
        "- a list\n",
        "model: x\n",
        "version: 3.0\n",
        "version: 2.2\na: &x [1]\nb: *x\n",
        "version: [2]\n",
        "version: 2.2\n1: x\n",
        "%" * 70_000,
    ],
)
def test_an_invalid_document_header_is_refused(header: str) -> None:
    with refused(Code.PARSE_HEADER):
        document.parse(header + "<|start|>user<|message|>x<|end|>")


def test_a_version_is_read_digit_by_digit() -> None:
    assert document.parse("version: 2.10\n").version == "2.10"


def test_an_error_has_a_place() -> None:
    with refused(Code.PARSE_HEADER) as caught:
        document.parse("version: 2.2\n<|start|>user<|message|>é<|end|>\n<|start|>robot<|message|>x<|end|>")
    location = caught.value.location
    assert location is not None
    assert (location.offset, location.line, location.column, location.frame) == (56, 3, 10, 1)


@pytest.mark.parametrize("value", ["", "a b", "a\nb", "x<|end|>", "é", "a" * 4096])
def test_a_header_value_that_could_break_out_is_not_written(value: str) -> None:
    with refused(Code.PARSE_HEADER):
        document.dump_frame(Frame(Header("user", name=value), "x"))


@pytest.mark.parametrize(
    ("frame", "error"),
    [
        (Frame(Header("robot"), "x"), Code.PARSE_HEADER),
        (Frame(Header("tool"), "x"), Code.PARSE_HEADER),
        (Frame(Header("assistant", channel="finale"), "x"), Code.PARSE_HEADER),
        (Frame(Header("assistant"), "x", Terminator.CALL), Code.PARSE_HEADER),
        (Frame(Header("user", recipient="functions.x", call_id="1"), "x", Terminator.CALL), Code.CALL_SCHEMA),
    ],
)
def test_frames_that_a_strict_reading_would_refuse_are_not_written(frame: Frame, error: Code) -> None:
    with refused(error):
        document.dump_frame(frame)
    written = document.writable(frame)
    assert document.parse_frame(document.dump_frame(written)) == written
    assert written.body == frame.body


@pytest.mark.parametrize(
    "transcript",
    [
        Transcript((), version="3.0"),
        Transcript((), version="2"),
        Transcript((), version="2.2\nmodel: x"),
        Transcript((), extra={"model": "x"}),
        Transcript((), extra={"a": object()}),
        Transcript((), extra={"a": float("nan")}),
        Transcript((), extra={"a": (1, 2)}),
        Transcript((), extra={"a": {1: 2}}),
        Transcript((), model="\ud800"),
        Transcript((), settings={"a": "x" * 70_000}),
    ],
)
def test_a_document_header_that_would_not_round_trip_is_not_written(transcript: Transcript) -> None:
    with refused(Code.PARSE_HEADER):
        document.dump(transcript)


HEADER = "version: 2.2\n\n"


def test_e_body_constraint_violation() -> None:
    text = HEADER + "<|start|>user<|message|>x<|end|>\n<|start|>assistant<|channel|>commentary<|constrain|>json<|message|>secret<|end|>"
    with refused(Code.BODY_CONSTRAINT_VIOLATION) as caught:
        document.parse(text)
    assert caught.value.location is not None and (caught.value.location.line, caught.value.location.frame) == (4, 1)
    assert "secret" not in str(caught.value)
    assert document.parse(text.replace("secret", '"secret"')).frames[1].body == '"secret"'


def test_e_call_schema_a_second_call_with_one_id() -> None:
    call = "<|start|>assistant to=functions.x call_id=c{}<|channel|>commentary<|message|>{{}}<|call|>\n"
    assert len(document.parse(HEADER + call.format(1) + call.format(2)).frames) == 2
    with refused(Code.CALL_SCHEMA):
        document.parse(HEADER + call.format(1) + call.format(1))
    first, second = document.read_leniently(HEADER + call.format(1) + call.format(1)).transcript.frames
    assert (first.terminator, second.terminator) == (Terminator.CALL, Terminator.END)


def test_e_parse_channel_missing() -> None:
    profile = "version: 2.2\nprofiles: {harmony: {enabled: true, require_channels: [analysis, final]}}\n"
    frame = "<|start|>assistant<|message|>x<|end|>"
    assert document.parse(HEADER + frame).frames[0].header == Header("assistant")
    with refused(Code.PARSE_CHANNEL_MISSING):
        document.parse(profile + frame)
    (parsed,) = document.read_leniently(profile + frame).transcript.frames
    assert not may_see(parsed.header, Audience.END_USER)


@pytest.mark.parametrize("code", [Code.TOOL_TIMEOUT, Code.TOOL_CANCELLED])
def test_e_tool_timeout_and_e_tool_cancelled_are_reported(code: Code) -> None:
    reply = f'<|start|>tool name=functions.x call_id=c<|message|>{{"ok": false, "error": "{code}"}}<|end|>'
    call = "<|start|>assistant to=functions.x call_id=c<|channel|>commentary<|message|>{}<|call|>"
    report = document.check(HEADER + call + reply)
    assert [(problem.code, problem.is_refused) for problem in report.problems] == [(code, False)]
    assert report.is_accepted


def test_a_future_version_stops_a_lenient_reading_too() -> None:
    with pytest.raises(FutureVersionError):
        document.read_leniently("version: 3.0\n<|start|>user<|message|>x<|end|>")
    report = document.check("version: 3.0\n<|start|>user<|message|>x<|end|>")
    assert (report.document, report.frames, report.count, report.is_accepted) == (None, 0, 1, False)


def test_problems_before_a_future_version_are_reported_too() -> None:
    report = document.check(b"version: 3.0\nnote: \xff\n<|start|>user<|message|>x<|end|>")
    assert (report.count, report.refused) == (2, 2)
    assert [problem.hint for problem in report.problems] == [
        "the bytes are not valid UTF-8",
        "this major version of the format is not known",
    ]
    with refused(Code.PARSE_HEADER, match="not valid UTF-8"):
        document.parse(b"version: 3.0\nnote: \xff\n<|start|>user<|message|>x<|end|>")


def test_a_document_can_be_accepted_without_being_clean() -> None:
    flagged = HEADER + "<|start|>tool name=functions.x<|message|>{}<|end|>"
    for text, accepted, clean in ((HEADER, True, True), (flagged, True, False), (HEADER + "x<|end|>", False, False)):
        report = document.check(text)
        assert (report.is_accepted, report.is_clean, report.refused == 0) == (accepted, clean, accepted)


def test_a_report_lists_a_bounded_number_of_problems_and_counts_all() -> None:
    report = document.check(HEADER + "<|start|>robot<|message|>x<|end|>\n" * 1500)
    assert (len(report.problems), report.count, report.frames) == (document.PROBLEM_LIMIT, 1500, 1500)


def test_a_document_may_come_in_pieces() -> None:
    pieces = [HEADER, "<|start|>user<|mess", "age|>Hi<|e", "nd|>"]
    assert document.read_leniently(pieces).transcript == document.parse("".join(pieces))
    assert document.check([piece.encode() for piece in pieces]).frames == 1


def test_frames_come_as_soon_as_they_are_whole() -> None:
    reader = document.FrameReader()
    assert [type(event) for event in reader.feed(HEADER + "<|start|>user<|message|>Hi<|end|>\n<|start|>user<|message|>a")] == [
        DocumentOpened,
        type(document.read_leniently(HEADER + "<|start|>user<|message|>Hi<|end|>").finished[0]),
    ]
    with refused(Code.STREAM_TRUNCATED):
        reader.finish()


def test_a_violated_constraint_is_raised_after_the_frames_before_it() -> None:
    reader = document.FrameReader()
    with refused(Code.BODY_CONSTRAINT_VIOLATION):
        reader.feed(HEADER + "<|start|>user<|message|>Hi<|end|><|start|>user<|constrain|>json<|message|>x<|end|><|start|>robot<|message|>")
    assert len(reader.events_before_error) == 2
    with refused(Code.BODY_CONSTRAINT_VIOLATION):
        reader.feed("<|start|>robot")
    with refused(Code.BODY_CONSTRAINT_VIOLATION):
        reader.finish()


@pytest.mark.parametrize("hides", ["colour=red", "<|constrain|>a b", "name=é"])
def test_a_frame_is_hidden_if_any_fault_of_its_header_hides_it_whatever_else_is_wrong(hides: str) -> None:
    before, after = ("", f" {hides}") if "<" in hides else (f" {hides}", "")
    text = f"<|start|>assistant{before}<|channel|>final call_id=c1{after}<|message|>x<|end|>"
    (done,) = document.read_leniently(text, fragment=True).finished
    assert not may_see(done.frame.header, Audience.END_USER)
    (harmless,) = document.read_leniently("<|start|>assistant<|channel|>final call_id=c1<|message|>x<|end|>", fragment=True).finished
    assert harmless.error and may_see(harmless.frame.header, Audience.END_USER)


@pytest.mark.parametrize("text", ["", " ", "<|start|>user<|message|>a<|end|><|start|>user<|message|>b<|end|>"])
def test_exactly_one_frame_is_read_as_a_frame(text: str) -> None:
    with refused(Code.PARSE_HEADER, match="exactly one frame") as caught:
        document.parse_frame(text)
    assert caught.value.location == Location(0, 1, 1)


def test_of_a_single_frame_neither_the_body_nor_its_place_among_others_is_checked() -> None:
    for text in ("<|start|>user<|constrain|>json<|message|>x<|end|>", "<|start|>tool call_id=c name=y<|message|>x<|end|>"):
        assert document.parse_frame(text).body == "x"


def test_a_reader_that_raised_for_a_body_takes_no_more_text() -> None:
    reader = document.FrameReader()
    with refused(Code.BODY_CONSTRAINT_VIOLATION):
        reader.feed(HEADER + "<|start|>user<|constrain|>json<|message|>x<|end|>")
    with refused(Code.BODY_CONSTRAINT_VIOLATION):
        reader.feed("<|start|>user<|message|>Hi<|end|>")
    with refused(Code.BODY_CONSTRAINT_VIOLATION):
        reader.finish()


@pytest.mark.parametrize("value", ["secret", "<|start|>secret"])
@pytest.mark.parametrize(
    "where", ["{} <|start|>user<|message|>x", "version: [{}", "version: {}\n", "<|start|>{}<|message|>", "<|start|>user {}"]
)
def test_no_error_quotes_the_text(where: str, value: str) -> None:
    for fragment in (False, True):
        report = document.check(where.format(value), fragment=fragment)
        assert report.count
        assert all("secret" not in str(problem) + problem.sentence for problem in report.problems)


FIRST = "<|start|>user<|message|>Hi<|end|>\n"
CALL = "<|start|>assistant to=functions.x call_id=c<|channel|>commentary<|constrain|>json<|message|>"
TOOL = "<|start|>tool to=assistant call_id=c name=functions.x<|channel|>commentary"
JSON = "<|start|>user<|constrain|>json<|message|>"
BODY, SCHEMA, PARSE = Code.BODY_CONSTRAINT_VIOLATION, Code.CALL_SCHEMA, Code.PARSE_HEADER
LATE, CUT = Code.TOOL_TIMEOUT, Code.STREAM_TRUNCATED
ERROR = '{"ok": false, "error": "E-TOOL-TIMEOUT"}'


def lines(events: list[FrameEvent]) -> list[str]:
    """Each problem with its code, its line and whether it is refused; each frame with its body, whether it is whole, and its error."""
    found = []
    for event in events:
        if isinstance(event, ProblemFound):
            problem = event.problem
            assert problem.location
            found.append(f"{problem.code} {problem.location.line} {'refused' if problem.is_refused else 'flagged'}")
        elif not isinstance(event, DocumentOpened):
            found.append(f"{event.frame.body!r} {'whole' if event.complete else 'cut'} {event.error}")
    return found


@for_each(
    [
        (f"{JSON}{{}}<|end|>", ["'{}' whole None"]),
        (f"{JSON}x<|end|>", [f"{BODY} 4 refused", f"'x' whole {BODY}"]),
        (f"{JSON}x", [f"{CUT} 4 refused", f"'x' cut {CUT}"]),
        (f"{JSON}x<|channel|><|end|>", [f"{PARSE} 4 refused", f"'x' cut {PARSE}", f"'<|channel|>' whole {PARSE}"]),
        ("<|start|>robot<|constrain|>json<|message|>x<|end|>", [f"{PARSE} 4 refused", f"{BODY} 4 refused", f"'x' whole {PARSE}"]),
        ("<|start|>robot<|constrain|>json<|message|>1<|end|>", [f"{PARSE} 4 refused", f"'1' whole {PARSE}"]),
        ("<|start|>robot<|constrain|>text<|message|>x<|end|>", [f"{PARSE} 4 refused", f"'x' whole {PARSE}"]),
        (f"{CALL}{{}}<|call|>", ["'{}' whole None"]),
        (f"{CALL}[]<|call|>", [f"{SCHEMA} 4 flagged", f"'[]' whole {SCHEMA}"]),
        (f"{CALL}[<|call|>", [f"{BODY} 4 refused", f"'[' whole {BODY}"]),
        (f"{CALL}[]<|end|>", ["'[]' whole None"]),
        (f"{CALL}[]", [f"{CUT} 4 refused", f"'[]' cut {CUT}"]),
        (
            f'{CALL}{{"tool_calls": 1, "deadline_ms": 0}}<|call|>',
            [f"{SCHEMA} 4 refused", f"{SCHEMA} 4 flagged", f"""'{{"tool_calls": 1, "deadline_ms": 0}}' whole {SCHEMA}"""],
        ),
        (f"{CALL}{{}}<|call|>\n{TOOL}<|message|>{ERROR}<|end|>", ["'{}' whole None", f"{LATE} 5 flagged", f"{ERROR!r} whole {LATE}"]),
        (f"{CALL}{{}}<|call|>\n{TOOL}<|message|>{ERROR}", ["'{}' whole None", f"{CUT} 5 refused", f"{ERROR!r} cut {CUT}"]),
        (f"{TOOL}<|message|>{ERROR}<|end|>", [f"{SCHEMA} 4 flagged", f"{LATE} 4 flagged", f"{ERROR!r} whole {SCHEMA}"]),
        (
            f"{CALL}{{}}<|call|>\n{TOOL}<|constrain|>json<|message|>x<|end|>",
            ["'{}' whole None", f"{BODY} 5 refused", f"'x' whole {BODY}"],
        ),
        (f"<|start|>user<|message|>{ERROR}<|end|>", [f"{ERROR!r} whole None"]),
        (f"<|start|>assistant<|channel|>final<|message|>{ERROR}<|end|>", [f"{ERROR!r} whole None"]),
    ]
)
def test_the_problems_of_a_body_come_before_its_frame_and_its_first_one_is_kept_with_it(text: str, expected: list[str]) -> None:
    whole = HEADER + FIRST + text
    for pieces in ([whole], list(whole), [whole.encode()]):
        reader, found = FrameReader(lenient=True), list[FrameEvent]()
        for piece in pieces:
            found += reader.feed(piece)
        found += reader.finish()
        assert isinstance(found[0], DocumentOpened)
        assert lines(found) == ["'Hi' whole None", *expected]
    reading = document.read_leniently(whole)
    events: list[FrameEvent] = [*(ProblemFound(problem) for problem in reading.problems), *reading.finished]
    assert sorted(lines(events)) == sorted(lines(found)) and isinstance(reading.problems, tuple)
    assert isinstance(reading.finished, tuple)
    refused = next((number for number, line in enumerate(expected) if line.endswith("refused")), None)
    reader = FrameReader()
    if refused is None:
        assert lines([*reader.feed(whole), *reader.finish()]) == ["'Hi' whole None", *expected]
        return
    before: list[FrameEvent] = []
    with pytest.raises(OpenChatMLError) as caught:
        before += reader.feed(whole)
        reader.finish()
    assert f"{caught.value.code} {caught.value.location and caught.value.location.line} refused" == expected[refused]
    flagged_in_the_same_frame = expected[refused - 1].endswith("flagged") if refused else False
    assert lines([*before, *reader.events_before_error]) == ["'Hi' whole None", *expected[: refused - flagged_in_the_same_frame]]
    for call in (lambda: reader.feed("x"), reader.finish):
        with pytest.raises(OpenChatMLError) as again:
            call()
        assert again.value is caught.value


def test_the_limits_are_those_of_the_documentation() -> None:
    for length, is_read in ((4096, True), (4097, False)):
        text = f"<|start|>user name={'n' * (length - len('user name='))}<|message|>x<|end|>"
        assert document.check(text, fragment=True).is_clean is is_read
    for length, is_read in ((65536, True), (65537, False)):
        text = f"version: 2.2\na: {'b' * (length - len('version: 2.2') - len('_a: _'))}\n"
        assert len(text) == length and document.check(text + FIRST).is_clean is is_read
    for levels, is_read in ((32, True), (33, False)):
        text = f"version: 2.2\na: {'[' * (levels - 2)}b{']' * (levels - 2)}\n"
        assert document.check(text).is_clean is is_read
    report = document.check("<|end|>" * 1001, fragment=True)
    assert (len(report.problems), report.count, report.refused) == (1000, 1001, 1001)


@for_each(
    [
        f"<|start|>user name={'n' * 5000}<|message|>x",
        f"<|start|>user{'<|channel|>' * 400}<|message|>x",
        f"<|start|>user {'a<<|message|>' * 400}<|message|>x",
        f"<|start|>user {'<' * 5000} <|constrain|>a<|channel|>b",
        f"<|start|>user{' ' * 4090}<|channel|>x",
    ]
)
def test_a_header_that_is_too_long_is_kept_as_hidden_text_to_the_end_of_its_frame(text: str) -> None:
    whole = f"{FIRST}{text}<|end|>{FIRST}"
    bodies = set()
    for pieces in (whole, list(whole), [whole[at : at + 1000] for at in range(0, len(whole), 1000)], [whole[:4200], whole[4200:]]):
        reading = document.read_leniently(pieces, fragment=True)
        assert [done.frame for done in reading.finished[::2]] == [Frame(Header("user"), "Hi")] * 2
        assert reading.finished[1].frame.header == Header("assistant", "analysis", intent="debug")
        assert reading.finished[1].frame.terminator is Terminator.END
        (problem,) = reading.problems
        assert (problem.hint, problem.location) == ("the frame header is too long", Location(34, 2, 1, 1))
        bodies.add(reading.finished[1].frame.body)
    (body,) = bodies
    assert body.replace("<<|", "<|") == text.replace("<<|", "<|"), "what was read as a header keeps its escapes"


@for_each([(" \t\r\n \n\t", True), ("", True), ("\x0b", False), ("\x0c", False), ("\xa0", False), ("\u2028", False), ("\x00", False)])
def test_only_spaces_tabs_and_line_breaks_may_be_between_frames(between: str, is_allowed: bool) -> None:
    text = f"{HEADER}{FIRST}{between}{FIRST}{between}"
    for pieces in (text, list(text)):
        report = document.check(pieces)
        assert (report.is_clean, report.count, report.frames) == ((True, 0, 2) if is_allowed else (False, 2, 4))


@for_each(
    [
        ("user<<|channel|>x", {"recipient": "user<"}),
        ("user<<<|channel|>x", {"recipient": "user<<"}),
        ("user<|channel|>x<<|constrain|>json", {"channel": "x<", "constrain": "json"}),
    ]
)
def test_a_sign_before_a_token_of_a_header_belongs_to_the_value_before_it_and_is_a_fault(header: str, values: dict[str, str]) -> None:
    for pieces in ([f"<|start|>assistant to={header}<|message|>x<|end|>\n"], list(f"<|start|>assistant to={header}<|message|>x<|end|>\n")):
        reader = FrameReader(lenient=True)
        events = [event for piece in [HEADER, *pieces] for event in reader.feed(piece.encode())] + reader.finish()
        [frame] = [event for event in events if not isinstance(event, DocumentOpened | ProblemFound)]
        assert {name: getattr(frame.frame.header, name) for name in values} == values
        assert frame.error is PARSE
