"""Which frames of a conversation stay in a prompt of limited length. Here a frame is as long as its body."""

import pytest

from renderer.frame_kinds import ANSWER, DOCUMENT
from renderer.frames import Frame, Header
from renderer.history import Trimmed, trim

NAMED = '[Attached document "a.txt", a text file.]\n\n'
LINE = '[The document "a.txt" was attached here. It does not fit any more, so its text is left out.]'
NAMELESS_LINE = "[A document was attached here. It does not fit any more, so its text is left out.]"


def ask(body: str) -> Frame:
    return Frame(Header("user"), body)


def say(body: str) -> Frame:
    return Frame(ANSWER, body)


def file(body: str) -> Frame:
    return Frame(DOCUMENT, body)


def trimmed(turns: list[list[Frame]], length: float | None, min_turns: int = 1) -> Trimmed:
    return trim(turns, lambda frame: len(frame.body), length, min_turns=min_turns)


def bodies(found: Trimmed) -> list[str]:
    return [frame.body for frame in found.frames]


A, B, C, D = [ask("a" * 10), say("a" * 10)], [ask("b" * 10), say("b" * 10)], [ask("c" * 10), say("c" * 10)], [ask("d" * 10)]
TURNS = [A, B, C, D]


@pytest.mark.parametrize(
    ("length", "first", "left_out", "is_minimal"),
    [(None, 0, 0, False), (70, 0, 0, False), (69, 1, 1, False), (49, 2, 2, False), (29, 3, 3, True), (0, 3, 3, True)],
)
def test_the_oldest_turns_are_left_out_first_and_no_more_than_needed(
    length: float | None, first: int, left_out: int, is_minimal: bool
) -> None:
    stays = tuple(frame for turn in TURNS[first:] for frame in turn)
    assert trimmed(TURNS, length) == Trimmed(stays, sum(len(frame.body) for frame in stays), left_out, is_minimal)


@pytest.mark.parametrize(("min_turns", "stays"), [(0, 0), (1, 1), (2, 3), (3, 5), (4, 7), (9, 7)])
def test_the_last_turns_always_stay(min_turns: int, stays: int) -> None:
    every = [frame for turn in TURNS for frame in turn]
    found = trimmed(TURNS, 0, min_turns)
    assert list(found.frames) == every[len(every) - stays :] and found.is_minimal
    assert found.length == 10 * stays


def test_a_conversation_without_earlier_turns_is_minimal_even_if_it_fits() -> None:
    for length in (None, 10, 9):
        assert trimmed([D], length) == Trimmed(tuple(D), 10, 0, is_minimal=True)
    assert trimmed([], 5) == Trimmed((), 0, 0, is_minimal=True)


def test_turns_that_would_fit_are_left_out_with_those_that_follow_a_left_out_turn() -> None:
    assert bodies(trimmed([[ask("x")], [ask("y" * 90)], D], 50)) == ["d" * 10]


OLD, NEW = NAMED + "x" * 107, "N" * 100


@pytest.mark.parametrize(
    ("length", "expected", "left_out", "is_minimal"),
    [
        (273, [OLD, "q" * 10, NEW, "n" * 10, "now"], 0, False),
        (272, [OLD, NEW, "n" * 10, "now"], 1, False),
        (262, [OLD, NEW, "now"], 2, False),
        (252, [LINE, "q" * 10, NEW, "n" * 10, "now"], 1, False),
        (195, [LINE, NEW, "now"], 2, False),
        (194, ["q" * 10, NEW, "n" * 10, "now"], 1, False),
        (103, [NEW, "now"], 2, False),
        (102, [NAMELESS_LINE, "n" * 10, "now"], 2, False),
        (84, ["q" * 10, "n" * 10, "now"], 2, False),
        (12, ["now"], 2, True),
    ],
)
def test_the_newest_documents_take_precedence_then_one_line_for_each_of_the_others_then_messages(
    length: float, expected: list[str], left_out: int, is_minimal: bool
) -> None:
    found = trimmed([[file(OLD), ask("q" * 10)], [file(NEW), ask("n" * 10)], [ask("now")]], length)
    assert (bodies(found), found.turns_left_out, found.is_minimal) == (expected, left_out, is_minimal)
    assert found.length == sum(map(len, expected))
    assert [frame.header == DOCUMENT for frame in found.frames] == [body in (OLD, NEW, LINE, NAMELESS_LINE) for body in expected]


@pytest.mark.parametrize(("length", "expected"), [(83, ["e" * 40, "f" * 40]), (82, ["f" * 40, "q"]), (42, ["q"]), (2, [])])
def test_of_two_documents_of_one_turn_the_last_stays_and_their_order_too(length: float, expected: list[str]) -> None:
    found = trimmed([[file("e" * 40), file("f" * 40), ask("q")], [ask("now")]], length)
    assert bodies(found) == [*expected, "now"] and found.turns_left_out == 1


def test_a_document_without_a_question_stays_once() -> None:
    found = trimmed([[file("e" * 40)], [ask("q" * 100)], [ask("now")]], 142)
    assert (bodies(found), found.length) == (["e" * 40, "now"], 43)
