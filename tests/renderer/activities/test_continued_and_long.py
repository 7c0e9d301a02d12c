"""What the limits on lines count, and what reading costs: an answer that is continued, and text of any length."""

from renderer.activities.activity import Activity
from renderer.activities.frame import frame_of, lines_in
from renderer.activities.kinds import KINDS
from renderer.activities.lines import MOST_LINES, ActivityLines, PersonInput
from renderer.activities.reading import PersonText, ReasoningPassage
from tests.renderer.activities.passages import kinds, shows
from tests.support.cost import relative_cost

ASKED = PersonText("", frozenset(), frozenset(), is_frank=False, has_pair=False)


def test_a_continued_answer_shows_no_kind_twice_and_no_more_lines_than_any_other():
    assert kinds(PersonInput(""), shows("weigh"), shows("structure")) == ["weigh", "structure"]
    assert kinds(PersonInput("", before=[Activity("weigh")]), shows("weigh"), shows("structure")) == ["structure"]
    full = [Activity(name) for name in list(KINDS)[: MOST_LINES - 1]]
    assert kinds(PersonInput("", before=full), shows("weigh"), shows("structure")) == ["weigh"]
    assert ActivityLines(PersonInput("", before=[*full, Activity("weigh")])).next_tick is None


def test_the_lines_of_a_continued_answer_that_name_something_count():
    question, passage = "What is a heat pump?", shows("recall") + "The heat pump, a heat pump. "

    def about(*before: Activity) -> list[tuple[str, ...]]:
        turn = ActivityLines(PersonInput(question, before=before))
        turn.feed(passage)
        turn.judge(3)
        return [line.about for line in turn.shown]

    named = [Activity("meaning", ("heat pump",)), Activity("points", ("heat pump",))]
    assert (about(named[0]), about(*named)) == ([("heat pump",)], [()])


def test_lines_of_two_kinds_that_read_files_come_back_from_a_transcript():
    lines = (Activity("readcode", ("main.py",)), Activity("document", ("notes.txt",)))
    assert lines_in(frame_of(lines).body, ["main.py and notes.txt"]) == lines
    assert lines_in(frame_of(lines).body, ["a question"]) == (Activity("readcode"), Activity("document")), "names of files are left out"


def test_a_long_text_costs_as_little_as_its_end():
    for piece in ("\n", "a. ", "比较。", "x"):

        def read(length: int, piece: str = piece) -> None:
            passage = ReasoningPassage(ASKED)
            passage.feed(piece * length)
            passage.read()

        assert relative_cost(lambda: read(100_000), lambda: read(5_000)) < 3


def test_empty_lines_are_no_sentences():
    assert kinds(PersonInput(""), shows("weigh") + "\n" * 3_000) == ["weigh"]
