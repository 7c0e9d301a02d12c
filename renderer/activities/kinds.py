"""The kinds of work that a line of a reasoning summary can name: a closed table.

Each kind has its sentence in English; the other languages are in the catalogues of translations. No kind tells of instructions, rules,
refusals or doubts about the person: a line must not tell by its choice what is hidden.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

About = Literal["", "span", "pair", "place", "file"]


def noop(sentence: str) -> str:
    """Mark a sentence for translation."""
    return sentence


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of work."""

    name: str
    group: str
    """Kinds of one group may compete in a passage."""
    needs: str
    """The subject that the person's own text must show before the kind is possible (``gates``); empty: none."""
    sentence: str
    """The line."""
    about: About = ""
    """What the line may name."""
    named: str = ""
    """The line if it names that, with ``{}`` for each span."""


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("meaning", "understand", "", noop("Working out what is meant"), "span", noop("Working out what “{}” means")),
        Kind("missing", "understand", "", noop("Noting what is missing")),
        Kind("document", "understand", "doc", noop("Reading the document"), "file", noop("Reading {}")),
        Kind("data", "understand", "doc", noop("Going through the data"), "file", noop("Going through {}")),
        Kind("results", "understand", "tools", noop("Looking at the results")),
        Kind("picture", "understand", "image", noop("Looking at the picture")),
        Kind("lookback", "understand", "turns", noop("Going back over the conversation")),
        Kind("recall", "know", "", noop("Recalling what is known"), "span", noop("Recalling what is known about “{}”")),
        Kind("example", "know", "", noop("Looking for good examples")),
        Kind("explain", "know", "", noop("Looking for a clear explanation")),
        Kind("calc", "maths", "", noop("Doing the calculation")),
        Kind("solve", "maths", "maths", noop("Solving the equation")),
        Kind("values", "maths", "maths", noop("Trying out values")),
        Kind("proof", "maths", "prove", noop("Working on the proof")),
        Kind("checkcalc", "maths", "maths", noop("Checking the calculation")),
        Kind("convert", "maths", "unit", noop("Converting the units")),
        Kind("count", "maths", "", noop("Counting")),
        Kind("chance", "maths", "odds", noop("Working out the probabilities")),
        Kind("dates", "maths", "when", noop("Working out dates and times")),
        Kind("costs", "maths", "money", noop("Adding up the costs")),
        Kind("logic", "logic", "", noop("Working through the logic")),
        Kind("fit", "logic", "", noop("Checking the requirements")),
        Kind("pattern", "logic", "", noop("Looking for a pattern")),
        Kind("cause", "logic", "", noop("Looking for the cause")),
        Kind("recheck", "logic", "", noop("Double-checking")),
        Kind("rethink", "logic", "", noop("Trying another approach")),
        Kind("compare", "decide", "", noop("Comparing the options"), "pair", noop("Comparing {} and {}")),
        Kind("weigh", "decide", "", noop("Weighing the options")),
        Kind("pros", "decide", "", noop("Weighing pros and cons")),
        Kind("steps", "plan", "", noop("Planning the steps")),
        Kind("days", "plan", "trip", noop("Planning the days"), "place", noop("Planning the days in {}")),
        Kind("schedule", "plan", "schedule", noop("Making a schedule")),
        Kind("structure", "plan", "", noop("Structuring the answer")),
        Kind("points", "plan", "", noop("Collecting the main points"), "span", noop("Collecting the main points on “{}”")),
        Kind("timeline", "plan", "past", noop("Putting events in order")),
        Kind("table", "plan", "", noop("Laying out a table")),
        Kind("readcode", "code", "review", noop("Reading the code"), "file", noop("Reading the code in {}")),
        Kind("code", "code", "code", noop("Working on the code")),
        Kind("review", "code", "review", noop("Reviewing the code"), "file", noop("Reviewing {}")),
        Kind("debug", "code", "fault", noop("Looking for the bug")),
        Kind("edge", "code", "code", noop("Thinking of edge cases")),
        Kind("tests", "code", "code", noop("Planning tests")),
        Kind("query", "code", "query", noop("Writing the query")),
        Kind("config", "code", "code", noop("Working out the setup")),
        Kind("fields", "data", "data", noop("Filling in the fields")),
        Kind("extract", "data", "data", noop("Picking out the details")),
        Kind("match", "data", "", noop("Looking for matches")),
        Kind("sort", "data", "", noop("Sorting into groups")),
        Kind("translate", "language", "translate", noop("Translating the text")),
        Kind("pronounce", "language", "pronounce", noop("Working out the pronunciation")),
        Kind("draft", "language", "write", noop("Drafting the text")),
        Kind("rewrite", "language", "rewrite", noop("Rewriting the text")),
        Kind("proofread", "language", "rewrite", noop("Correcting spelling and grammar")),
        Kind("summary", "language", "summary", noop("Summing up the text")),
        Kind("tone", "language", "", noop("Finding the right tone")),
        Kind("ideas", "language", "ideas", noop("Gathering ideas")),
        Kind("story", "language", "story", noop("Working on the story")),
        Kind("verse", "language", "verse", noop("Working on the verses")),
        Kind("profile", "language", "persona", noop("Working on the profile")),
        Kind("sketch", "language", "art", noop("Sketching the picture")),
        Kind("tool", "tools", "tools", noop("Choosing a tool")),
        Kind("request", "tools", "tools", noop("Preparing a request")),
        Kind("gather", "tools", "tools", noop("Gathering the data")),
        Kind("message", "language", "mail", noop("Writing the message")),
        Kind("amounts", "maths", "cook", noop("Working out the amounts")),
        Kind("items", "logic", "", noop("Going through the items one by one")),
        Kind("detail", "plan", "", noop("Deciding how much detail to give")),
        Kind("law", "know", "law", noop("Looking at the legal side")),
    )
}
