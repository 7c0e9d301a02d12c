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
_TICKS = re.compile(r"`+")
MAX_SPAN_CHARS = 400
"""Longer code spans do not count: a stray backtick must not turn a whole page into code."""


class Code:
    """The code in a text, from ``at`` on. ``end_at`` must be asked in order; ``unclosed`` remembers fences that nothing closes."""

    def __init__(self, text: str, view: str, at: int, unclosed: set[str]) -> None:
        self._text, self._view, self._unclosed = text, view, unclosed
        self._next = at
        self._line_end = at - 1
        self._fence_end = at
        self._trusts_fences = self._trusts_spans = True
        self._is_indented = False
        # An indented first line is no code: raw output may begin with spaces, too.
        self._has_lines = self._after_blank = self._in_list = False
        self._spans_at, self._span = at, ""

    def end_at(self, place: int) -> int:
        """Where the code around ``place`` ends; 0 if it stands in prose."""
        while place > self._line_end and self._next <= len(self._text):
            self._read_line()
        if place < self._fence_end:
            return self._fence_end
        return self._end_of_span(place) or (self._end_of_block(place) if self._is_indented else 0)

    def _read_line(self) -> None:
        at, text = self._next, self._text
        end = text.find("\n", at)
        self._line_end = end = len(text) if end < 0 else end
        self._next = end + 1
        lead = self._lead(at)
        self._spans_at, self._span, self._trusts_spans = at, "", True
        if (fence := _FENCE.match(text, at + len(lead))) and self._trusts_fences and self._opens(fence, end):
            self._is_indented = self._after_blank = False
            self._has_lines = True
            return
        self._see_line(lead, text[at + len(lead) : at + len(lead) + 1])

    def _lead(self, at: int) -> str:
        lead = _LEAD.match(self._text, at, at + _LEAD_CHARS)
        return lead[0] if lead else ""

    def _opens(self, fence: re.Match[str], end: int) -> bool:
        """Whether the fence opens a block that is closed: then the next line to read is the one after that."""
        run, text = fence[0], self._text
        if run[0] == "`" and "`" in text[fence.end() : end]:
            return False
        is_unclosed = any(run.startswith(known) for known in self._unclosed)
        at = len(text) if is_unclosed else end + 1
        while at < len(text):
            line_end = text.find("\n", at)
            line_end = len(text) if line_end < 0 else line_end
            closing = _FENCE.match(text, at + len(self._lead(at)))
            if closing and closing[0].startswith(run) and not text[closing.end() : line_end].strip():
                self._fence_end, self._line_end, self._next = line_end, line_end, line_end + 1
                return True
            at = line_end + 1
        self._unclosed.add(run)
        self._trusts_fences = False
        return False

    def _see_line(self, lead: str, first: str) -> None:
        if not first or first == "\n":
            self._after_blank = self._has_lines
            return
        is_item = bool(lead.strip(" \t>"))
        is_deep = not is_item and ">" not in lead and ("\t" in lead or len(lead) >= 4)
        self._is_indented = is_deep and not self._in_list and (self._after_blank or self._is_indented)
        # Without a blank line before it, text at the margin continues the item's paragraph.
        self._in_list = is_item or (self._in_list and (not self._after_blank or bool(lead.strip(">"))))
        self._after_blank, self._has_lines = False, True

    def _end_of_span(self, place: int) -> int:
        self._read_ticks(place)
        if not self._span:
            return 0
        opened = self._span
        for ticks in _TICKS.finditer(self._text, place, self._line_end):
            self._take(ticks)
            if self._span != opened:
                self._spans_at = ticks.end()
                if ticks.start() - place <= MAX_SPAN_CHARS:
                    return ticks.end()
                break
        # What follows the sign says nothing about its place: a backtick there must not make it a code span.
        self._span, self._trusts_spans = "", False
        return 0

    def _read_ticks(self, place: int) -> None:
        for ticks in _TICKS.finditer(self._text, self._spans_at, place) if self._trusts_spans else ():
            self._take(ticks)
        self._spans_at = max(self._spans_at, place)

    def _take(self, ticks: re.Match[str]) -> None:
        run, text = ticks[0], self._text
        before, after = text[ticks.start() - 1 : ticks.start()] or " ", text[ticks.end() : ticks.end() + 1]
        if self._span == run:
            # A run that looks like the opening of another span does not close this one, which began with a stray backtick.
            if len(run) > 1 or not (before.isspace() or before in "([{") or not after.isalnum():
                self._span = ""
        elif not self._span and before != "\\" and (len(run) > 1 or (after and not after.isspace())):
            self._span = run

    def _end_of_block(self, place: int) -> int:
        at = self._next
        while at < len(self._text):
            lead, end = self._lead(at), self._text.find("\n", at)
            end = len(self._text) if end < 0 else end
            is_blank, is_deep = at + len(lead) >= end, ">" not in lead and ("\t" in lead or len(lead) >= 4)
            if not is_blank and (not is_deep or lead.strip() or _FENCE.match(self._text, at + len(lead))):
                break
            at = end + 1
        block_end = min(at, len(self._text))
        if not _is_balanced(self._view[place:block_end]):
            self._is_indented = False
            return 0
        return block_end


def _is_balanced(view: str) -> bool:
    """Whether everything opened in a block of code is closed in it."""
    open_names: list[str] = []
    for sign in patterns.signs_in(view):
        if sign.kind is SignKind.OPENING:
            open_names.append(sign.name)
        elif sign.kind is SignKind.CLOSING and (not open_names or open_names.pop() != sign.name):
            return False
    return not open_names


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
            verdict = judge_special(view, sign, line, has_text=self._has_text_before(sign.start))
            self._at = verdict if isinstance(verdict, int) else self._at
            return verdict if isinstance(verdict, EmittedSign) else None
        if sign.kind is SignKind.PLAIN or (sign.kind is SignKind.CLOSING and self._plain[sign.name]):
            self._plain[sign.name] += 1 if sign.kind is SignKind.PLAIN else -1
            return None
        if is_mention(sign, line, view[sign.end : sign.end + LOOK_AHEAD]):
            return None
        return EmittedSign(sign, sign.kind in (SignKind.CLOSING, SignKind.COLLAPSED))

    def _has_text_before(self, place: int) -> bool:
        self.has_text = self.has_text or has_text(self._view[self._text_until : place])
        self._text_until = place
        return self.has_text


def has_text(view: str) -> bool:
    """Whether a person sees anything in folded text."""
    return bool(bare(view).strip())


LOOK_AHEAD = 40
"""This many characters after a sign are enough to decide."""

QUOTES = {
    '"': '"',
    "'": "'",
    "“": "”“",
    "”": "”",
    "„": "“”",
    "‘": "’",
    "‚": "‘’",
    "«": "»",
    "»": "«",
    "「": "」",
    "『": "』",
    "(": ")",
    "*": "*",
    "_": "_",
    "[": "]",
    "{": "}",
    "`": "`",
}
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
    if _SENTENCE_OVER.search(line) and sign.kind is not SignKind.SPECIAL and not _GOES_ON_AFTER_MARKER.match(after):
        return False
    if line[-2:] in ("« ", "«\u00a0") and after.startswith((" »", "\u00a0»")):
        return True
    # Scripts from here on are written without spaces between words.
    if not (line[-1].isspace() or line[-1] in QUOTES or line[-1] in ",:/=|-–—" or line[-1] >= "\u2e80"):
        return False
    if not after:
        return not is_word
    return not (_is_glued(after) or after[0] in ("<\\&*#" if sign.kind is SignKind.COLLAPSED else "<\\&"))


def _is_glued(after: str) -> bool:
    """Whether a word begins directly after the sign."""
    return after[:1].isascii() and after[:1].isalnum()


_ENDINGS = ("end", "return", "call", "endoftext", "im_end", "eot_id", "eom_id", "end_of_turn", "eos", "eom", "eot", "end_message")
_MAX_EXAMPLE_CHARS = 2000
_HEADER_CHARS = 200
_CHANNEL_WORD = re.compile(r"[\s\u200b]{0,20}(analysis|commentary|final)(?![a-z])", re.IGNORECASE)
_ROLE = re.compile(r"[\s\u200b]{0,20}(assistant|user|system|developer|tool|functions)", re.IGNORECASE)
_SPEAKS_ON_BEFORE_MARKER = re.compile(r"[\w,]\s\Z")
_WHOLE_HEADER = re.compile(r"<\|start\|>\w+(?: ?to=[\w.]+)?(?:<\|channel\|>\w+(?: ?to=[\w.]+)?)?(?: ?<\|constrain\|>\w+)?<\|message\|>")
_GOES_ON_AFTER_MARKER = re.compile(r"\s[a-z]|[.,;:!?)]")
_BULLET_BEFORE_MARKER = re.compile(r"\s*(?:[-*+>•]|\d{1,3}[.)])?\s*\Z")


def judge_special(view: str, sign: Sign, line: str, *, has_text: bool) -> EmittedSign | int:
    """The sign if it was emitted; else where the mention, or the example of a whole message, ends.

    ``line``: the text before the sign in its line. ``has_text``: there is text before.
    """
    if not has_text:
        return EmittedSign(sign)
    rest = view[sign.end : sign.end + _HEADER_CHARS]
    if sign.name == "channel" and _CHANNEL_WORD.match(rest):
        return _quoted_header(view, sign, line) or _emitted(view, sign)
    if sign.name == "start" and _ROLE.match(rest):
        if quoted := _quoted_header(view, sign, line):
            return quoted
        if _may_be_example(line):
            example = view[sign.start : sign.start + _MAX_EXAMPLE_CHARS + _HEADER_CHARS]
            end = example_in(example)
            return sign.start + end if end else EmittedSign(sign, begins_final(example))
        return (_SPEAKS_ON_BEFORE_MARKER.search(line) and _spoken_header(view, sign)) or _emitted(view, sign)
    if sign.name in _ENDINGS:
        return _of_ending(view, sign, line, rest)
    return _of_lone(view, sign, line)


def example_in(view: str) -> int:
    """Where a complete example that begins here ends; 0 if it is not one."""
    body_at = ended_at = 0
    for sign in patterns.signs_in(view):
        if sign.kind is not SignKind.SPECIAL:
            continue
        if sign.name == "message" and not body_at:
            body_at = sign.end
        elif body_at and sign.name in ("end", "return", "call"):
            ended_at = sign.end
            break
        elif sign.start and (body_at or sign.name not in ("channel", "constrain")):
            return 0
    return ended_at if ended_at and ended_at <= _MAX_EXAMPLE_CHARS and _begins_with_text(view[ended_at:].lstrip()) else 0


def _begins_with_text(rest: str) -> bool:
    """Whether text follows, rather than another token or nothing."""
    if not rest or re.fullmatch(r"\\+|&\w{0,4};?|<\|?\w{0,12}", rest):
        return False
    following = patterns.sign_at(rest, 0)
    return not (following and following.kind is SignKind.SPECIAL)


def begins_final(view: str) -> bool:
    """Whether the message that begins here is a final one, so that the text before it was not the answer."""
    tokens = [sign for sign in patterns.signs_in(view[:_HEADER_CHARS]) if sign.kind is SignKind.SPECIAL]
    word = _CHANNEL_WORD.match(view, tokens[1].end) if len(tokens) > 1 and tokens[1].name == "channel" else None
    return word is not None and word[1].lower() == "final"


def _may_be_example(line: str) -> bool:
    """Whether it is at the start of a line, or announced."""
    return bool(_BULLET_BEFORE_MARKER.fullmatch(line)) or line.rstrip().endswith(":") or line[-1:] in QUOTES


def _quoted_header(view: str, sign: Sign, line: str) -> int:
    """Where a header in quotation marks, with nothing after it, ends; 0 if it is not one."""
    closing = QUOTES.get(line[-1:])
    if not closing:
        return 0
    inside = re.match(rf"[^\n]{{0,{_HEADER_CHARS}}}?(?=[{re.escape(closing)}])", view[sign.start : sign.start + _HEADER_CHARS])
    ends_whole = inside and re.search(r"(?:[|>;]|analysis|commentary|final|assistant|user|system|developer)\Z", inside[0])
    return sign.start + inside.end() if inside and ends_whole else 0


def _spoken_header(view: str, sign: Sign) -> int:
    """Where a whole header ends, inside a sentence that continues after it, as no message body does."""
    header = _WHOLE_HEADER.match(view, sign.start, sign.start + _HEADER_CHARS)
    return header.end() if header and _GOES_ON_AFTER_MARKER.match(view, header.end()) else 0


def _of_ending(view: str, sign: Sign, line: str, rest: str) -> EmittedSign | int:
    beginning = rest.lstrip("\u200b \t\r\n")
    if not beginning:
        # A stop token that a server left at the end of the answer, unless the last sentence mentions it.
        return sign.end if line[-1:] == " " and line.strip() else EmittedSign(sign)
    if beginning[0] in "<\\&|" or beginning.startswith("start"):
        following = patterns.sign_at(beginning, 0)
        if following and following.kind is SignKind.SPECIAL:
            return _emitted(view, sign)
    return _of_lone(view, sign, line)


def _of_lone(view: str, sign: Sign, line: str) -> EmittedSign | int:
    return sign.end if is_mention(sign, line, view[sign.end : sign.end + LOOK_AHEAD]) else _emitted(view, sign)


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
