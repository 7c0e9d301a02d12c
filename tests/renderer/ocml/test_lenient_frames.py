"""What a lenient reading makes of each mistake in a document's text: which frames, where they begin, and which problem is reported where.

A strict reading refuses the same text with the first of these problems.
"""

from __future__ import annotations

import pytest

from renderer.errors import OpenChatMLError
from renderer.ocml import document
from renderer.ocml.frame_header import spelled
from tests.support.cases import for_each

HIDDEN = "assistant intent=debug<|channel|>analysis"
BEGIN = "version: 2.2\n\n<|start|>user<|message|>Hi<|end|>\n"
"""Two lines of a header and a frame, so that what follows begins on line 4 and is frame 1."""
NEXT = "<|start|>user<|message|>next<|end|>"


def frames(reading: document.Reading) -> list[str]:
    """Each frame with its place, header, body, end and error."""
    return [
        f"{done.location.line}:{done.location.column} {spelled(done.frame.header)} {done.frame.body!r} "
        f"{done.frame.terminator if done.complete else 'incomplete'} {done.error or 'fine'}"
        for done in reading.finished
        if done.location
    ]


def problems(reading: document.Reading) -> list[str]:
    """Each problem with its place and the number of its frame."""
    found = [(problem, problem.location) for problem in reading.problems]
    return [f"{where.line}:{where.column} frame {where.frame}: {problem.code} {problem.hint}" for problem, where in found if where]


def check(text: str, expected_frames: list[str], expected_problems: list[str]) -> None:
    for pieces in (text, list(text), [bytes([byte]) for byte in text.encode()]):
        reading = document.read_leniently(pieces)
        assert frames(reading) == expected_frames
        assert problems(reading) == expected_problems
    with pytest.raises(OpenChatMLError) as caught:
        document.parse(text)
    assert caught.value.problem == reading.problems[0]


@for_each(
    [
        (
            "stray <|channel|>b<|message|>c<|end|>" + NEXT,
            [f"4:1 {HIDDEN} 'stray <|channel|>b<|message|>c' <|end|> E-PARSE-HEADER", "4:38 user 'next' <|end|> fine"],
            ["4:1 frame 1: E-PARSE-HEADER text between frames"],
        ),
        (
            "stray" + NEXT,
            [f"4:1 {HIDDEN} 'stray' incomplete E-PARSE-HEADER", "4:6 user 'next' <|end|> fine"],
            ["4:1 frame 1: E-PARSE-HEADER text between frames"],
        ),
        (
            "stray<|return|>" + NEXT,
            [f"4:1 {HIDDEN} 'stray' <|end|> E-PARSE-HEADER", "4:16 user 'next' <|end|> fine"],
            ["4:1 frame 1: E-PARSE-HEADER text between frames"],
        ),
        (
            "stray<|literal|><|end|><|endliteral|>b<|call|>" + NEXT,
            [f"4:1 {HIDDEN} 'stray<|end|>b' <|end|> E-PARSE-HEADER", "4:47 user 'next' <|end|> fine"],
            ["4:1 frame 1: E-PARSE-HEADER text between frames"],
        ),
        (
            "<|end|>\n<|return|>" + NEXT,
            ["5:11 user 'next' <|end|> fine"],
            ["4:1 frame 1: E-PARSE-HEADER text between frames", "5:1 frame 1: E-PARSE-HEADER text between frames"],
        ),
        (
            "<|message|>x<|end|>" + NEXT,
            [f"4:1 {HIDDEN} '<|message|>x' <|end|> E-PARSE-HEADER", "4:20 user 'next' <|end|> fine"],
            ["4:1 frame 1: E-PARSE-HEADER text between frames"],
        ),
        (
            "stray<<|end|>b<|end|>" + NEXT,
            [f"4:1 {HIDDEN} 'stray<|end|>b' <|end|> E-PARSE-HEADER", "4:22 user 'next' <|end|> fine"],
            ["4:1 frame 1: E-PARSE-HEADER text between frames"],
        ),
        (
            "<<|end|>b<|end|>" + NEXT,
            [f"4:1 {HIDDEN} '<|end|>b' <|end|> E-PARSE-HEADER", "4:17 user 'next' <|end|> fine"],
            ["4:1 frame 1: E-PARSE-HEADER text between frames"],
        ),
    ]
)
def test_text_between_frames_is_hidden_up_to_the_next_end_or_beginning_of_a_frame(
    text: str, expected_frames: list[str], expected_problems: list[str]
) -> None:
    check(BEGIN + text, ["3:1 user 'Hi' <|end|> fine", *expected_frames], expected_problems)


@for_each(
    [
        (
            "<|start|>user<|message|>é" + NEXT,
            ["4:1 user 'é' incomplete E-PARSE-HEADER", "4:26 user 'next' <|end|> fine"],
            ["4:26 frame 1: E-PARSE-HEADER a control token inside a body"],
        ),
        (
            "<|start|>user<|message|>a\né<|message|>b<|channel|>c<|end|>" + NEXT,
            [
                "4:1 user 'a\\né' incomplete E-PARSE-HEADER",
                f"5:2 {HIDDEN} '<|message|>b<|channel|>c' <|end|> E-PARSE-HEADER",
                "5:33 user 'next' <|end|> fine",
            ],
            ["5:2 frame 1: E-PARSE-HEADER a control token inside a body"],
        ),
        (
            "<|start|>user<|message|>a<|constrain|><<|end|>b<|return|>" + NEXT,
            [
                "4:1 user 'a' incomplete E-PARSE-HEADER",
                f"4:26 {HIDDEN} '<|constrain|><|end|>b' <|end|> E-PARSE-HEADER",
                "4:58 user 'next' <|end|> fine",
            ],
            ["4:26 frame 1: E-PARSE-HEADER a control token inside a body"],
        ),
        (
            "<|start|>user<|message|>a<|endliteral|>b<|end|>" + NEXT,
            ["4:1 user 'ab' <|end|> E-PARSE-HEADER", "4:48 user 'next' <|end|> fine"],
            ["4:26 frame 1: E-PARSE-HEADER a control token inside a body"],
        ),
        (
            "<|start|>assistant<|channel|>final<|message|>a<|call|>" + NEXT,
            ["4:1 assistant<|channel|>final 'a' <|end|> E-PARSE-HEADER", "4:55 user 'next' <|end|> fine"],
            ["4:1 frame 1: E-PARSE-HEADER a call without to= or call_id="],
        ),
    ]
)
def test_a_misplaced_token_in_a_body_ends_the_frame_and_hides_what_may_be_of_another_channel(
    text: str, expected_frames: list[str], expected_problems: list[str]
) -> None:
    check(BEGIN + text, ["3:1 user 'Hi' <|end|> fine", *expected_frames], expected_problems)


@for_each(
    [
        (
            "<|start|>user<|end|>" + NEXT,
            [f"4:1 {HIDDEN} '<|start|>user' <|end|> E-PARSE-HEADER", "4:21 user 'next' <|end|> fine"],
            ["4:1 frame 1: E-PARSE-HEADER a frame header without a message"],
        ),
        (
            "<|start|><|end|>" + NEXT,
            [f"4:1 {HIDDEN} '<|start|>' <|end|> E-PARSE-HEADER", "4:17 user 'next' <|end|> fine"],
            ["4:1 frame 1: E-PARSE-HEADER a frame header without a message"],
        ),
        (
            "<|start|><|message|>x<|end|>" + NEXT,
            ["4:1  intent=debug 'x' <|end|> E-PARSE-HEADER", "4:29 user 'next' <|end|> fine"],
            ["4:10 frame 1: E-PARSE-HEADER a frame header without a role"],
        ),
        (
            "<|start|>user" + NEXT,
            [f"4:1 {HIDDEN} '<|start|>user' incomplete E-PARSE-HEADER", "4:14 user 'next' <|end|> fine"],
            ["4:1 frame 1: E-PARSE-HEADER a frame header without a message"],
        ),
        (
            "<|start|>user<|literal|>a<|end|>b<|endliteral|><|end|>" + NEXT,
            [f"4:1 {HIDDEN} '<|start|>usera<|end|>b' <|end|> E-PARSE-HEADER", "4:55 user 'next' <|end|> fine"],
            ["4:1 frame 1: E-PARSE-HEADER a frame header without a message"],
        ),
        (
            "<|start|>user\n colour=red<|message|>é<|end|>" + NEXT,
            ["4:1 user intent=debug 'é' <|end|> E-PARSE-HEADER", "5:31 user 'next' <|end|> fine"],
            [
                "4:14 frame 1: E-PARSE-HEADER a character that is not allowed in a header",
                "5:2 frame 1: E-PARSE-HEADER an unknown attribute, or one without a value",
            ],
        ),
        (
            "<|start|>robot<|message|>a<|end|>\n<|start|>robot<|message|>b<|end|>" + NEXT,
            [
                "4:1 robot intent=debug 'a' <|end|> E-PARSE-HEADER",
                "5:1 robot intent=debug 'b' <|end|> E-PARSE-HEADER",
                "5:34 user 'next' <|end|> fine",
            ],
            ["4:10 frame 1: E-PARSE-HEADER an unknown role", "5:10 frame 2: E-PARSE-HEADER an unknown role"],
        ),
    ]
)
def test_a_header_that_cannot_be_read_hides_its_frame_and_no_other(
    text: str, expected_frames: list[str], expected_problems: list[str]
) -> None:
    check(BEGIN + text, ["3:1 user 'Hi' <|end|> fine", *expected_frames], expected_problems)


@for_each(
    [
        ("<|sta", f"4:1 {HIDDEN} '<|sta' incomplete E-STREAM-TRUNCATED", "the text ends inside a control token"),
        ("<|endliteral|", f"4:1 {HIDDEN} '<|endliteral|' incomplete E-STREAM-TRUNCATED", "the text ends inside a control token"),
        ("<|start|>", f"4:1 {HIDDEN} '<|start|>' incomplete E-STREAM-TRUNCATED", "the text ends inside a frame header"),
        ("<|start|>user<|chan", f"4:1 {HIDDEN} '<|start|>user<|chan' incomplete E-STREAM-TRUNCATED", "the text ends inside a frame header"),
        (
            "<|start|>user<|channel|>x",
            f"4:1 {HIDDEN} '<|start|>user<|channel|>x' incomplete E-STREAM-TRUNCATED",
            "the text ends inside a frame header",
        ),
        ("<|start|>user<|message|>", "4:1 user '' incomplete E-STREAM-TRUNCATED", "the text ends inside a body"),
        ("<|start|>user<|message|>a<|en", "4:1 user 'a<|en' incomplete E-STREAM-TRUNCATED", "the text ends inside a body"),
        (
            "<|start|>user<|message|>a<|literal|>b<|endlit",
            "4:1 user 'ab<|endlit' incomplete E-STREAM-TRUNCATED",
            "the text ends inside a body",
        ),
        ("stray<|en", f"4:1 {HIDDEN} 'stray<|en' incomplete E-PARSE-HEADER", "E-PARSE-HEADER text between frames"),
    ]
)
def test_a_text_that_ends_early_keeps_its_last_frame_and_says_where_it_began(text: str, frame: str, hint: str) -> None:
    problem = hint if hint.startswith("E-") else f"E-STREAM-TRUNCATED {hint}"
    check(BEGIN + text, ["3:1 user 'Hi' <|end|> fine", frame], [f"4:1 frame 1: {problem}"])


@for_each(
    [
        (
            "<|start|>user<|message|>a<|return|>\n<|start|>user<|message|>b<|return|>",
            ["1:1 user 'a' <|return|> E-PARSE-HEADER", "2:1 user 'b' <|return|> fine"],
            ["1:1 frame 0: E-PARSE-HEADER a frame end of format 2.x in a transcript that is not of version 2"],
        ),
        (
            "<|start|>assistant<|channel|>final<|message|>a<|end|>\n<|start|>assistant<|channel|>final<|message|>b<|return|>",
            ["1:1 assistant<|channel|>final 'a' <|end|> E-PARSE-HEADER", "2:1 assistant<|channel|>final 'b' <|return|> fine"],
            ["1:1 frame 0: E-PARSE-HEADER a version 2 feature in a transcript of another version"],
        ),
        (
            "<|start|>user<|message|>a<|literal|>b<|endliteral|><|literal|>c<|endliteral|><|return|>",
            ["1:1 user 'abc' <|return|> E-PARSE-HEADER"],
            ["1:1 frame 0: E-PARSE-HEADER a literal block in a transcript that is not of version 2"],
        ),
        (
            "<|start|>user<|message|>a<|end|>\n<|start|>user<|message|>b<|call|>",
            ["1:1 user 'a' <|end|> fine", "2:1 user 'b' <|end|> E-PARSE-HEADER"],
            [
                "2:1 frame 1: E-PARSE-HEADER a frame end of format 2.x in a transcript that is not of version 2",
                "2:1 frame 1: E-PARSE-HEADER a call without to= or call_id=",
            ],
        ),
        (
            "<|start|>developer<|message|>a<|end|>" + NEXT,
            ["1:1 developer 'a' <|end|> E-PARSE-HEADER", "1:38 user 'next' <|end|> fine"],
            ["1:1 frame 0: E-PARSE-HEADER a version 2 feature in a transcript of another version"],
        ),
        (
            "<|start|>user<|message|>a<|end|>stray<|return|>" + NEXT,
            ["1:1 user 'a' <|end|> fine", f"1:33 {HIDDEN} 'stray' <|end|> E-PARSE-HEADER", "1:48 user 'next' <|end|> fine"],
            ["1:33 frame 1: E-PARSE-HEADER text between frames"],
        ),
    ]
)
def test_the_first_feature_of_version_2_in_a_legacy_document_is_the_only_one_reported(
    text: str, expected_frames: list[str], expected_problems: list[str]
) -> None:
    check(text, expected_frames, expected_problems)


@for_each(
    [
        ("<|start|>tool name=functions.x<|message|>{}<|end|>", "a reply that does not say which call it answers"),
        ("<|start|>tool call_id=c name=functions.x<|message|>{}<|end|>", "a reply without a call"),
        ("<|start|>assistant to=functions.x<|channel|>final<|message|>{}<|end|>", "function calls are not allowed on this channel"),
        (
            "<|start|>assistant to=functions.x call_id=c<|channel|>commentary<|message|>[]<|call|>",
            "the arguments of a call are not a JSON object",
        ),
    ]
)
def test_a_problem_of_a_call_is_at_the_beginning_of_its_frame(text: str, hint: str) -> None:
    for reading in (document.read_strictly(BEGIN + text), document.read_leniently(list(BEGIN + text))):
        assert problems(reading) == [f"4:1 frame 1: E-CALL-SCHEMA {hint}"]


@for_each(
    [
        (b"<|start|>user<|message|>a\xff<|end|>", "4:26 frame 1"),
        (b"<|start|>user\xff<|message|>a<|end|>", "4:14 frame 1"),
        (b"<|start|>user<|message|>a<|end|>\n\xff<|end|>", "5:1 frame 2"),
        (b"<|start|>user<|message|>a<|end|>\n<|start|>user<|message|>\xc3\xa9<|en\xff<|end|>", "5:30 frame 2"),
    ]
)
def test_a_byte_that_is_not_utf_8_has_the_place_and_the_frame_where_it_stands(data: bytes, place: str) -> None:
    whole = BEGIN.encode() + data
    for pieces in (whole, [bytes([byte]) for byte in whole]):
        assert problems(document.read_leniently(pieces))[0] == f"{place}: E-PARSE-HEADER the bytes are not valid UTF-8"


def test_a_byte_order_mark_counts_as_three_bytes_and_as_no_column() -> None:
    for text in ("\ufeffversion: 2.2\n<|start|>robot<|message|>x<|end|>", "\ufeff<|start|>robot<|message|>x<|end|>"):
        for pieces in (text, list(text), text.encode(), [bytes([byte]) for byte in text.encode()]):
            problem = document.read_leniently(pieces).problems[-1]
            assert problem.location and problem.location.offset == len(text[: text.index("robot")].encode())
            assert problem.location.column == 10


def test_a_frame_that_is_cut_off_keeps_the_first_error_that_was_found_in_it() -> None:
    header = "version: 2.2\nprofiles: {harmony: {enabled: true, require_channels: [final]}}\n\n"
    reading = document.read_leniently(f"{header}<|start|>assistant<|message|>a{NEXT}")
    assert [done.error for done in reading.finished] == ["E-PARSE-CHANNEL-MISSING", None]
    assert [problem.code for problem in reading.problems] == ["E-PARSE-CHANNEL-MISSING", "E-PARSE-HEADER"]
