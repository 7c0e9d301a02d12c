"""Markdown rules for mathematics, as blocks and inline, kept as TeX source."""

from __future__ import annotations

from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from renderer.markup.extensions.dollars import formula_end
from renderer.markup.extensions.emphasis import InlineState

UNDECIDED = "undecided"
"""Key in the parser's environment: the first top-level line where mathematics began that has neither ended nor failed."""

_MATH_LINES = 60
_MATH_CHARACTERS = 4096
_CLOSERS = {"\\[": "\\]", "\\(": "\\)", "$$": "$$"}


def math_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    r"""``\[ … \]`` and ``$$ … $$`` on lines of their own, including blank lines, at most 60 lines and 4,096 characters.

    If the text ends first, more text may complete the formula: its first line is recorded as ``UNDECIDED``, for streaming.
    """
    if state.is_code_block(start):
        return False
    first = state.bMarks[start] + state.tShift[start]
    opener = state.src[first : first + 2]
    if opener not in ("\\[", "$$") or state.src[first + 2 : first + 3] == "$":
        return False
    found = _formula(state, start, end, opener)
    if found is None:
        return False
    if silent:
        return True
    token = state.push("math_block", "", 0)
    token.content, last = found
    token.map = [start, last + 1]
    state.line = last + 1
    return True


def _formula(state: StateBlock, start: int, end: int, opener: str) -> tuple[str, int] | None:
    """The formula that begins with ``opener`` in line ``start``, and the line in which it ends; None if there is none."""
    closer, line, taken = _CLOSERS[opener], start, 0
    parts: list[str] = []
    text = state.src[state.bMarks[start] + state.tShift[start] + 2 : state.eMarks[start]]
    while (at := text.find(closer)) < 0:
        taken += len(text)
        if opener in text or taken > _MATH_CHARACTERS or line - start >= _MATH_LINES:
            return None
        parts.append(text)
        line += 1
        if line >= end or (not state.isEmpty(line) and state.sCount[line] < state.blkIndent):
            if line >= end and state.level == 0:
                state.env[UNDECIDED] = min(start, state.env.get(UNDECIDED, start))
            return None
        text = state.getLines(line, line + 1, state.blkIndent, False)
    formula = "\n".join([*parts, text[:at]]).strip()
    return None if text[at + 2 :].strip() or not formula else (formula, line)


def math(state: StateInline, silent: bool) -> bool:
    r"""``\( … \)``, and ``\[ … \]`` or ``$$ … $$`` inside a sentence. Read before escapes, or ``\(`` would be a bracket."""
    opener = state.src[state.pos : state.pos + 2]
    closer = _CLOSERS.get(opener)
    if closer is None:
        return False
    start = state.pos + 2
    stop = state.src.find(closer, start, min(state.posMax, start + _MATH_CHARACTERS))
    content = state.src[start:stop]
    if stop < 0 or not content.strip() or (opener != closer and opener in content) or (opener == "$$" and "$" in content):
        return False
    if not silent:
        _push(state, content.strip(), "inline" if opener == "\\(" else "display")
    state.pos = stop + 2
    return True


def math_in_dollars(state: StateInline, silent: bool) -> bool:
    """``$ … $`` inside a sentence, if it is a formula rather than a price: see ``dollars``."""
    if state.src[state.pos] != "$":
        return False
    seen = isinstance(state, InlineState) and state.has_formula
    stop = formula_end(state.src, state.pos, state.posMax, after_formula=seen)
    if stop < 0:
        return False
    if not silent:
        _push(state, state.src[state.pos + 1 : stop], "inline math-dollars")
    state.pos = stop + 1
    return True


def _push(state: StateInline, content: str, kind: str) -> None:
    token = state.push("math_inline", "", 0)
    token.content = content
    token.info = kind
    if isinstance(state, InlineState):
        state.has_formula = True
