"""Markdown footnotes: each definition is shown where it is written, and each reference shows its label."""

from __future__ import annotations

import re

from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

_FOOTNOTE = re.compile(r"\[\^([^\s\[\]^]{1,64})\]")


def footnote_definition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """``[^label]: text`` and following lines indented by four: a block where it is written, named by its label."""
    first = state.bMarks[start] + state.tShift[start]
    match = _FOOTNOTE.match(state.src, first, state.eMarks[start])
    if state.is_code_block(start) or match is None or state.src[match.end() : match.end() + 1] != ":":
        return False
    if silent:
        return True
    token = state.push("footnote_open", "", 1)
    token.info = match[1]
    lines = token.map = [start, 0]
    state.env["footnotes"].setdefault(match[1], {"map": lines})
    _tokenize_inside(state, start, end, match.end() + 1)
    lines[1] = state.line
    state.push("footnote_close", "", -1)
    return True


def _tokenize_inside(state: StateBlock, start: int, end: int, content: int) -> None:
    """Parse the rest of a line, from offset ``content``, and the indented lines after it as nested blocks."""
    saved = (state.bMarks[start], state.tShift[start], state.sCount[start], state.parentType, state.blkIndent)
    text = state.src[content : state.eMarks[start]]
    state.bMarks[start] = content
    state.tShift[start] = len(text) - len(text.lstrip(" \t"))
    state.blkIndent += 4
    state.sCount[start] = state.blkIndent
    state.parentType = "footnote"
    if text.strip():
        state.md.block.tokenize(state, start, end)
    else:
        state.line = start + 1
    state.bMarks[start], state.tShift[start], state.sCount[start], state.parentType, state.blkIndent = saved


def footnote_mark(state: StateInline, silent: bool) -> bool:
    """``[^label]``, if that label is defined anywhere in the text. Otherwise it is plain text."""
    match = _FOOTNOTE.match(state.src, state.pos, state.posMax)
    if match is None or state.env["footnotes"].get(match[1]) is None:
        return False
    if not silent:
        state.push("footnote_mark", "", 0).info = match[1]
    state.pos = match.end()
    return True
