"""Harmony headers: kept if they are clear, of any author in a whole conversation; and hidden if anything in them is unclear."""

import pytest

from renderer.errors import Code
from renderer.events import Finished
from renderer.frame_kinds import BROKEN, PRODUCT_NAMES
from renderer.frames import Frame, Header, Intent
from renderer.harmony import hip1
from renderer.harmony.pieces import pieces_of_text
from renderer.harmony.reader import HarmonyReader
from tests.support.harmony import fold

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


def test_no_header_of_a_model_has_the_name_of_a_frame_of_the_product() -> None:
    for name in PRODUCT_NAMES:
        assert read(f":{name}<|channel|>final<|message|>Hi<|end|>").frame.header.name is None
