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
_ATTACHED = re.compile(r"(?:(?<=[^\s\"'“‘«„「『(\[{\\])|(?<=[^\s(\[{][\"'“‘«]))(?=<|\\{1,8}<|assistant)")
_PLACE = re.compile(
    r"\n|`+"
    rf"|(?<=[{_ENDS}])(?=[^\s{_ENDS}])"
    rf"|{_ATTACHED.pattern}"
    r"|(?=<\||assistant(?:analysis|commentary|final|\s)|(?:analysis|commentary)(?:[A-Z]|\s{0,4}to=|\s?json)|(?<!\S)to=)"
)
"""The end of a line or of a sentence, backticks; or where a sign may be glued to anything but an opening quotation mark or bracket, or is
a header that stands anywhere."""
_LONGEST_SIGN = 90
_LONGEST_FENCE = 200
_AFTER = 4
"""So many characters after a sign are enough to tell an explanation from it."""


def _begun(*words: str) -> str:
    """Matches every beginning of the words."""
    return "|".join(re.escape(word[:end]) for word in words for end in range(len(word), 0, -1))


_ROLE = "(?:assistant(?:commentary|analysis)?|commentary|analysis)"
_CALL = re.compile(rf"(?:{_ROLE}\s?)?to=[\w.-]{{1,60}}[^\n{{]{{0,60}}\s*\{{")
_HEADER = re.compile(
    r"<\|(?:(?:end|return)\|>\s*<\|start|start\|>\s*\w{1,20}\s*<\|channel|channel\|>\s*(?:analysis|commentary|final)\s*<\|message)\|>"
    r"|(?P<word>(?:assistant|(?=[ac]))(?:analysis|commentary|final)(?=[A-Z]))"
)
"""A header is one wherever it stands."""
_HEADER_BEGUN = re.compile(
    r"<(?:\|(?:[a-z]{0,9}(?:\|(?:>\s{0,2}[a-z]{0,12}(?:\s{0,2}<[|a-z]{0,10})?)?)?)?)?\Z"
    rf"|{_ROLE}\s{{0,4}}(?:t|to|to=[^\n{{]{{0,60}}\s{{0,4}}|j|js|jso|json\s*)?\Z|to=[^\n{{]{{0,60}}\Z"
)
_MAY_BECOME = re.compile(
    rf"(?:\\{{0,8}}(?:<\s{{0,2}}[|/]?[\w.:|/-]{{0,60}})?"
    rf"|{_begun('assistant', 'analysis', 'commentary', *(f'{name}|>' for name in patterns.HARMONY))}"
    rf"|{_ROLE}\s{{0,4}}(?:[acfjt][a-z]{{0,9}}=?)?|(?:{_ROLE}\s?)?(?:t|to|to=[\w.-]{{0,60}}[^\n{{]{{0,60}}\s*))\Z",
    re.IGNORECASE,
)
"""What may become a sign with more text."""
_IS_OPEN = re.compile(rf"[<\[◁\\&|][^>\]▷\n]*(?:[>\]▷][^\n]{{0,{_AFTER - 1}}})?\Z")
"""The same, where a sign is likely."""
_TAIL_BEGUN = re.compile(
    rf"(?:{_begun('assistantcommentary', 'assistantanalysis', 'commentary', 'analysis', 'assistantfinal')}\s{{0,4}}(?:t|to|j|js|jso)?"
    r"|(?<!\S)(?:t|to)|(?<=\S)(?:&[#\w]{0,7}|\\{1,8}\w{0,4})|<)\Z"
)
_GLUED = re.compile(r"(?:analysis|commentary)(?:(?![\s.,:;!?'’)/-])|[ \t]*\n|[ \t]+(?=[A-Z]))")
_OPEN_WORD = re.compile(r" {0,2}[a-z]{0,12}\Z")
_NAMES_REASONING = re.compile(r"reasoning|think|thought", re.IGNORECASE)
_EXPLAINED = re.compile(r"\s?[:|=–—]| [^\W\d_A-Z]")
_NAMES_A_PLACE = re.compile(r" (?:to=|(?:assistant|analysis|commentary|final|user|system|developer|tool|functions)\b)")
_DATA = re.compile(r"\s*(?:\[\s*)?\{\s*[\"'](?P<key>\w*)(?P<closed>[\"'])?")
_DATA_BEGUN = re.compile(r"\s*(?:\[\s*)?(?:\{\s*)?\Z")


class Scanner:
    """Text in; text that may be shown out. ``held``: the text from a sign on; empty while there is none. ``is_doubtful``: it may be an
    honest text with a mention.
    """

    def __init__(self) -> None:
        self.held = ""
        self.is_doubtful = False
        self._buffer = ""
        self._begin = 0
        """Where new text begins in the buffer, behind two characters that were read."""
        self._is_first = self._at_line = True
        self._fence = ""
        self._kept: list[str] | None = None
        """The text from a sign in an open fence on: it counts if nothing closes the fence."""
        self._shown: list[str] = []
        self._is_blank = self._is_indented = self._is_code = False
        self._ticks = 0

    def feed(self, text: str) -> str:
        """More text; returns what can be shown now."""
        return self._read(text, is_end=False)

    def finish(self) -> str:
        """The text has ended; returns the rest of what can be shown."""
        shown = self._read("", is_end=True)
        self.held = self.held or "".join(self._kept or ())
        return shown

    def _read(self, text: str, *, is_end: bool) -> str:
        if self.held:
            self.held += text
            return ""
        self._buffer += text
        view, at = folded(self._buffer), self._begin
        while at < len(view) and not self.held:
            step = self._line_begins(view, at, is_end=is_end) if self._at_line else self._in_line(view, at, is_end=is_end)
            if step is None:
                break
            (self._shown if self._kept is None else self._kept).append(self._buffer[at:step])
            at = step
        self._buffer, self._begin = self._buffer[max(at - 2, 0) :], min(at, 2)
        shown, self._shown = "".join(self._shown), []
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
        if (fence := _FENCE.match(view, at)) and (step := self._at_fence(view, fence, is_end=is_end)) != 0:
            return step
        is_deep = "\t" in view[at:place] or place - at >= 4
        self._is_indented = is_deep and not self._is_first and (self._is_blank or self._is_indented)
        self._is_code = self._is_indented and patterns.begins_code(view, place)
        if not self._is_code:
            decided = self._at_place(view, place, is_end=is_end, begins_line=True)
            if decided is None or self.held:
                return None if decided is None else place
        self._at_line = self._is_first = self._is_blank = False
        self._ticks = 0
        # The place is judged.
        return place if view[place] == "`" else place + 1

    def _at_fence(self, view: str, fence: re.Match[str], *, is_end: bool) -> int | None:
        """Read the line of a fence. None if more text is needed, 0 if it is text of the block."""
        if fence.end() == len(view) and not is_end and fence.end() - fence.start() < _LONGEST_FENCE:
            return None
        behind = fence.end("run")
        if fence["info"] and self._kept is None and self._sign(view, behind, is_end=True, begins_line=False):
            # A sign that is glued to a fence ends the block: no language is called like this.
            self.held, self.is_doubtful = self._buffer[behind:], True
            return behind
        return min(fence.end() + 1, len(view)) if self._takes(fence["run"], fence["info"]) else 0

    def _takes(self, run: str, info: str) -> bool:
        """Whether the line opens a block of code, or closes it."""
        if self._fence:
            if not run.startswith(self._fence) or info.strip():
                return False
            self._shown += self._kept or ()
            self._fence, self._kept = "", None
        elif run[0] == "`" and "`" in info:
            return False
        else:
            self._fence = run
        self._is_first = self._is_blank = self._is_indented = False
        return True

    def _in_line(self, view: str, at: int, *, is_end: bool) -> int | None:
        place = _PLACE.search(view, at)
        if place is None:
            begun = None if is_end else _TAIL_BEGUN.search(view, at)
            return len(view) if begun is None else begun.start() if begun.start() > at else None
        if place[0] == "\n":
            self._at_line = True
            return place.end()
        if place[0]:
            if place.end() == len(view) and not is_end and len(place[0]) < _LONGEST_SIGN:
                return None
            self._ticks += 1
            return place.end()
        if place.start() > at:
            return place.start()
        decided = self._at_place(view, at, is_end=is_end, begins_line=False)
        return None if decided is None else at if decided else at + 1

    def _at_place(self, view: str, place: int, *, is_end: bool, begins_line: bool) -> bool | None:
        """Whether a sign stands here; then the text from it on is held. None if more text is needed."""
        if self._is_code or self._kept is not None:
            return False
        found = self._sign(view, place, is_end=is_end, begins_line=begins_line)
        if not found:
            return found
        if self._fence:
            self._kept = []
            return False
        if self._ticks % 2 and (closing := _closing_tick(view, place, is_end=is_end)) is not False:
            return None if closing is None else False
        header = None if self._is_first else _HEADER.match(view, place)
        is_word = header is not None and header["word"] is not None
        self.held, self.is_doubtful = self._buffer[place:], is_word or (not begins_line and view[place - 1] not in _ENDS)
        return True

    def _sign(self, view: str, at: int, *, is_end: bool, begins_line: bool) -> bool | None:
        """Whether a sign counts at a place. None if more text is needed."""
        rest = view[at : at + _LONGEST_SIGN + _AFTER]
        may_grow = not is_end and len(rest) < _LONGEST_SIGN + _AFTER
        is_sure = begins_line or view[at - 1] in _ENDS
        if may_grow and (_MAY_BECOME.match(bare(rest)) or (is_sure and _IS_OPEN.match(rest))):
            return None
        if may_grow and not is_sure and _HEADER_BEGUN.match(rest):
            return None
        is_call = begins_line and _CALL.match(rest)
        if is_call or (self._is_first and _GLUED.match(bare(rest))) or _HEADER.match(rest):
            return True
        sign = patterns.sign_at(view, at) if patterns.TRIGGER.match(view, at) else None
        if sign and sign.name == patterns.CALL:
            return True
        if not is_sure:
            return sign is not None and sign.kind in _HARMONY and _ATTACHED.match(view, at) is not None
        if sign and may_grow and (_OPEN_WORD.match(view, sign.end) or (len(view) < sign.end + _AFTER and "\n" not in view[sign.end :])):
            return None
        return sign is not None and _counts(view, sign, begins_line=begins_line)


def _closing_tick(view: str, place: int, *, is_end: bool) -> bool | None:
    """Whether the code span around the place is closed in its line."""
    line, end, _ = view[place:].partition("\n")
    return True if "`" in line else False if end or is_end else None


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


_HARMONY = (SignKind.SPECIAL, SignKind.COLLAPSED)
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

    def __init__(self, separation: Separation, *, thought: str = "", asked: Asked = ANY_TEXT) -> None:
        """``asked``: as for ``judged``. ``thought``: the reasoning before, which some servers repeat as the answer."""
        self._separation, self._asked = separation, asked
        self._scanner = Scanner()
        self._text: list[str] = []
        self._whole = ""
        self._thought = "".join(thought.split())
        self._begin: str | None = ""
        """The beginning of a text that may be nothing but calls, while that is not decided; then None."""
        self._has_shown = False
        self.has_sign = self.ends_in_call = False
        """``ends_in_call``: a token behind the text says that all of it was a call."""

    def reasoned(self, text: str) -> None:
        """More reasoning came after the text began: servers repeat it in pieces, too."""
        self._thought += "".join(text.split())

    @property
    def is_data(self) -> bool:
        """At the end: whether the text is data that nobody asked for."""
        return not self._asked.is_json and labels.begins(self._whole)

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
            if not self._begin.strip() or self._repeats_thought() or self._may_be_calls():
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
        self.ends_in_call = complete and self._scanner.held.strip() == "<|call|>"
        if self._separation is Separation.PLAIN:
            self.has_sign = self.has_sign or judged(whole, asked=self._asked).has_sign
        return spans

    def _judged(self, text: str, *, complete: bool) -> list[TextSpan]:
        if not complete and text.strip():
            # The sign may be what is missing.
            return [TextSpan(False, text, is_withheld=True)]
        at = after_thought(text, self._thought)
        judgement = judged(text[at:], asked=self._asked)
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
        if not complete:
            # What is missing may show that it was reasoning.
            return [TextSpan(False, text, is_withheld=True)] if text else []
        judgement = judged(text, follows=self._has_shown)
        if self._scanner.is_doubtful and not judged(self._whole, asked=self._asked).has_sign:
            return [TextSpan(True, text)]
        return judgement.spans if judgement.has_sign or not self._scanner.is_doubtful else [TextSpan(False, text, is_withheld=True)]

    def _shown(self, text: str) -> list[TextSpan]:
        self._has_shown = self._has_shown or bool(text.strip())
        return [TextSpan(True, text)] if text else []

    def _repeats_thought(self) -> bool:
        """Whether the text so far is how the reasoning of the same completion began."""
        text = "".join((self._begin or "").split())
        return self._thought.startswith(text)

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
            return bool(_DATA_BEGUN.match(text)) or labels.may_be_bare_call(text, self._asked.tools)
        key = data["key"].lower()
        keys = labels.CALL_KEYS.union(name.lower() for tool in self._asked.tools for name in labels.keys_of(tool))
        return key in keys if data["closed"] else any(known.startswith(key) for known in keys)
