"""Reads the reasoning summary that a model server sends: its lines, or the finding that it is reasoning under another name."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from renderer.summary.check import MAX_CHARS

MOST_STEPS = 12

# White space within one line only: with \s the time would grow with the square of the number of empty lines.
_HEADING = re.compile(r"^[^\S\n]*\*\*(?P<title>[^*\n]{2,200})\*\*[^\S\n]*$|^#{1,4}\s+(?P<heading>\S[^\n]{1,200})$", re.MULTILINE)

# Reasoning says "I", speaks of the user and of what to do next, and doubts. A summary says what was done.
_THINKING = re.compile(
    r"\b(?:I|I['\u2019]\w+|we|we['\u2019]\w+|us|let me|let['\u2019]?s|user|asker|okay|ok|hmm+|wait|actually|maybe|perhaps|need(?:s|ed)? to"
    r"|should|must|wants?|asks?|so we|now we|policy|policies|disallowed|instructions?|developer|system (?:message|prompt))\b"
    r"|\b(?:ich|wir|nutzer(?:in)?|anwender(?:in)?|vielleicht|moment|m[u\u00fc]ss(?:te|en)?|muss|sollte[n]?|m[o\u00f6]chte|fragt)\b"
    r"|\b(?:je|nous|l['\u2019]utilisateur|peut-[e\u00ea]tre|dois|devons|yo|usuario|quiz[a\u00e1]s?|debo|debemos|devo|forse|talvez)\b"
    r"|\u7528\u6237|\u7528\u6236|\u6211|\u9700\u8981|\u5e94\u8be5|\u61c9\u8a72|\u4e5f\u8bb8|\u597d\u7684|\u7b49\u7b49|\u55ef"
    r"|\uc0ac\uc6a9\uc790|\uc800\ub294|\ub098\ub294|\ub0b4\uac00|\uc6b0\ub9ac|\ud574\uc57c|\uc544\ub9c8|\uc74c[,.\u2026]|\uc790,|\u30e6\u30fc\u30b6\u30fc|\u79c1",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.!?][\"'\u201d\u2019)]*\s+\S|[\u3002\uff01\uff1f]\s*\S")


@dataclass(frozen=True, slots=True)
class ServerSummary:
    """``steps``: the lines that may be checked for showing. ``besides``: everything else, which nobody was meant to see."""

    steps: list[str] = field(repr=False)
    besides: str = field(repr=False)
    is_reasoning: bool


def read(text: str) -> ServerSummary:
    """Parse a server's own summary. Fails closed: what is not clearly a summary counts as reasoning.

    A summary has headings, or consists of a few short lines of one sentence each, in which nobody thinks aloud.
    """
    headings = list(_HEADING.finditer(text))
    steps = steps_in(text)
    besides = _HEADING.sub("\n", text) if headings else ""
    lines = steps if headings else [line for line in text.splitlines() if line.strip()]
    is_reasoning = len(headings or lines) > MOST_STEPS or any(map(_is_thought, lines))
    return ServerSummary(steps, besides, is_reasoning)


def steps_in(text: str) -> list[str]:
    """The lines of a server's own summary: its headings, else the first line of each paragraph."""
    headings = [(found["title"] or found["heading"]).strip() for found in _HEADING.finditer(text)]
    if headings:
        return headings[:MOST_STEPS]
    return [part.strip().splitlines()[0] for part in text.split("\n\n") if part.strip()][:MOST_STEPS]


def _is_thought(line: str) -> bool:
    return len(line) > MAX_CHARS or _SENTENCE.search(line) is not None or _THINKING.search(line) is not None
