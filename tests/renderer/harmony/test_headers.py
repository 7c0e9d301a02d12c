"""Harmony headers of authors other than the assistant: kept in a whole conversation, and hidden if anything in them is unclear."""

from __future__ import annotations

import pytest

from renderer.frames import Frame, Header, Intent
from renderer.harmony import hip1

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
    ],
)
def test_an_unclear_header_of_another_author_is_hidden(written: str) -> None:
    (done,) = hip1.from_text(f"<|start|>{written}<|message|>x<|end|>", conversation=True).finished
    assert done.frame.header.intent == Intent.DEBUG and done.error
