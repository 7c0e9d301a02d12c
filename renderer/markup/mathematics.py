"""Markdown rules for mathematics, as blocks and inline, kept as TeX source.

Formulas in single dollars (``$x^2$``) are distinguished from prices, shell variables and other dollar signs. It starts from Pandoc's rule:
no space after the first ``$``, no space before the second and no digit after it. That is not enough for Markdown that was not written for
Pandoc, so the text in between must also look like a formula: no prose, no names in capitals, no amounts. When in doubt it is text: a
formula shown with its dollars is still readable, but a price without them is wrong.
"""

from __future__ import annotations

import re

from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from renderer.markup.extensions import InlineState

_MAX_CHARACTERS = 400
"""The longest formula. The search for its end stops there, so that many dollar signs cost no more than as many letters."""

_CJK = r"\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef"
_ALLOWED_BEFORE = re.compile(rf"[\s(\[{{\"'“”„«‘’‹¿¡*_~|/:;,.=<>+\-–—{_CJK}]")
_FIRST_CHARACTERS = re.compile(r"[^\W_]|[\\(\[{|+\-−±∓¬'<>=≤≥≠≈~∀∃∅∈∑∏∫∂∇√∞ℝℕℤℚℂℓ→⇒↔⇔]|\][-+\d\\a-z−]|[_^][{\d\\]|\.\d")
_LAST_CHARACTERS = re.compile(r"[^\s,;:(/<&\"\\]\Z|\\[,;:!|{}%$#&_]\Z")
_SUFFIX = re.compile(r"(?:th|st|nd|rd|s|te[nmrs]?|ième|ème|er|ésimo|ésima|ого|ой|й|я|е)\b")
_WORD_CHARACTER = re.compile(rf"(?![{_CJK}])\w")

_FORBIDDEN_INSIDE = re.compile(rf"[`\"“”„«»\n]|://|\]\(|\*\*|&&|\$|->\w+\(|[{_CJK}]")
_AMOUNT = re.compile(
    r"[-+−]?\d[\d.,'\u00a0\u202f ]*(?:[-–—~/]\s?\d[\d.,'\u00a0\u202f ]*)*\s?"
    r"(?:[kKmMbB]n?|[A-Z]{3}|mio|mrd|[kKmMbB]?\s?[-–—~/]\s?\d[\d.,]*\s?[kKmMbB]|[-–—]|%)?\.?"
)
"""A number, a range or a fraction of numbers, optionally followed by a currency or a power of ten."""

_NAMED_TEXT = re.compile(
    r"\\(?:text|textbf|textit|textrm|textsf|mathrm|mathbf|mathit|mathsf|operatorname|mbox|label|tag|begin|end)\*?\s?\{[^{}]*\}"
)
_COMMAND = re.compile(r"\\(?:[A-Za-z]+\*?|[^A-Za-z])")
_CERTAINLY_TEX = re.compile(r"\\[A-Za-z]{2,}|[_^]\{|\^[-+*]?\w|[A-Za-z]_\w(?!\w)")
"""Characters that are rare outside TeX."""
_LETTERS = re.compile(r"[^\W\d_]+")
_NAMES = frozenset(
    _LETTERS.findall(
        "sin cos tan cot sec csc sinh cosh tanh arcsin arccos arctan log ln lg exp lim max min sup inf arg deg det dim ker gcd "
        "lcm mod rank span sgn sign var cov corr diag trace argmax argmin softmax sigmoid relu"
    )
)
_SMALL_WORDS = frozenset(
    _LETTERS.findall(
        "and or to of is are was in at by for on as if then than the an per not with it no up my so off each plus und oder bis "
        "zu zum zur für von pro je ist als auf mit im am ein der die das den et ou de du des la le les un une par en au aux est "
        "sur à où que y el los las por al con es una del o se su"
    )
)
"""Words that join two prices or two variables, in English, German, French and Spanish."""


def formula_end(text: str, start: int, limit: int, *, after_formula: bool = False) -> int:
    """The position of the ``$`` that ends the formula beginning with the ``$`` at ``start``; -1 if there is no formula.

    ``after_formula``: there is another formula before it in this paragraph. Then a bare number may be a formula, too.
    """
    if not _may_begin(text, start, limit):
        return -1
    end = _closing_dollar(text, start + 1, min(limit, start + 1 + _MAX_CHARACTERS))
    if end < 0 or not _may_end(text, end, limit):
        return -1
    return end if _is_formula(text[start + 1 : end], after_formula=after_formula) else -1


def may_become_formula(text: str, start: int) -> bool:
    """Whether the ``$`` at ``start`` may begin a formula once more text has arrived. Text that begins as an amount is shown."""
    inside = text[start + 1 :]
    if not inside or "$" in inside:
        return not inside
    if not _may_begin(text, start, len(text)) or inside[0].isdigit() or len(inside) > _MAX_CHARACTERS:
        return False
    return _FORBIDDEN_INSIDE.search(inside.rstrip("*|&->[]:/")) is None and not _is_prose(inside)


def _may_begin(text: str, start: int, limit: int) -> bool:
    before = text[start - 1 : start]
    return (not before or _ALLOWED_BEFORE.match(before) is not None) and _FIRST_CHARACTERS.match(text, start + 1, limit) is not None


def _closing_dollar(text: str, start: int, limit: int) -> int:
    end = text.find("$", start, limit)
    while end >= 0 and _is_escaped(text, start, end):
        end = text.find("$", end + 1, limit)
    return end


def _is_escaped(text: str, start: int, position: int) -> bool:
    backslashes = position
    while backslashes > start and text[backslashes - 1] == "\\":
        backslashes -= 1
    return (position - backslashes) % 2 == 1


def _may_end(text: str, end: int, limit: int) -> bool:
    after = text[end + 1 : min(limit, end + 9)]
    if after.startswith("$"):
        return False
    return _WORD_CHARACTER.match(after) is None or _SUFFIX.match(after) is not None or re.match(r"_+(?!\w)", after) is not None


def _is_formula(inside: str, *, after_formula: bool) -> bool:
    if _LAST_CHARACTERS.search(inside) is None or not _is_balanced(inside):
        return False
    if _FORBIDDEN_INSIDE.search(inside.replace("\\$", "")) is not None:
        return False
    if _AMOUNT.fullmatch(inside) is not None:
        return after_formula and inside[-1].isdigit()
    return not _is_prose(inside)


def _is_balanced(inside: str) -> bool:
    """Whether all braces match, and as many brackets are closed as were opened. Their kinds may differ, because of half-open intervals."""
    plain = inside.replace("\\{", "").replace("\\}", "")
    return plain.count("{") == plain.count("}") and sum(map(plain.count, "([")) == sum(map(plain.count, ")]"))


def _is_prose(inside: str) -> bool:
    """Whether a text between dollar signs is part of a sentence: it has a small word such as "and", or a word of four letters or more that
    names neither a function nor points. Where something in it is certainly TeX, up to four of these are allowed."""
    bare = _COMMAND.sub(" ", _NAMED_TEXT.sub(" ", inside))
    words = [word for word in _LETTERS.findall(bare) if len(word) > 1 and word.lower() not in _NAMES]
    if " " in inside and any(word.lower() in _SMALL_WORDS for word in words):
        return True
    if _CERTAINLY_TEX.search(inside):
        return sum(len(word) > 3 for word in words) > 4
    return any(len(word) > 3 and not _names_points(word) for word in words)


def _names_points(word: str) -> bool:
    """Whether a word names points in alphabetical order, like the rectangle ABCD."""
    return word.isupper() and len(word) <= 8 and list(word) == sorted(set(word))


_VERBATIM = re.compile(r"`+|\\.|\$\$?")


def without_verbatim(line: str) -> str:
    """The line with spaces instead of its code spans and formulas."""
    parts: list[str] = []
    position, has_formula = 0, False
    while match := _VERBATIM.search(line, position):
        end = _verbatim_end(line, match, after_formula=has_formula)
        has_formula = has_formula or (end >= 0 and match[0][0] != "`")
        parts.append(line[position : match.end() if end < 0 else match.start()])
        parts.append(" " * (end - match.start()))
        position = max(match.end(), end)
    return "".join([*parts, line[position:]])


def _verbatim_end(line: str, match: re.Match[str], *, after_formula: bool) -> int:
    opener, start = match[0], match.end()
    if opener == "$":
        return formula_end(line, match.start(), len(line), after_formula=after_formula) + 1 or -1
    if opener in _CLOSERS:
        stop = line.find(_CLOSERS[opener], start, start + _MATH_CHARACTERS)
        return stop + 2 if stop >= 0 else -1
    if opener[0] != "`":
        return -1
    closer = re.compile(f"(?<!`){opener}(?!`)").search(line, start)
    return closer.end() if closer else -1


UNDECIDED = "undecided"
"""Key in the parser's environment: the first top-level line where mathematics began that has neither ended nor failed."""

_MATH_LINES = 60
_MATH_CHARACTERS = 4096
_CLOSERS = {"\\[": "\\]", "\\(": "\\)", "$$": "$$"}
_ENVIRONMENT = re.compile(
    r"\\begin\{((?:align|alignat|aligned|alignedat|equation|gather|gathered|multline|eqnarray|flalign|split|[bBpvV]?matrix|smallmatrix|"
    r"d?cases|rcases|array|subarray|CD)\*?)\}"
)
"""The beginning of a formula that is written without dollars. Other environments, such as lists, are text."""
_ANY_BEGINNING = "\\begin{"


def math_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    r"""``\[ … \]``, ``$$ … $$`` and ``\begin{align} … \end{align}`` on lines of their own, including blank lines, at most 60 lines and
    4,096 characters.

    If the text ends first, more text may complete the formula: its first line is recorded as ``UNDECIDED``, for streaming.
    """
    if state.is_code_block(start):
        return False
    first = state.bMarks[start] + state.tShift[start]
    opener = state.src[first : first + 2]
    environment = _ENVIRONMENT.match(state.src, first, state.eMarks[start]) if opener == "\\b" else None
    if environment is not None:
        opener = environment[0]
    elif opener not in ("\\[", "$$") or state.src[first + 2 : first + 3] == "$":
        return False
    closer = f"\\end{{{environment[1]}}}" if environment else _CLOSERS[opener]
    found = _formula(state, start, end, opener, closer)
    if found is None:
        return False
    if silent:
        return True
    token = state.push("math_block", "", 0)
    content, last = found
    token.content = f"{opener}{content}{closer}" if environment else content.strip()
    token.map = [start, last + 1]
    state.line = last + 1
    return True


def _formula(state: StateBlock, start: int, end: int, opener: str, closer: str) -> tuple[str, int] | None:
    """What stands between ``opener`` in line ``start`` and ``closer``, and the line in which it ends; None if there is none."""
    line, taken = start, 0
    parts: list[str] = []
    text = state.src[state.bMarks[start] + state.tShift[start] + len(opener) : state.eMarks[start]]
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
    formula = "\n".join([*parts, text[:at]])
    return None if text[at + len(closer) :].strip() or not formula.strip() else (formula, line)


def math(state: StateInline, silent: bool) -> bool:
    r"""``\( … \)``, and ``\[ … \]`` or ``$$ … $$`` inside a sentence. Read before escapes, or ``\(`` would be a bracket."""
    opener = state.src[state.pos : state.pos + 2]
    closer = _CLOSERS.get(opener)
    if closer is None:
        return opener in ("\\b", "\\\\") and _tex(state, opener, silent)
    start = state.pos + 2
    stop = state.src.find(closer, start, min(state.posMax, start + _MATH_CHARACTERS))
    content = state.src[start:stop]
    if stop < 0 or not content.strip() or (opener != closer and opener in content) or (opener == "$$" and "$" in content):
        return False
    if not silent:
        _push(state, content.strip(), "inline" if opener == "\\(" else "display")
    state.pos = stop + 2
    return True


def _tex(state: StateInline, opener: str, silent: bool) -> bool:
    r"""A formula in an environment inside a sentence. In one that is not typeset, because it is unknown or does not end, ``\\\\`` ends a
    line: both backslashes are shown.
    """
    if opener == "\\\\":
        if not isinstance(state, InlineState) or state.pos < state.raw_from():
            return False
        if not silent:
            state.pending += opener
        state.pos += 2
        return True
    stop = environment_end(state.src, state.pos, state.posMax)
    if stop < 0:
        return False
    if not silent:
        content = state.src[state.pos : stop]
        _push(state, content, "inline" if "matrix" in content[:20] or "cases" in content[:15] else "display")
    state.pos = stop
    return True


def environment_end(text: str, start: int, limit: int) -> int:
    r"""The end of the formula that begins with ``\begin{…}`` at ``start``; -1 if there is none."""
    environment = _ENVIRONMENT.match(text, start, limit)
    if environment is None:
        return -1
    closer = f"\\end{{{environment[1]}}}"
    stop = text.find(closer, environment.end(), min(limit, start + _MATH_CHARACTERS))
    return -1 if stop < 0 else stop + len(closer)


def begins_environment(text: str) -> bool:
    """Whether a text that is being written begins a formula in an environment, or may yet."""
    if not text.startswith(_ANY_BEGINNING):
        return _ANY_BEGINNING.startswith(text)
    return "}" not in text or _ENVIRONMENT.match(text) is not None


def math_in_dollars(state: StateInline, silent: bool) -> bool:
    """``$ … $`` inside a sentence, if it is a formula rather than a price: see ``formula_end``."""
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
