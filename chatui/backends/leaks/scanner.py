"""Reads the text of an answer as it comes: shows it at once where reasoning has a place of its own, else holds it to its end.

What a server's parser leaves behind in proven text is found by its place alone: a sign at the beginning of the text or of a line, or glued
to what stands before it, outside code. Everything from there on is held, and judged whole at the end. Glued to anything but a sentence, it
may also be a mention: then the whole text decides. Of a sign inside a word, the first letter may have been shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import regex

from chatui.backends.leaks import labels, patterns
from chatui.backends.leaks.guard import STOP_TOKENS, TextSpan, call_at, ends_in_call, judged, withheld
from chatui.backends.leaks.labels import ANY_TEXT, Asked
from chatui.backends.leaks.patterns import ENDS, Sign, SignKind, UndecidedError, folded
from chatui.backends.repeats import Repeats
from chatui.backends.separation import Separation

_LEAD = regex.compile(r"[ \t\u200b\ufeff\r]{0,99}+(?=\S|\n)")
_FENCE = regex.compile(r"[ \t>]{0,99}(?:(?:[-*+]|\d{1,3}[.)])[ \t]{1,9}){0,9}(?P<run>`{3,99}|~{3,99})(?P<info>[^\n]{0,200})")
_PLACE = regex.compile(rf"(?<=[{ENDS}][ ]{{0,2}})(?=[^\s{ENDS}])|{patterns.ATTACHED.pattern}|(?={patterns.HEADER_BEGINS})")
"""Where a sign may stand in a line: behind a sentence, glued to anything but an opening quotation mark or bracket, or a header anywhere."""
_STOP = re.compile(
    rf"\n|`+|(?<=[{ENDS}])(?=\S)|(?<=[{ENDS}] )(?=\S)|(?<=[{ENDS}]  )(?=\S)"
    r"|(?=[<\\]|ass|ana|com|to=|fun|bro|con|mul|[abcfmt](?:\u200b|\w?\w?\Z))"
)
"""Where there may be such a place, found quickly; the end of a line; and backticks."""
_CONTEXT = 16
"""So many characters before a place say what it is."""
_LONGEST_SPAN, _LONGEST_RUN = 400, 99
_NAMES_REASONING = regex.compile(r"reasoning|think|thought", regex.IGNORECASE)
_ALONE = regex.compile(r"[ \t\r\u200b]{0,14}(?:\n|\Z)")
_EXPLAINED = regex.compile(r"\s?[:|=–—]| [^\W\d_\p{Lu}]")
_NAMES_A_PLACE = regex.compile(r" (?:to=|(?:assistant|analysis|commentary|final|user|system|developer|tool|functions)(?!\w)[\s\S])")


class Scanner:
    """Text in; text that may be shown out. ``held``: the text from a sign on; empty while there is none. ``may_be_call``: it may be
    a call by its arguments or its tool's name.
    """

    def __init__(self, calls: regex.Pattern[str] | None = None) -> None:
        """``calls``: how the request's calls begin, see ``labels.calls_begin``."""
        self.held = ""
        self.may_be_call = False
        self.ahead = 0
        """How much of the text that is read next, or held, was shown already: the last letter of a word, in which a sign could begin."""
        self._calls = calls
        self._buffer = self._view = ""
        self._is_end = False
        self._begin = 0
        """Where new text begins in the buffer, behind some characters that were read."""
        self._is_first = self._at_line = True
        self._fence = ""
        self._rest_of_block: list[str] | None = None
        """The text from a sign in an open fence on: it counts if nothing closes the fence."""
        self._shown: list[str] = []
        self._is_blank = self._is_indented = self._is_code = self._begins_block = False
        self._ticks = 0

    def feed(self, text: str) -> str:
        """More text; returns what can be shown now."""
        return self._read(text, is_end=False)

    def finish(self) -> str:
        """The text has ended; returns the rest of what can be shown."""
        shown = self._read("", is_end=True)
        self.held = self.held or "".join(self._rest_of_block or ())
        return shown

    def _read(self, text: str, *, is_end: bool) -> str:
        if self.held:
            self.held += text
            return ""
        self._buffer += text
        self._is_end, at = is_end, self._begin
        self._view = folded(self._buffer if is_end else self._buffer[: patterns.readable(self._buffer)])
        try:
            while at < len(self._view) and not self.held:
                step = self._line_begins(at) if self._at_line else self._in_line(at)
                if step > at:
                    (self._shown if self._rest_of_block is None else self._rest_of_block).append(self._buffer[at + self.ahead : step])
                    at, self.ahead = step, 0
        except UndecidedError:
            if not self.ahead and self._ends_word(at):
                self._shown.append(self._buffer[at:])
                self.ahead = 1
        self._buffer, self._begin = self._buffer[max(at - _CONTEXT, 0) :], min(at, _CONTEXT)
        shown, self._shown = "".join(self._shown), []
        return shown

    def _ends_word(self, at: int) -> bool:
        """Whether the place is the last letter so far of a word in a line. Words come in pieces, and most go on with no sign."""
        letters = self._buffer[max(at - 1, 0) :]
        is_last = len(letters) == 2 and letters.isascii() and letters.isalpha() and letters.islower()
        return is_last and not (self._at_line or self._fence or self._rest_of_block is not None)

    def _match(self, pattern: regex.Pattern[str], at: int) -> regex.Match[str] | None:
        return patterns.matched(pattern, self._view, at, may_grow=not self._is_end)

    def _line_begins(self, at: int) -> int:
        view, lead = self._view, self._match(_LEAD, at)
        place = lead.end() if lead else at
        if lead and view[place] == "\n":
            self._is_blank = True
            return place + 1
        if (fence := self._match(_FENCE, at)) and (step := self._at_fence(fence)):
            return step
        is_deep = "\t" in view[at:place] or place - at >= 4
        is_indented = is_deep and not self._is_first and (self._is_blank or self._is_indented)
        is_left = self._is_indented and self._match(patterns.LEAVES_CODE, place)
        self._is_code = is_indented and not is_left and view.startswith(patterns.BEGIN_CODE, place)
        if not self._is_code and self._at_place(place, begins_line=True):
            return place
        self._at_line = self._is_first = self._is_blank = self._begins_block = False
        self._is_indented, self._ticks = is_indented, 0
        # The place is judged.
        return place if view[place] == "`" else place + 1

    def _at_fence(self, fence: regex.Match[str]) -> int:
        """Read the line of a fence. 0 if it is text of the block."""
        behind: int = fence.end("run")
        if fence["info"] and self._rest_of_block is None and self._sign(behind, begins_line=False):
            # A sign that is glued to a fence ends the block: no language is called like this.
            self.held = self._buffer[behind:]
            return behind
        return min(fence.end() + 1, len(self._view)) if self._takes(fence["run"], fence["info"]) else 0

    def _takes(self, run: str, info: str) -> bool:
        """Whether the line opens a block of code, or closes it."""
        if self._fence:
            if not run.startswith(self._fence) or info.strip():
                return False
            self._shown += self._rest_of_block or ()
            self._fence, self._rest_of_block = "", None
        elif run[0] == "`" and "`" in info:
            return False
        else:
            self._fence, self._begins_block = run, True
        self._is_first = self._is_blank = self._is_indented = False
        return True

    def _in_line(self, at: int) -> int:
        view, stop = self._view, _STOP.search(self._view, at)
        if stop is None or stop.start() > at:
            return stop.start() if stop else len(view)
        if stop[0] == "\n":
            self._at_line = True
            return stop.end()
        if stop[0]:
            if stop.end() == len(view) and not self._is_end and len(stop[0]) < _LONGEST_RUN:
                raise UndecidedError
            self._ticks += 1
            return stop.end()
        return at if self._match(_PLACE, at) and self._at_place(at, begins_line=False) else at + 1

    def _at_place(self, place: int, *, begins_line: bool) -> bool:
        """Whether a sign stands here; then the text from it on is held. After one in a block of code, only the rest of the block waits."""
        if self._is_code or self._rest_of_block is not None:
            return False
        if not self._sign(place, begins_line=begins_line):
            return False
        if self._fence and (self._begins_block or not self._match(patterns.LEAVES_CODE, place)):
            self._rest_of_block = []
            return False
        if self._ticks % 2 and self._closes_tick(place):
            return False
        self.held = self._buffer[place:]
        return True

    def _sign(self, at: int, *, begins_line: bool) -> bool:
        """Whether a sign counts at a place."""
        view, is_sure = self._view, begins_line or self._view[at - 1] in ENDS
        if self._calls and not self._fence and self._match(self._calls, at):
            self.may_be_call = True
            return True
        if self._is_first and self._match(patterns.HIDDEN_BEGINS, at):
            return True
        sign = patterns.sign_at(view, at, may_grow=not self._is_end)
        if sign is None or sign.kind is SignKind.HEADER or self._match(patterns.HEADER, at):
            return sign is not None
        if not is_sure:
            return sign.kind in (SignKind.SPECIAL, SignKind.COLLAPSED) and bool(patterns.ATTACHED.match(view, at))
        return self._counts(sign, begins_line=begins_line)

    def _counts(self, sign: Sign, *, begins_line: bool) -> bool:
        """Whether a sign counts at the beginning of a line or behind a sentence."""
        if sign.kind in (SignKind.PLAIN, SignKind.WRAPPER):
            return False
        if sign.name == "details" and not _NAMES_REASONING.search(self._view, sign.start, sign.end):
            return False
        if sign.kind is SignKind.CLOSING:
            return begins_line and self._match(_ALONE, sign.end) is not None
        return not begins_line or bool(self._match(_NAMES_A_PLACE, sign.end) or not self._match(_EXPLAINED, sign.end))

    def _closes_tick(self, place: int) -> bool:
        """Whether the code span around the place is closed in its line."""
        line, end, _ = self._view[place : place + _LONGEST_SPAN].partition("\n")
        if "`" not in line and not end and not self._is_end and len(line) < _LONGEST_SPAN:
            raise UndecidedError
        return "`" in line


class LeakGuard:
    """Text in, spans out. ``has_sign``: something in the text is raw output."""

    def __init__(self, separation: Separation, *, thought: str = "", asked: Asked = ANY_TEXT) -> None:
        """``asked``: as for ``judged``. ``thought``: the reasoning before, which some servers repeat as the answer."""
        self._separation, self._asked, self._is_own = separation, asked, separation is Separation.OWN
        # Behind reasoning of its own, data is an answer like any other, unless there is a tool to call.
        self._asked_data = replace(asked, is_json=asked.is_json or (self._is_own and not asked.tools))
        self._scanner = Scanner(labels.calls_begin(self._asked_data))
        self._text: list[str] = []
        """What was read, without what was hidden as a thought."""
        self._whole = ""
        self._repeats = Repeats(thought, asked.thoughts)
        self.reasoned, self.reasoned_apart = self._repeats.reasoned, self._repeats.reasoned_apart
        self._has_shown = False
        self._sent = 0
        """How much of the text was shown."""
        self.has_sign = self.ends_in_call = self.hides_before = self.is_repeated = False
        """``ends_in_call``: a token behind the text says that all of it was a call. ``hides_before``: what was shown before was reasoning,
        for the header of an answer came only then, or the beginning of the text, or all of it, came as reasoning as well
        (``is_repeated``), which says nothing of other texts."""

    @property
    def is_data(self) -> bool:
        """At the end: whether the text is data that nobody asked for."""
        return not self._asked.is_json and labels.begins(self._whole)

    def feed(self, text: str) -> list[TextSpan]:
        if self._separation is Separation.UNPROVEN:
            self._text.append(text)
            return []
        return self._read(text) if self._repeats.is_past else self._without_thought(self._repeats.feed(text))

    def _read(self, text: str) -> list[TextSpan]:
        self._text.append(text)
        return self._shown(self._scanner.feed(text))

    def _without_thought(self, pieces: Iterable[tuple[str, bool]]) -> list[TextSpan]:
        return [span for text, is_thought in pieces for span in (withheld(text) if is_thought else self._read(text))]

    def finish(self, *, complete: bool) -> list[TextSpan]:
        """The field has ended. ``complete``: the server said that the model stopped by itself."""
        if self._separation is Separation.UNPROVEN:
            self._whole = "".join(self._text)
            return self._judged(self._whole, complete=complete)
        begun = [] if self._repeats.is_past else self._without_thought(self._repeats.finish(complete=complete))
        whole, self._text = "".join(self._text), []
        sent, (begin, end) = self._sent, self._repeats.found_in(whole)
        self._whole = rest = whole[:begin] + whole[end:]
        judgement = judged(rest, asked=self._asked_data, separation=self._separation)
        spans = [*begun, *self._rest(has_sign=judgement.has_sign, complete=complete)]
        self.ends_in_call = complete and not self._is_own and ends_in_call(whole)
        self.has_sign |= self.ends_in_call or (self._separation is Separation.PLAIN and judgement.has_sign)
        self.is_repeated = end > 0 and not judgement.takes_back
        if (end or self._repeats.has_hidden) and not rest.strip():
            self.has_sign = self.hides_before = self.is_repeated = True
            return withheld("".join(span.text for span in spans))
        if judgement.takes_back or end:
            # The server's parser missed the reasoning that was shown: it began in the prompt, its header is lost, or the server sends it
            # in its own place only now.
            self.has_sign = self.hides_before = True
            unsent_spans = _without(judgement.spans, min(sent, begin) + max(sent - end, 0))
            return [TextSpan(False, whole[max(begin, sent) : end]), *unsent_spans] if complete else withheld(whole[sent:])
        return spans

    def judged_again(self) -> list[TextSpan] | None:
        """After the end, when more reasoning has come: the text without the beginning that came as reasoning; else None."""
        begin, end = self._repeats.found_in(self._whole)
        if not end:
            return None
        self._whole, self.has_sign = self._whole[:begin] + self._whole[end:], True
        return judged(self._whole, asked=self._asked_data, separation=self._separation).spans

    def _judged(self, text: str, *, complete: bool) -> list[TextSpan]:
        if not complete and text.strip():
            # The sign may be what is missing.
            return withheld(text)
        begin, end = self._repeats.found_in(text)
        judgement = judged(text[:begin] + text[end:], asked=self._asked)
        self.has_sign = judgement.has_sign
        return [*([TextSpan(False, text[begin:end])] if end else []), *judgement.spans]

    def _rest(self, *, has_sign: bool, complete: bool) -> list[TextSpan]:
        shown = self._shown(self._scanner.finish())
        call, ahead = "", self._scanner.ahead
        if self._scanner.may_be_call:
            held, self._scanner = self._scanner.held, Scanner()
            at = call_at(held, self._asked, complete=complete)
            text = self._scanner.feed(held[:at]) + self._scanner.finish()
            shown += self._shown(text[ahead:])
            call, ahead = held[at:], max(ahead - len(text), 0)
        spans = [*self._of_held(self._scanner.held, has_sign=has_sign, complete=complete), *withheld(call)]
        self.has_sign = any(not span.visible for span in spans)
        return [*shown, *_behind(spans, ahead)]

    def _of_held(self, text: str, *, has_sign: bool, complete: bool) -> list[TextSpan]:
        if not complete:
            # What is missing may show that it was reasoning.
            return withheld(text)
        if text.strip() in STOP_TOKENS:
            return []
        if not has_sign:
            return [TextSpan(True, text)] if text else []
        judgement = judged(text, follows=self._has_shown, separation=self._separation)
        return judgement.spans if judgement.has_sign else withheld(text)

    def _shown(self, text: str) -> list[TextSpan]:
        self._has_shown = self._has_shown or bool(text.strip())
        self._sent += len(text)
        return [TextSpan(True, text)] if text else []


def _behind(spans: list[TextSpan], ahead: int) -> list[TextSpan]:
    """The spans without their first ``ahead`` characters, at most one, which were shown."""
    return [replace(spans[0], text=spans[0].text[ahead:]), *spans[1:]] if ahead and spans else spans


def _without(spans: list[TextSpan], sent: int) -> list[TextSpan]:
    """The spans of a whole text without what is hidden of its first ``sent`` characters, which the frame that is withdrawn has."""
    rest, at = list[TextSpan](), 0
    for span in spans:
        hidden = span.text[max(sent - at, 0) :]
        rest += [span] if span.visible else [replace(span, text=hidden)]
        at += len(span.text)
    return rest
