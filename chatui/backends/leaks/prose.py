"""Finds the first sign of raw output in a whole text that was emitted, rather than written as code or spoken of.

Code is found in Markdown line by line: fences, indented code and code spans. Whether an answer only mentions a marker or the model emitted
it is decided from the text around it. Adjacent special tokens are judged together: a header, an end before a start, an example of a whole
message.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Container, Sequence
from functools import cached_property
from itertools import accumulate
from operator import itemgetter

import regex
from markdown_it import MarkdownIt

from chatui.backends.leaks import patterns
from chatui.backends.leaks.patterns import Sign, SignKind, bare, folded

_SPAN = re.compile(
    r"(?<![\\`])`(?=[^`\s])(?:[^`\n]|``++|(?<=[\s(\[{])`(?=[^\W_])){0,400}?(?:(?<![`\s(\[{])`|(?<!`)`(?![^\W_]))(?!`)"
    r"|(?<![\\`])(?P<run>``++)[^\n]{0,400}?(?<!`)(?P=run)(?!`)"
)
"""A code span. A backtick that looks like the opening of another span does not close one that may have begun with a stray backtick, and
longer ones do not count: a stray backtick must not turn a whole page into code."""
_CLOSING = re.compile(r"[ \t>]*(?P<run>`{3,}|~{3,})[ \t]*\n?\Z")
_BEHIND_RUN = re.compile(r"^(?P<run>[ \t>]*(?:`{3,}|~{3,}))(?P<rest>[^\s`~][^\n]*)", re.MULTILINE)
_MARKDOWN = MarkdownIt("commonmark").disable(["inline", "text_join", "html_block", "reference"])


class CodeRanges:
    """The code in a text: spans, what is between two fences, and lines of indented code that begin with a sign: other indented text may
    be a list's, or have a sign glued to it. Nor is an indented first line code: raw output may begin with spaces, too.
    """

    def __init__(self, text: str) -> None:
        self._text, self._view = text, folded(text)

    def end_at(self, place: int) -> int:
        """Where the code around ``place`` ends; 0 if it stands in prose."""
        return _end_at(place, self._blocks) or _end_at(place, self._spans)

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        return [span.span() for span in _SPAN.finditer(self._text)]

    @cached_property
    def _blocks(self) -> list[list[int]]:
        lines = self._text.split("\n")
        starts = [0, *accumulate(len(line) + 1 for line in lines)]
        first = next((number for number, line in enumerate(lines) if line.strip()), 0)
        blocks: list[list[int]] = []
        # The same number of lines: the parser takes these characters for their ends, too.
        text = _BEHIND_RUN.sub(_without_sign, self._text.replace("\r", " ").replace("\0", " "))
        for token in _MARKDOWN.parse(text):
            begin, end = token.map or (0, 0)
            code_end = self._left_at(starts[begin + (token.type == "fence")], starts[end]) if token.type in ("fence", "code_block") else 0
            if token.type == "code_block" and begin > first:
                code = (line for line in range(begin, end) if starts[line + 1] <= code_end)
                blocks += (starts[line : line + 2] for line in code if lines[line].lstrip(" \t>").startswith(patterns.BEGIN_CODE))
            closing = _CLOSING.match(text[starts[end - 1] : starts[end]]) if token.type == "fence" and end - begin > 1 else None
            is_opened = text[starts[begin] : starts[begin + 1]].rstrip() == lines[begin].rstrip()
            if closing and is_opened and closing["run"].startswith(token.markup):
                blocks.append([starts[begin], min(starts[end - 1], code_end)])
        return blocks

    def _left_at(self, begin: int, end: int) -> int:
        """Where the model left a block of code without closing it; else its end."""
        token = self._view.find("<|", begin, end)
        is_left = token >= 0 and self._view[begin:token].strip() and patterns.LEAVES_CODE.match(self._view, token)
        return token if is_left else end


def _without_sign(run: re.Match[str]) -> str:
    """The line of a fence. Glued to a sign, it opens nothing, and may close."""
    view = folded(run["rest"])
    return run["run"] + " " * len(run["rest"]) if patterns.TRIGGER.match(view) and patterns.sign_at(view, 0) else run[0]


def _end_at(place: int, ranges: Sequence[Sequence[int]]) -> int:
    index = bisect_right(ranges, place, key=itemgetter(0)) - 1
    return ranges[index][1] if index >= 0 and ranges[index][1] > place else 0


_LINE_CHARS, _ALL = 240, frozenset(SignKind)


class Prose:
    """A text from ``at`` on. ``next_sign`` gives one emitted sign after another."""

    def __init__(self, code: CodeRanges, view: str, at: int, kinds: Container[SignKind] = _ALL, *, is_strict: bool = False) -> None:
        """``view``: the folded text. ``kinds``: the signs to find. ``is_strict``: no collapsed header is a mention."""
        self._view, self._begin, self._at, self._kinds, self._is_strict = view, at, at, kinds, is_strict
        self._code = code
        self._open_elements: Counter[str] = Counter()
        """How many elements of each name, which are not signs, are still open."""
        self.has_text = False

    def next_sign(self) -> Sign | None:
        """The next sign that was emitted; None if there is no more."""
        while trigger := patterns.TRIGGER.search(self._view, self._at):
            sign = patterns.sign_at(self._view, trigger.start())
            self._at = sign.end if sign else trigger.end()
            if sign is None or sign.kind not in self._kinds:
                continue
            if code_end := self._code.end_at(sign.start):
                self._at = max(code_end, self._at)
            elif not self._is_of_an_element(sign) and self._is_emitted(sign):
                return sign
        return None

    def _is_of_an_element(self, sign: Sign) -> bool:
        """Whether this tag opens an element that names no reasoning, or closes one. Counts those that are open, so that a closing tag
        without an opening one remains a sign: servers leave out the opening tag of reasoning."""
        if sign.kind is SignKind.PLAIN:
            self._open_elements[sign.name] += 1
            return True
        if sign.kind is SignKind.CLOSING and self._open_elements[sign.name]:
            self._open_elements[sign.name] -= 1
            return True
        return False

    def _is_emitted(self, sign: Sign) -> bool:
        """Whether the model wrote the sign to be read by a parser, and does not speak of it. An example of a whole message is skipped."""
        view = self._view
        line = view[max(view.rfind("\n", 0, sign.start) + 1, self._begin, sign.start - _LINE_CHARS) : sign.start]
        if sign.kind is SignKind.SPECIAL:
            return self._is_header(sign, line)
        is_sure = sign.kind is SignKind.COLLAPSED and (self._is_strict or patterns.ATTACHED.match(view, sign.start))
        return bool(is_sure) or sign.kind is SignKind.HEADER or not is_mention(sign, line, view[sign.end : sign.end + _LOOK_AHEAD])

    def _is_header(self, sign: Sign, line: str) -> bool:
        """A token that a name of a channel, a role or another token follows is a header, and no mention."""
        view = self._view
        rest = view[sign.end : sign.end + _HEADER_CHARS]
        after = bare(rest).lstrip()
        if not (self.has_text or VISIBLE.search(view, self._begin, sign.start)):
            return True
        is_announced = not line.strip(" \t>*+•-") or line.rstrip().endswith(":")
        if is_announced and (example := _EXAMPLE.match(view, sign.start)):
            self._at = example.end()
            return False
        following = patterns.sign_at(after, 0) if patterns.TRIGGER.match(after) else None
        is_header = _AFTER_TOKEN.match(after) or (following is not None and following.kind is SignKind.SPECIAL)
        return bool(is_header) or not is_mention(sign, line, rest[:_LOOK_AHEAD])


VISIBLE = re.compile(r"[^\s\u200b]")
"""What a person sees in folded text."""
_LOOK_AHEAD = 40
"""This many characters after a sign are enough to decide."""

_BEFORE_MENTION = re.compile(r"[\s\"'“”„‘‚«»「『(*_\[{`,:/=|\-–—]\Z|[^\x00-\u2e7f]\Z")
"""Scripts from U+2E80 on are written without spaces between words."""
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)]|\|)\s*\Z")
_EXPLAINED = re.compile(r"\s?(?::\s|\||–|—|->|→|-\s|=\s)")
_BEGINS_A_TEXT = regex.compile(r"[ \t]?[\n\p{Lu}]")
_ENDS_LINE = re.compile(r"[ \t]*\n\s*\S")
"""Nobody ends a line with a sign that closes or begins in order to speak of it, and goes on below."""
_SENTENCE_OVER = re.compile(r"[.!?…。！？]\s*\Z")


def is_mention(sign: Sign, line: str, after: str) -> bool:
    """Whether the answer only mentions the sign, by its place. ``line``: the text before it in its line. ``after``: the next characters."""
    line, after, begins = bare(line), bare(after.partition("\n")[0]), bare(after)
    is_word = sign.kind in (SignKind.SPECIAL, SignKind.WRAPPER)
    if not line.strip():
        return sign.kind is SignKind.SPECIAL and bool(_GOES_ON_AFTER_MARKER.match(after))
    if sign.kind is SignKind.OPENING and _BEGINS_A_TEXT.match(begins):
        return False
    if sign.kind in (SignKind.CLOSING, SignKind.ANSWER) and _ENDS_LINE.match(begins):
        return False
    if _BULLET.fullmatch(line):
        return bool(_EXPLAINED.match(after) or _GOES_ON_AFTER_MARKER.match(after))
    if _SENTENCE_OVER.search(line) and not _GOES_ON_AFTER_MARKER.match(after):
        return False
    if sign.kind is SignKind.COLLAPSED or not _BEFORE_MENTION.search(line):
        return sign.kind is SignKind.COLLAPSED
    if not after:
        return not is_word
    # A word is glued to the sign only in a script that is written with spaces.
    is_glued = after[0].isalnum() and after < "\u2e80"
    return not (is_glued or after[0] in "<\\&")


_HEADER_CHARS = 200
_AFTER_TOKEN = re.compile(r"(?:analysis|commentary|final)(?![a-z])|assistant|user|system|developer|tool|functions", re.IGNORECASE)
_EXAMPLE = re.compile(
    r"<\|start\|>\w[^<]{0,80}(?:<\|(?:channel|constrain)\|>[^<]{0,80}){0,2}<\|message\|>(?:(?!<\|)[\s\S]){0,2000}<\|(?:end|return|call)\|>"
    r"(?=\s*[^\s<\\&|])(?!\s*\w+\|)"
)
"""A whole message, with text after it that begins no other."""
_GOES_ON_AFTER_MARKER = re.compile(r"\s[a-z]|[.,;:!?)]")
