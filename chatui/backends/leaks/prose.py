"""Scans growing text for signs of raw output outside code and quotations, and releases the rest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass, field

from chatui.backends.leaks import leak_patterns
from chatui.backends.leaks.code import MAX_SPAN_CHARS, Code
from chatui.backends.leaks.folding import bare, folded
from chatui.backends.leaks.leak_patterns import Kind, Sign, Wait
from chatui.backends.leaks.mentions import LOOK_AHEAD, is_mention
from chatui.backends.leaks.sequences import Verdict, begins_final, example_in, judge_special

_LINE_CHARS = 240


@dataclass(frozen=True, slots=True)
class Found:
    """A sign that was emitted, not mentioned.

    ``rest``: the text from the sign on. ``length``: the sign's own. ``withdraws``: the text before it was not the answer.
    """

    kind: Kind
    name: str
    length: int
    rest: str = field(repr=False)
    withdraws: bool = False


@dataclass(slots=True)
class _Doubt:
    """A sign in apparent code, or in an apparent example, and the text after it until that is certain. ``before``: the character before."""

    place: str
    before: str = " "
    parts: list[str] = field(default_factory=list)
    size: int = 0


class Prose:
    """Text in; releasable text out, with the first sign. After a sign, feed the text that follows it."""

    def __init__(self, kinds: Container[Kind] = frozenset(Kind)) -> None:
        """``kinds``: the signs to find; None for all."""
        self._kinds = kinds
        self._buffer = ""
        self._before = " "
        """The character before the buffer: a backslash there escapes a backtick at its beginning."""
        self._line = ""
        self._code = Code()
        self._doubt: _Doubt | None = None
        self._out: list[str] = []
        self._plain: Counter[str] = Counter()
        self.has_text = False

    def feed(self, text: str, *, is_end: bool = False) -> tuple[str, Found | None]:
        """More text. ``is_end``: no more comes, and nothing is buffered."""
        self._buffer += text
        found = self._scan(is_end=is_end)
        while found is None and is_end and (self._doubt or self._buffer):
            found = self._scan_doubtful_end()
        out, self._out = "".join(self._out), []
        return out, found

    def _scan(self, *, is_end: bool) -> Found | None:
        """Read from the beginning of the buffer until more text is needed."""
        view = folded(self._buffer)
        at = 0
        while True:
            step = self._step(view, at, is_end=is_end)
            if isinstance(step, Found):
                return step
            if step is None:
                return None
            if step < 0:
                # The buffer starts over.
                view, at = folded(self._buffer), 0
            else:
                at = step

    def _step(self, view: str, at: int, *, is_end: bool) -> Found | int | None:
        """The position at which to continue; None if more text is needed, -1 if the buffer has changed."""
        if self._doubt and self._doubt.place == "example":
            return self._look_at_example(is_end=is_end)
        if self._code.needs_head:
            # Unfolded text: in Markdown, look-alikes of spaces, backticks and list markers have no meaning.
            past = self._code.head(self._buffer, at, is_end=is_end) if at < len(view) else None
            if past is None:
                return self._stop(at)
            return self._at_head(at, past)
        trigger = leak_patterns.TRIGGER.search(view, at)
        if trigger is None:
            end = len(view) if is_end else len(view) - leak_patterns.undecided(view[at:])
            return self._stop(end)
        return self._at_trigger(view, trigger, is_end=is_end)

    def _at_head(self, at: int, past: int) -> int:
        doubt = self._doubt
        if doubt and doubt.place == "fence" and not self._code.fence:
            self._take(past)
            return self._believe()
        if doubt and doubt.place == "indent" and not self._code.is_indented:
            self._take(at)
            return self._believe() if _is_balanced("".join(doubt.parts)) else self._distrust()
        return past

    def _at_trigger(self, view: str, trigger: re.Match[str], *, is_end: bool) -> Found | int | None:
        at = trigger.start()
        if view[at] == "\n":
            return self._at_line_end(at)
        if view[at] == "`":
            return self._at_backticks(at, is_end=is_end)
        sign = leak_patterns.sign_at(view, at, is_end=is_end)
        if isinstance(sign, Wait):
            return self._stop(at)
        if sign is None or sign.kind not in self._kinds or self._doubt:
            return sign.end if sign else trigger.end()
        if place := self._code.place:
            self._take(at)
            self._doubt = _Doubt(place, self._before)
            return -1
        return self._judge(view, sign, is_end=is_end)

    def _at_line_end(self, at: int) -> int:
        self._code.end_line()
        return self._distrust() if self._doubt and self._doubt.place == "span" else at + 1

    def _at_backticks(self, at: int, *, is_end: bool) -> int | None:
        if self._buffer[at] != "`":
            return at + 1
        past = self._code.backticks(self._buffer, at, is_end=is_end, before=self._before)
        if past is None:
            return self._stop(at)
        if self._doubt and self._doubt.place == "span" and self._code.place != "span":
            is_long = self._doubt.size + at > MAX_SPAN_CHARS
            self._take(past)
            return self._distrust() if is_long else self._believe()
        return past

    def _judge(self, view: str, sign: Sign, *, is_end: bool) -> Found | int | None:
        line = self._line_before(view, sign.start)
        if sign.kind is Kind.SPECIAL:
            special = judge_special(view, sign, line, has_text=self.has_text or _has_text(view[: sign.start]), is_end=is_end)
            if special.verdict is Verdict.WAIT:
                return self._stop(sign.start)
            if special.verdict is Verdict.MENTION:
                return special.end
            if special.verdict is Verdict.EXAMPLE:
                self._take(sign.start)
                self._doubt = _Doubt("example")
                return -1
            return self._found(sign, withdraws=special.withdraws)
        if sign.kind is Kind.PLAIN or (sign.kind is Kind.CLOSING and self._plain[sign.name]):
            self._plain[sign.name] += 1 if sign.kind is Kind.PLAIN else -1
            return sign.end
        mention = is_mention(sign, line, view[sign.end : sign.end + LOOK_AHEAD], is_end=is_end)
        if mention is None:
            return self._stop(sign.start)
        return sign.end if mention else self._found(sign, withdraws=sign.kind in (Kind.CLOSING, Kind.COLLAPSED))

    def _found(self, sign: Sign, *, withdraws: bool) -> Found:
        self._take(sign.start)
        rest, self._buffer, self._before = self._buffer, "", " "
        return Found(sign.kind, sign.name, sign.end - sign.start, rest, withdraws)

    # Releasing and buffering

    def _stop(self, at: int) -> int | None:
        """Undecided: the text up to ``at`` is released, the rest stays buffered."""
        self._take(at)
        doubt = self._doubt
        if doubt and doubt.place == "span" and doubt.size > MAX_SPAN_CHARS:
            return self._distrust()
        return None

    def _take(self, at: int) -> None:
        """Consume the buffer up to ``at``."""
        text, self._buffer = self._buffer[:at], self._buffer[at:]
        if not text:
            return
        self._before = text[-1]
        if self._doubt:
            self._doubt.parts.append(text)
            self._doubt.size += len(text)
        else:
            self._release(text)

    def _release(self, text: str) -> None:
        self._out.append(text)
        self.has_text = self.has_text or _has_text(folded(text))
        self._line = (self._line + folded(text[-_LINE_CHARS:])).rpartition("\n")[2][-_LINE_CHARS:]

    def _believe(self) -> int:
        """It was code, or an example: release all of it."""
        if self._doubt:
            parts, self._doubt = self._doubt.parts, None
            self._release("".join(parts))
        return -1

    def _distrust(self) -> int:
        """It was neither: the sign counts, and the text is read again as prose."""
        if self._doubt:
            doubt, self._doubt = self._doubt, None
            self._buffer, self._before = "".join(doubt.parts) + self._buffer, doubt.before
            self._code.distrust(doubt.place)
        return -1

    def _scan_doubtful_end(self) -> Found | None:
        """The text ended inside apparent code."""
        doubt = self._doubt
        if doubt is None:
            return self._scan(is_end=True)
        self._take(len(self._buffer))
        if doubt.place == "indent" and _is_balanced("".join(doubt.parts)):
            self._believe()
        else:
            self._distrust()
        return self._scan(is_end=True)

    def _look_at_example(self, *, is_end: bool) -> Found | int | None:
        doubt = self._doubt
        self._take(len(self._buffer))
        text = "".join(doubt.parts) if doubt else ""
        view = folded(text)
        end = example_in(view, is_end=is_end)
        if end is None:
            return None
        self._doubt = None
        if end:
            self._buffer, self._before = text[end:], text[end - 1]
            self._release(text[:end])
            return -1
        self._buffer = text
        return self._found(next(leak_patterns.signs_in(view)), withdraws=begins_final(view))

    def _line_before(self, view: str, at: int) -> str:
        here = view[max(at - _LINE_CHARS, 0) : at]
        return here.rpartition("\n")[2] if "\n" in here else (self._line + here)[-_LINE_CHARS:]


def _has_text(view: str) -> bool:
    """Whether a person sees anything in folded text."""
    return bool(bare(view).strip())


def _is_balanced(text: str) -> bool:
    """Whether everything opened in a block of code is closed in it."""
    open_names: list[str] = []
    for sign in leak_patterns.signs_in(folded(text)):
        if sign.kind is Kind.OPENING:
            open_names.append(sign.name)
        elif sign.kind is Kind.CLOSING and (not open_names or open_names.pop() != sign.name):
            return False
    return not open_names
