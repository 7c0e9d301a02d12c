"""Lines of a turn: whatever a model thinks and whatever a source proposes, only our sentences and the person's own words appear, and not
more of them than the bound in ``docs/summaries.md`` allows."""

import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as some

from renderer.activities.activity import Activity, as_stored, from_sentence, from_stored
from renderer.activities.kinds import KINDS
from renderer.activities.lines import TICKS, ActivityLines, PersonInput
from tests.renderer.activities.passages import kinds, lines, reasonings, shows, writings
from tests.support.cost import costs_at_most

ANYTHING = PersonInput(
    "Plan my trip. What does it cost to convert 3 km? Solve it, prove it, write a story, a poem, code and sql. Why?", has_tools=True
)

TIMES = some.lists(some.floats(allow_nan=True) | some.floats(0, 90), max_size=30)
PROPOSALS = some.lists(some.none() | some.sampled_from(list(KINDS)) | some.text(max_size=9), max_size=9)


@given(writings, reasonings, PROPOSALS, TIMES, some.booleans())
def test_every_line_is_ours_with_words_of_the_person_and_their_number_is_limited(
    written: PersonInput, pieces: list[str], proposals: list[str | None], times: list[float], reads: bool
):
    turn = ActivityLines(written, reads=reads)
    at: list[float] = []
    pieces, proposals = list(pieces), list(proposals)
    for seconds in [*times, *TICKS]:
        turn.feed(pieces.pop() if pieces else "")
        if proposals:
            turn.propose(proposals.pop())
        may_still = turn.possible()
        line = turn.judge(seconds)
        if line:
            assert line.doing in may_still
            at.append(seconds)
    assert len(turn.shown) == len(at) <= 8
    assert all(any(before < tick <= later for tick in TICKS) for before, later in pairwise([0.0, *at])), "a tick lies between two lines"
    assert len({line.doing for line in turn.shown}) == len(turn.shown)
    assert sum(bool(line.about) and KINDS[line.doing].about not in ("pair", "place") for line in turn.shown) <= 2
    for line in turn.shown:
        assert line.about == () or len(line.about) == KINDS[line.doing].named.count("{}")
        assert all(span in written.question or span in written.files for span in line.about)
        assert all(0 < len(span) <= 40 and set(span).isdisjoint('<>*`[]()|\\&"') and span.isprintable() for span in line.about)
        assert not any(unicodedata.category(sign) in ("Cc", "Cf", "Co", "Cn", "Mn", "Zl", "Zp") for span in line.about for sign in span)
        assert from_stored(as_stored([line])) == [line]
        again = from_sentence(line.sentence, [written.question, *written.files])
        assert again is not None
        assert again.sentence == line.sentence


@given(writings, reasonings, some.integers(1, 7))
def test_how_the_reasoning_is_cut_into_pieces_makes_no_difference(written: PersonInput, pieces: list[str], size: int):
    whole, cut = ActivityLines(written), ActivityLines(written)
    for piece, tick in zip(pieces, TICKS, strict=False):
        whole.feed(piece)
        for begin in range(0, len(piece), size):
            cut.feed(piece[begin : begin + size])
        assert whole.judge(tick) == cut.judge(tick)


def test_most_kinds_appear_when_the_reasoning_shows_them():
    found = {kind for kind in KINDS if kind in kinds(ANYTHING, shows(kind))}
    assert len(found) >= 25, found


def test_a_line_appears_only_at_a_tick_and_a_tick_that_passed_is_gone():
    turn = ActivityLines(ANYTHING)
    turn.feed(shows("tone"))
    assert turn.next_tick == 3.0
    assert turn.judge(2.9) is None
    assert turn.judge(7.0) == Activity("tone")
    assert turn.next_tick == 9.0
    turn.feed(shows("pros"))
    assert turn.judge(8.9) is None
    assert turn.judge(9.0) == Activity("pros")
    turn.feed(shows("steps"))
    assert turn.judge(1e9) == Activity("steps")
    assert turn.next_tick is None
    assert turn.judge(2e9) is None


def test_a_passage_that_is_too_short_waits_for_the_next_tick():
    turn = ActivityLines(ANYTHING)
    turn.feed(shows("tone")[:400])
    assert turn.judge(3.0) is None
    turn.feed(shows("tone")[:400])
    assert turn.judge(6.0) == Activity("tone")


def test_a_kind_that_fits_what_was_asked_for_needs_less_reasoning_and_appears_at_the_same_times():
    passage = shows("calc")[:300]
    for question, early in (("Calculate 3 + 4.", Activity("calc")), ("Translate 3 + 4 into French.", None)):
        turn = ActivityLines(PersonInput(question))
        turn.feed(passage)
        assert turn.judge(2.9) is None
        assert turn.judge(3.0) == early
    turn = ActivityLines(PersonInput("Calculate 3 + 4."))
    turn.feed(passage[:200])
    assert turn.judge(3.0) is None, "too little"


def test_another_source_has_the_word_where_it_names_something():
    turn = ActivityLines(ANYTHING)
    turn.propose("tone")
    turn.propose("pros")
    assert turn.judge(3.0) == Activity("pros"), "the newest counts"
    turn.feed(shows("steps"))
    turn.propose(None)
    assert turn.judge(6.0) is None, "it names none"
    assert turn.judge(9.0) == Activity("steps"), "it is late: the reasoning is read"
    turn.propose("pros")
    assert turn.judge(13.5) is None, "not twice"
    turn.propose("picture")
    assert turn.judge(20.0) is None, "there is no picture"
    assert [line.doing for line in turn.shown] == ["pros", "steps"]


def test_a_turn_that_does_not_read_shows_only_what_is_proposed():
    turn = ActivityLines(ANYTHING, reads=False)
    turn.feed(shows("tone"))
    assert turn.judge(3.0) is None
    turn.propose("tone")
    assert turn.judge(6.0) == Activity("tone")


@pytest.mark.parametrize(
    ("kind", "missing", "shown"),
    [
        ("results", PersonInput("Hello"), PersonInput("Hello", has_tools=True)),
        ("picture", PersonInput("Hello"), PersonInput("Hello", has_image=True)),
        ("lookback", PersonInput("Hello"), PersonInput("Hello", ["Hi"])),
        ("document", PersonInput("Hello"), PersonInput("Hello", files=["a.pdf"])),
        ("document", PersonInput("Hello"), PersonInput("Hello " * 300)),
        ("law", PersonInput("Hello"), PersonInput("Hello", ["May my landlord do this?"])),
        ("query", PersonInput("Hello"), PersonInput("查询")),
    ],
)
def test_a_kind_needs_its_subject_in_what_the_person_wrote(kind: str, missing: PersonInput, shown: PersonInput):
    assert kind not in ActivityLines(missing).possible()
    assert kind in ActivityLines(shown).possible()
    turn = ActivityLines(missing)
    turn.propose(kind)
    assert turn.judge(3.0) is None


def test_a_comparison_and_the_place_of_a_trip_come_from_the_question_alone():
    written = PersonInput("Compare trains and buses for a weekend in Kyoto.")
    assert lines(written, shows("compare"), shows("days")) == [Activity("compare", ("trains", "buses")), Activity("days", ("Kyoto",))]
    assert lines(PersonInput("Which one?"), shows("compare").replace("compare", "compare trains and buses")) == [Activity("compare")]


@pytest.mark.parametrize("kind", ["document", "data", "readcode", "review"])
def test_a_file_is_named_that_the_reasoning_mentions_alone(kind: str):
    written = PersonInput("Review this code, please.", files=["notes.txt", "run.py"])
    assert lines(written, shows(kind) + "It is in run.py. ") == [Activity(kind, ("run.py",))]
    assert lines(written, shows(kind) + "It is in run.py or notes.txt. ") == [Activity(kind)]
    assert lines(written, shows(kind)) == [Activity(kind)]
    assert lines(written, shows(kind) + "It is in rerun.py. ") == [Activity(kind)]
    assert lines(PersonInput("Review this code, please.", files=["Now"]), shows(kind)) == [Activity(kind)], "a usual word is no file"


def test_what_is_no_code_is_not_reviewed():
    assert lines(PersonInput("Review this restaurant."), shows("review")) == []
    assert lines(PersonInput("Review this code."), shows("review")) == [Activity("review")]


def test_at_most_two_lines_name_what_the_reasoning_chose():
    written = PersonInput("Review the code of PostgreSQL for a weekend in Kyoto.", files=["run.py"])
    after = "It is about PostgreSQL, PostgreSQL and run.py. "
    shown = lines(written, *(shows(kind) + after for kind in ("meaning", "days", "review", "points", "recall")))
    assert [(line.doing, line.about) for line in shown] == [
        ("meaning", ("PostgreSQL",)),
        ("days", ("Kyoto",)),
        ("review", ("run.py",)),
        ("points", ()),
        ("recall", ()),
    ]


def test_only_the_first_fifteen_spans_can_be_chosen():
    names = [f"aB{letter * 6}" for letter in "abcdefghijklmnopqrst"]
    written = PersonInput(", ".join(names))
    assert lines(written, shows("points") + f"{names[14]} and {names[14]}. ") == [Activity("points", (names[14],))]
    assert lines(written, shows("points") + f"{names[15]} and {names[15]}. ") == [Activity("points")]


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_every_sentence_is_read_back(kind):
    assert from_sentence(kind.sentence, []) == Activity(kind.name)
    if kind.named:
        spans = ("salt and pepper", "fish and chips")[: kind.named.count("{}")]
        line = Activity(kind.name, spans).sentence
        assert from_sentence(line, ["Salt and pepper", "what? fish and chips!"]) is not None
        assert from_sentence(line, ["Salt and pepper"[: 9 * (len(spans) - 1)]]) is None, "a span that is nowhere"
    assert from_sentence(kind.sentence + ".", []) is None


def test_a_sentence_with_markup_is_not_read_back():
    assert from_sentence("Reading <b>x</b>", ["<b>x</b>"]) is None
    assert from_sentence("Reading " + "x" * 41, ["x" * 50]) is None
    assert from_stored([["document", "<b>"], ["points", "a", "b"], ["nothing"], "tone", ["tone"], []]) == [Activity("tone")]


def test_no_kind_tells_of_instructions_refusals_or_the_person():
    told = "instruct|rule|polic|allow|refus|declin|safe|secret|system|user|intent|role|trick|unsure|date limit"
    assert not [kind.name for kind in KINDS.values() if re.search(told, f"{kind.name} {kind.sentence} {kind.named}".lower())]


HOSTILE = {
    "quotes": '"' * 300_000,
    "quotations": '"abc def ghi jkl" ' * 17_000,
    "no full stop": "word " * 60_000,
    "Chinese sentences": "比较。" * 100_000,
    "new words": " ".join(f"w{number:x}q" for number in range(40_000)),
    "code": "a(`b_" * 60_000,
}


@pytest.mark.parametrize("reasoning", HOSTILE.values(), ids=list(HOSTILE))
def test_reading_costs_less_than_a_millisecond_for_1000_characters(reasoning: str):
    def read():
        turn = ActivityLines(ANYTHING)
        for at in range(0, len(reasoning), 400):
            turn.feed(reasoning[at : at + 400])
            turn.judge(at / 4_000)

    assert costs_at_most(len(reasoning) / 1000, read)
    assert costs_at_most(len(reasoning) / 1000, lambda: ActivityLines(ANYTHING).feed(reasoning))


@pytest.mark.parametrize(
    "piece",
    ["a ", "compare ", "\n", '"', "https://x ", "better, ", "写", "write email ", "days in A "],
)
def test_a_question_of_any_size_costs_little(piece: str):
    question = (piece * 500_000)[:500_000]
    assert costs_at_most(150, lambda: ActivityLines(PersonInput(question, [question] * 9, [question] * 9)))
