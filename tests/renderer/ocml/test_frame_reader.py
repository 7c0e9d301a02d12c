"""Whole frames and the problems of their bodies: what is reported before which frame, and where strict reading stops."""

from __future__ import annotations

import pytest

from renderer.errors import Code, Location, OpenChatMLError
from renderer.frames import Frame, Header, Terminator
from renderer.ocml import document
from renderer.ocml.document import FrameEvent, FrameReader
from renderer.ocml.scanning import DocumentOpened, ProblemFound
from tests.support.cases import for_each

HEADER = "version: 2.2\n\n"
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
