"""Finds code in growing Markdown, line by line: fences, indented code and code spans."""

from __future__ import annotations

import re

_LEAD_CHARS = 60
"""A line's beginning is read no further, whether or not more of it has arrived."""
_LEAD = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)*")
_FENCE = re.compile(r"`{3,60}|~{3,60}")
_UNDECIDED = re.compile(rf"[ \t>*+.)\d-]{{0,{_LEAD_CHARS}}}(?:`{{0,40}}|~{{0,40}})\Z")
_INFO_CHARS = 120
_MAX_RUN = 80
MAX_SPAN_CHARS = 400
"""Longer code spans do not count: a stray backtick must not turn a whole page into code."""


class Code:
    """Tracks whether the current position is code. The caller reports each line's beginning, each run of backticks and each line end."""

    def __init__(self) -> None:
        self.fence = ""
        self.is_indented = False
        self.is_trusted = True
        """Fences count. False once one was not closed at the end of the text."""
        self._span = 0
        self._span_counts = True
        self._at_head = True
        self._has_lines = False
        """Whether a line with text came before. An indented first line is no code: raw output may begin with spaces, too."""
        self._after_blank = False
        self._in_list = False
        self.is_blank = True

    @property
    def needs_head(self) -> bool:
        """Whether a line begins here."""
        return self._at_head

    @property
    def place(self) -> str:
        """The kind of code at the current position: ``fence``, ``span`` or ``indent``; empty in prose."""
        if self.fence:
            return "fence"
        if self._span:
            return "span"
        return "indent" if self.is_indented else ""

    def head(self, text: str, at: int, *, is_end: bool) -> int | None:
        """Read the beginning of a line; returns where to continue, None if more text is needed."""
        lead = _LEAD.match(text, at, at + _LEAD_CHARS)
        if lead is None or (not is_end and _UNDECIDED.match(text, at)):
            return None
        fence = _FENCE.match(text, lead.end())
        if fence and self.is_trusted:
            rest = text[fence.end() : fence.end() + _INFO_CHARS]
            info, newline, _ = rest.partition("\n")
            if not newline and not is_end and len(rest) < _INFO_CHARS and "`" not in info:
                return None
            if self._takes_fence(fence[0], info):
                self._at_head = self.is_blank = False
                return fence.end()
        self._at_head = False
        self._see_line(lead[0], text[lead.end() : lead.end() + 1])
        return lead.end()

    def backticks(self, text: str, at: int, *, is_end: bool, before: str = " ") -> int | None:
        """Read a run of backticks; returns where it ends, None if more text is needed. ``before``: the character before ``text``."""
        run = text[at : at + _MAX_RUN]
        end = at + len(run) - len(run.lstrip("`"))
        if end >= len(text) - 1 and end - at < _MAX_RUN and not is_end:
            return None
        before, after = text[at - 1 : at] if at else before, text[end : end + 1]
        length = end - at
        if self._span == length:
            # A run that looks like the opening of another span does not close this one, which began with a stray backtick.
            if length > 1 or not (before.isspace() or before in "([{") or not after.isalnum():
                self._span = 0
        elif not self._span and self._span_counts and before != "\\" and (length > 1 or not (after.isspace() or not after)):
            self._span = length
        return end

    def end_line(self) -> None:
        """A line ends."""
        if self.is_blank:
            self._after_blank = self._has_lines
        self._has_lines = self._has_lines or not self.is_blank
        self._at_head, self.is_blank = True, True
        self._span, self._span_counts = 0, True

    def distrust(self, place: str) -> None:
        """Text that looked like code was not, and is read again from a sign in its line on. ``place``: the kind of code."""
        match place:
            case "fence":
                self.fence, self.is_trusted = "", False
            case "span":
                self._span_counts = False
            case _:
                self.is_indented = False
        # What was read after the sign says nothing about its place: a backtick there must not make it a code span.
        self._span = 0
        self._at_head = self.is_blank = self._after_blank = False

    def _takes_fence(self, run: str, info: str) -> bool:
        if self.fence:
            if run[0] == self.fence[0] and len(run) >= len(self.fence) and not info.strip():
                self.fence = ""
                return True
            return False
        if run[0] == "`" and "`" in info:
            return False
        self.fence = run
        self.is_indented = self._after_blank = False
        return True

    def _see_line(self, lead: str, first: str) -> None:
        if not first or first == "\n":
            return
        self.is_blank = False
        after_blank, self._after_blank = self._after_blank, False
        if self.fence:
            return
        is_item = bool(lead.strip(" \t>"))
        is_deep = not is_item and ">" not in lead and ("\t" in lead or len(lead) >= 4)
        self.is_indented = is_deep and not self._in_list and (after_blank or self.is_indented)
        # Without a blank line before it, text at the margin continues the item's paragraph.
        self._in_list = is_item or (self._in_list and (not after_blank or bool(lead.strip(">"))))
