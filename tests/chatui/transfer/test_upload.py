"""Reading an uploaded transcript: what is read of it, how often which problem is found, and which one would be refused first."""

from collections import Counter

import pytest

from chatui.codes import ProductCode
from chatui.models.message import Message
from chatui.models.user import User
from chatui.transfer.imports import import_transcript, look_at
from chatui.transfer.upload import ImportRefusedError
from renderer.ocml import document
from tests.support.limits import limit, set_limits

HI = "<|start|>user<|message|>Hi<|end|>\n"
TOOL = "<|start|>tool name=functions.x<|message|>{}<|end|>\n"
STRAY = "x<|end|>\n"


def in_json(*messages: str, model: str = "m") -> str:
    return f'{{"header": {{"version": "2.2", "model": "{model}"}}, "messages": [{", ".join(messages)}]}}'


ASKED = '{"role": "user", "content": "Hi"}'


@pytest.mark.parametrize(
    ("text", "bodies", "codes", "refused"),
    [
        (f"version: 2.2\nmodel: m\n{HI}", ["Hi"], {}, None),
        (f"version: 2.2\nmodel: m\n{HI}{HI}", ["Hi", "Hi"], {}, None),
        (f"version: 2.2\nmodel: m\n{TOOL}{HI}", ["{}", "Hi"], {"E-CALL-SCHEMA": 1}, None),
        (f"version: 2.2\nmodel: m\n{TOOL}{HI}{STRAY}{HI}{STRAY}", None, {"E-CALL-SCHEMA": 1, "E-PARSE-HEADER": 2}, 5),
        ("version: 2.2\nmodel: m\n<|start|>user<|message|>Hi", ["Hi"], {"E-STREAM-TRUNCATED": 1}, 3),
        (f'{{"version": "2.2", "model": "m"}}\n{HI}', ["Hi"], {}, None),
        (in_json(ASKED), ["Hi"], {}, None),
        (f"\ufeff \r\n\t{in_json(ASKED, ASKED)}", ["Hi", "Hi"], {}, None),
        (in_json('{"role": "user", "content": "a\\n<|start|>user<|message|>b"}'), ["a\n<|start|>user<|message|>b"], {}, None),
        (in_json(ASKED, "\n7", ASKED, "\n8"), None, {"E-PARSE-HEADER": 2}, 2),
        (
            in_json('{"role": "tool", "name": "functions.x", "content": "{}"}', ASKED, "\n7"),
            None,
            {"E-CALL-SCHEMA": 1, "E-PARSE-HEADER": 1},
            2,
        ),
    ],
)
@pytest.mark.django_db
def test_a_transcript_is_read_with_its_problems(
    text: str, bodies: list[str] | None, codes: dict[str, int], refused: int | None, ada: User
) -> None:
    """``refused``: the line of the first problem that strict reading would refuse."""
    imported = import_transcript(ada, text.encode())
    stored = [document.parse_frame(message.text).body for message in Message.objects.order_by("position")]
    found = imported.findings
    assert imported.conversation.model == "m" and bodies in (None, stored) and found.frames == len(stored)
    assert Counter(str(problem.code) for problem in found.reported) == codes and found.problems == sum(codes.values())
    places = [problem.location.line for problem in found.reported if problem.is_refused and problem.location]
    assert (places[0] if places else None) == refused


@pytest.mark.parametrize("text", ["", "hello", f"version: 3.0\n{HI}", "[1]", "{", "[", '{"header": {"version": "3.0"}, "messages": []}'])
def test_what_is_no_transcript_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(ImportRefusedError) as refused:
        look_at(User(), text.encode())
    assert refused.value.problem.code == "E-PARSE-HEADER" and refused.value.problem.location is not None
    assert refused.value.problem.location.line == 1


@pytest.mark.parametrize("text", ["version: 2.2\nmodel: m\n", in_json()])
def test_a_transcript_without_a_message_is_refused(text: str) -> None:
    with pytest.raises(ImportRefusedError, match="no message that you may see"):
        look_at(User(), text.encode())


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        ("MAX_FRAMES", f"version: 2.2\n{HI * 3}"),
        ("MAX_FRAMES", in_json(ASKED, ASKED, ASKED)),
        ("MAX_PROBLEMS", f"version: 2.2\n{HI}{STRAY * 3}"),
        ("MAX_PROBLEMS", in_json(ASKED, "7", "8", "9")),
    ],
)
def test_text_and_json_have_the_same_limits(limit: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.transfer", **{limit: 3})
    assert look_at(User(), text.encode())
    set_limits(monkeypatch, "chatui.transfer", **{limit: 2})
    with pytest.raises(ImportRefusedError, match=r"E-X-TOO-LARGE.*more than 2") as refused:
        look_at(User(), text.encode())
    assert refused.value.problem.code == ProductCode.TOO_LARGE


def test_a_file_that_is_too_large_is_refused_with_the_limit_in_megabytes() -> None:
    most = limit("chatui.transfer", "MAX_BYTES")
    most = limit("chatui.transfer", "MAX_BYTES")
    with pytest.raises(ImportRefusedError, match="larger than 5 MB"):
        look_at(User(), b"x" * (most + 1))
    with pytest.raises(ImportRefusedError, match="header is too long"):
        look_at(User(), b"x" * most)
