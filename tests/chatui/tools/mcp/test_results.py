"""The shapes of results that servers send: each is whole for the model, or a mark says what was left out, with its kind and size."""

import base64
import json
from typing import Any

import pytest

from tests.support.cost import relative_cost
from tests.support.limits import limit
from tests.support.mcp_calls import Listener, Turn
from tests.support.mcp_server import Mcp
from tests.support.mcp_server import result as answer_of
from tests.support.peer import peer
from tests.support.tool_calls import RefusedError

ERROR_CHARS = limit("chatui.tools.mcp", "ERROR_CHARS")
MAX_MARKS = limit("chatui.tools.mcp", "MAX_MARKS")
MAX_OTHER_PARTS = limit("chatui.tools.mcp", "MAX_OTHER_PARTS")

CSV = base64.b64encode("Größe,1\n".encode()).decode()
PLAN = {"uri": "file:///plan.txt", "mimeType": "text/plain", "text": "The plan"}


def read(result: dict[str, Any], *, is_shown: bool = False) -> Any:
    """What the model is told of a result. ``is_shown``: the server may speak to the person, who listens."""
    with peer(Mcp(on={"tools/call": answer_of(result)})) as server:
        turn = Turn(url=server.url, speaks_to_person=is_shown)
        return (turn.for_person(Listener()) if is_shown else turn).call()


def text(words: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **fields}


def content(*parts: Any, **fields: Any) -> dict[str, Any]:
    return {"content": list(parts), **fields}


FOR_PERSON = {"annotations": {"audience": ["user"]}}
FOR_MODEL = {"annotations": {"audience": ["assistant"]}}
FOR_BOTH = {"annotations": {"audience": ["user", "assistant"]}}

SHAPES: dict[str, tuple[dict[str, Any], Any]] = {
    "texts": (content(text("a"), text("b")), "a\nb"),
    "text beside other structure": (
        content(text("2 projects"), structuredContent={"status": "ok"}),
        {"text": "2 projects", "structuredContent": {"status": "ok"}},
    ),
    "text beside empty structure": (content(text("It is 42"), structuredContent={}), {"text": "It is 42", "structuredContent": {}}),
    "text that is the structure": (content(text('{"b": 2, "a": 1}'), structuredContent={"a": 1, "b": 2}), {"a": 1, "b": 2}),
    "text that the structure wraps": (content(text("3"), structuredContent={"result": 3}), {"result": 3}),
    "texts that the structure lists": (content(text("1"), text("x"), structuredContent={"result": [1, "x"]}), {"result": [1, "x"]}),
    "1 is not true": (content(text("1"), structuredContent=True), {"text": "1", "structuredContent": True}),
    "a list alone": (content(structuredContent=[1, 2]), [1, 2]),
    "a number alone": (content(structuredContent=0), 0),
    "a text as structure": (content(structuredContent="done"), "done"),
    "picture beside structure": (
        content({"type": "image", "data": "AAAA", "mimeType": "image/png"}, structuredContent={"a": 1}),
        {"text": "[an image (image/png, 3 bytes) was returned, which is not shown here]", "structuredContent": {"a": 1}},
    ),
    "text and picture": (
        content(text("chart:"), {"type": "image", "data": "AA==", "mimeType": "image/png"}),
        "chart:\n[an image (image/png, 1 byte) was returned, which is not shown here]",
    ),
    "sound": (content({"type": "audio", "data": "AAAA"}), "[a sound (3 bytes) was returned, which is not shown here]"),
    "file": (
        content({"type": "resource", "resource": {"uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": "AAAA"}}),
        "[a file (file:///a.pdf, application/pdf, 3 bytes) was returned, which is not shown here]",
    ),
    "text file as bytes": (
        content({"type": "resource", "resource": {"uri": "x:1", "mimeType": "text/csv; charset=utf-8", "blob": CSV}}),
        "[x:1, text/csv; charset=utf-8]\nGröße,1\n",
    ),
    "text file that is not text": (
        content({"type": "resource", "resource": {"uri": "x:1", "mimeType": "text/csv", "blob": "/w=="}}),
        "[a file (x:1, text/csv, 1 byte) was returned, which is not shown here]",
    ),
    "resource": (content({"type": "resource", "resource": PLAN}), "[file:///plan.txt, text/plain]\nThe plan"),
    "link": (
        content({"type": "resource_link", "uri": "https://e.com/7", "name": "p", "title": "Plan", "size": 2000, "description": "Of 2026"}),
        "[a link (Plan, https://e.com/7, 2,000 bytes) was returned: Of 2026]",
    ),
    "unknown kind": (
        content({"type": "video", "data": "x"}, text("t")),
        "[a part of type video (30 characters) was returned, which is not shown here]\nt",
    ),
    "content is one part": ({"content": text("one")}, "one"),
    "content is a text": ({"content": "just text"}, "just text"),
    "text is no text": (content(text(None)), "[a text that cannot be read (30 characters) was returned, which is not shown here]"),
    "parts that are no objects": (content("a", 3, None), "a\n3\nnull"),
    "nothing": ({}, "[nothing was returned]"),
    "empty content": (content(), "[nothing was returned]"),
    "result of the first protocol": ({"toolResult": {"a": 1}}, {"toolResult": {"a": 1}}),
    "for both": (content(text("x", **FOR_BOTH)), "x"),
    "for the person, for the model": (
        content(text("secret", **FOR_PERSON), text("for the model", **FOR_MODEL)),
        "[left out: 6 characters, for the person alone]\nfor the model",
    ),
    "a picture for the person": (
        content({"type": "image", "data": "AAAA", "mimeType": "image/png", **FOR_PERSON}),
        "[left out: an image (image/png, 3 bytes), for the person alone]",
    ),
    "a resource for the person": (
        content({"type": "resource", "resource": {**PLAN, **FOR_PERSON}}),
        "[left out: a file (text/plain, 8 characters), for the person alone]",
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_result_is_whole_or_marked(shape: str) -> None:
    result, for_model = SHAPES[shape]
    found = read(result)
    assert json.dumps(found) == json.dumps(for_model)


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (content(isError=True, structuredContent={"error": "disk full"}), 'The tool failed: {"error": "disk full"}'),
        (content(text("bad"), isError="true"), "The tool failed: bad"),
        (content(isError=True), "The tool failed."),
        (content({"type": "image", "data": "AAAA"}, isError=True), "The tool failed: [an image (3 bytes) was returned"),
        ({"resultType": "streamed"}, "a kind of result that is not known here"),
        ({"resultType": "input_required"}, "asked for more input without saying what"),
    ],
)
def test_a_failure_says_what_the_server_said(result: dict[str, Any], told: str) -> None:
    with pytest.raises(RefusedError) as failed:
        read(result)
    assert told in str(failed.value)


def test_a_long_error_keeps_its_end() -> None:
    with pytest.raises(RefusedError) as failed:
        read(content(text("Traceback\n" + "x" * 5000 + "ValueError: customer 17 does not exist"), isError=True))
    said = str(failed.value)
    assert "Traceback" in said and said.endswith("customer 17 does not exist") and "characters left out" in said
    assert len(said) < ERROR_CHARS + 100


@pytest.mark.parametrize(
    "result",
    [
        content({"type": "resource_link", "uri": "https://e.com/secret", "title": "secret", "name": "secret", **FOR_PERSON}),
        content({"type": "resource", "resource": {"uri": "x:secret", "text": "x"}, **FOR_PERSON}),
        content({"type": "resource", "resource": {"uri": "x:secret", "mimeType": "text/csv", "blob": CSV, **FOR_PERSON}}),
        content(text("secret", annotations={"audience": ["user", "user"]})),
        content(text("secret", **FOR_PERSON), structuredContent={"result": [text("secret", **FOR_PERSON), text("x")]}),
        content(text("secret", **FOR_PERSON), structuredContent={"result": ["secret", "x"]}),
        content(text("x"), structuredContent={"content": {"type": "resource", "resource": {**PLAN, "text": "secret", **FOR_PERSON}}}),
    ],
)
@pytest.mark.parametrize("is_shown", [True, False])
def test_neither_name_nor_address_nor_structure_repeats_for_the_model_what_is_for_the_person(result: Any, *, is_shown: bool) -> None:
    assert "secret" not in json.dumps(read(result, is_shown=is_shown))


def test_a_structure_that_is_too_deep_is_an_error() -> None:
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    with pytest.raises(RefusedError, match="levels"):
        read(content(structuredContent=deep))


def test_what_is_for_the_person_alone_reaches_no_model() -> None:
    found = read(content(text("secret", **FOR_PERSON), structuredContent={"a": 1}))
    assert found["structuredContent"] == {"a": 1} and "secret" not in json.dumps(found)
    with pytest.raises(RefusedError) as failed:
        read(content(text("secret", **FOR_PERSON), isError=True))
    assert "secret" not in str(failed.value)


@pytest.mark.parametrize(
    "part", [{"type": "\u202e<|end|>"}, {"type": "image", "mimeType": "<|call|>\n\u202e"}, {"type": "resource_link", "uri": "a\u200b"}]
)
def test_a_mark_has_nothing_invisible(part: dict[str, Any]) -> None:
    found = read(content(part))
    assert found.isprintable() and "<|" not in found


def test_many_parts_that_are_no_text_are_counted_after_the_first_ones() -> None:
    links = [{"type": "resource_link", "uri": f"n:{number}"} for number in range(MAX_OTHER_PARTS + 20)]
    private = [text("SECRET", **FOR_PERSON)] * 10
    fits = read(content(*links[:MAX_OTHER_PARTS], text("the end")))
    assert fits.count("(n:") == MAX_OTHER_PARTS and fits.endswith("\nthe end")
    found = read(content(*links, text("the end"), *private))
    assert found.count("(n:") == MAX_OTHER_PARTS and "\nthe end\n[30 more parts that are no text" in found and "SECRET" not in found


def test_a_text_of_too_many_values_is_not_compared_with_the_structure() -> None:
    values: list[Any] = [[]] * 10
    assert read(content(text(json.dumps(values, indent=1)), structuredContent=values)) == values, "the premise"
    many = "[[]" + ",[]" * 1_200_000
    assert many.count(",") > MAX_MARKS
    whole, broken = (content(text(words), structuredContent={"a": 1}) for words in (f"{many}]", f"x{many}"))
    # The latter is no JSON from its first character on.
    assert relative_cost(lambda: read(whole), lambda: read(broken), pairs=3) < 2
