"""Finds the first sign of raw output in a whole text that was emitted, rather than written as code or spoken of.

Code is found in Markdown line by line: fences, indented code and code spans. Whether an answer only mentions a marker or the model emitted
it is decided from the text around it. Adjacent special tokens are judged together: a header, an end before a start, an example of a whole
message.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass

from chatui.backends.leaks import patterns
from chatui.backends.leaks.patterns import Sign, SignKind, bare

_LEAD_CHARS = 60
"""A line's beginning is read no further."""
_LEAD = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)*")
_FENCE = re.compile(r"`{3,60}|~{3,60}")
_SPAN = re.compile(
    r"(?<![\\`])`(?=[^`\s])(?:[^`\n]|``++|(?<=[\s(\[{])`(?=[^\W_])){0,400}?(?:(?<![`\s(\[{])`|(?<!`)`(?![^\W_]))(?!`)"
    r"|(?<![\\`])(?P<run>``++)[^\n]{0,400}?(?<!`)(?P=run)(?!`)"
)
"""A code span. A backtick that looks like the opening of another span does not close one that may have begun with a stray backtick."""
_MAX_SPAN_CHARS = 400
"""Longer ones do not count: a stray backtick must not turn a whole page into code."""


_INDENTED = re.compile(r"(?:(?: {4}| {0,3}\t)[^\n]*(?:\n|\Z)|[ \t]*\n)+")


class Code:
    """The code in a text, from ``at`` on. ``end_at`` must be asked in order; ``unclosed`` remembers fences that nothing closes."""

    def __init__(self, text: str, view: str, at: int, unclosed: set[str]) -> None:
        self._text, self._view, self._unclosed = text, view, unclosed
        self._next = self._line = self._span_at = at
        self._line_end = at - 1
        self._fence_end = at
        # An indented first line is no code: raw output may begin with spaces, too.
        self._is_indented = self._has_lines = self._after_blank = self._in_list = False

    def end_at(self, place: int) -> int:
        """Where the code around ``place`` ends; 0 if it stands in prose."""
        while place > self._line_end and self._next <= len(self._text):
            self._read_line()
        if place < self._fence_end:
            return self._fence_end
        if self._is_indented and (block := _INDENTED.match(self._text, self._line)):
            self._is_indented = _is_balanced(self._view[place : block.end()])
            return block.end() if self._is_indented else 0
        return self._end_of_span(place)

    def _end_of_span(self, place: int) -> int:
        while span := _SPAN.search(self._text, self._span_at, min(self._line_end, place + _MAX_SPAN_CHARS)):
            if span.start() > place:
                break
            self._span_at = span.end()
            if span.end() > place:
                return span.end()
        self._span_at = max(self._span_at, place)
        return 0

    def _read_line(self) -> None:
        at, text = self._next, self._text
        self._line = self._span_at = at
        self._line_end = _end_of_line(text, at)
        self._next = self._line_end + 1
        lead = self._lead(at)
        begin = at + len(lead)
        if (fence := _FENCE.match(text, begin)) and self._opens(fence):
            self._is_indented = self._after_blank = False
            self._has_lines = True
        elif begin >= self._line_end:
            self._after_blank = self._has_lines
        else:
            self._see_text(lead)

    def _see_text(self, lead: str) -> None:
        is_item = bool(lead.strip(" \t>"))
        is_deep = not is_item and ">" not in lead and ("\t" in lead or len(lead) >= 4)
        self._is_indented = is_deep and not self._in_list and (self._after_blank or self._is_indented)
        # Without a blank line before it, text at the margin continues the item's paragraph.
        self._in_list = is_item or (self._in_list and (not self._after_blank or bool(lead.strip(">"))))
        self._after_blank, self._has_lines = False, True

    def _lead(self, at: int) -> str:
        lead = _LEAD.match(self._text, at, at + _LEAD_CHARS)
        return lead[0] if lead else ""

    def _opens(self, fence: re.Match[str]) -> bool:
        """Whether the fence opens a block that is closed: then the next line to read is the one after that."""
        run, text = fence[0], self._text
        if (run[0] == "`" and "`" in text[fence.end() : self._line_end]) or any(map(run.startswith, self._unclosed)):
            return False
        at = self._next
        while at < len(text):
            end = _end_of_line(text, at)
            closing = _FENCE.match(text, at + len(self._lead(at)))
            if closing and closing[0].startswith(run) and not text[closing.end() : end].strip():
                self._fence_end, self._line_end, self._next = end, end, end + 1
                return True
            at = end + 1
        self._unclosed.add(run)
        return False


def _is_balanced(view: str) -> bool:
    """Whether everything opened in a block of code is closed in it. Indentation alone says little."""
    opened: list[str] = []
    for sign in patterns.signs_in(view):
        if sign.kind is SignKind.OPENING:
            opened.append(sign.name)
        elif sign.kind is SignKind.CLOSING and (not opened or opened.pop() != sign.name):
            return False
    return not opened


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


_LINE_CHARS = 240


@dataclass(frozen=True, slots=True)
class EmittedSign:
    """A sign that was emitted, not mentioned. ``withdraws``: the text before it was not the answer."""

    sign: Sign
    withdraws: bool = False


class Prose:
    """A text from ``at`` on. ``next_sign`` gives one emitted sign after another."""

    def __init__(self, text: str, view: str, at: int, unclosed: set[str], kinds: Container[SignKind] = frozenset(SignKind)) -> None:
        """``view``: the folded text. ``kinds``: the signs to find."""
        self._view, self._begin, self._at, self._kinds = view, at, at, kinds
        self._code = Code(text, view, at, unclosed)
        self._plain: Counter[str] = Counter()
        self._text_until = at
        self.has_text = False

    def next_sign(self) -> EmittedSign | None:
        """The next sign that was emitted; None if there is no more."""
        while trigger := patterns.TRIGGER.search(self._view, self._at):
            sign = patterns.sign_at(self._view, trigger.start())
            self._at = sign.end if sign else trigger.end()
            if sign is None or sign.kind not in self._kinds:
                continue
            if code_end := self._code.end_at(sign.start):
                self._at = max(code_end, self._at)
            elif found := self._judged(sign):
                return found
        return None

    def _judged(self, sign: Sign) -> EmittedSign | None:
        view = self._view
        line = view[max(view.rfind("\n", 0, sign.start) + 1, self._begin, sign.start - _LINE_CHARS) : sign.start]
        if sign.kind is SignKind.SPECIAL:
            return self._of_token(sign, line)
        if sign.kind is SignKind.PLAIN or (sign.kind is SignKind.CLOSING and self._plain[sign.name]):
            self._plain[sign.name] += 1 if sign.kind is SignKind.PLAIN else -1
            return None
        if is_mention(sign, line, view[sign.end : sign.end + LOOK_AHEAD]):
            return None
        return EmittedSign(sign, sign.kind in (SignKind.CLOSING, SignKind.COLLAPSED))

    def _of_token(self, sign: Sign, line: str) -> EmittedSign | None:
        """A token that a name of a channel, a role or another token follows is a header, and no mention."""
        view = self._view
        rest = view[sign.end : sign.end + _HEADER_CHARS]
        after = bare(rest).lstrip()
        if not self._has_text_before(sign.start):
            return EmittedSign(sign)
        is_announced = not line.strip(" \t>*+•-") or line.rstrip().endswith(":")
        if is_announced and (example := _EXAMPLE.match(view, sign.start)):
            self._at = example.end()
            return None
        is_header = bool(_AFTER_TOKEN.match(after)) or _begins_token(after)
        return _emitted(view, sign) if is_header or not is_mention(sign, line, rest[:LOOK_AHEAD]) else None

    def _has_text_before(self, place: int) -> bool:
        self.has_text = self.has_text or has_text(self._view[self._text_until : place])
        self._text_until = place
        return self.has_text


def has_text(view: str) -> bool:
    """Whether a person sees anything in folded text."""
    return bool(bare(view).strip())


LOOK_AHEAD = 40
"""This many characters after a sign are enough to decide."""

_BEFORE_MENTION = re.compile(r"[\s\"'“”„‘‚«»「『(*_\[{`,:/=|\-–—]\Z|[^\x00-\u2e7f]\Z")
"""Scripts from U+2E80 on are written without spaces between words."""
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)]|\|)\s*\Z")
_EXPLAINED = re.compile(r"\s?(?::\s|\||–|—|->|→|-\s|=\s)")
_BEGINS_A_TEXT = re.compile(r"[ \t]?(?:\n|[A-ZÀ-ÖØ-Þ])")
_SENTENCE_OVER = re.compile(r"[.!?…。！？]\s*\Z")


def is_mention(sign: Sign, line: str, after: str) -> bool:
    """Whether the answer only mentions the sign, by its place. ``line``: the text before it in its line. ``after``: the next characters."""
    line, after, begins = bare(line), bare(after.partition("\n")[0]), bare(after)
    is_word = sign.kind in (SignKind.SPECIAL, SignKind.WRAPPER, SignKind.COLLAPSED)
    if not line.strip():
        return sign.kind is SignKind.SPECIAL and bool(_GOES_ON_AFTER_MARKER.match(after))
    if sign.kind is SignKind.OPENING and _BEGINS_A_TEXT.match(begins):
        return False
    if _BULLET.fullmatch(line):
        return bool(_EXPLAINED.match(after) or _GOES_ON_AFTER_MARKER.match(after))
    if _SENTENCE_OVER.search(line) and not _GOES_ON_AFTER_MARKER.match(after):
        return False
    if not _BEFORE_MENTION.search(line):
        return False
    if not after:
        return not is_word
    return not (_is_glued(after) or after[0] in ("<\\&*#" if sign.kind is SignKind.COLLAPSED else "<\\&"))


def _is_glued(after: str) -> bool:
    """Whether a word begins directly after the sign."""
    return after[:1].isascii() and after[:1].isalnum()


_HEADER_CHARS = 200
_CHANNEL_WORD = re.compile(r"[\s\u200b]{0,20}(analysis|commentary|final)(?![a-z])", re.IGNORECASE)
_AFTER_TOKEN = re.compile(r"(?:analysis|commentary|final)(?![a-z])|assistant|user|system|developer|tool|functions", re.IGNORECASE)
_EXAMPLE = re.compile(
    r"<\|start\|>\w[^<]{0,80}(?:<\|(?:channel|constrain)\|>[^<]{0,80}){0,2}<\|message\|>(?:(?!<\|)[\s\S]){0,2000}<\|(?:end|return|call)\|>"
    r"(?=\s*[^\s<\\&|])(?!\s*\w+\|)"
)
"""A whole message, with text after it that begins no other."""
_GOES_ON_AFTER_MARKER = re.compile(r"\s[a-z]|[.,;:!?)]")


def _begins_token(text: str) -> bool:
    following = patterns.sign_at(text, 0) if patterns.TRIGGER.match(text) else None
    return following is not None and following.kind is SignKind.SPECIAL


def _emitted(view: str, sign: Sign) -> EmittedSign:
    """If a final message follows, the text before it was not the answer and is withdrawn."""
    for found in patterns.signs_in(view[sign.start : sign.start + _HEADER_CHARS]):
        if found.kind is SignKind.ANSWER:
            return EmittedSign(sign, withdraws=True)
        if found.name == "message":
            break
        if found.name == "channel":
            word = _CHANNEL_WORD.match(view, sign.start + found.end)
            return EmittedSign(sign, withdraws=word is not None and word[1].lower() == "final")
    return EmittedSign(sign)
