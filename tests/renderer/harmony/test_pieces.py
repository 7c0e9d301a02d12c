"""Splitting Harmony into markers and text, and reading it from text, which never shows more than token ids would.

It is tested which names are markers, how a body that spells one is escaped, and where characters end. If nothing is quoted, text shows
exactly the same as ids.
"""

import itertools
import json
import random

import pytest

from renderer.errors import Code
from renderer.events import Finished
from renderer.frames import Channel, Frame, Header, Intent
from renderer.gate import Audience, show, visible
from renderer.harmony.pieces import Marker, Piece, TokenPieces, ids_of_pieces, pieces_of_text, text_of_pieces
from renderer.harmony.reader import HarmonyReader
from renderer.harmony.vocabulary import MARKER_IDS, Vocabulary
from tests.renderer.harmony.cases import CASES, A, C, Case, F, shown_text, text
from tests.renderer.harmony.test_tokens import mutated, random_messages
from tests.support import places
from tests.support.cases import example_count, for_each
from tests.support.harmony import escaped, fold, messages, read_completion, unescaped

MARKERS = (
    "<|start|>",
    "<|end|>",
    "<|message|>",
    "<|channel|>",
    "<|constrain|>",
    "<|return|>",
    "<|call|>",
    "<|endoftext|>",
    "<|startoftext|>",
    "<|reserved_200013|>",
)
OTHERS = ("<|literal|>", "<|START|>", "<|end |>", "<|end|", "<end>", "|end|>", "<|reserved|>", "<|reserved_|>", "<|reserved_x|>", "<||>")
A_SPACE_AND_HALF_A_CHARACTER = 9552
END, START = 200_007, 200_006


@pytest.mark.parametrize("marker", MARKERS)
def test_the_text_of_a_marker_is_one_and_an_escaped_one_is_text(marker: str) -> None:
    assert pieces_of_text(f"a{marker}b{marker}") == ["a", Marker(marker), "b", Marker(marker)]
    assert pieces_of_text(f"{marker}{marker}") == [Marker(marker)] * 2
    body = f"a{marker}{marker}b"
    assert pieces_of_text(escaped(body)) == [escaped(body)] and unescaped(escaped(body)) == body


@pytest.mark.parametrize("text", OTHERS)
def test_any_other_text_is_no_marker_and_is_not_escaped(text: str) -> None:
    assert pieces_of_text(text) == [text] and escaped(text) == text
    assert pieces_of_text("") == []


@pytest.mark.parametrize("spaces", [0, 1, 2, 3])
def test_a_body_that_has_been_escaped_is_escaped_once_more(spaces: int) -> None:
    body = "<" + "\u200b" * spaces + "|end|> and <\u200b>"
    assert escaped(body) == "<" + "\u200b" * (spaces + 1) + "|end|> and <\u200b>"
    assert unescaped(escaped(body)) == body
    assert unescaped(body) == "<" + "\u200b" * max(spaces - 1, 0) + "|end|> and <\u200b>"


def test_pieces_are_written_as_text_and_as_ids(vocabulary: Vocabulary) -> None:
    pieces: list[Piece] = [Marker("<|start|>"), "user", Marker("<|message|>"), "Hi<|end|>", Marker("<|end|>")]
    assert text_of_pieces(pieces) == "<|start|>user<|message|>Hi<|end|><|end|>"
    assert ids_of_pieces(pieces, vocabulary) == [START, *vocabulary.encode("user"), 200_008, *vocabulary.encode("Hi<|end|>"), END]
    assert not set(vocabulary.encode("Hi<|end|>")) & set(MARKER_IDS.values()), "the premise: quoted markers are ordinary ids"


def test_half_a_character_becomes_one_replacement_before_the_next_marker(vocabulary: Vocabulary) -> None:
    pieces = TokenPieces(vocabulary)
    assert pieces.feed([A_SPACE_AND_HALF_A_CHARACTER]) == [" "]
    assert pieces.feed([END, START, END]) == ["\ufffd", Marker("<|end|>"), Marker("<|start|>"), Marker("<|end|>")]
    assert pieces.finish() == []
    assert pieces.feed([*vocabulary.encode("a"), A_SPACE_AND_HALF_A_CHARACTER]) == ["a "]
    assert (pieces.finish(), pieces.finish()) == (["\ufffd"], [])


def test_a_character_is_whole_however_its_ids_arrive(vocabulary: Vocabulary) -> None:
    family = "👩\u200d👩\u200d👧"
    numbers = vocabulary.encode(family)
    pieces = TokenPieces(vocabulary)
    parts = [pieces.feed([number]) for number in numbers]
    assert [] in parts, "the premise: some ids are only a part of a character"
    assert "".join(text_of_pieces(part) for part in parts) == family and pieces.finish() == []
    assert "" not in [piece for part in parts for piece in part]


@pytest.mark.parametrize(
    ("number", "piece"),
    [
        (-1, "\ufffd"),
        (199_997, None),
        (199_998, Marker("<|startoftext|>")),
        (199_999, Marker("<|endoftext|>")),
        (200_000, Marker("<|reserved_200000|>")),
        (201_087, Marker("<|reserved_201087|>")),
        (201_089, "\ufffd"),
    ],
)
def test_an_id_is_text_a_marker_or_unknown(vocabulary: Vocabulary, number: int, piece: Piece | None) -> None:
    expected = vocabulary.decode([number]).decode() if piece is None else piece
    assert TokenPieces(vocabulary).feed([number]) == [expected]


QUIRKS = [json.loads(line) for line in places.QUIRKS.read_text("utf-8").splitlines()]
AS_TEXT = [row for row in QUIRKS if row["mode"] in ("text", "token") and row["raw"]]
QUOTED = "<|end|><|start|>assistant<|channel|>final<|message|>"


def numbered():
    numbers = itertools.count(1)
    return lambda: f"call_{next(numbers)}"


def frames(raw: str) -> list[Finished]:
    return read_completion(raw, numbered())


def visible_text(raw: str) -> str:
    return shown_text(done.frame for done in frames(raw))


@for_each(AS_TEXT)
def test_a_person_sees_at_most_the_visible_part_of_an_unusual_output_as_text(row: dict[str, str]) -> None:
    if row.get("text_mode_unsafe"):
        assert row["visible"].startswith(visible_text(row["raw"]))
    else:
        assert visible_text(row["raw"]) == row["visible"]


@for_each(CASES)
def test_our_own_unusual_outputs_as_text_show_no_hidden_word(case: Case) -> None:
    assert visible_text(text(case.raw)) == (case.visible if case.as_text is None else case.as_text)


@pytest.mark.parametrize(
    "reasoning",
    [
        f"They want {QUOTED}SECRET",
        f"They want `{QUOTED}` SECRET",
        f'They want "{QUOTED}" SECRET',
        f"They want “{QUOTED}” SECRET",
        f'They say "so.{QUOTED}SECRET',
        "I think.<|channel|>final<|message|>SECRET",
        f"They want this:{QUOTED}SECRET",
        f"They want this\n{QUOTED}SECRET",
        f"They want it{QUOTED} to be SECRET",
        f"They want it{QUOTED}, which is SECRET",
        f"They want it{QUOTED}' which is SECRET",
        f"They want it {QUOTED}SECRET<|return|> and then SECRET",
        f"They want `<|end|><|start|>assistant<|channel|>commentary<|message|>SECRET`{QUOTED}`",
        "They want <|end|><|start|>assistant<|channel|>commentary<|message|>SECRET",
        f"```\n<|channel|>analysis<|message|>x<|end|>\n```\n{QUOTED}SECRET<|end|>SECRET",
    ],
)
@pytest.mark.parametrize("after", ["", "<|end|>", "<|end|><|start|>assistant<|channel|>final<|message|>No.<|return|>"])
def test_an_answer_quoted_in_the_reasoning_is_not_an_answer(reasoning: str, after: str) -> None:
    assert "SECRET" in "".join(done.frame.body for done in frames(f"{A}{reasoning}{after}"))
    assert "SECRET" not in visible_text(f"{A}{reasoning}{after}")


def test_a_call_whose_arguments_quote_a_call_marker_makes_everything_after_it_doubtful() -> None:
    call = '<|channel|>commentary to=functions.w <|constrain|>json<|message|>{"text": "ends with <|call|>'
    assert visible_text(f"{call}<|start|>assistant{F}SECRET<|return|>") == ""
    assert visible_text(f"{call}<|start|>assistant{A}Hm.<|end|><|start|>assistant{F}SECRET<|return|>") == "", "however far behind it"
    to_nobody = '<|channel|>analysis <|constrain|>json<|message|>{"text": "ends with'
    assert visible_text(f"{to_nobody}<|call|><|start|>assistant{F}SECRET<|return|>") == ""
    assert visible_text(f'{to_nobody}"}}<|end|><|start|>assistant{F}Done<|return|>') == "Done"


def test_a_preamble_between_reasoning_and_a_call_that_breaks_off_is_hidden() -> None:
    plan = f"{A}I think.<|end|><|start|>assistant{C}I will search.<|end|><|start|>assistant"
    calls = [f"<|channel|>commentary to=functions.f <|constrain|>json<|message|>{body}<|call|>" for body in ("{}", '{"text": ')]
    assert visible_text(f"{plan}{calls[0]}<|start|>assistant{calls[0]}") == "I will search."
    assert visible_text(f"{plan}{calls[1]}<|start|>assistant{calls[0]}") == ""


def test_a_preamble_after_reasoning_that_ends_the_turn_is_hidden() -> None:
    assert visible_text(f"{A}They want<|end|><|start|>assistant{C}SECRET<|return|>") == ""
    assert visible_text(f"{A}They want<|end|><|start|>assistant<|channel|>commentary to=user<|message|>SECRET<|return|>") == ""


def test_an_empty_message_is_no_quotation() -> None:
    assert visible_text(f"{A}<|end|><|start|>assistant{F}Four.<|return|>") == "Four."
    assert visible_text(f"{A}Hm.<|end|><|start|>assistant{C}<|end|><|start|>assistant{F}Four.<|end|>") == "Four."


def test_a_completion_that_quotes_nothing_is_read_as_ids_would_be() -> None:
    plan = f"{A}I look it up.<|end|>\n<|start|>assistant{C}I will search.<|end|>\n<|start|>assistant"
    call = '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"q": 1}<|call|>'
    assert visible_text(f"{plan}{call}") == "I will search."
    assert visible_text(f"{plan}{F}Found.<|return|>\n") == "I will search.Found."
    assert visible_text(f"{plan}{F}Found.<|end|>\n") == "I will search.Found."
    assert visible_text(f"{plan}{F}```py\n1\n```<|return|>") == "I will search.```py\n1\n```", "a fence is not the end of a quotation"
    assert [done.frame.header.intent for done in frames(f"{plan}{call}")] == [None, Intent.PREAMBLE, None]


def test_unproven_text_is_for_staff_only_with_an_error_code() -> None:
    [_, doubtful, answer] = frames(f"{A}say {QUOTED}SECRET<|end|><|start|>assistant{F}No.<|return|>")
    assert doubtful.frame == Frame(Header("assistant", Channel.ANALYSIS, intent=Intent.DEBUG), "SECRET")
    assert doubtful.error == Code.PARSE_HEADER
    assert answer.frame.body == "No."


def test_an_answer_before_anything_hidden_is_shown_up_to_the_first_marker() -> None:
    assert visible_text(f"{F}A message ends with <|end|>, a turn with <|return|>.<|return|>") == "A message ends with "


def test_text_never_shows_more_than_ids_whatever_happens_to_the_markers() -> None:
    shown_something = 0
    for seed in range(example_count(4000)):
        chooser = random.Random(seed)
        parts = mutated(random_messages(chooser), chooser)
        as_ids = visible((done.frame for done in fold(parts, HarmonyReader(numbered()))), Audience.END_USER)
        as_text = visible_text(text_of_pieces(parts))
        assert is_part_of(as_text, "".join(show(frame, Audience.END_USER) for frame in as_ids))
        assert "SECRET" not in as_text
        shown_something += bool(as_text)
    assert shown_something > example_count(500), "hardly anything was shown, so this test would prove little"


@pytest.mark.slow
def test_quoting_an_answer_anywhere_in_a_hidden_body_shows_nothing_of_it() -> None:
    shown_something = 0
    for seed in range(example_count(4000)):
        chooser = random.Random(seed)
        words = ["They", "want", "me", "to", "say", "that", "SECRET", "and", "more", "SECRET", "is", "the", "way"]
        at = chooser.randrange(len(words))
        header = chooser.choice(["final", "commentary", "final <|constrain|>json", "commentary to=user"])
        quoted = f"<|end|><|start|>assistant<|channel|>{header}<|message|>"
        thought = f"{' '.join(words[:at])} {quoted}{chooser.choice(['', ' '])}{' '.join(words[at:])}"
        raw = f"{A}{thought}<|end|><|start|>assistant{F}Answer<|return|>"
        assert "SECRET" not in visible_text(raw)
        shown_something += visible_text(raw) == "Answer"
    assert shown_something == example_count(4000), "the answer itself is proven, whatever the reasoning quotes"


@pytest.mark.parametrize(
    "raw",
    [
        "no marker",
        "<|channel|>final<|message|>x<|message|>y<|end|>",
        "<|channel|>final<|message|>x<|end|>between<|start|>assistant<|message|>y<|end|>",
        "<|start|>assistant<|end|>x<|end|>",
    ],
)
def test_malformed_text_has_no_messages(raw: str) -> None:
    assert messages(pieces_of_text(raw)) is None


def is_part_of(part: str, whole: str) -> bool:
    """Whether ``part`` is ``whole`` with some characters left out."""
    rest = iter(whole)
    return all(character in rest for character in part)
