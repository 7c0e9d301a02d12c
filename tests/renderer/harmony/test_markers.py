"""Control tokens in unexpected places: how each message ends, which error it gets, and what is ignored."""

from dataclasses import replace

import pytest

from renderer.errors import Code, ErrorCode
from renderer.events import FrameClosed, FrameOpened, FrameText
from renderer.frame_kinds import ANALYSIS, ANSWER, BROKEN, PREAMBLE
from renderer.frames import Header, Terminator
from renderer.harmony.pieces import pieces_of_text
from renderer.harmony.reader import HarmonyReader, is_json
from tests.support.cost import relative_cost
from tests.support.harmony import fold

FINAL = "<|channel|>final<|message|>"
THOUGHT = "<|channel|>analysis<|message|>a"
NEXT = "<|start|>assistant"
CALL = "<|channel|>commentary to=functions.f<|message|>"
COMMENTARY = Header("assistant", "commentary")
AFTER_CALL = replace(ANSWER, intent="debug")
CALLED = replace(COMMENTARY, recipient="functions.f", call_id="c1")

ENDS: dict[str, list[tuple[Header, str, bool, ErrorCode | None]]] = {
    f"{FINAL}Hi<|endoftext|> more<|return|>{NEXT}{FINAL}again<|return|>": [(ANSWER, "Hi", False, Code.STREAM_TRUNCATED)],
    f"{FINAL}Hi<|refusal|>": [(ANSWER, "Hi<|refusal|>", False, Code.STREAM_TRUNCATED)],
    f"{FINAL}Hi<|reserved_200013|> there<|end|>": [(ANSWER, "Hi there", True, Code.PARSE_HEADER)],
    f"{FINAL}Hi<|message|> there<|end|>": [(ANSWER, "Hi there", True, Code.PARSE_HEADER)],
    "<|channel|>gossip<|message|>{}<|constrain|><|end|>": [(BROKEN, "<|channel|>gossip<|message|>{}", True, Code.PARSE_HEADER)],
    "<|message|>x<|constrain|><|end|>": [(BROKEN, "<|message|>x", True, Code.PARSE_CHANNEL_MISSING)],
    f"{THOUGHT}{NEXT}{FINAL}Hi<|return|>": [(ANALYSIS, "a", False, Code.PARSE_HEADER), (ANSWER, "Hi", True, None)],
    f"{THOUGHT}<|channel|>final<|message|>Hi<|return|>": [
        (ANALYSIS, "a", False, Code.PARSE_HEADER),
        (ANSWER, "Hi", True, Code.PARSE_HEADER),
    ],
    f"{THOUGHT}<|return|>{NEXT}{FINAL}Hi<|return|>": [(ANALYSIS, "a", True, None), (ANSWER, "Hi", True, None)],
    f"{FINAL}Hi<|end|>{NEXT}{THOUGHT}<|end|><|return|>{NEXT}{FINAL}again<|end|>": [
        (ANSWER, "Hi", True, None),
        (ANALYSIS, "a", True, None),
    ],
    f"{THOUGHT}<|end|><|return|>{NEXT}{FINAL}Hi<|end|>": [(ANALYSIS, "a", True, None), (ANSWER, "Hi", True, None)],
    f"{FINAL}Hi<|end|><|endoftext|>{NEXT}{FINAL}again<|end|>": [(ANSWER, "Hi", True, None)],
    f"{FINAL}Hi<|return|>{NEXT}{FINAL}again<|end|>": [(ANSWER, "Hi", True, None)],
    f"{FINAL}Hi<|call|>{NEXT}{FINAL}again<|end|>": [(BROKEN, "Hi", True, Code.CALL_SCHEMA), (AFTER_CALL, "again", True, Code.CALL_SCHEMA)],
    f"<|channel|>gossip<|message|>{{}}<|call|>{NEXT}{FINAL}again<|return|>": [
        (BROKEN, "<|channel|>gossip<|message|>{}", True, Code.PARSE_HEADER),
        (AFTER_CALL, "again", True, Code.CALL_SCHEMA),
    ],
    f" to=a to=b<|channel|>commentary<|call|>{NEXT}{FINAL}again<|return|>": [
        (BROKEN, " to=a to=b<|channel|>commentary", True, Code.PARSE_HEADER),
        (AFTER_CALL, "again", True, Code.CALL_SCHEMA),
    ],
    f"{THOUGHT}<|end|><|call|>{NEXT}{FINAL}again<|return|>": [(ANALYSIS, "a", True, None), (AFTER_CALL, "again", True, Code.CALL_SCHEMA)],
    f"{FINAL}Hi<|end|>user<|channel|>final<|message|>SECRET<|return|>": [
        (ANSWER, "Hi", True, None),
        (BROKEN, "<|start|>user<|channel|>final<|message|>", True, Code.PARSE_HEADER),
    ],
    f"{FINAL}Hi<|end|>user<|end|><|channel|>final<|message|>SECRET<|return|>": [
        (ANSWER, "Hi", True, None),
        (BROKEN, "<|start|>user<|channel|>final<|message|>", True, Code.PARSE_HEADER),
    ],
    f"{FINAL}Hi<|end|>assistant<|channel|>final<|message|>again<|return|>": [
        (ANSWER, "Hi", True, None),
        (ANSWER, "again", True, Code.PARSE_HEADER),
    ],
    "<|channel|>final Hi<|endoftext|>": [(BROKEN, "<|channel|>final Hi", True, Code.PARSE_HEADER)],
    f"<|channel|>final Hi<|return|>{NEXT}{FINAL}again<|end|>": [(ANSWER, "Hi", True, Code.PARSE_HEADER)],
    f"<|channel|>final Hi{NEXT}{FINAL}again<|end|>": [(ANSWER, "Hi", False, Code.PARSE_HEADER), (ANSWER, "again", True, None)],
    f"{THOUGHT}<|end|><|channel|>gossip<|message|>y<|end|>": [
        (ANALYSIS, "a", True, None),
        (BROKEN, "<|channel|>gossip<|message|>y", True, Code.PARSE_HEADER),
    ],
    f"{THOUGHT}<|end|><|message|>y<|end|>": [(ANALYSIS, "a", True, None), (BROKEN, "<|message|>y", True, Code.PARSE_CHANNEL_MISSING)],
    f"{THOUGHT}<|end|><|constrain|>{NEXT}{FINAL}Hi<|end|>": [(ANALYSIS, "a", True, None), (ANSWER, "Hi", True, None)],
    f"{THOUGHT}<|call|>": [(ANALYSIS, "a", True, Code.CALL_SCHEMA)],
    "<|channel|>analysis to=user<|message|>a<|return|>": [(replace(ANALYSIS, recipient="user"), "a", True, Code.PARSE_HEADER)],
    "<|channel|>analysis to=assistant<|message|>a<|return|>": [(replace(ANALYSIS, recipient="assistant"), "a", True, Code.PARSE_HEADER)],
    "<|channel|>commentary<|message|>Hi<|return|>": [(PREAMBLE, "Hi", True, Code.PARSE_HEADER)],
    "<|channel|>commentary<|message|>Hi<|call|>": [(BROKEN, "Hi", True, Code.CALL_SCHEMA)],
    "<|channel|>commentary<|message|>[1] I<|call|>": [(BROKEN, "[1] I", True, Code.CALL_SCHEMA)],
    "<|channel|>commentary<|message|><|call|>": [(BROKEN, "", True, Code.CALL_SCHEMA)],
    "<|channel|>commentary<|message|>[1]<|call|>": [(COMMENTARY, "[1]", True, Code.CALL_SCHEMA)],
    "<|channel|>final <|constrain|>json<|message|>{}<|call|>": [(BROKEN, "{}", True, Code.CALL_SCHEMA)],
    "<|channel|>final Hi<|call|>": [(BROKEN, "Hi", True, Code.PARSE_HEADER)],
    "<|channel|>commentary<|message|>{}<|return|>": [(COMMENTARY, "{}", True, Code.CALL_SCHEMA)],
    "<|channel|>commentary<|message|>{": [(COMMENTARY, "{", False, Code.STREAM_TRUNCATED)],
    "<|channel|>commentary<|message|>": [(PREAMBLE, "", False, Code.STREAM_TRUNCATED)],
    "<|channel|>commentary<|message|> <|end|>": [(PREAMBLE, " ", True, None)],
    f'{CALL}{{"a": ': [(CALLED, '{"a": ', False, Code.STREAM_TRUNCATED)],
    f"{CALL}x<|call|>": [(CALLED, "x", True, None)],
    f"{CALL}{{}}<|return|>": [(CALLED, "{}", True, None)],
    f"{CALL}{{}}": [(CALLED, "{}", True, None)],
    f"{CALL}{{}}<|message|><|call|>": [(CALLED, "{}", True, Code.PARSE_HEADER)],
    f"{CALL}{{}}<|message|><|end|>": [(CALLED, "{}", True, Code.PARSE_HEADER)],
    f"{CALL}x{NEXT}{FINAL}Hi<|end|>": [(CALLED, "x", False, Code.PARSE_HEADER), (ANSWER, "Hi", True, None)],
    f"{CALL}{{}}<|endoftext|>": [(CALLED, "{}", True, None)],
    f"<|channel|>gossip<|end|>{NEXT}{FINAL}Hi<|end|>": [(BROKEN, "<|channel|>gossip", True, Code.PARSE_HEADER), (ANSWER, "Hi", True, None)],
    f"<|start|><|start|> <|end|>{NEXT}{FINAL}Hi<|end|>": [(ANSWER, "Hi", True, None)],
    f"{FINAL}Hi<|end|> dropped {NEXT}{FINAL}again<|end|>": [(ANSWER, "Hi", True, None), (ANSWER, "again", True, None)],
    f"{THOUGHT}<|end|><|start|>user<|message|>SECRET<|end|>{NEXT}{FINAL}x<|end|>": [
        (ANALYSIS, "a", True, None),
        (BROKEN, "<|start|>user<|message|>", True, Code.PARSE_HEADER),
    ],
}


def summary(raw: str) -> list[tuple[Header, str, bool, ErrorCode | None]]:
    finished = fold(pieces_of_text(raw), HarmonyReader(lambda: "c1"))
    return [(done.frame.header, done.frame.body, done.complete, done.error) for done in finished]


@pytest.mark.parametrize("raw", ENDS)
def test_each_message_ends_where_its_markers_say(raw: str) -> None:
    assert summary(raw) == ENDS[raw]


def test_a_preamble_is_held_back_until_it_cannot_be_json() -> None:
    reader = HarmonyReader(lambda: "c1")
    for piece in ("<|channel|>", "commentary", "<|message|>"):
        assert (reader.feed_marker(piece) if piece.startswith("<") else reader.feed_text(piece)) == []
    assert reader.feed_text(" ") == reader.feed_text("") == []
    assert reader.feed_text("I look.") == [FrameOpened(PREAMBLE), FrameText(" I look.")]
    assert reader.feed_text("{") == [FrameText("{")]


@pytest.mark.parametrize(
    "body",
    [
        '{"a": 1}{"b": 2}',
        " [1, 2]\n",
        "[" * 200_000,  # too deep for every Python: some read 10,000
        "1",
        "-2.5e3",
        '"SECRET"',
        "true",
        "null",
        " false\n",
        "1 2",
        'null "x"',
        "1 {}",
        "NaN",
        "-Infinity",
    ],
)
def test_every_kind_of_json_value_is_hidden_however_it_arrives(body: str) -> None:
    for pieces in ([body], list(body)):
        reader = HarmonyReader(lambda: "c1")
        events = [*reader.feed_marker("<|channel|>"), *reader.feed_text("commentary"), *reader.feed_marker("<|message|>")]
        for piece in pieces:
            events += reader.feed_text(piece)
        events += reader.feed_marker("<|end|>")
        assert events == [FrameOpened(COMMENTARY), FrameText(body), FrameClosed(Terminator.END, Code.CALL_SCHEMA)]


def test_many_json_values_are_read_in_time_that_grows_with_their_length() -> None:
    short, long = "[]" * 5_000, "[]" * 40_000
    assert is_json(short)
    assert relative_cost(lambda: is_json(long), lambda: is_json(short), pairs=3) < 15
