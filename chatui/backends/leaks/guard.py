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
from chatui.backends.leaks.patterns import BEGINS_ANSWER, GLUED, PARTICLES, Sign, SignKind, bare, folded
from chatui.backends.leaks.prose import VISIBLE, Code, Prose
from chatui.backends.separation import Separation
from renderer.events import Finished
from renderer.gate import Audience, may_see
from renderer.harmony.pieces import read_answer


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A stretch of text, and whether it may be shown as the answer.

    ``is_withheld``: the page says that a part is missing. ``begins``: it begins a new message.
    """

    visible: bool
    text: str = field(repr=False)
    is_withheld: bool = False
    begins: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """What of a text may be shown. ``has_sign``: some of it may not. ``hides_before``: nor may earlier texts of the same completion.
    ``takes_back``: a sign within the text says that what stands before it was no answer.
    """

    spans: list[TextSpan]
    hides_before: bool = False
    takes_back: bool = False

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
    code = Code(text)
    return next((at for at in labels.calls_in(text, asked, complete=complete) if not code.end_at(at)), len(text))


def ends_in_call(text: str) -> bool:
    """Whether a token behind a whole text says that all of it was a call."""
    return bool(_ENDS_IN_CALL.search(folded(text[-_TAIL_CHARS:])))


def begins_answer(text: str) -> bool:
    """Whether a text begins with the header of an answer, so that what came before it was none."""
    return bool(_ANSWER.match(bare(folded(text[: 2 * _TAIL_CHARS]))))


_ENDS_IN_CALL, _TAIL_CHARS = re.compile(r"(?:[^\s`\"'“‘«(\[{\\]|[.!?…。！？}\])]\s|\n[ \t]*)<\|call\|>\s*\Z"), 200
"""The token that ends a call, behind all of the text: all of it was one."""
_ANSWER = re.compile(
    rf"(?:<\|\w+\|>\s*){{0,3}}assistant\s*final|(?:(?!<\|(?:message|channel)\|)[\s\S]){{0,200}}?"
    rf"(?:<\|channel\|>\s*final(?![a-z])|<\|(?:{BEGINS_ANSWER.pattern})\|>|final\s*<\|message\|>)",
    re.IGNORECASE,
)
_LEADING = re.compile(r"[\s\u200b\ufeff]*(?:<\|(?:end|return|call)\|>)?\s*(?:assistant(?=<\|channel\|>))?")
_OPENING = ("'", "`", ":", "(", "[", "{", "“", "‘", "«", "„", "「", "『", ",")
_COLLAPSED = re.compile(
    r"assistant(?:final|analysis|commentary)|\bassistant(?:[acf]\w{0,9}\Z|(?:[\s:]+|\s+channel\s+)(?:final|analysis|commentary)\b)"
)
"""Markers were stripped from it, or it was cut inside one that was."""
STOP_TOKENS = ("<|return|>", "<|end|>", "<|endoftext|>")
"""Some servers leave the stop token at the end of the answer, as characters."""
_STOP_AT_END = re.compile(rf"\s*(?:{'|'.join(map(re.escape, STOP_TOKENS))})?\s*\Z")
_OVER = re.compile(r"<\|(?:return|endoftext)\|>")


def judge(text: str) -> list[TextSpan]:
    """The spans of raw output."""
    seen = bare(folded(text))
    return _final_of_harmony(text) if "<|" in seen or "|>" in seen else _final_of_collapsed(text)


def _final_of_harmony(text: str) -> list[TextSpan]:
    """The spans according to the parser of Harmony text, which shows no more than token ids would."""
    lead = _LEADING.match(text)
    begin = lead.end() if lead else 0
    frames = list(read_answer(text[begin:], lambda: "c", is_over=True))
    shown = [done.frame.body for done in frames if _is_shown(done)]
    rest = _STOP_AT_END.sub("", text)
    is_proven = bool(shown) and _is_shown(frames[-1]) and rest.endswith(shown[-1].rstrip()) and all(body in text for body in shown)
    if not is_proven or _OVER.search(rest, begin):
        # More text follows: the marker may have been quoted in the answer, not its end.
        return [TextSpan(False, text, is_withheld=True)]
    spans, end = [TextSpan(True, shown[-1], begins=True)], len(rest) - len(shown[-1].rstrip())
    for body in reversed(shown[:-1]):
        at = text.rfind(body, 0, end)
        spans = [TextSpan(True, body, begins=True), TextSpan(False, text[at + len(body) : end]), *spans]
        end = max(at, 0)
    return [TextSpan(False, text[:end]), *spans]


def _is_shown(done: Finished) -> bool:
    return may_see(done.frame.header, Audience.END_USER) and bool(done.frame.body.strip())


def _final_of_collapsed(text: str) -> list[TextSpan]:
    """The answer after the last ``assistantfinal``, if that cannot be a quotation."""
    reasoning, sign, answer = text.rpartition("assistantfinal")
    if not sign or not answer.strip() or _COLLAPSED.search(answer) or _may_be_quoted(reasoning, answer):
        return withheld(text)
    return [TextSpan(False, reasoning + sign), TextSpan(True, answer, begins=True)]


def _may_be_quoted(before: str, after: str) -> bool:
    if not before:
        return False
    if before.endswith(_OPENING) or before.count("`") % 2 or before.count('"') % 2:
        return True
    return after[0].isspace() or after[0].islower() or after[0] in "`\"'”’»,;:.)]}"


# An answer with such a beginning may be raw output whose markers were stripped.
_DOUBTFUL = ("analysis", "commentary", "assistant", "to=", "final<|", "channel analysis")
# "finally" and "finală" are words; "finalHello" and "final你好" are the label and an answer.
_SMALL_LATIN = "".join(filter(str.islower, map(chr, range(0x250))))
_GLUED_FINAL = re.compile(rf"(\s*)final(?![{PARTICLES}은을의]\s)(?=[0-9*#]|[^\W\d_{_SMALL_LATIN}])")
_BLANK = re.compile(r"[\s\u200b]*")
_BEGINNING_CHARS = 2000
_MAX_DOUBTS = 3
"""So that text which looks like a new answer after each sign takes linear time."""
_TAGS_ONLY = frozenset({SignKind.OPENING, SignKind.PLAIN, SignKind.CLOSING})


class _Judge:
    def __init__(self, text: str, *, follows: bool, is_json: bool, separation: Separation) -> None:
        self._is_json, self._separation, self._is_own = is_json, separation, separation is Separation.OWN
        self._text, self._view = text, folded(text)
        self._code = Code(text)
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
        blank = _BLANK.match(self._view, at)
        at = blank.end() if blank else at
        return bare(self._view[at : at + _BEGINNING_CHARS])

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
        prose = Prose(self._code, self._view, at, may_mention=self._separation is not Separation.UNPROVEN)
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
        if sign.kind is SignKind.OPENING:
            return self._past_tag(sign.name, sign.start, sign.end)
        if sign.kind in (SignKind.CLOSING, SignKind.ANSWER):
            # It closes, or only begins answers: all text before it was reasoning.
            self._hide(self._text[sign.start : sign.end], is_withheld=self._has_shown)
            self._take_back()
            return sign.end
        rest = self._text[sign.start :]
        if rest.strip() not in STOP_TOKENS:
            if begins_answer(rest):
                self._take_back()
            elif sign.kind in (SignKind.COLLAPSED, SignKind.HEADER):
                self._hide_shown()
            self._take(judge(rest))
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
        text, beginning, view = self._text[at:], self._beginning(at), self._view
        self._doubts += 1
        if self._doubts <= _MAX_DOUBTS:
            if self._is_data(beginning):
                return self._of_data(at, text)
            may_be_prose = not _COLLAPSED.search(text)
            if may_be_prose and (answer_at := labels.answer_after(text)) is not None:
                self._hide(text[:answer_at], is_withheld=True)
                return at + answer_at
            if may_be_prose and not regex.match(GLUED, beginning) and view.find("<|", at) < 0 and view.find("|>", at) < 0:
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
        """What was shown is no answer, for that begins only here."""
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
