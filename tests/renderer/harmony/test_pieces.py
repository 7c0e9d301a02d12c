"""Splitting Harmony into markers and text: which names are markers, how a body that spells one is escaped, and where characters end."""

from __future__ import annotations

import pytest

from renderer.harmony.pieces import Marker, Piece, TokenPieces, escaped, ids_of_pieces, pieces_of_text, text_of_pieces, unescaped
from renderer.harmony.vocabulary import MARKER_IDS, Vocabulary

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
