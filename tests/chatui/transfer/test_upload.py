"""Reading an uploaded transcript: what is read of it, how often which problem is found, and which one would be refused first."""

import pytest

from chatui.codes import ProductCode
from chatui.transfer import upload
from chatui.transfer.upload import ImportRefusedError
from tests.support.cases import for_each

HI = "<|start|>user<|message|>Hi<|end|>\n"
TOOL = "<|start|>tool name=functions.x<|message|>{}<|end|>\n"
STRAY = "x<|end|>\n"


def in_json(*messages: str, model: str = "m") -> str:
    return f'{{"header": {{"version": "2.2", "model": "{model}"}}, "messages": [{", ".join(messages)}]}}'


ASKED = '{"role": "user", "content": "Hi"}'


@for_each(
    [
        (f"version: 2.2\nmodel: m\n{HI}", ["Hi"], {}, None),
        (f"version: 2.2\nmodel: m\n{HI}{HI}", ["Hi", "Hi"], {}, None),
        (f"version: 2.2\nmodel: m\n{TOOL}{HI}", ["{}", "Hi"], {"E-CALL-SCHEMA": 1}, None),
        (f"version: 2.2\nmodel: m\n{TOOL}{HI}{STRAY}{HI}{STRAY}", None, {"E-CALL-SCHEMA": 1, "E-PARSE-HEADER": 2}, 5),
        ("version: 2.2\nmodel: m\n<|start|>user<|message|>Hi", ["Hi"], {"E-STREAM-TRUNCATED": 1}, 3),
        ("version: 2.2\nmodel: m\n", [], {}, None),
        (f'{{"version": "2.2", "model": "m"}}\n{HI}', ["Hi"], {}, None),
        (in_json(ASKED), ["Hi"], {}, None),
        (f"\ufeff \r\n\t{in_json(ASKED, ASKED)}", ["Hi", "Hi"], {}, None),
        (in_json('{"role": "user", "content": "a\\n<|start|>user<|message|>b"}'), ["a\n<|start|>user<|message|>b"], {}, None),
        (in_json(ASKED, "\n7", ASKED, "\n8"), None, {"E-PARSE-HEADER": 2}, 2),
        (in_json('{"role": "tool", "name": "functions.x", "content": "{}"}', "\n7"), None, {"E-CALL-SCHEMA": 1, "E-PARSE-HEADER": 1}, 2),
        (in_json(), [], {}, None),
    ]
)
def test_a_transcript_is_read_with_its_problems(text: str, bodies: list[str] | None, codes: dict[str, int], refused: int | None) -> None:
    """``refused``: the line of the first problem that strict reading would refuse."""
    read = upload.read(text.encode())
    assert read.header.model == "m" and bodies in (None, [item.frame.body for item in read.finished])
    assert {str(code): count for code, count in read.codes.items()} == codes and read.problems == sum(codes.values())
    place = read.refused and read.refused.location
    assert (place and place.line) == refused


@pytest.mark.parametrize("text", ["", "hello", f"version: 3.0\n{HI}", "[1]", "{", "[", '{"header": {"version": "3.0"}, "messages": []}'])
def test_what_is_no_transcript_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(ImportRefusedError) as refused:
        upload.read(text.encode())
    assert refused.value.problem.code == "E-PARSE-HEADER" and refused.value.problem.location is not None
    assert refused.value.problem.location.line == 1


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        ("MAX_FRAMES", f"version: 2.2\n{HI * 3}"),
        ("MAX_FRAMES", in_json(ASKED, ASKED, ASKED)),
        ("MAX_PROBLEMS", f"version: 2.2\n{HI}{STRAY * 3}"),
        ("MAX_PROBLEMS", in_json("7", "8", "9")),
    ],
)
def test_text_and_json_have_the_same_limits(limit: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload, limit, 3)
    assert len(upload.read(text.encode()).finished) >= 3
    monkeypatch.setattr(upload, limit, 2)
    with pytest.raises(ImportRefusedError, match=r"E-X-TOO-LARGE.*more than 2") as refused:
        upload.read(text.encode())
    assert refused.value.problem.code == ProductCode.TOO_LARGE


def test_a_file_that_is_too_large_is_refused_with_the_limit_in_megabytes() -> None:
    with pytest.raises(ImportRefusedError, match="larger than 5 MB"):
        upload.read(b"x" * (upload.MAX_BYTES + 1))
    with pytest.raises(ImportRefusedError, match="header is too long"):
        upload.read(b"x" * upload.MAX_BYTES)
