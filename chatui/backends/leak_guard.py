"""Hides reasoning that a server without channels puts into the answer. It reads the whole answer; in doubt it hides.

Some servers put a model's raw output into the answer: with its Harmony markers, with the markers stripped
(``analysis…assistantfinal…``), or inside tags such as ``<think>``. Where such a sign stands outside code, and the answer does not only
speak about it, what belongs to it is hidden; where it shows that what came before was reasoning, that is withdrawn.
"""

from __future__ import annotations

import re
from enum import Enum, auto

from chatui.backends.leaks import judgement
from chatui.backends.leaks.judgement import STOP_TOKENS, Span
from chatui.backends.leaks.prose import Found, Prose
from chatui.backends.leaks.signs import Kind, bare, folded

__all__ = ["LeakGuard", "Span"]

# Text that begins so may be raw output whose markers were stripped; it is held and judged as a whole.
_DOUBTFUL = ("analysis", "commentary", "assistant", "to=", "final<|")
_STARTERS = (*_DOUBTFUL, "final*")
_GLUED = re.compile(r"\s*(?:analysis|commentary)(?![\s.,:;!?'’)/-]|$)")
_GLUED_FINAL = re.compile(r"(\s*)final(?=[A-Z0-9*#]|[^\W\d_a-z])")
# What in the middle of an answer still is a sign of stripped markers: no text that goes on with a sentence or with code begins so.
_RESUMED = re.compile(r"(?:analysis|commentary)(?![\s.,:;!?'’)/-]|$)|assistant(?=[<acf])|to=|final<\|")
_TAGS_ONLY = frozenset({Kind.OPENING, Kind.PLAIN, Kind.CLOSING})


class LeakGuard:
    """Text in, spans out. Holds back what could still turn out to be the beginning of a leak."""

    def __init__(self, *, whole: bool = False, resumes: bool = False) -> None:
        """``whole``: the answer comes in one piece, so nothing is shown before all of it was judged. ``resumes``: it goes on in the
        middle of an answer, where a word such as ``analysis`` is no sign by itself; markers, tags and stripped markers are."""
        self._is_whole = whole
        self._whole: list[str] | None = [] if whole else None
        self._resumes = resumes
        self._state = _State.BEGIN
        self._held = ""
        self._parts: list[str] = []
        self._prose = Prose()
        self._has_shown = False
        self._is_shut = False
        self._tag, self._depth = "", 0

    def feed(self, text: str) -> list[Span]:
        """More of the answer field."""
        if self._whole is not None:
            self._whole.append(text)
            return []
        return self._read(text, is_end=False)

    def finish(self, *, complete: bool) -> list[Span]:
        """The field has ended. ``complete``: the server said that the model stopped by itself."""
        if self._whole is not None:
            text, self._whole = "".join(self._whole), None
            return settled([*self.feed(text), *self.finish(complete=complete)])
        spans: list[Span] = []
        if self._state is _State.BEGIN:
            # Nothing more can make a sign of it.
            self._state = _State.OPEN
            held, self._held = "".join(self._parts) + self._held, ""
            self._parts = []
            spans += self._read(held, is_end=False)
        if self._state in (_State.OPEN, _State.TAG):
            spans += self._read("", is_end=True)
        parts, self._parts = "".join(self._parts), []
        return [*spans, *self._judged(parts, complete=complete)] if self._state is _State.HELD else spans

    def _read(self, text: str, *, is_end: bool) -> list[Span]:
        spans: list[Span] = []
        rest: str | None = text
        while rest or (is_end and rest is not None and self._state in (_State.OPEN, _State.TAG)):
            match self._state:
                case _State.BEGIN:
                    rest = self._begin(rest, is_end=is_end)
                case _State.HELD:
                    self._parts.append(rest)
                    rest = None
                case _State.TAG:
                    rest = self._inside_tag(rest, spans, is_end=is_end)
                case _State.OPEN:
                    rest = self._open(rest, spans, is_end=is_end)
        return spans

    def _begin(self, text: str, *, is_end: bool) -> str | None:
        self._held += text
        begun = bare(folded(self._held)).lstrip()
        if not begun:
            self._parts.append(self._held)
            self._held = ""
            return None
        if _RESUMED.match(begun) if self._resumes else begun.startswith(_DOUBTFUL):
            self._state = _State.HELD
        elif not is_end and any(starter.startswith(begun.lower()) for starter in _STARTERS):
            return None
        else:
            self._state = _State.OPEN
        text = "".join(self._parts) + self._held
        self._held, self._parts = "", []
        return text if self._resumes or not _GLUED_FINAL.match(text) else _GLUED_FINAL.sub(r"\1", text, count=1)

    def _open(self, text: str, spans: list[Span], *, is_end: bool) -> str | None:
        shown, found = self._prose.feed(text, is_end=is_end)
        if shown:
            spans.append(Span(True, shown))
            self._has_shown = self._has_shown or not shown.isspace()
        if found is None:
            return None
        match found.kind:
            case Kind.OPENING:
                return self._enter_tag(found, spans)
            case Kind.WRAPPER:
                spans.append(Span(False, found.rest[: found.length]))
                return found.rest[found.length :]
            case Kind.CLOSING:
                return self._withdraw(found, spans)
        if found.rest.strip() in STOP_TOKENS and is_end:
            return None
        if found.withdraws and self._has_shown:
            spans.append(Span(False, "", withdraws=True, is_withheld=True))
            self._has_shown = False
        # Behind stripped markers in the middle nothing can be proven: how often the model changed its channel before is not known.
        self._is_shut = found.kind is Kind.COLLAPSED and not self._is_whole
        self._state = _State.HELD
        return found.rest

    def _enter_tag(self, found: Found, spans: list[Span]) -> str:
        self._state, self._tag, self._depth = _State.TAG, found.name, 1
        self._prose = Prose(_TAGS_ONLY)
        spans.append(Span(False, found.rest[: found.length], is_withheld=self._has_shown))
        return found.rest[found.length :]

    def _withdraw(self, found: Found, spans: list[Span]) -> str:
        """A closing tag without an opening one: all that came before it was reasoning."""
        spans.append(Span(False, found.rest[: found.length], withdraws=self._has_shown, is_withheld=self._has_shown))
        self._leave()
        self._has_shown = False
        return found.rest[found.length :]

    def _inside_tag(self, text: str, spans: list[Span], *, is_end: bool) -> str | None:
        hidden, found = self._prose.feed(text, is_end=is_end)
        is_withheld = self._has_shown or (is_end and found is None)
        if hidden or (is_end and found is None):
            spans.append(Span(False, hidden, is_withheld=is_withheld))
        if found is None:
            return None
        if found.name == self._tag:
            self._depth += 1 if found.kind is Kind.OPENING else -1
        spans.append(Span(False, found.rest[: found.length], is_withheld=self._has_shown))
        if not self._depth:
            self._leave()
        return found.rest[found.length :]

    def _leave(self) -> None:
        """What comes now is the answer, and judged as one that begins where nothing of it was shown."""
        self._prose = Prose()
        self._prose.has_text = self._has_shown
        self._state = _State.OPEN if self._has_shown else _State.BEGIN
        self._held = ""

    def _judged(self, text: str, *, complete: bool) -> list[Span]:
        begun = bare(folded(text)).lstrip()
        is_prose = begun.startswith(_DOUBTFUL) and not _GLUED.match(begun) and not judgement.is_collapsed(text)
        if self._is_shut:
            return [Span(False, text, is_withheld=True)]
        if not is_prose or self._prose.has_text or "<|" in begun or "|>" in begun:
            return judgement.judge(text, complete=complete)
        if not complete:
            # Prose that happens to begin with the word. Cut short it cannot be told from reasoning.
            return [Span(False, text)]
        self._state = _State.OPEN
        return [*self._read(text, is_end=False), *self.finish(complete=True)]


class _State(Enum):
    BEGIN = auto()
    HELD = auto()
    TAG = auto()
    OPEN = auto()


def settled(spans: list[Span]) -> list[Span]:
    """The same with everything hidden that was withdrawn: for who shows nothing before the end."""
    last = max((index for index, span in enumerate(spans) if span.withdraws), default=-1)
    return [Span(False, span.text, is_withheld=True) if index <= last else span for index, span in enumerate(spans)]
