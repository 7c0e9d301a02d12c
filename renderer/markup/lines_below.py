"""Where a line belongs that stands directly below a list, a quotation or a table without being indented or marked.

CommonMark takes every such line into the last item, the quotation or the table, for writers who wrap lines by hand. Models do not: what
they write there begins something new ("**Cons:**", "After the table, …"), and only a line that goes on in the middle of a sentence
continues it. The first letter decides, so that nothing moves while a line is being written.
"""

from __future__ import annotations

import re
import unicodedata

from markdown_it.rules_block import StateBlock

_OPENING_MARKS = re.compile(r"[*_~`\[(<\"'“„«‹「『（【《¿¡]*")
_NUMBER = re.compile(r"(\d{1,9})[.)](?:[ \t]|\Z)")


def is_new(line: str) -> bool:
    """Whether a line without indentation begins something new: bold text (a label), a capital, a letter of a script without capitals, a
    digit, an emoji. A small letter or any other sign continues the sentence above it.
    """
    if line.startswith(("**", "__")):
        return True
    first = line[_OPENING_MARKS.match(line).end() :][:1]  # type: ignore[union-attr] # it matches any text
    return first.isdigit() or (first.isalpha() and not first.islower()) or (first != "" and unicodedata.category(first) == "So")


def new_paragraph(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A rule that ends the paragraph above, and with it the list or the quotation; it makes nothing itself. A line that is indented more
    than the item's mark stays in the item.
    """
    if not silent:
        return False
    indent = state.sCount[start]
    if state.parentType == "blockquote":
        is_below = indent <= state.blkIndent
    else:
        is_below = indent < state.blkIndent and indent <= max(state.listIndent, 0)
    return is_below and is_new(state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]])


def content_column(state: StateBlock, start: int, end: int) -> int:
    """The column from which on lines belong to the numbered item that was just opened in line ``start``.

    CommonMark wants the column of its text: three for "1. A", four for "10. A". Models often indent what is inside by two or three, as in
    ``1. A⏎  - B⏎2. C``, which would be three lists: if the first line below is indented so, its column counts.
    """
    column, info = state.blkIndent, state.tokens[-1].info
    text = state.src[state.bMarks[start] : state.bMarks[start] + state.tShift[start]]
    # Where the number begins: before its digits, the character behind them and the spaces up to the text.
    mark = column - len(info) - 1 - max(1, len(text) - len(text.rstrip(" ")))
    below = state.skipEmptyLines(start + 1)
    if below >= end or not max(mark + 2, column - 3) <= state.sCount[below] < column:
        return column
    number = _NUMBER.match(state.src, state.bMarks[below] + state.tShift[below])
    return column if number is not None and int(number[1]) != 1 else state.sCount[below]
