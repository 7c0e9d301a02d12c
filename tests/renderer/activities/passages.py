"""Reasoning for tests: passages that show one kind of work, and any reasoning."""

from hypothesis import strategies as some

from renderer.activities.activity import Activity
from renderer.activities.cues import CUES, HIDDEN
from renderer.activities.kinds import KINDS
from renderer.activities.lines import ActivityLines, PersonInput


def about(*cues: str, length: int = 700) -> str:
    """A passage of sentences, each with one of the cues, in turn."""
    sentences = ""
    while len(sentences) < length:
        sentences += "".join(f"Now they come to {cue} here and there, so much is sure. " for cue in cues)
    return sentences


def shows(kind: str) -> str:
    """A passage that shows this kind of work and no other."""
    strong_first = sorted(CUES[kind].split("; "), key=lambda cue: not cue.startswith("!"))
    of_words = {max(cue.strip("!*").split(), key=len): cue.strip("!*") for cue in reversed(strong_first)}
    return about(*list(of_words.values())[:-4:-1])


def lines(written: PersonInput, *passages: str, reads: bool = True) -> list[Activity]:
    """The lines that appear if a passage comes before each tick."""
    turn = ActivityLines(written, reads=reads)
    for passage in passages:
        turn.feed(passage)
        turn.judge(turn.next_tick or 0.0)
    return turn.shown


def kinds(written: PersonInput, *passages: str) -> list[str]:
    """The kinds of these lines."""
    return [line.doing for line in lines(written, *passages)]


_cue = some.sampled_from([cue.strip("!*") for cues in (*CUES.values(), HIDDEN) for cue in cues.split("; ")])
_word = (
    _cue
    | some.sampled_from(["Kyoto", "notes.txt", "heat pump", "trains", "1 + 2 = 3", '"q"', "`x_y`", "系统提示", "比较"])
    | some.text(max_size=9)
)
_naming = [kind.name for kind in KINDS.values() if kind.about]
_mention = some.sampled_from(["heat pump", "PostgreSQL", "EURUSD", "garden furniture", "notes.txt", "Zahlen für Mai.csv"]).map(
    lambda name: f"It is {name}, {name}. "
)
_passage = some.builds(str.__add__, some.sampled_from([*KINDS, *_naming * 6]).map(shows), _mention) | some.lists(_word, max_size=60).map(
    " ".join
)

reasonings = some.lists(_passage, max_size=10)
"""Pieces of reasoning, many of which show a kind of work."""

_asked = some.sampled_from(
    [
        "Compare trains and buses, and plan 2 days in Kyoto. What does a heat pump cost? Solve 3 + 4.",
        "Write code for PostgreSQL: why does the bug appear? Review it, translate and summarize the text.",
        "比较苹果和香蕉的营养, and the garden furniture from EURUSD",
        "Vergleiche <b>Äpfel</b> mit \u202eBirnen\u202c, reise nach Österreich",
    ]
)
questions = _asked | some.lists(_asked | some.text(max_size=80) | some.lists(_word, max_size=30).map(" ".join), min_size=1, max_size=3).map(
    " ".join
)

writings = some.builds(
    PersonInput,
    questions,
    some.lists(questions, max_size=2),
    some.lists(
        some.sampled_from(["notes.txt", "Zahlen für Mai.csv", "a" * 60 + ".pdf", "<x>.html", "\u202efdp.exe"]) | some.text(max_size=12),
        max_size=20,
    ),
    has_tools=some.booleans(),
    has_image=some.booleans(),
)
"""What any person may have written."""
