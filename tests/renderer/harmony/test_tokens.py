"""Harmony as token ids: what a person sees of real, unusual, broken and mutated streams; compared with openai-harmony where it is right."""

import itertools
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from renderer.errors import Code
from renderer.events import RawEvent
from renderer.frames import Frame
from renderer.harmony.pieces import Marker, Piece, TokenPieces, ids_of_pieces, pieces_of_text
from renderer.harmony.reader import HarmonyReader
from renderer.harmony.vocabulary import Vocabulary
from tests.renderer.harmony.cases import CASES, Case, fold, ids, merged, pieces, shown_text
from tests.support import places
from tests.support.cases import example_count
from tests.support.cost import cost

QUIRKS = [json.loads(line) for line in places.QUIRKS.read_text("utf-8").splitlines()]
TOKEN_QUIRKS = [row for row in QUIRKS if row["mode"] == "token"]


def read(parts: Iterable[Iterable[int]], vocabulary: Vocabulary, **options: Any) -> list[RawEvent]:
    numbers = itertools.count(1)
    pieces, reader = TokenPieces(vocabulary), HarmonyReader(lambda: f"call_{next(numbers)}", **options)
    events = [event for part in parts for event in events_of(reader, pieces.feed(part))]
    return [*events, *events_of(reader, pieces.finish()), *reader.finish()]


def events_of(reader: HarmonyReader, pieces: Iterable[Piece]) -> Iterator[RawEvent]:
    for piece in pieces:
        yield from reader.feed_text(piece) if isinstance(piece, str) else reader.feed_marker(piece.token)


def frames(numbers: Sequence[int], vocabulary: Vocabulary) -> list[Frame]:
    return [done.frame for done in fold(read([numbers], vocabulary))]


def quirk_ids(row: dict[str, Any], vocabulary: Vocabulary) -> list[int]:
    return row.get("tokens") or ids(pieces_of_text(row["raw"]), vocabulary)


@pytest.mark.parametrize("row", TOKEN_QUIRKS, ids=lambda row: row["id"])
def test_a_person_sees_exactly_the_visible_part_of_an_unusual_output(row: dict[str, Any], vocabulary: Vocabulary) -> None:
    assert shown_text(frames(quirk_ids(row, vocabulary), vocabulary)) == row["visible"]


@pytest.mark.parametrize("row", [row for row in QUIRKS if row.get("text_mode_unsafe")], ids=lambda row: row["id"])
def test_markers_that_are_only_quoted_are_text(row: dict[str, Any], vocabulary: Vocabulary) -> None:
    """In these rows only the first header and the last marker are real, according to the catalogue."""
    parts = pieces_of_text(row["raw"])
    first = parts.index(Marker("<|message|>")) + 1
    body = "".join(part.token if isinstance(part, Marker) else part for part in parts[first:-1])
    assert shown_text(frames(ids([*parts[:first], body, parts[-1]], vocabulary), vocabulary)) == row["visible"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_person_sees_exactly_the_visible_part_of_our_own_unusual_outputs(case: Case, vocabulary: Vocabulary) -> None:
    assert shown_text(frames(ids(pieces(case.raw), vocabulary), vocabulary)) == case.visible


@pytest.mark.parametrize("row", TOKEN_QUIRKS, ids=lambda row: row["id"])
def test_events_do_not_depend_on_how_many_ids_come_at_once(row: dict[str, Any], vocabulary: Vocabulary) -> None:
    numbers = quirk_ids(row, vocabulary)
    expected = merged(read([numbers], vocabulary))
    assert merged(read([[number] for number in numbers], vocabulary)) == expected
    for seed in range(example_count(10)):
        chooser = random.Random(seed)
        cuts = sorted(chooser.choices(range(len(numbers) + 1), k=chooser.randint(1, 5)))
        parts = [numbers[start:end] for start, end in itertools.pairwise([0, *cuts, len(numbers)])]
        assert merged(read(parts, vocabulary)) == expected


@pytest.mark.parametrize("number", [-1, 201_089, 10**30])
def test_an_unknown_id_affects_nothing_but_itself(number: int, vocabulary: Vocabulary) -> None:
    before, after = (ids(pieces_of_text(text), vocabulary) for text in ("<|channel|>final<|message|>a", "b<|return|>"))
    assert shown_text(frames([*before, number, *after], vocabulary)) == "a\ufffdb"


def test_every_reserved_id_is_dropped_from_a_body(vocabulary: Vocabulary) -> None:
    meant = {199_999, 200_002, 200_005, 200_006, 200_007, 200_012}
    before, after = (ids(pieces_of_text(text), vocabulary) for text in ("<|channel|>final<|message|>a", "b<|return|>"))
    for number in set(range(199_998, 201_089)) - meant:
        [done] = fold(read([[*before, number, *after]], vocabulary))
        assert (done.frame.body, done.error) == ("ab", Code.PARSE_HEADER)


HIDDEN = [
    "Think SECRET first.",
    "SECRET\n\nand more SECRET",
    '{"a": "SECRET"}',
    "final SECRET",
    "SECRET assistantfinal SECRET",
    "한SECRET👩‍👧",
]
SHOWN = ["Hello", " Hi there.\n", "final", "I am sure.", "日本語"]


def random_messages(chooser: random.Random) -> list[Piece]:
    """A well-formed completion: hidden messages and plans, then an answer. What follows a call is hidden, so calls are rarer."""
    parts: list[Piece] = []
    for _ in range(chooser.randint(1, 6)):
        hidden, shown = chooser.choice(HIDDEN), chooser.choice(SHOWN)
        messages = [f"<|channel|>analysis<|message|>{hidden}<|end|>", f"<|channel|>commentary<|message|>{shown}<|end|>"]
        calls = [
            f"<|channel|>analysis to=python code<|message|>{hidden}<|call|>",
            '<|channel|>commentary to=functions.x <|constrain|>json<|message|>{"a": "SECRET"}<|call|>',
            f" to=functions.x<|channel|>commentary <|constrain|>json<|message|>{hidden}<|call|>",
        ]
        parts += pieces_of_text(chooser.choice(calls if chooser.random() < 0.2 else messages))
        parts += [Marker("<|start|>"), "assistant"]
    return [*parts, *pieces_of_text(f"<|channel|>final<|message|>{chooser.choice(SHOWN)}<|return|>")]


def mutated(parts: list[Piece], chooser: random.Random) -> list[Piece]:
    """Markers are removed, doubled or inserted anywhere, or the stream ends early. Words stay, so a header that says final is one."""
    result = list(parts)
    alphabet = ["start", "end", "message", "channel", "constrain", "return", "call", "endoftext", "startoftext", "reserved_200013"]
    for _ in range(chooser.randint(1, 4)):
        at = chooser.randrange(len(result)) if result else 0
        match chooser.randrange(4):
            case 0 if result and isinstance(result[at], Marker):
                del result[at]
            case 1 if result and isinstance(result[at], Marker):
                result.insert(at, result[at])
            case 2:
                result.insert(at, Marker(f"<|{chooser.choice(alphabet)}|>"))
            case 3:
                result = result[: max(at, len(result) // 2)]
    return result


@pytest.mark.slow
def test_a_stream_with_damaged_markers_never_shows_text_of_a_hidden_channel(vocabulary: Vocabulary) -> None:
    shown_something = 0
    for seed in range(example_count(4000)):
        chooser = random.Random(seed)
        parts = mutated(random_messages(chooser), chooser)
        text = shown_text(frames(ids(parts, vocabulary), vocabulary))
        assert "SECRET" not in text, parts
        shown_something += bool(text)
    assert shown_something > example_count(1000), "hardly anything was shown, so this test would prove little"


READ_RIGHTLY = [
    "<|channel|>analysis<|message|>Think.<|end|><|start|>assistant<|channel|>final<|message|>Answer.<|return|>",
    '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>',
    ' to=functions.f<|channel|>commentary <|constrain|>json<|message|>{"a": 1}<|call|>',
    "<|channel|>analysis to=python code<|message|>1 + 1<|call|>",
    "<|channel|>commentary<|message|>Plan.<|end|><|start|>assistant to=f<|channel|>commentary<|constrain|>json<|message|>{}<|call|>",
    "<|channel|>final<|message|>" + "日本語 и кириллица 👩‍👩‍👧 \x00\r\n\t" * 50 + "<|return|>",
    "<|channel|>final<|message|><|return|>",
]


@pytest.mark.parametrize("raw", READ_RIGHTLY, ids=range(len(READ_RIGHTLY)))
def test_our_reader_agrees_with_openai_harmony_where_that_is_right(raw: str, vocabulary: Vocabulary, oracle: Any) -> None:
    import openai_harmony

    numbers = ids(pieces_of_text(raw), vocabulary)
    expected = oracle.parse_messages_from_completion_tokens(numbers, openai_harmony.Role.ASSISTANT)
    parsed = frames(numbers, vocabulary)
    assert [(frame.header.channel, frame.header.recipient, frame.body) for frame in parsed] == [
        (message.channel, message.recipient, message.content[0].text) for message in expected
    ]
    kinds = [f"<|constrain|>{h.constrain}" if h.constrain else h.content_type for h in (frame.header for frame in parsed)]
    assert kinds == [message.content_type for message in expected]


@pytest.mark.slow
def test_the_time_to_read_a_stream_is_linear(vocabulary: Vocabulary) -> None:
    def seconds(length: int) -> float:
        numbers = ids_of_pieces(["final"], vocabulary) + vocabulary.encode("word " * length)
        stream = [200005, *numbers[:1], 200008, *numbers[1:], 200002]
        pieces = [[number] for number in stream]
        return cost(lambda: read(pieces, vocabulary))

    limit = 12 * min(seconds(5_000) for _ in range(3))
    assert any(seconds(20_000) < limit for _ in range(3)), "four times the length took more than twelve times as long"
