"""Harmony headers: kept if they are clear, of any author in a whole conversation; and hidden if anything in them is unclear."""

from __future__ import annotations

from dataclasses import replace

import pytest

from renderer.errors import Code
from renderer.events import Finished
from renderer.frame_kinds import BROKEN, PRODUCT_NAMES, is_answer
from renderer.frames import Frame, Header, Intent
from renderer.harmony import hip1
from renderer.harmony.pieces import fold, pieces_of_text
from renderer.harmony.reader import HarmonyReader

FINAL = Header("assistant", "final")

CONTENT_TYPES = ("json", "code", "text", "markdown", "application/json", "text/markdown", "text/plain")

OTHER_AUTHORS = {
    "user": Header("user"),
    "user:ada": Header("user", name="ada"),
    "user:ada to=assistant markdown<|channel|>final": Header("user", "final", "assistant", name="ada", content_type="markdown"),
    "user<|channel|>final to=all": Header("user", "final", "all"),
    "functions.f to=assistant<|channel|>commentary <|constrain|>json": Header(
        "tool", "commentary", "assistant", name="functions.f", constrain="json"
    ),
    "developer <|constrain|>json text": Header("developer", content_type="text", constrain="json"),
}


@pytest.mark.parametrize("written", OTHER_AUTHORS)
def test_a_whole_conversation_keeps_what_the_header_of_another_author_says(written: str) -> None:
    (done,) = hip1.from_text(f"<|start|>{written}<|message|>1<|end|>", conversation=True).finished
    assert (done.frame, done.error) == (Frame(OTHER_AUTHORS[written], "1"), None)


@pytest.mark.parametrize(
    "written",
    [
        "user: ada",
        "user to=a to=b",
        "user json text",
        "user<|channel|>",
        "user<|channel|>final<|channel|>final",
        "user<|constrain|>",
        "user<|constrain|>json<|constrain|>json",
        "user to=",
        "user caf\u00e9",
        "caf\u00e9 to=assistant",
    ],
)
def test_an_unclear_header_of_another_author_is_hidden(written: str) -> None:
    (done,) = hip1.from_text(f"<|start|>{written}<|message|>x<|end|>", conversation=True).finished
    assert done.frame.header.intent == Intent.DEBUG and done.error


def frames(written: str) -> list[Finished]:
    return fold(pieces_of_text(written), HarmonyReader(lambda: "c1"))


def read(written: str) -> Finished:
    (done,) = frames(written)
    return done


@pytest.mark.parametrize(
    "written",
    [
        "ed<|channel|>final",
        "<|channel|>final to=",
        "<|channel|>commentary to=",
        "<|channel|>final to=caf\u00e9",
        "<|channel|>commentary to=us\u200ber",
        "<|channel|>final to=user to=all",
        "<|channel|>final text json",
        "<|channel|>final thoughts",
        "<|channel|>final<|constrain|>json<|constrain|>code",
        "<|channel|>final to=user<|constrain|>json to=functions.f",
        ": ada<|channel|>final",
        ":ada<|channel|>final thoughts",
        "<|channel|>finally",
    ],
)
def test_an_unclear_header_of_a_model_is_hidden(written: str) -> None:
    done = read(f"{written}<|message|>SECRET<|end|>")
    assert (done.frame.header, done.error) == (BROKEN, Code.PARSE_HEADER)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("<|channel|>final", FINAL),
        ("assistant<|channel|>final", FINAL),
        (":ada<|channel|>final", replace(FINAL, name="ada")),
        (":answer_now<|channel|>final", replace(FINAL, name="answer_now")),
        (" to=user<|channel|>final", replace(FINAL, recipient="user")),
        ("<|channel|>final to=user to=user", replace(FINAL, recipient="user")),
        ("<|channel|>final<|constrain|>JSON", replace(FINAL, constrain="json")),
        ("<|channel|>final <|constrain|>json<|constrain|>json", replace(FINAL, constrain="json")),
        ("<|channel|>final Markdown", replace(FINAL, content_type="Markdown")),
        ("<|channel|>final text text", replace(FINAL, content_type="text")),
        ("<|channel|>final<|channel|>final", FINAL),
        ("<|channel|>commentary", Header("assistant", "commentary", intent=Intent.PREAMBLE)),
        *((f"<|channel|>final {kind}", replace(FINAL, content_type=kind)) for kind in CONTENT_TYPES),
        ("<|channel|>final<|constrain|>json text", replace(FINAL, content_type="text", constrain="json")),
        ("<|channel|>final<|constrain|>caf\u00e9", FINAL),
        ("<|channel|>final<|constrain|>", FINAL),
        ("<|channel|>commentary text", Header("assistant", "commentary", content_type="text")),
        ("<|channel|>commentary to=all", Header("assistant", "commentary", "all", intent=Intent.PREAMBLE)),
        ("<|channel|>commentary to=assistant", Header("assistant", "commentary", "assistant")),
        ("<|channel|>analysis to=user", Header("assistant", "analysis", "user")),
        ("<|channel|>commentary<|constrain|>json", Header("assistant", "commentary", constrain="json")),
        ("<|channel|>commentary to=user", Header("assistant", "commentary", "user", intent=Intent.PREAMBLE)),
    ],
)
def test_a_clear_header_of_a_model_becomes_that_of_the_frame(written: str, expected: Header) -> None:
    body = "12" if expected.constrain else "1+2"
    done = read(f"{written}<|message|>{body}<|end|>")
    assert (done.frame, done.error) == (Frame(expected, body, done.frame.terminator), None)


def test_no_header_of_a_model_has_the_name_of_a_frame_of_the_product() -> None:
    for name in PRODUCT_NAMES:
        assert read(f":{name}<|channel|>final<|message|>Hi<|end|>").frame.header.name is None


def test_an_answer_to_a_tool_is_marked_as_an_error() -> None:
    done = read("<|channel|>final to=functions.f<|message|>SECRET<|end|>")
    assert (done.error, is_answer(done.frame.header)) == (Code.CALL_SCHEMA, False)


@pytest.mark.parametrize("written", ["<|channel|>commentary<|channel|>final<|message|>", "<|channel|>final "])
def test_a_header_that_was_repaired_is_marked_as_an_error(written: str) -> None:
    done = read(f"{written}Hi<|end|>")
    assert (done.frame, done.error) == (Frame(FINAL, "Hi", done.frame.terminator), Code.PARSE_HEADER)


@pytest.mark.parametrize(
    ("written", "body"),
    [
        ("<|channel|>final Hello\nthere ", "Hello\nthere "),
        ("<|channel|>final\n\nHello", "Hello"),
        ("<|channel|>final tomorrow", "tomorrow"),
        ("<|start|>assistant<|channel|>final Hello", "Hello"),
        ("<|channel|>final to=user Hello", None),
        ("<|channel|>final to me", None),
        ("<|channel|>finally Hello", None),
        ("<|channel|>final ", None),
        ("<|channel|>commentary Hello", None),
        ("<|channel|>analysis final Hello", None),
        ("<|channel|>final Hello <|refusal|>", None),
        ("<|channel|>final<|constrain|>json Hello", None),
        ("<|channel|>commentary<|channel|>final Hello", None),
        ("<|constrain|>final Hello", None),
        (" to=user<|channel|>final Hello", None),
        ("assistant<|channel|>final Hello", None),
        ("<|start|><|channel|>final Hello", None),
        ("<|start|>assistantassistant<|channel|>final Hello", None),
        ("<|start|>user<|channel|>final Hello", None),
    ],
)
def test_only_a_plain_answer_is_read_without_its_message_marker(written: str, body: str | None) -> None:
    done = read(f"{written}<|end|>")
    expected = Frame(BROKEN, written) if body is None else Frame(FINAL, body)
    assert (done.frame, done.complete, done.error) == (expected, True, Code.PARSE_HEADER)


def test_a_message_without_its_start_is_marked_as_an_error() -> None:
    _, done = frames("<|channel|>final<|message|>One.<|end|><|channel|>final<|message|>Two.<|end|>")
    assert (done.frame.header, done.error) == (FINAL, Code.PARSE_HEADER)


@pytest.mark.parametrize("raw", ["ed<|channel|>final<|message|>x", "<|channel|>final to=<|constrain|>json<|message|>x"])
def test_staff_see_a_broken_header_as_the_model_wrote_it(raw: str) -> None:
    [first] = frames(f"{raw}<|end|>")
    _, later = frames(f"<|channel|>analysis<|message|>y<|end|><|start|>assistant {raw}<|end|>")
    assert (first.frame.body, later.frame.body) == (raw, f"<|start|>assistant {raw}")


@pytest.mark.parametrize("raw", ["<|channel|>", "<|channel|>fin", " x", " <|constrain|>"])
def test_a_header_that_was_cut_is_for_staff_and_white_space_is_nothing(raw: str) -> None:
    [done] = frames(raw)
    assert (done.frame.header, done.frame.body, done.complete, done.error) == (BROKEN, raw, False, Code.STREAM_TRUNCATED)
    assert frames(" ") == frames("") == []
