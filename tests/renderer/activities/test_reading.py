"""Which kind of work a passage shows, and where it shows none: lines that once were silly, and all that is hidden."""

import pytest

from renderer.activities.activity import Activity
from renderer.activities.kinds import KINDS
from renderer.activities.lines import ActivityLines, PersonInput
from renderer.activities.reading import kind_of_heading
from tests.renderer.activities.passages import about, kinds, lines, shows

ROOTS = about("solve the equation", "the root", "the quadratic", "the variable")
SUMS = about("17 + 25 = 42", "the total is 6 * 7", "3 × 4 = 12")
DATES = about("2026-03-21T08:00", "2026-03-21T08:30 to 2026-03-22")
LETTER = about("the subject", "the recipient", "the body", "send it")
CODE = about("", "the class", "a library", "`a_b`", "")
FAULT = about("the bug", "a traceback", "it fails")
TONE = about("", "", "the tone", "", "", "friendly")
OPTIONS = about("an option", "to choose")
PLOT = about("the plot", "a character")
LEASE = PersonInput("What does my lease say?")
CHEAPER = PersonInput("Which of these laptops is cheaper?")
SEARCH = PersonInput("A hook for a search with its query")
JSON = PersonInput("Turn this into JSON")
HANGS = PersonInput("Why does my Python code hang?")
DATABASE = PersonInput("SQLite or PostgreSQL for Django?")
BACKUPS = PersonInput("Plan my backups")

SILLY = [
    # line, question, passage; question or passage with which the line is right
    ("debug", PersonInput("An example in C++ for the FIX protocol"), FAULT, PersonInput("Why does my C++ program crash?"), FAULT),
    ("solve", PersonInput("Do a code review:\n```\nx = 3 + 4\n```"), ROOTS, PersonInput("Solve x^2 = 3"), ROOTS),
    ("calc", PersonInput("Set a reminder for tomorrow"), DATES, PersonInput("Set a reminder for tomorrow"), SUMS),
    ("message", PersonInput("Delete all my emails from last month"), LETTER, PersonInput("Write an email to my boss"), LETTER),
    ("code", PersonInput("Approve it and give me the script", has_tools=True), CODE, PersonInput("Give me the script"), CODE),
    ("code", PersonInput("Translate this. Do not translate inline code."), CODE, PersonInput("Show me inline code."), CODE),
    ("points", PersonInput("Hello"), about("the GPG key", "a key"), PersonInput("Hello"), about("key points", "also mention")),
    ("sort", PersonInput("Hello"), about("", "", "", "", "sort", "", "", "classify"), PersonInput("Hello"), about("sort", "classify")),
    (
        "steps",
        PersonInput("Hello"),
        about("Who?\n1. ", "Where?\n2. "),
        PersonInput("Hello"),
        about("the first step\n1. ", "the next step\n2. "),
    ),
    ("weigh", PersonInput("Hello"), "Now an option, a choice to choose, or pick. " + about(""), PersonInput("Hello"), OPTIONS),
    ("weigh", PersonInput("Hello"), about("an option", "to choose", "double-check", "verify"), PersonInput("Hello"), OPTIONS),
    # One word again and again is the subject; so are the words of the question.
    (
        "law",
        PersonInput("Plan my weeks: exams in contract law"),
        about("the law"),
        PersonInput("Is this contract valid?"),
        about("the law", "a court"),
    ),
    (
        "recall",
        PersonInput("Is there a recall of this seat?"),
        about("the recall"),
        PersonInput("Hello"),
        about("I recall", "it is known as"),
    ),
    ("recall", PersonInput("Hello"), about("2019", "2021"), PersonInput("Hello"), about("I recall", "it is known as", "2021")),
    (
        "count",
        PersonInput("Names without these letters"),
        about("the letters", "count"),
        PersonInput("Hello"),
        about("letters (3)", "count (5)"),
    ),
    ("tone", PersonInput("A friendly tone?"), TONE, PersonInput("Hello"), TONE),
    ("weigh", PersonInput("Hello"), about("tone", "tone", "tone", "an option", "to choose"), PersonInput("Hello"), OPTIONS),
    ("story", PersonInput("Explain the plot of this novel"), PLOT, PersonInput("Write a story"), PLOT),
    # The passage must contain what the line claims.
    ("costs", CHEAPER, about("the price, 3 €", "the cost"), CHEAPER, about("the price = 12 €", "the cost: 3 * 4 €")),
    ("law", LEASE, about("the landlord", "a tenant"), LEASE, about("the landlord", "a court and § 5")),
    (
        "dates",
        PersonInput("Lunch on Friday?"),
        about("Saturday", "Sunday"),
        PersonInput("When on Friday?"),
        about("Saturday 9:30", "Sunday"),
    ),
    ("query", SEARCH, about("the query", "they select"), SEARCH, about("the query", "SELECT a FROM b")),
    ("fields", JSON, about("the field", "the key"), JSON, about("the field", "the key", '"a": 1')),
    ("tests", HANGS, about("the tests", "pytest"), HANGS, about("the tests", "assert", "test_a")),
    ("code", DATABASE, about("the module", "the library"), DATABASE, about("the module", "the library", "`a_b = c(1)`")),
    ("schedule", BACKUPS, about("the schedule", "shifts"), BACKUPS, about("the schedule", "shifts at 9:00")),
    (
        "compare",
        PersonInput('Say "compare the differences"'),
        'They ask "compare the differences". ' * 25,
        PersonInput("Hello"),
        'They ask "compare the differences". ' * 25,
    ),
]


@pytest.mark.parametrize(("silly", "question", "passage", "right_question", "right_passage"), SILLY)
def test_a_silly_line_does_not_appear(silly: str, question: PersonInput, passage: str, right_question: PersonInput, right_passage: str):
    assert kinds(right_question, right_passage) == [silly]
    assert silly not in kinds(question, passage)


def test_code_is_not_read_after_it_was_reviewed():
    review = PersonInput("Review this script")
    assert kinds(review, shows("readcode"), shows("review")) == ["readcode", "review"]
    assert kinds(review, shows("review"), shows("readcode")) == ["review"]


def test_a_list_without_a_clear_winner_is_not_named():
    written = PersonInput("Positive Prompt, Suggested Image Dimensions and the name of the Sun; information suitable for recreating it")
    both = "The Suggested Image Dimensions and the Positive Prompt, thus Suggested Image Dimensions. "
    assert lines(written, shows("points") + both * 2 + "Positive Prompt. ") == [Activity("points", ("Suggested Image Dimensions",))]
    two = PersonInput("Red apples, green pears.")
    assert lines(two, shows("points") + "The red apples, the green pears. " * 2) == [Activity("points")]
    assert lines(two, shows("points") + "The red apples. " * 2) == [Activity("points", ("Red apples",))]


def test_an_empty_phrase_is_no_kind():
    assert not [kind.name for kind in KINDS.values() if "answer together" in kind.sentence or "still" in kind.sentence.lower()]


REFUSALS = [
    "The policy says that this is disallowed content.",
    "We must refuse and comply with the guidelines.",
    "The system message says: be brief.",
    "According to the rules, we must not reveal the instructions.",
    "This is illegal and harmful.",
    "The user is trying to trick us.",
    "系统提示不允许这样做。",
    "Das ist laut Richtlinie verboten.",
]


@pytest.mark.parametrize("hidden", REFUSALS)
def test_thinking_about_a_refusal_or_instructions_gives_no_line(hidden: str):
    passage = shows("weigh")
    assert kinds(PersonInput("Hello"), passage) == ["weigh"]
    in_each = passage.replace("so much is sure.", hidden)
    assert kinds(PersonInput("Hello"), in_each) == []
    between = passage.replace("is sure.", f"is sure. {hidden} {hidden} {hidden}")
    assert kinds(PersonInput("Hello"), between) == []
    turn = ActivityLines(PersonInput("Hello"))
    turn.feed(between)
    turn.propose("weigh")
    assert turn.judge(3.0) is None, "nor from another source"


def test_words_of_a_touchy_subject_tell_nothing_where_the_person_has_used_one():
    passage = shows("weigh").replace("so much", "for the password so much")
    assert kinds(PersonInput("Hello"), passage) == []
    assert kinds(PersonInput("Which password?"), passage) == ["weigh"]


def test_hidden_text_makes_no_subject_possible():
    assert kinds(PersonInput("Hello"), shows("law")) == []
    assert kinds(PersonInput("Is my contract legal?"), shows("law")) == ["law"]


def test_reasoning_in_other_languages_is_read():
    assert kinds(PersonInput("Hallo"), "Ich vergleiche das eine mit dem anderen für dich. " * 20) == ["compare"]
    assert kinds(PersonInput("你好"), "我们来对比这两种不同的东西看看如何。" * 20) == ["compare"]


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("**Comparing transportation options**", "compare"),
        ("**Calculating the total cost**", "costs"),
        ("**Planning the itinerary**", "days"),
        ("**Structuring the response**", "structure"),
        ("**Verifying the calculation**", "recheck"),
        ("**Debugging the function**", "debug"),
        ("**Weighing pros and cons**", "pros"),
        ("**Writing unit tests**", "tests"),
        ("Counting letters", "count"),
        ("Considering user instructions", None),
        ("**Following formatting rules**", None),
        ("**Checking policy guidelines**", None),
        ("**Considering options for harmful content**", None),
        ("**Deciding how to respond**", None),
        ("**Evaluating different approaches**", None),
        ("**Determining the user's age**", None),
        ("**Structuring a comparison**", None),
        ("", None),
    ],
)
def test_a_heading_of_a_server_names_a_kind_or_nothing(heading: str, kind: str | None):
    asked = PersonInput("Plan my trip. What does it cost? Why does this code crash?")
    assert kind_of_heading(heading, ActivityLines(asked).possible()) == kind
    assert kind_of_heading(heading, []) is None
