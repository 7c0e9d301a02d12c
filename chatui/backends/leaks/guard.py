"""Hides reasoning that a server without channels puts into the answer: it reads the whole answer, and hides if in doubt.

Some servers put a model's raw output into the answer: with its Harmony markers, with the markers stripped (``analysis…assistantfinal…``),
inside tags such as ``<think>``, after a label in plain words, or as data (both in ``leaks.labels``). If there is such a sign outside code,
and the answer does not just mention it, the text that belongs to it is hidden; if the sign shows that the text before it was reasoning,
that is withdrawn. Of raw output, only a part that is provably an answer may be shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from chatui.backends.leaks import labels
from chatui.backends.leaks.labels import AnswerLabel, Undecided, answer_after, label_of
from chatui.backends.leaks.patterns import SignKind, bare, beginnings_of, folded
from chatui.backends.leaks.prose import EmittedSign, Prose
from renderer.events import Finished
from renderer.gate import Audience, may_see
from renderer.harmony.pieces import read_answer


@dataclass(frozen=True, slots=True)
class TextSpan:
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


def judge(text: str, *, complete: bool) -> list[TextSpan]:
    """The spans of raw output."""
    seen = bare(folded(text))
    if "<|" in seen or "|>" in seen:
        return _final_of_harmony(text, complete=complete)
    return final_of_collapsed(text, complete=complete)


def is_collapsed(text: str) -> bool:
    """Whether markers were stripped from it, or it was cut inside one that was."""
    return any(sign in text for sign in _COLLAPSED) or bool(_CUT_SIGN.search(text) or _SPACED.search(text))


def _final_of_harmony(text: str, *, complete: bool) -> list[TextSpan]:
    """The spans according to the parser of Harmony text, which shows no more than token ids would."""
    lead = _LEADING.match(text)
    at = lead.end() if lead else 0
    return _split(text, at, read_answer(text[at:], lambda: "c", is_over=complete))


def _is_shown(done: Finished) -> bool:
    return may_see(done.frame.header, Audience.END_USER) and bool(done.frame.body.strip())


def _split(text: str, begin: int, frames: Sequence[Finished]) -> list[TextSpan]:
    spans: list[TextSpan] = []
    at = begin
    for done in frames:
        body = done.frame.body
        if not _is_shown(done):
            at = _after_hidden(text, at)
            continue
        found = _place(text, body, at)
        if found < 0:
            return [TextSpan(False, text, is_withheld=True)]
        spans += [TextSpan(False, text[begin:found]), TextSpan(True, body, begins=True)]
        begin = found + len(body)
        at = _after_markers(text, begin)
    if not spans or text[begin:].strip() not in ("", *STOP_TOKENS):
        # More text follows: the marker may have been quoted in the answer, not its end.
        return [TextSpan(False, text, is_withheld=True)]
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


def final_of_collapsed(text: str, *, complete: bool) -> list[TextSpan]:
    """The answer after the last ``assistantfinal``, if that cannot be a quotation and the answer is complete."""
    reasoning, sign, answer = text.rpartition("assistantfinal")
    hidden = [TextSpan(False, text, is_withheld=True)]
    if not complete or not sign or not answer.strip() or is_collapsed(answer) or _may_be_quoted(reasoning, answer):
        return hidden
    return [TextSpan(False, reasoning + sign), TextSpan(True, answer, begins=True)]


def _may_be_quoted(before: str, after: str) -> bool:
    if not before:
        return False
    if before.endswith(_OPENING) or before.count("`") % 2 or before.count('"') % 2:
        return True
    return after[0].isspace() or after[0].islower() or after[0] in "`\"'”’»,;:.)]}"


# An answer with such a beginning may be raw output whose markers were stripped, so it is buffered and judged as a whole.
_DOUBTFUL = ("analysis", "commentary", "assistant", "to=", "final<|", "channel analysis")
_BEGINNINGS = beginnings_of((*_DOUBTFUL, "final*"))
_GLUED = re.compile(r"\s*(?:(?:analysis|commentary)(?![\s.,:;!?'’)/-]|$)|to=\w)")
# "finally" and "finală" are words; "finalHello" and "final你好" are the label and an answer.
_SMALL_LATIN = "".join(filter(str.islower, map(chr, range(0x250))))
_GLUED_FINAL = re.compile(rf"(\s*)final(?=[0-9*#]|[^\W\d_{_SMALL_LATIN}])")
# Signs of stripped markers even in the middle of an answer: no continuation of a sentence or of code begins with them.
_RESUMED = re.compile(r"(?:analysis|commentary)(?![\s.,:;!?'’)/-]|$)|assistant(?=[<acf])|to=|final<\|")
_TAGS_ONLY = frozenset({SignKind.OPENING, SignKind.PLAIN, SignKind.CLOSING})
_PIECE = 1000
"""Characters. After a sign, the rest of a piece is read again; long text is cut into pieces so that many signs still take linear time."""
_WITHDRAWAL = TextSpan(False, "", withdraws=True, is_withheld=True)


class LeakGuard:
    """Text in, spans out. Buffers text that may be the beginning of a leak."""

    def __init__(self, *, whole: bool = False, resumes: bool = False, follows: bool = False) -> None:
        """``whole``: nothing is shown before the complete answer was judged. ``resumes``: the text continues an answer, so a word such as
        ``analysis`` is no sign by itself; markers, tags and stripped markers are.
        ``follows``: text of the same completion was shown already. This text is judged by itself, but a sign also withdraws the text shown
        before.
        """
        self._is_whole = whole
        self._whole: list[str] | None = [] if whole else None
        self._resumes = resumes
        self._follows = follows
        self._state = _State.BEGIN
        self._buffered = ""
        self._parts: list[str] = []
        self._prose = Prose()
        self._label: AnswerLabel | None = None
        self._is_data = False
        self._has_shown = follows
        self._is_unprovable = False
        self._tag, self._depth = "", 0

    def feed(self, text: str) -> list[TextSpan]:
        """More text of the answer field."""
        if self._whole is not None:
            self._whole.append(text)
            return []
        return self._read(text, is_end=False)

    def finish(self, *, complete: bool) -> list[TextSpan]:
        """The field has ended. ``complete``: the server said that the model stopped by itself."""
        if self._whole is not None:
            text, self._whole = "".join(self._whole), None
            judged = [*self.feed(text), *self.finish(complete=complete)]
            before = [_WITHDRAWAL] if self._follows and any(span.withdraws for span in judged) else []
            return [*before, *settled(judged)]
        spans: list[TextSpan] = []
        if self._state is _State.BEGIN:
            # No more text can turn this into a sign.
            self._state = _State.OPEN
            held, self._buffered = "".join(self._parts) + self._buffered, ""
            self._parts = []
            spans += self._read(held, is_end=False)
        spans += self._read("", is_end=True)
        parts, self._parts = "".join(self._parts), []
        return [*spans, *self._with_withdrawal(self._judged(parts, complete=complete))] if self._state is _State.BUFFERED else spans

    def _read(self, text: str, *, is_end: bool) -> list[TextSpan]:
        spans: list[TextSpan] = []
        at = 0
        while len(text) - at > _PIECE and self._state is not _State.BUFFERED:
            spans += self._read_piece(text[at : at + _PIECE], is_end=False)
            at += _PIECE
        return [*spans, *self._read_piece(text[at:], is_end=is_end)]

    def _read_piece(self, text: str, *, is_end: bool) -> list[TextSpan]:
        spans: list[TextSpan] = []
        rest: str | None = text
        while rest or (is_end and rest is not None and self._state in (_State.OPEN, _State.TAG)):
            match self._state:
                case _State.BEGIN:
                    rest = self._begin(rest, is_end=is_end)
                case _State.BUFFERED:
                    self._parts.append(rest)
                    rest = None
                case _State.TAG:
                    rest = self._inside_tag(rest, spans, is_end=is_end)
                case _State.OPEN:
                    rest = self._open(rest, spans, is_end=is_end)
        return spans

    def _begin(self, text: str, *, is_end: bool) -> str | None:
        self._buffered += text
        beginning = bare(folded(self._buffered)).lstrip()
        if not beginning:
            self._parts.append(self._buffered)
            self._buffered = ""
            return None
        is_doubtful = self._is_doubtful(beginning, is_end=is_end)
        if is_doubtful is None:
            return None
        self._state = _State.BUFFERED if is_doubtful else _State.OPEN
        text = "".join(self._parts) + self._buffered
        self._buffered, self._parts = "", []
        return text if self._resumes or not _GLUED_FINAL.match(text) else _GLUED_FINAL.sub(r"\1", text, count=1)

    def _is_doubtful(self, beginning: str, *, is_end: bool) -> bool | None:
        """Whether an answer with this beginning has to be judged as a whole; None if more text is needed."""
        if self._resumes:
            is_begun = not is_end and beginning.lower() in _BEGINNINGS
            return bool(_RESUMED.match(beginning)) or (None if is_begun else False)
        label, is_data = label_of(beginning, is_end=is_end), labels.begins(beginning)
        if not is_end and (isinstance(label, Undecided) or is_data is None):
            return None
        self._label, self._is_data = (label if isinstance(label, AnswerLabel) else None), bool(is_data)
        if self._label or self._is_data or beginning.startswith(_DOUBTFUL):
            return True
        return None if not is_end and beginning.lower() in _BEGINNINGS else False

    def _open(self, text: str, spans: list[TextSpan], *, is_end: bool) -> str | None:
        shown, found = self._prose.feed(text, is_end=is_end)
        if shown:
            spans.append(TextSpan(True, shown))
            self._has_shown = self._has_shown or bool(bare(folded(shown)).strip())
        if found is None:
            return None
        match found.kind:
            case SignKind.OPENING:
                return self._enter_tag(found, spans)
            case SignKind.CLOSING | SignKind.ANSWER:
                return self._withdraw(found, spans)
            case SignKind.WRAPPER:
                spans.append(TextSpan(False, found.rest[: found.length]))
                return found.rest[found.length :]
        if found.rest.strip() in STOP_TOKENS and is_end:
            return None
        if found.withdraws and self._has_shown:
            spans.append(_WITHDRAWAL)
            self._has_shown = False
        # After stripped markers in the middle, nothing is provably the answer: the model may have changed its channel any number of times.
        self._is_unprovable = found.kind is SignKind.COLLAPSED and not self._is_whole
        self._state = _State.BUFFERED
        return found.rest

    def _enter_tag(self, found: EmittedSign, spans: list[TextSpan]) -> str:
        self._state, self._tag, self._depth = _State.TAG, found.name, 1
        self._prose = Prose(_TAGS_ONLY)
        spans.append(TextSpan(False, found.rest[: found.length], is_withheld=self._has_shown))
        return found.rest[found.length :]

    def _withdraw(self, found: EmittedSign, spans: list[TextSpan]) -> str:
        """For a closing tag without an opening one, or a sign that only begins answers: all text before it was reasoning."""
        spans.append(TextSpan(False, found.rest[: found.length], withdraws=self._has_shown, is_withheld=self._has_shown))
        self._has_shown = False
        self._leave()
        return found.rest[found.length :]

    def _inside_tag(self, text: str, spans: list[TextSpan], *, is_end: bool) -> str | None:
        hidden, found = self._prose.feed(text, is_end=is_end)
        is_withheld = self._has_shown or (is_end and found is None)
        if hidden or (is_end and found is None):
            spans.append(TextSpan(False, hidden, is_withheld=is_withheld))
        if found is None:
            return None
        if found.name == self._tag:
            self._depth += 1 if found.kind is SignKind.OPENING else -1
        spans.append(TextSpan(False, found.rest[: found.length], is_withheld=self._has_shown))
        if not self._depth:
            self._leave()
        return found.rest[found.length :]

    def _leave(self) -> None:
        """The answer follows; it is judged like a new one unless part of it was shown."""
        self._prose = Prose()
        self._prose.has_text = self._has_shown
        self._state = _State.OPEN if self._has_shown else _State.BEGIN

    def _with_withdrawal(self, judged: list[TextSpan]) -> list[TextSpan]:
        """If there is raw output after another message of the completion, that is withdrawn: it may have been raw output, too."""
        is_raw = self._follows and self._has_shown and any(span.text and not span.visible for span in judged)
        return [_WITHDRAWAL, *judged] if is_raw else judged

    def _judged(self, text: str, *, complete: bool) -> list[TextSpan]:
        label, self._label = self._label, None
        is_data, self._is_data = self._is_data, False
        if self._is_unprovable:
            return [TextSpan(False, text, is_withheld=True)]
        if is_data:
            return self._of_data(text, complete=complete)
        if label and not is_collapsed(text) and (spans := self._after_label(text, label, complete=complete)):
            return spans
        beginning = bare(folded(text)).lstrip()
        is_prose = not _GLUED.match(beginning) and not is_collapsed(text) and (bool(label) or beginning.startswith(_DOUBTFUL))
        if not is_prose or self._prose.has_text or "<|" in beginning or "|>" in beginning:
            return judge(text, complete=complete)
        if not complete:
            # Perhaps prose that happens to begin with the word, but a cut answer cannot be distinguished from reasoning.
            return [TextSpan(False, text, is_withheld=True)]
        return self._of_prose(text, complete=True)

    def _of_prose(self, text: str, *, complete: bool) -> list[TextSpan]:
        """Scan an answer with a doubtful beginning like any other, now that all of it is there."""
        self._state, self._prose = _State.OPEN, Prose()
        spans = [*self._read(text, is_end=False)]
        if self._state is _State.BUFFERED:
            # It contains a sign, after which nothing is provably the answer. Judging it by its beginning again would start over.
            text, self._parts = "".join(self._parts), []
            return [*spans, *judge(text, complete=complete)]
        return [*spans, *self.finish(complete=complete)]

    def _after_label(self, text: str, label: AnswerLabel, *, complete: bool) -> list[TextSpan]:
        """The spans after a label; empty if the label seems to be a heading of an honest answer."""
        at = answer_after(text, label) if complete else None
        if at is not None:
            self._leave()
            return [TextSpan(False, text[:at], is_withheld=True), *self._read(text[at:], is_end=False), *self.finish(complete=True)]
        return [TextSpan(False, text, is_withheld=True)] if label.is_raw or not complete else []

    def _of_data(self, text: str, *, complete: bool) -> list[TextSpan]:
        shown = labels.visible_of(text)
        if shown is None:
            return self._of_prose(text, complete=complete)
        rest = LeakGuard(whole=True)
        return [TextSpan(False, text, is_withheld=True), *rest.feed(shown), *rest.finish(complete=True)]


class _State(Enum):
    BEGIN = auto()
    BUFFERED = auto()
    TAG = auto()
    OPEN = auto()


def settled(spans: list[TextSpan]) -> list[TextSpan]:
    """The spans with all withdrawn text hidden: for a caller that shows nothing before the end."""
    last = max((index for index, span in enumerate(spans) if span.withdraws), default=-1)
    return [TextSpan(False, span.text, is_withheld=True) if index <= last else span for index, span in enumerate(spans)]
