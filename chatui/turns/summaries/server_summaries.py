"""Parses the reasoning summary that a model server sends into lines, and detects raw reasoning that is only labelled as a summary."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from renderer.summary.check import MAX_CHARS

MAX_STEPS = 12

# White space within one line only: \s would take quadratic time on many empty lines.
_HEADING = re.compile(r"^[^\S\n]*\*\*(?P<title>[^*\n]{2,200})\*\*[^\S\n]*$|^#{1,4}\s+(?P<heading>\S[^\n]{1,200})$", re.MULTILINE)

# Reasoning says "I", mentions the user and the next steps, and expresses doubt. A summary says what was done.
_THINKING = re.compile(
    r"\b(?:I|I['\u2019]\w+|we|we['\u2019]\w+|us|let me|let['\u2019]?s|user|asker|okay|ok|hmm+|wait|actually|maybe|perhaps"
    r"|need(?:s|ed)? to"
    r"|should|must|wants?|asks?|so we|now we|policy|policies|disallowed|instructions?|developer|system (?:message|prompt))\b"
    r"|\b(?:ich|wir|nutzer(?:in)?|anwender(?:in)?|vielleicht|moment|m[u\u00fc]ss(?:te|en)?|muss|sollte[n]?|m[o\u00f6]chte|fragt)\b"
    r"|\b(?:utente|usu[a\u00e1]rio|gebruiker|anv[a\u00e4]ndaren|bruger(?:en)?|u\u017cytkownik\w*|kullan\u0131c\u0131\w*"
    r"|pengguna|tal\u00e1n|"
    r"nutze\w*|debe(?:r\u00eda|mos)?|necesit\w+|tengo|vamos|creo|dovrei|devo|penso|preciso|acho|moet|misschien|eigenlijk"
    r"|kanske|belki|bence)\b"
    r"|\b(?:\u043f\u043e\u043b\u044c\u0437\u043e\u0432\u0430\u0442\u0435\u043b\w*|\u044f|\u043c\u043d\u0435|\u043c\u044b"
    r"|\u043d\u0430\u0434\u043e|\u043d\u0443\u0436\u043d\u043e|\u0432\u043e\u0437\u043c\u043e\u0436\u043d\u043e"
    r"|\u043d\u0430\u0432\u0435\u0440\u043d\u043e\u0435|\u0445\u043e\u0447\u0435\u0442|\u0438\u0442\u0430\u043a|\u0442\u0430\u043a)\b"
    r"|\u0627\u0644\u0645\u0633\u062a\u062e\u062f\u0645|\u0623\u062d\u062a\u0627\u062c|\u064a\u062c\u0628"
    r"|\u0631\u0628\u0645\u0627|\u064a\u0631\u064a\u062f|\u062f\u0639\u0646\u064a|\u0633\u0623"
    r"|\u05d4\u05de\u05e9\u05ea\u05de\u05e9|\u0909\u092a\u092f\u094b\u0917\u0915\u0930\u094d\u0924\u093e"
    r"|\u5148\u770b|\u53ef\u80fd|\u662f\u4e0d\u662f|\u60f3\u8981|\u4e0d\u5bf9|\u6240\u4ee5|\ub124[,.]|\u306a\u306e\u3067"
    r"|\u305f\u3076\u3093|\u3048\u3063\u3068|\u3088\u3046\u3060"
    r"|[=\u2248\u21d2\u2192]|->|\?|\b(?:so|hence|thus|therefore|but|then|also|either|assume|suppose|alright|hang on|hold on"
    r"|not sure|sure)\b[,:]?"
    r"|\b(?:je|nous|l['\u2019]utilisateur|peut-[e\u00ea]tre|dois|devons|yo|usuario|quiz[a\u00e1]s?|debo|debemos|devo|forse|talvez)\b"
    r"|\u7528\u6237|\u7528\u6236|\u6211|\u9700\u8981|\u5e94\u8be5|\u61c9\u8a72|\u4e5f\u8bb8|\u597d\u7684|\u7b49\u7b49|\u55ef"
    r"|\uc0ac\uc6a9\uc790|\uc800\ub294|\ub098\ub294|\ub0b4\uac00|\uc6b0\ub9ac|\ud574\uc57c|\uc544\ub9c8|\uc74c[,.\u2026]"
    r"|\uc790,|\u30e6\u30fc\u30b6\u30fc|\u79c1",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.!?][\"'\u201d\u2019)]*\s+\S|[\u3002\uff01\uff1f]\s*\S")


@dataclass(frozen=True, slots=True)
class ServerSummary:
    """``steps``: the lines that may be shown if they pass the check. ``other_text``: the rest of the text, which must not be shown."""

    steps: list[str] = field(repr=False)
    other_text: str = field(repr=False)
    is_reasoning: bool


def read(text: str) -> ServerSummary:
    """Parse a server's own summary. Fails closed: text that is not clearly a summary counts as reasoning.

    A summary has headings, or consists of a few short lines of one sentence each, none of which thinks aloud.
    """
    headings = list(_HEADING.finditer(text))
    steps = steps_in(text)
    other_text = _HEADING.sub("\n", text) if headings else ""
    lines = steps if headings else [line for line in text.splitlines() if line.strip()]
    is_reasoning = len(headings or lines) > MAX_STEPS or any(map(_is_thought, lines))
    return ServerSummary(steps, other_text, is_reasoning)


def steps_in(text: str) -> list[str]:
    """The lines of a server's own summary: its headings, or without any, the first line of each paragraph."""
    headings = [(found["title"] or found["heading"]).strip() for found in _HEADING.finditer(text)]
    if headings:
        return headings[:MAX_STEPS]
    return [part.strip().splitlines()[0] for part in text.split("\n\n") if part.strip()][:MAX_STEPS]


def _is_thought(line: str) -> bool:
    return len(line) > MAX_CHARS or _SENTENCE.search(line) is not None or _THINKING.search(line) is not None
