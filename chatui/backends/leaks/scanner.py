"""Reads the text of an answer as it comes: shows it at once where reasoning has a place of its own, else holds it to its end.

What a server's parser leaves behind in proven text is found by its place alone: a sign at the beginning of the text or of a line, or glued
to what stands before it, outside code. Everything from there on is held, and judged whole at the end. Glued to anything but a sentence, it
may also be a mention: then the whole text decides.
"""

from __future__ import annotations

import re
from itertools import islice

from chatui.backends.leaks import labels, patterns
from chatui.backends.leaks.guard import TextSpan, judged
from chatui.backends.leaks.labels import ANY_TEXT, Asked
from chatui.backends.leaks.patterns import Sign, SignKind, bare, folded
from chatui.backends.separation import Separation

_LEAD = re.compile(r"[ \t\u200b\ufeff\r]*")
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)*(?P<run>`{3,}|~{3,})(?P<info>[^\n]*)")
_FENCE_BEGUN = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,3}[.)]?)[ \t]*)*(?:`{0,2}|~{0,2})\Z")
_ENDS = ".!?…。！？"
_PLACE = re.compile(
    r"\n|`+"
    rf"|(?<=[{_ENDS}])(?=[^\s{_ENDS}])"
    r"|(?:(?<=[^\s\"'“‘«„「『(\[{/\\])|(?<=[^\s(\[{][\"']))(?=<|\\{1,8}<|assistant|(?:commentary|analysis)\s?to=)"
)
"""The end of a line or of a sentence, backticks; or where a sign may be glued to anything but an opening quotation mark or bracket."""
_LONGEST_SIGN = 90
_LONGEST_FENCE = 200
_AFTER = 4
"""So many characters after a sign are enough to tell an explanation from it."""
_BEGINS = re.compile(r"[<\[◁\\&|]")
_SIGN_ENDS = re.compile(r"[>\]▷]")
_WORDS = (
    "assistantfinal",
    "assistantanalysis",
    "assistantcommentary",
    "analysis",
    "commentary",
    *(f"{name}|>" for name in patterns.HARMONY),
)
_CALL = re.compile(r"(?:(?:assistant|commentary|analysis)\s?)?to=[\w.-]{1,60}[^\n{]{0,60}\s*\{")
_CALL_BEGUN = re.compile(r"(?:(?:assistant|commentary|analysis)\s?)?(?:t|to|to=[\w.-]{0,60}[^\n{]{0,60}\s*)?\Z")
_GLUED_BEGUN = re.compile(
    r"\\{0,8}(?:<[\s\u200b]?[|/]?[\w.:|/\u200b-]{0,60})?\Z|(?:assistant|commentary|analysis)[\s\u200b]{0,4}(?:[acft][a-z]{0,9}=?)?\Z"
)
_SIGN_BEGUN = re.compile(
    r"(?<=\S)(?:a|as|ass|assi|assis|assist|assista|assistan|assistant|an|ana|anal|analy|analys|analysis|analysis |analysis t|analysis to"
    r"|co|com|comm|comme|commen|comment|commenta|commentar|commentary|commentary |commentary t|commentary to"
    r"|&[#\w]{0,7}|\\{1,8}\w{0,4})\Z"
)
_GLUED = re.compile(r"(?:analysis|commentary)(?:(?![\s.,:;!?'’)/-])|[ \t]*\n|[ \t]+(?=[A-Z]))")
_NAMES_REASONING = re.compile(r"reasoning|think|thought", re.IGNORECASE)
_EXPLAINED = re.compile(r"\s?[:|=–—]| [^\W\d_A-Z]")
_NAMES_A_PLACE = re.compile(r" (?:to=|(?:assistant|analysis|commentary|final|user|system|developer|tool|functions)\b)")
_DATA = re.compile(r"\s*(?:\[\s*)?\{\s*[\"'](?P<key>\w*)(?P<closed>[\"'])?")
_DATA_BEGUN = re.compile(r"\s*(?:\[\s*)?(?:\{\s*)?\Z")


class Scanner:
    """Text in; text that may be shown out. ``held``: the text from a sign on; empty while there is none."""

    def __init__(self) -> None:
        self.held = ""
        self._buffer = ""
        self._is_first = self._at_line = True
        self._fence = ""
        self._doubt = -1
        """Where a sign stands in an open fence, in the buffer."""
        self._kept: list[str] = []
        """The text from that sign on: it counts if nothing closes the fence."""
        self._is_doubting = self._is_blank = self._is_indented = False
        self._ticks = 0
        self._last = ""
        self.is_doubtful = False
        """Whether what is held may be an honest text with a mention."""

    def feed(self, text: str) -> str:
        """More text; returns what can be shown now."""
        return self._read(text, is_end=False)

    def finish(self) -> str:
        """The text has ended; returns the rest of what can be shown."""
        shown = self._read("", is_end=True)
        if self._kept:
            self.held, self._kept = "".join(self._kept), []
        return shown

    def _read(self, text: str, *, is_end: bool) -> str:
        if self.held:
            self.held += text
            return ""
        self._buffer += text
        view, at = folded(self._buffer), 0
        while at < len(view):
            step = self._line_begins(view, at, is_end=is_end) if self._at_line else self._in_line(view, at, is_end=is_end)
            if step is None:
                break
            at = step
            if self._has_sign():
                break
        return self._release(at)

    def _has_sign(self) -> bool:
        return bool(self.held)

    def _release(self, at: int) -> str:
        text, self._buffer = self._buffer[:at], self._buffer[at:]
        self._last = (self._last + text)[-2:]
        if self._is_doubting and self._doubt < 0:
            self._kept.append(text)
            return ""
        certain = text if self._doubt < 0 else text[: self._doubt]
        shown = "".join((*self._kept, certain))
        self._kept, self._doubt = [text[len(certain) :]] if self._is_doubting else [], -1
        return shown

    def _line_begins(self, view: str, at: int, *, is_end: bool) -> int | None:
        """Read the beginning of a line. None if more text is needed."""
        lead = _LEAD.match(view, at)
        place = lead.end() if lead else at
        if place == len(view) or (_FENCE_BEGUN.match(view, at) and not is_end):
            return place if is_end else None
        if view[place] == "\n":
            self._is_blank = True
            return place + 1
        if fence := _FENCE.match(view, at):
            if fence.end() == len(view) and not is_end and fence.end() - at < _LONGEST_FENCE:
                return None
            if self._takes(fence["run"], fence["info"]):
                return min(fence.end() + 1, len(view))
        is_deep = "\t" in view[at:place] or place - at >= 4
        self._is_indented = is_deep and not self._is_first and (self._is_blank or self._is_indented)
        if not self._is_indented:
            decided = self._at_place(view, place, is_end=is_end, begins_line=True)
            if decided is None or self.held:
                return None if decided is None else place
        self._at_line = self._is_first = self._is_blank = False
        self._ticks = 0
        return place

    def _takes(self, run: str, info: str) -> bool:
        """Whether the line opens a block of code, or closes it."""
        if self._fence:
            if not run.startswith(self._fence) or info.strip():
                return False
            self._fence, self._doubt, self._is_doubting = "", -1, False
        elif run[0] == "`" and "`" in info:
            return False
        else:
            self._fence = run
        self._is_first = self._is_blank = self._is_indented = False
        return True

    def _in_line(self, view: str, at: int, *, is_end: bool) -> int | None:
        last = folded(self._last) if at < 2 else ""
        seen = last + view if last else view
        place = _PLACE.search(seen, at + len(last))
        if place is None:
            begun = None if is_end else _SIGN_BEGUN.search(seen, at + len(last))
            return self._undecided(begun.start() - len(last), at) if begun else len(view)
        start, end = place.start() - len(last), place.end() - len(last)
        if place[0] == "\n":
            self._at_line = True
            return end
        if place[0]:
            if end == len(view) and not is_end and len(place[0]) < _LONGEST_SIGN:
                return None
            self._ticks += 1
            return end
        decided = self._at_place(view, start, is_end=is_end, begins_line=False)
        if decided is None or self.held:
            return start if decided else self._undecided(start, at)
        return start + 1

    def _undecided(self, place: int, at: int) -> int | None:
        return place if place > at else None

    def _at_place(self, view: str, place: int, *, is_end: bool, begins_line: bool) -> bool | None:
        """Whether a sign stands here; then the text from it on is held. None if more text is needed."""
        if self._is_indented or self._is_doubting:
            return False
        is_sure = begins_line or (view[place - 1] if place else self._last[-1:]) in _ENDS
        if is_sure:
            found = _sign(view, place, is_end=is_end, begins_line=begins_line, is_first=self._is_first)
        else:
            found = _glued_sign(view, place, is_end=is_end)
        if not found:
            return found
        if self._fence:
            self._doubt, self._is_doubting = place, True
            return False
        if self._ticks % 2 and (closing := self._closing_tick(view, place, is_end=is_end)) is not False:
            return None if closing is None else False
        self.held, self.is_doubtful = self._buffer[place:], not is_sure
        return True

    def _closing_tick(self, view: str, place: int, *, is_end: bool) -> bool | None:
        """Whether the code span around the place is closed in its line."""
        end = view.find("\n", place)
        if "`" in (view[place:] if end < 0 else view[place:end]):
            return True
        return False if end >= 0 or is_end else None


def _sign(view: str, at: int, *, is_end: bool, begins_line: bool, is_first: bool) -> bool | None:
    """Whether a sign stands at a place where one counts. None if more text is needed."""
    rest = view[at : at + _LONGEST_SIGN + _AFTER]
    is_whole = is_end or len(rest) == _LONGEST_SIGN + _AFTER
    if not is_end and _GLUED_BEGUN.match(view, at):
        return None
    if _BEGINS.match(rest):
        end = _SIGN_ENDS.search(rest)
        if not is_whole and "\n" not in rest and (end is None or len(rest) < end.end() + _AFTER):
            return None
    elif not is_whole and "\n" not in rest and _is_word_begun(rest):
        return None
    if _CALL.match(rest) or (is_first and _GLUED.match(bare(rest))):
        return True
    if not is_whole and _CALL_BEGUN.match(rest):
        return None
    sign = patterns.sign_at(view, at) if patterns.TRIGGER.match(view, at) else None
    if sign and not is_end and len(view) < sign.end + _AFTER and "\n" not in view[sign.end :]:
        return None
    return sign is not None and _counts(view, sign, begins_line=begins_line)


def _glued_sign(view: str, at: int, *, is_end: bool) -> bool | None:
    """Whether a sign is glued to what stands before the place. None if more text is needed."""
    if _GLUED_BEGUN.match(view, at) and not is_end:
        return None
    if _CALL.match(view, at):
        return True
    sign = patterns.sign_at(view, at) if patterns.TRIGGER.match(view, at) else None
    if sign is None and not is_end and len(view) - at < _LONGEST_SIGN and _CALL_BEGUN.match(view, at):
        return None
    return sign is not None and sign.kind in (SignKind.SPECIAL, SignKind.COLLAPSED)


def _is_word_begun(rest: str) -> bool:
    word = bare(rest).lower()
    return any(each.startswith(word) for each in _WORDS)


def _counts(view: str, sign: Sign, *, begins_line: bool) -> bool:
    after = view[sign.end : sign.end + 14]
    if sign.kind in (SignKind.PLAIN, SignKind.WRAPPER):
        return False
    if sign.name == "details" and not _NAMES_REASONING.search(view, sign.start, sign.end):
        return False
    if sign.kind is SignKind.CLOSING:
        return begins_line and not after.partition("\n")[0].strip()
    is_explained = begins_line and _EXPLAINED.match(after) and not _NAMES_A_PLACE.match(after)
    return not is_explained


_LEAST_THOUGHT = 24
"""A thought with fewer characters than that, white space aside, may well be how its answer begins, too."""


def after_thought(text: str, thought: str) -> int:
    """Where the answer begins in a text that begins with the whole thought once more, whatever its white space; 0 if it does not."""
    words, thought = "".join(text.split()), "".join(thought.split())
    if len(thought) < _LEAST_THOUGHT or not words.startswith(thought):
        return 0
    places = (at for at, character in enumerate(text, 1) if not character.isspace())
    return next(islice(places, len(thought) - 1, None))


class LeakGuard:
    """Text in, spans out. ``has_sign``: something in the text is raw output."""

    def __init__(self, separation: Separation, *, resumes: bool = False, thought: str = "", asked: Asked = ANY_TEXT) -> None:
        """``resumes`` and ``asked``: as for ``judged``. ``thought``: the reasoning before, which some servers repeat as the answer."""
        self._separation = separation
        self._resumes, self._asked = resumes, asked
        self._scanner = Scanner()
        self._text: list[str] = []
        self._whole = ""
        self._thought = "".join(thought.split())
        self._begin: str | None = ""
        """The beginning of a text that may be nothing but calls, while that is not decided; then None."""
        self._has_shown = False
        self.has_sign = False

    def reasoned(self, text: str) -> None:
        """More reasoning came after the text began: servers repeat it in pieces, too."""
        self._thought += "".join(text.split())

    @property
    def is_holding(self) -> bool:
        """Whether text waits for its end."""
        return self._separation is Separation.UNPROVEN and any(text.strip() for text in self._text)

    def feed(self, text: str) -> list[TextSpan]:
        """More text of the answer field."""
        self._text.append(text)
        if self._separation is Separation.UNPROVEN:
            return []
        if self._begin is not None:
            self._begin += text
            if self._repeats_thought() or self._may_be_calls():
                return []
            begin, self._begin = self._begin, None
            return self._past_thought(begin)
        return self._shown(self._scanner.feed(text))

    def _past_thought(self, begin: str) -> list[TextSpan]:
        """The first text that can be read: without the thought, if all of that is repeated before it."""
        at = after_thought(begin, self._thought)
        hidden = [TextSpan(False, begin[:at])] if at else []
        return [*hidden, *self._shown(self._scanner.feed(begin[at:]))]

    def finish(self, *, complete: bool) -> list[TextSpan]:
        """The field has ended. ``complete``: the server said that the model stopped by itself."""
        self._whole = whole = "".join(self._text)
        self._text = []
        if self._separation is Separation.UNPROVEN:
            return self._judged(whole, complete=complete)
        spans = self._rest(complete=complete)
        if self._separation is Separation.PLAIN:
            self.has_sign = self.has_sign or judged(whole, complete=True, resumes=self._resumes, asked=self._asked).has_sign
        return spans

    def _judged(self, text: str, *, complete: bool) -> list[TextSpan]:
        if not complete and text.strip():
            # The sign may be what is missing.
            return [TextSpan(False, text, is_withheld=True)]
        at = after_thought(text, self._thought)
        judgement = judged(text[at:], complete=complete, resumes=self._resumes, asked=self._asked)
        self.has_sign = judgement.has_sign
        return [*([TextSpan(False, text[:at])] if at else []), *judgement.spans]

    def _rest(self, *, complete: bool) -> list[TextSpan]:
        begin, self._begin = self._begin or "", None
        is_thought = bool(begin) and self._is_thought(begin, complete=complete)
        is_call = not self._asked.is_json and (
            labels.is_bare_call(begin, self._asked.tools) or (_DATA.match(begin) and labels.is_calls(begin, complete=complete))
        )
        if is_thought or is_call:
            self.has_sign = not is_thought
            return [TextSpan(False, begin, is_withheld=True)]
        shown = [*self._past_thought(begin), *self._shown(self._scanner.finish())]
        spans = self._of_held(self._scanner.held, complete=complete)
        self.has_sign = any(not span.visible for span in spans)
        return [*shown, *spans]

    def _of_held(self, text: str, *, complete: bool) -> list[TextSpan]:
        spans = judged(text, complete=complete, resumes=self._resumes, follows=self._has_shown).spans
        if not self._scanner.is_doubtful:
            return spans
        if complete and not judged(self._whole, complete=True, resumes=self._resumes, asked=self._asked).has_sign:
            return [TextSpan(True, text)]
        return spans if any(not span.visible for span in spans) else [TextSpan(False, text, is_withheld=True)]

    def _shown(self, text: str) -> list[TextSpan]:
        self._has_shown = self._has_shown or bool(text.strip())
        return [TextSpan(True, text)] if text else []

    def _repeats_thought(self) -> bool:
        """Whether the text so far is how the reasoning of the same completion began."""
        text = "".join((self._begin or "").split())
        return bool(text) and self._thought.startswith(text)

    def _is_thought(self, text: str, *, complete: bool) -> bool:
        """Whether a whole text is the reasoning once more, or may have become it. A short answer may well begin like its reasoning."""
        words = "".join(text.split())
        return self._thought == words if complete else self._thought.startswith(words)

    def _may_be_calls(self) -> bool:
        """Whether the text so far may be how an answer begins that is nothing but calls."""
        text = self._begin or ""
        if self._asked.is_json:
            return False
        data = _DATA.match(text)
        if data is None:
            return bool(text.strip()) and (bool(_DATA_BEGUN.match(text)) or labels.may_be_bare_call(text, self._asked.tools))
        key = data["key"].lower()
        keys = labels.CALL_KEYS.union(name.lower() for tool in self._asked.tools for name in labels.keys_of(tool))
        return key in keys if data["closed"] else any(known.startswith(key) for known in keys)
