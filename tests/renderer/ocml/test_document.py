"""OpenChatML text: round trips, the specification's examples, and refusals that point at the location.

Of whole frames it is tested what is reported before which frame, and where strict reading stops.
"""

import pytest
from hypothesis import given, settings

from renderer.errors import Code, Location, ParseHeaderError
from renderer.events import Finished
from renderer.frames import Frame, Header, Role, Terminator, Transcript
from renderer.gate import Audience, may_see
from renderer.ocml import document
from tests.fuzz.promises import check
from tests.renderer.examples import raw, transcripts
from tests.renderer.refusing import refused
from tests.support.cases import example_count


@pytest.mark.slow
@given(transcripts())
def test_every_transcript_survives_the_round_trip(transcript: Transcript) -> None:
    text = document.dump(transcript)
    assert document.parse(text) == transcript
    assert document.parse(text.encode()) == transcript
    assert document.dump(document.parse(text)) == text
    assert document.read_leniently(text).transcript == transcript
    assert document.check(text).is_accepted


@settings(max_examples=example_count(200))
@given(raw)
def test_the_readers_keep_their_promises_for_any_input(data: bytes) -> None:
    check(data)


@pytest.mark.parametrize(
    "text",
    [
        "<|start|>robot<|message|>x<|end|>",
        "<|start|>tool<|message|>x<|end|>",
        "<|start|>user colour=red<|message|>x<|end|>",
        "<|start|>assistant<|channel|><|message|>x<|end|>",
        "<|start|>user<|message|>a<|start|>user<|message|>b<|end|>",
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
    with pytest.raises(ParseHeaderError):
        document.read_leniently("version: 3.0\n<|start|>user<|message|>x<|end|>")
    report = document.check("version: 3.0\n<|start|>user<|message|>x<|end|>")
    assert (report.document, report.frames, report.count, report.is_accepted) == (None, 0, 1, False)


def test_a_document_can_be_accepted_without_being_clean() -> None:
    flagged = HEADER + "<|start|>tool name=functions.x<|message|>{}<|end|>"
    for text, accepted, clean in ((HEADER, True, True), (flagged, True, False), (HEADER + "x<|end|>", False, False)):
        report = document.check(text)
        assert (report.is_accepted, report.is_clean, report.refused == 0) == (accepted, clean, accepted)


def test_a_report_lists_a_bounded_number_of_problems_and_counts_all() -> None:
    report = document.check(HEADER + "<|start|>robot<|message|>x<|end|>\n" * 1500)
    assert (len(report.problems), report.count, report.frames) == (document.PROBLEM_LIMIT, 1500, 1500)


def test_frames_come_as_soon_as_they_are_whole() -> None:
    reader = document.FrameReader()
    opened, whole = reader.feed(HEADER + "<|start|>user<|message|>Hi<|end|>\n<|start|>user<|message|>a")
    assert isinstance(whole, Finished) and whole.frame.body == "Hi" and not isinstance(opened, Finished)
    with refused(Code.STREAM_TRUNCATED):
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


@pytest.mark.parametrize("body", ["<" * 300_000, "<" * 300_000 + "<|end|>", "<<|" * 100_000], ids=["run", "token", "many"])
def test_a_body_of_signs_is_written_in_time_that_grows_with_its_length(body: str) -> None:
    """The time limit of a test is a small part of what the square of this length takes."""
    written = document.dump_frame(Frame(Header(Role.USER), body))
    assert document.parse(written, fragment=True).frames[0].body == body


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
