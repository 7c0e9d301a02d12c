"""Where the header of a streamed document ends and its first frame begins, wherever the text is cut."""

from __future__ import annotations

import pytest

from renderer.errors import Code, ParseHeaderError
from renderer.ocml import document, document_header
from renderer.ocml.document_header import DOCUMENT_HEADER_LIMIT
from renderer.ocml.reader import Reader
from tests.support.cases import for_each

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
    with pytest.raises(ParseHeaderError, match="too long"):
        reader.feed(character)
    for end in ("", FRAME):
        report = document.check([character * allowed, character, end])
        assert report.document and report.document.profile == document_header.STRICTEST
        assert [problem.hint for problem in report.problems] == ["the document header is too long"]
