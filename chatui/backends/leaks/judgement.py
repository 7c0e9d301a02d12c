"""Decides which part of raw model output, if any, is provably an answer that may be shown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from chatui.backends.leaks.folding import bare, folded
from renderer.events import Finished
from renderer.gate import Audience, may_see
from renderer.harmony.text import read_answer


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of text, and whether it may be shown as the answer.

    ``withdraws``: all text shown before it turned out to be hidden text. ``is_withheld``: the page says that a part is missing. ``begins``:
    it begins a new message.
    """

    visible: bool
    text: str = field(repr=False)
    withdraws: bool = False
    is_withheld: bool = False
    begins: bool = False


_LEADING = re.compile(r"[\s\u200b\ufeff]*(?:<\|(?:end|return|call)\|>)?\s*(?:assistant(?=<\|channel\|>))?")
_COLLAPSED = ("assistantfinal", "assistantanalysis", "assistantcommentary")
_OPENING = ("'", "`", ":", "(", "[", "{", "“", "‘", "«", "„", "「", "『", ",")
_HEADER = re.compile(r"(?:<\|start\|>)?[^<]{0,200}(?:<\|(?:channel|constrain)\|>[^<]{0,200}){0,2}<\|message\|>")
_STOP = re.compile(r"<\|(?:end|return|call|endoftext|start|channel)\|>")
_BETWEEN = re.compile(r"(?:<\|(?:end|return|call)\|>)?\s*")
_CUT_SIGN = re.compile(r"\bassistant[acf]\w{0,9}\Z")
_SPACED = re.compile(r"\bassistant(?:[\s:]+|\s+channel\s+)(?:final|analysis|commentary)\b")
STOP_TOKENS = ("<|return|>", "<|end|>", "<|endoftext|>")
"""Some servers leave the stop token at the end of the answer, as characters."""


def judge(text: str, *, complete: bool) -> list[Span]:
    """The spans of raw output."""
    seen = bare(folded(text))
    if "<|" in seen or "|>" in seen:
        return _final_of_harmony(text, complete=complete)
    return final_of_collapsed(text, complete=complete)


def is_collapsed(text: str) -> bool:
    """Whether markers were stripped from it, or it was cut inside one that was."""
    return any(sign in text for sign in _COLLAPSED) or bool(_CUT_SIGN.search(text) or _SPACED.search(text))


def _final_of_harmony(text: str, *, complete: bool) -> list[Span]:
    """The spans according to the parser of Harmony text, which shows no more than token ids would."""
    lead = _LEADING.match(text)
    at = lead.end() if lead else 0
    return _split(text, at, read_answer(text[at:], lambda: "c", is_over=complete))


def _is_shown(done: Finished) -> bool:
    return may_see(done.frame.header, Audience.END_USER) and bool(done.frame.body.strip())


def _split(text: str, begin: int, frames: Sequence[Finished]) -> list[Span]:
    spans: list[Span] = []
    at = begin
    for done in frames:
        body = done.frame.body
        if not _is_shown(done):
            at = _after_hidden(text, at)
            continue
        found = _place(text, body, at)
        if found < 0:
            return [Span(False, text, is_withheld=True)]
        spans += [Span(False, text[begin:found]), Span(True, body, begins=True)]
        begin = found + len(body)
        at = _after_markers(text, begin)
    if not spans or text[begin:].strip() not in ("", *STOP_TOKENS):
        # More text follows: the marker may have been quoted in the answer, not its end.
        return [Span(False, text, is_withheld=True)]
    return spans


def _place(text: str, body: str, at: int) -> int:
    """Where the body of the next message begins, or -1. An answer such as "a" or "final" also occurs in its own header."""
    header = _HEADER.match(text, at)
    return header.end() if header and text.startswith(body, header.end()) else text.find(body, at)


def _after_hidden(text: str, at: int) -> int:
    """Where the message after a hidden one begins: a short answer may also occur in the reasoning before it, and in the markers between.

    The hidden body itself is not searched. It is not in the text if there is a marker inside, and a model may write thousands of them.
    """
    header = _HEADER.match(text, at)
    stop = _STOP.search(text, header.end() if header else at)
    return _after_markers(text, stop.start() if stop else len(text))


def _after_markers(text: str, at: int) -> int:
    markers = _BETWEEN.match(text, at)
    return markers.end() if markers else at


def final_of_collapsed(text: str, *, complete: bool) -> list[Span]:
    """The answer after the last ``assistantfinal``, if that cannot be a quotation and the answer is complete."""
    reasoning, sign, answer = text.rpartition("assistantfinal")
    hidden = [Span(False, text, is_withheld=True)]
    if not complete or not sign or not answer.strip() or is_collapsed(answer) or _may_be_quoted(reasoning, answer):
        return hidden
    return [Span(False, reasoning + sign), Span(True, answer, begins=True)]


def _may_be_quoted(before: str, after: str) -> bool:
    if not before:
        return False
    if before.endswith(_OPENING) or before.count("`") % 2 or before.count('"') % 2:
        return True
    return after[0].isspace() or after[0].islower() or after[0] in "`\"'”’»,;:.)]}"
