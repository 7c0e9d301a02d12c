"""Keeps reasoning out of the answer field of servers that know no channels: judges text by how it begins, and hides in doubt.

Some servers put a model's raw output into the answer: with its Harmony markers, with the markers stripped (``analysis…assistantfinal…``),
or inside tags such as ``<think>``. Markers in the middle of an honest answer stay text, for answers may be about them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, auto

_MARKERS = tuple(f"<|{name}|>" for name in ("start", "channel", "message", "end", "return", "call", "constrain", "startoftext"))
_TAGS = ("think", "thinking", "thought", "reasoning", "analysis")
# Text that begins so may be raw output whose markers were stripped; it is held and judged as a whole.
_DOUBTFUL = ("analysis", "commentary", "assistant", "to=", "final<|")
_COLLAPSED = ("assistantfinal", "assistantanalysis", "assistantcommentary")
# Some servers leave the stop token at the end of the answer, as characters.
_STOP_TOKENS = ("<|return|>", "<|end|>", "<|endoftext|>")
_STARTERS = (*_MARKERS, *(f"<{tag}>" for tag in _TAGS), *_DOUBTFUL, "final*")
_GLUED = re.compile(r"\s*(?:analysis|commentary)(?![\s.,:;!?'’)/-]|$)")
_GLUED_FINAL = re.compile(r"(\s*)final(?=[A-Z0-9*#]|[^\W\d_a-z])")
# What in the middle of an answer still is a sign of stripped markers: no text that goes on with a sentence or with code begins so.
_RESUMED = re.compile(r"(?:analysis|commentary)(?![\s.,:;!?'’)/-]|$)|assistant(?=[<acf])|to=|final<\|")
_ANY_MARKER = re.compile(r"<\|(?:start|channel|message|end|return|call|constrain|startoftext|endoftext|reserved_\d+)\|>")
_OTHER_AUTHOR = re.compile(r"<\|start\|>(?!assistant\b)")
_FINAL_HEADER = re.compile(r"(?:\s*|<\|start\|>assistant)<\|channel\|>final(?: ?<\|constrain\|>\w+)?<\|message\|>")


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of text, and whether it may be shown as the answer."""

    visible: bool
    text: str = field(repr=False)


class LeakGuard:
    """Text in, spans out. Holds back what could still turn out to be the beginning of a leak."""

    def __init__(self, *, whole: bool = False, resumes: bool = False) -> None:
        """``whole``: the answer comes in one piece, so all of it can be judged before anything is shown. ``resumes``: it goes on in the
        middle of an answer, where a word such as ``analysis`` is no sign by itself; markers, tags and stripped markers are."""
        self._state = _State.HELD if whole else _State.BEGIN
        self._held = ""
        self._parts: list[str] = []
        self._end_tag = ""
        self._resumes = resumes

    def feed(self, text: str) -> list[Span]:
        """More of the answer field."""
        spans: list[Span] = []
        while text:
            state = self._state
            text = _STEPS[state](self, text, spans)
        return spans

    def finish(self, *, complete: bool) -> list[Span]:
        """The field has ended. ``complete``: the server said that the model stopped by itself."""
        held, self._held = self._held, ""
        parts, self._parts = "".join(self._parts), []
        if self._state is _State.HELD:
            return _judge(parts, complete=complete)
        held = parts + held
        if not held or held in _STOP_TOKENS:
            return []
        return [Span(self._state in (_State.BEGIN, _State.OPEN), held)]

    def _begin(self, text: str, spans: list[Span]) -> str:
        if not self._held and text.isspace():
            self._parts.append(text)
            return ""
        self._held += text
        begun = self._held.lstrip()
        if begun.startswith(_MARKERS) or (_RESUMED.match(begun) if self._resumes else begun.startswith(_DOUBTFUL)):
            self._state = _State.HELD
        elif tag := next((tag for tag in _TAGS if begun.lower().startswith(f"<{tag}>")), None):
            self._state, self._end_tag = _State.TAG, f"</{tag}>"
        elif any(starter.startswith(begun.lower()) for starter in _STARTERS):
            return ""
        else:
            self._state = _State.OPEN
        text = "".join(self._parts) + self._held
        self._held, self._parts = "", []
        return text if self._resumes or not _GLUED_FINAL.match(text) else _GLUED_FINAL.sub(r"\1", text, count=1)

    def _hold(self, text: str, spans: list[Span]) -> str:
        self._parts.append(text)
        return ""

    def _inside_tag(self, text: str, spans: list[Span]) -> str:
        text, self._held = self._held + text, ""
        at = text.lower().find(self._end_tag)
        if at < 0:
            keep = _prefix_length(text.lower(), (self._end_tag,))
            self._held = text[len(text) - keep :]
            spans.append(Span(False, text[: len(text) - keep]))
            return ""
        at += len(self._end_tag)
        spans.append(Span(False, text[:at]))
        self._state = _State.BEGIN
        return text[at:]

    def _open(self, text: str, spans: list[Span]) -> str:
        text, self._held = self._held + text, ""
        at = min((found for sign in _COLLAPSED if (found := text.find(sign)) >= 0), default=-1)
        if at >= 0:
            self._state = _State.SHUT
            if at:
                spans.append(Span(True, text[:at]))
            return text[at:]
        keep = next((len(token) for token in _STOP_TOKENS if text.endswith(token)), 0)
        keep = keep or _prefix_length(text, (*_COLLAPSED, *_STOP_TOKENS))
        self._held = text[len(text) - keep :]
        if keep < len(text):
            spans.append(Span(True, text[: len(text) - keep]))
        return ""

    def _shut(self, text: str, spans: list[Span]) -> str:
        spans.append(Span(False, text))
        return ""


class _State(Enum):
    BEGIN = auto()
    HELD = auto()
    TAG = auto()
    OPEN = auto()
    SHUT = auto()


_STEPS = {
    _State.BEGIN: LeakGuard._begin,
    _State.HELD: LeakGuard._hold,
    _State.TAG: LeakGuard._inside_tag,
    _State.OPEN: LeakGuard._open,
    _State.SHUT: LeakGuard._shut,
}


def _judge(text: str, *, complete: bool) -> list[Span]:
    """A text that is suspected, judged as a whole: at most one proven final is shown."""
    if text.lstrip().startswith((*_MARKERS, "final<|")) or (text.lstrip().startswith(_DOUBTFUL) and any(m in text for m in _MARKERS)):
        return _final_of_harmony(text, complete=complete)
    if _GLUED.match(text) or any(sign in text for sign in _COLLAPSED):
        return _final_of_collapsed(text, complete=complete)
    if text.lstrip().startswith(_DOUBTFUL):
        # Prose that happens to begin with the word. Cut short it cannot be told from reasoning.
        return [Span(complete, text)]
    guard = LeakGuard()
    return [*guard.feed(text), *guard.finish(complete=complete)]


def _final_of_harmony(text: str, *, complete: bool) -> list[Span]:
    """A person can make a model quote a final header in its reasoning, so only the last one counts, and only if the model ended there."""
    at = max(text.rfind("<|start|>assistant<|channel|>final"), 0)
    header = _FINAL_HEADER.match(text, at)
    if not header or (at and not complete) or _OTHER_AUTHOR.search(text):
        return [Span(False, text)]
    answer = text[header.end() :]
    for token in _STOP_TOKENS:
        answer = answer.removesuffix(token)
    if not answer or _ANY_MARKER.search(answer):
        return [Span(False, text)]
    return [Span(False, text[: header.end()]), Span(True, answer)]


def _final_of_collapsed(text: str, *, complete: bool) -> list[Span]:
    reasoning, sign, answer = text.rpartition("assistantfinal")
    if not complete or not sign or any(other in answer for other in _COLLAPSED):
        return [Span(False, text)]
    return [Span(False, reasoning + sign), Span(True, answer)] if answer else [Span(False, text)]


def _prefix_length(text: str, signs: tuple[str, ...]) -> int:
    """How many characters at the end of ``text`` could be the beginning of one of ``signs``."""
    longest = max(map(len, signs)) - 1
    for length in range(min(longest, len(text)), 0, -1):
        if any(sign.startswith(text[-length:]) for sign in signs):
            return length
    return 0
