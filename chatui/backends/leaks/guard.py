"""Judges a whole answer that may be a model's raw output: what of it may be shown. In doubt it hides.

Some servers put a model's raw output into the answer: with its Harmony markers, with the markers stripped (``analysis…assistantfinal…``),
inside tags such as ``<think>``, after a label in plain words, or as data (both in ``leaks.labels``). If there is such a sign outside code,
and the answer does not just mention it, the text that belongs to it is hidden, and so is the text before it if the sign shows that this was
reasoning. Of raw output, only a part that is provably an answer may be shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

import regex

from chatui.backends.leaks import labels
from chatui.backends.leaks.labels import ANY_TEXT, Asked
from chatui.backends.leaks.patterns import BEGINS_ANSWER, ENDS, GLUED, PARTICLES, Sign, SignKind, bare, folded
from chatui.backends.leaks.prose import VISIBLE, CodeRanges, Prose
from chatui.backends.separation import Separation


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A stretch of text, and whether it may be shown as the answer."""

    visible: bool
    text: str = field(repr=False)
    is_withheld: bool = False
    """Whether the page says that a part is missing."""
    begins: bool = False
    """Whether it begins a new message."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What of a text may be shown. ``has_sign``: some of it may not."""

    spans: list[TextSpan]
    hides_before: bool = False
    """Whether earlier texts of the same completion may not be shown either."""
    takes_back: bool = False
    """Whether a sign within the text says that what stands before it was no answer."""

    @property
    def has_sign(self) -> bool:
        return any(not span.visible for span in self.spans)


def judged(text: str, *, follows: bool = False, asked: Asked = ANY_TEXT, separation: Separation = Separation.UNPROVEN) -> Judgement:
    """Judge the whole text of an answer field, which the model has ended by itself.

    ``follows``: the same completion has a text before this one. ``separation``: *unproven*, no collapsed header is a mention; *own*, no
    sign hides what stands before it.
    """
    if separation is not Separation.OWN and ends_in_call(text):
        return Judgement(withheld(text), hides_before=follows)
    end = call_at(text, asked)
    judge_of_text = _Judge(text[:end], follows=follows, is_json=asked.is_json, separation=separation)
    judge_of_text.read()
    spans = [span for span in judge_of_text.spans if span.text or span.is_withheld]
    return Judgement([*spans, *withheld(text[end:])], judge_of_text.hides_before, judge_of_text.takes_back)


def withheld(text: str) -> list[TextSpan]:
    """The span of a text that is hidden as a whole."""
    return [TextSpan(False, text, is_withheld=True)] if text else []


def call_at(text: str, asked: Asked, *, complete: bool = True) -> int:
    """Where a call begins that is written as text; the text's end if there is none."""
    code = CodeRanges(text)
    return next((at for at in labels.calls_in(text, asked, complete=complete) if not code.end_at(at)), len(text))


def ends_in_call(text: str) -> bool:
    """Whether a token behind a whole text says that all of it was a call."""
    return bool(_ENDS_IN_CALL.search(folded(text[-_TAIL_CHARS:])))


_ENDS_IN_CALL, _TAIL_CHARS = re.compile(r"(?:[^\s`\"'“‘«(\[{\\]|[.!?…。！？}\])]\s|\n[ \t]*)<\|call\|>\s*\Z"), 200
"""The token that ends a call, behind all of the text: all of it was one."""
_BEGINS = re.compile(
    rf"(?:<\|\w+\|>\s*){{0,3}}assistant\s*final|(?:(?!<\|(?:message|channel)\|)[\s\S]){{0,200}}?"
    rf"(?:<\|channel\|>\s*final(?![a-z])|<\|(?:{BEGINS_ANSWER.pattern})\|>|final\s*<\|message\|>)",
    re.IGNORECASE,
)
"""The header of an answer, so that what came before it was none."""
_REMAINS = re.compile(
    r"<\|\w|\w\|>|assistant(?:final|analysis|commentary)|\bassistant(?:[acf]\w{0,9}\Z|(?:[\s:]+|\s+channel\s+)(?:final|analysis|commentary)\b)"
)
"""Markers are in a text or were stripped from it, or it was cut inside one."""
STOP_TOKENS = ("<|return|>", "<|end|>", "<|endoftext|>")
"""Some servers leave the stop token at the end of the answer, as characters."""
_OF_ANSWER = re.compile(
    r"(?:(?P<end>(?:<\|(?!message)\w+\|>\s*+){1,4})(?P<role>[^<]*))?<\|channel\|>\s*final(?![a-z])"
    r"(?:\s*(?:<\|constrain\|>\s*\w{1,20}\s*)?<\|message\|>|(?!\s*(?:<|to=)) ?)|assistantfinal"
    r"|\A\s*(?:<\|start\|>\s*assistant\s*)?<\|channel\|>\s*analysis\s*<\|message\|>(?:(?!<\|)[\s\S])+(?P<bare><\|end\|>)"
    r"(?!\s*(?:<\||assistant))"
)
"""The header of an answer, with what may be left of the end of the message before it; or all of a thought that begins the output, behind
which llama.cpp leaves out the header."""
_OPENING = tuple("'`:([{“‘«„「『,，：、（")
_CONTINUES = re.compile(r"\s[a-z]|[\"`](?![\w`])|[.,;:!?')\]}”’»」』，。、：；！？）]")
_SPACED = re.compile(r"(?:<\|\w+\|>|assistant|analysis|\s)*(?<=(\s))")


def judge(text: str, *, is_first: bool = True) -> list[TextSpan]:
    """The spans of raw output: what stands behind the last header of an answer, if that is clean, and the header no quotation.

    ``is_first``: the output begins here, maybe with a thought behind which the header is missing.
    """
    view = folded(text)
    *_, header = (None, *_OF_ANSWER.finditer(view))
    if header is None or (header["bare"] and not is_first):
        return withheld(text)
    start = max(header.start(), header.start("bare"))
    role = "" if header["bare"] or view[start] != "<" else bare(header["role"] if header["end"] else view[:start]).strip()
    is_others = role not in ("", "assistant") or not all(
        message.lstrip().startswith("assistant") for message in view.split("<|start|>")[1:]
    )
    answer = text[header.end() :].rstrip()
    answer = next((answer.removesuffix(stop).rstrip() for stop in STOP_TOKENS if answer.endswith(stop)), answer)
    if is_others or not answer or _is_raw(answer) or _may_be_quoted(text[:start], view[start : header.end()], answer):
        return withheld(text)
    return [TextSpan(False, text[: header.end()]), TextSpan(True, answer, begins=True)]


def _is_raw(answer: str) -> bool:
    """Whether an answer has anything of raw output, even if it seems to mention it."""
    return bool(_REMAINS.search(bare(folded(answer)))) or judged(answer).has_sign


def _may_be_quoted(before: str, header: str, after: str) -> bool:
    """Whether a quotation has begun before a header, or a sentence goes on around it: without a token that ends the message before it, with
    other white space than behind the output's first header, or with what only goes on behind it.
    """
    if bare(before).strip() in ("", "assistant"):
        return False
    spaced, is_ended, begin, last = _SPACED.match(before), "<|end|>" in header, after.lstrip(), before[-1]
    space = spaced[1] if spaced else ""
    is_line = is_ended and not space and last == "\n" and not before[-2:-1].isspace()
    is_glued = not last.isspace() and not (space and space in header)
    is_within = not (is_glued or is_line or last == space) or (after[0].isspace() and after[0] != space)
    is_open = before.rstrip().endswith(_OPENING) or before.count("`") % 2 or before.count('"') % 2
    goes_on = _CONTINUES.match(after) or _CONTINUES.match(begin) or (begin[0] in '`"' and begin.count(begin[0]) % 2)
    is_cut = header[0] == "<" and not is_ended and not before.rstrip().endswith(tuple(ENDS))
    return bool(is_within or is_open or goes_on or is_cut)


# An answer with such a beginning may be raw output whose markers were stripped.
_DOUBTFUL = ("analysis", "commentary", "assistant", "to=", "final<|", "channel analysis")
# "finally" and "finală" are words; "finalHello" and "final你好" are the label and an answer.
_SMALL_LATIN = "".join(filter(str.islower, map(chr, range(0x250))))
_GLUED_FINAL = re.compile(rf"(\s*)final(?![{PARTICLES}은을의]\s)(?=[0-9*#]|[^\W\d_{_SMALL_LATIN}])")
_BEGINNING_CHARS = 2000
_MAX_DOUBTS = 3
"""So that text which looks like a new answer after each sign takes linear time."""
_TAGS_ONLY = frozenset({SignKind.OPENING, SignKind.PLAIN, SignKind.CLOSING})


class _Judge:
    def __init__(self, text: str, *, follows: bool, is_json: bool, separation: Separation) -> None:
        self._is_json, self._separation, self._is_own = is_json, separation, separation is Separation.OWN
        self._text, self._view = text, folded(text)
        self._code = CodeRanges(text)
        self._follows = self._has_shown = follows
        self._doubts = 0
        self.spans: list[TextSpan] = []
        self.hides_before = self.takes_back = False

    def read(self) -> None:
        """Judge the text. What follows hidden text is judged like a new answer, unless some text before it is shown."""
        at: int | None = 0
        begins = True
        while at is not None:
            if begins and self._is_doubtful(at):
                hidden = len(self.spans)
                at = self._of_doubtful(at)
                # Raw output after another message of the completion: that may have been raw output, too.
                self.hides_before |= self._follows and any(span.text and not span.visible for span in self.spans[hidden:])
            else:
                at = self._prose(self._past_final(at) if begins else at)
            begins = not self._has_shown

    def _beginning(self, at: int) -> str:
        visible = VISIBLE.search(self._view, at)
        return bare(self._view[visible.start() :][:_BEGINNING_CHARS]) if visible else ""

    def _is_doubtful(self, at: int) -> bool:
        """Whether the text from ``at`` on may be raw output by its beginning."""
        beginning = self._beginning(at)
        return bool(labels.label_of(beginning) or self._is_data(beginning) or beginning.startswith(_DOUBTFUL))

    def _is_data(self, beginning: str) -> bool:
        return not self._is_json and labels.begins(beginning)

    def _past_final(self, at: int) -> int:
        if not (glued := _GLUED_FINAL.match(self._text, at)):
            return at
        self._show(glued[1])
        self._hide("final")
        return glued.end()

    def _prose(self, at: int) -> int | None:
        """Show the text up to the first sign; returns where to go on, None at the end."""
        prose = Prose(self._code, self._view, at, is_strict=self._separation is Separation.UNPROVEN)
        prose.has_text = self._has_shown
        while sign := prose.next_sign():
            self._show(self._text[at : sign.start])
            at = sign.end
            if sign.kind is not SignKind.WRAPPER:
                return self._at_sign(sign)
            self._hide(self._text[sign.start : sign.end])
        self._show(self._text[at:])
        return None

    def _at_sign(self, sign: Sign) -> int | None:
        """Hide what a sign says about the text. Returns where to go on, None if all of the rest has been judged."""
        if sign.kind is SignKind.OPENING:
            return self._past_tag(sign.name, sign.start, sign.end)
        if sign.kind in (SignKind.CLOSING, SignKind.ANSWER):
            # It closes, or only begins answers: all text before it was reasoning.
            self._hide(self._text[sign.start : sign.end], is_withheld=self._has_shown)
            self._take_back()
            return sign.end
        rest = self._text[sign.start :]
        if rest.strip() not in STOP_TOKENS:
            spans = judge(rest, is_first=not self._has_shown)
            is_answered = self._separation is Separation.UNPROVEN and _OF_ANSWER.search(self._view, sign.start)
            if _BEGINS.match(bare(self._view[sign.start :][: 2 * _TAIL_CHARS])):
                self._take_back()
            elif sign.kind in (SignKind.COLLAPSED, SignKind.HEADER) or is_answered:
                self._hide_shown()
            self._take(spans)
        return None

    def _past_tag(self, name: str, start: int, at: int) -> int | None:
        """Hide what is in a tag, counting nested ones."""
        prose, depth = Prose(self._code, self._view, at, _TAGS_ONLY), 1
        while found := prose.next_sign():
            if found.name == name:
                depth += 1 if found.kind is SignKind.OPENING else -1
            if not depth:
                self._hide(self._text[start : found.end], is_withheld=self._has_shown)
                return found.end
        self._hide(self._text[start:], is_withheld=True)
        return None

    def _of_doubtful(self, at: int) -> int | None:
        """Decide about text that may be a leak; returns where to read on, or None if nothing is left to decide."""
        text, beginning, view = self._text[at:], self._beginning(at), self._view
        self._doubts += 1
        if self._doubts <= _MAX_DOUBTS:
            if self._is_data(beginning):
                return self._of_data(at, text)
            may_be_prose = not _REMAINS.search(bare(view[at:]))
            if may_be_prose and (answer_at := labels.answer_after(text)) is not None:
                self._hide(text[:answer_at], is_withheld=True)
                return at + answer_at
            if may_be_prose and not regex.match(GLUED, beginning):
                return self._prose(at)
        self._take(judge(text))
        return None

    def _of_data(self, at: int, text: str) -> int | None:
        shown = labels.visible_of(text)
        if shown is None:
            return self._prose(at)
        self._hide(text, is_withheld=True)
        self._take(judged(shown, separation=self._separation).spans)
        return None

    def _show(self, text: str) -> None:
        if text:
            self.spans.append(TextSpan(True, text))
            self._has_shown = self._has_shown or bool(VISIBLE.search(folded(text)))

    def _hide(self, text: str, *, is_withheld: bool = False) -> None:
        self.spans.append(TextSpan(False, text, is_withheld=is_withheld))

    def _take_back(self) -> None:
        """What was shown before was not the answer: that begins only here."""
        self.takes_back |= self._has_shown and not self._is_own
        self._hide_shown()

    def _hide_shown(self) -> None:
        if self._is_own:
            return
        self.hides_before = self.hides_before or self._follows
        if not self._has_shown:
            return
        self.spans = [replace(span, visible=False, is_withheld=True) if span.visible else span for span in self.spans]
        self._has_shown = False

    def _take(self, spans: list[TextSpan]) -> None:
        """The spans of raw output."""
        self.hides_before |= self._follows and any(span.text and not span.visible for span in spans)
        self.spans += spans
