"""Repairs incomplete Markdown for display while it is still being written.

Half-typed markup is held back and open markup is closed. The result is rendered and sanitized like everything else; when the block is
complete, its own text is rendered instead. If a text was cut off, its last sentence is never completed and stays repaired.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from renderer.markup import citations, emphasis, mathematics
from renderer.markup.markdown import Block

_REACH = 4096
"""How many characters at the end of a text are searched for open markup. Markup that began earlier is not being written any more."""


def hold_back(text: str) -> str:
    """Leave out the last line while it may still turn into different markup: ``-``, ``1.``, ``|``, ``[x]:``…; and half a
    citation."""
    head, _, last = text.rpartition("\n")
    if _HALF_A_MARKER.fullmatch(last) or _DEFINITION.match(last):
        text, last = head, head.rpartition("\n")[2]
    if last.lstrip(" >").startswith("|") and not _in_table(text):
        text = text.rpartition("\n")[0]
    return citations.held_back(text)


_HALF_A_MARKER = re.compile(
    r"[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*"
    r"(?:[-+*_=#>`~|: \t]*|\d{1,9}[.)]?|\[(?:[ xX]?\]?|![A-Za-z]{0,9})|\\|!|(?:`{3}|~{3})[^`]*)"
)
_DEFINITION = re.compile(r" {0,3}\[[^\]]*\]:")


def _in_table(text: str) -> bool:
    """Whether the last line of a text follows a table line; otherwise it may be the header of a table."""
    lines = text.rstrip("\n").rsplit("\n", 2)
    return len(lines) > 1 and lines[-2].lstrip(" >").startswith("|")


def repair_block(block: Block, *, may_hide: bool = True) -> bool:
    """Repair the last sentence of a block. Returns whether this only closed open markup."""
    for token in reversed(block.tokens):
        if token.type in ("fence", "code_block", "math_block"):
            return False
        if token.type == "inline" and token.content:
            written = token.content
            token.content = repair_sentence(written, may_hide=may_hide)
            return token.content.startswith(written.rstrip())
    return False


def repair_cut_text(blocks: Sequence[Block], lines: Sequence[str]) -> None:
    """Repair the last sentence of a text that was cut off. ``lines``: its lines, which the blocks count.

    Open markup is closed as during streaming, but nothing is hidden: the text will not grow any more. Applies only if the text was cut off
    within that sentence's line: everything above was complete.
    """
    if blocks and lines[-1].strip() and blocks[-1].end >= len(lines):
        repair_block(blocks[-1], may_hide=False)


def repair_sentence(sentence: str, *, may_hide: bool = True) -> str:
    """The text of the last paragraph, heading, item or cell as it can be shown now.

    Emphasis and code spans are closed; a link that is not complete is shown as its text; an image, a tag, an entity or mathematics that
    is not complete is hidden, or with ``may_hide`` False shown as it is written.
    """
    start = max(0, len(sentence) - _REACH)
    return sentence[:start] + _Repair(sentence[start:], may_hide).result()


@dataclass(slots=True)
class _Open:
    marker: str
    count: int
    start: int


class _Repair:
    """One pass over a text from left to right. Each rule gets the match of its opener and returns where to continue."""

    def __init__(self, text: str, may_hide: bool) -> None:
        self.text = text
        self.may_hide = may_hide
        self.open: list[_Open] = []
        self.ending = ""
        self.has_formula = False
        self._look_for_signs()

    def _look_for_signs(self) -> None:
        self.signs = emphasis.signs(self.text)
        end = self.text[-emphasis.UNDECIDED_CHARS :]
        is_near = self.may_hide and ("*" in end or "__" in end)
        self.undecided = emphasis.undecided(self.text, self.signs) if is_near else -1

    def result(self) -> str:
        position = 0
        while match := _OPENER.search(self.text, position):
            position = self._rule(match)
        while self.may_hide and self.open and self._is_empty(self.open[-1]):
            self.text = self.text[: self.open.pop().start]
        closers = "".join(entry.marker * entry.count for entry in reversed(self.open))
        return (self.text.rstrip() if closers else self.text) + self.ending + closers

    def _rule(self, match: re.Match[str]) -> int:
        match match[0][0]:
            case "`":
                return self._code(match)
            case "*" | "_" if match.start() == self.undecided:
                return self._cut(match.start())
            case "*" | "_" | "~" if match.start() not in self.signs:
                return self._emphasis(match)
            case "[" | "!":
                return self._link(match)
            case "<":
                return self._tag(match)
            case "&":
                return self._hide(match)
            case "\\" | "$":
                return self._escape_or_math(match)
        return match.end()

    def _is_empty(self, entry: _Open) -> bool:
        """Whether all that was in it is hidden, so that its marks would be shown as text."""
        return not self.ending and not self.text[entry.start :].strip(f"{entry.marker} \n")

    def _cut(self, position: int) -> int:
        self.text = self.text[:position].rstrip()
        return len(self.text)

    def _hide(self, match: re.Match[str]) -> int:
        """Leave out text that may still become markup."""
        return self._cut(match.start()) if self.may_hide else match.end()

    def _code(self, match: re.Match[str]) -> int:
        closer = re.compile(f"(?<!`){match[0]}(?!`)").search(self.text, match.end())
        if closer:
            return closer.end()
        inside = self.text[match.end() :].rstrip("`")
        if not inside.strip():
            return self._cut(match.start())
        self.text = self.text[: match.end()] + inside
        self.ending = (" " if inside.endswith("`") else "") + match[0]
        return len(self.text)

    def _escape_or_math(self, match: re.Match[str]) -> int:
        if match[0] == "$":
            return self._dollar(match.start())
        closer = _MATH.get(match[0])
        if match[0] == "\\b" and mathematics.begins_environment(self.text[match.start() :]):
            end = mathematics.environment_end(self.text, match.start(), len(self.text))
            return end if end >= 0 else self._hide(match)
        if closer is None:
            return self._hide(match) if match[0] == "\\" else match.end()
        end = self.text.find(closer, match.end())
        self.has_formula = True
        return end + 2 if end >= 0 else self._hide(match)

    def _dollar(self, position: int) -> int:
        """The content of a formula is not markup. An incomplete formula is hidden, but a possible price is not: it would flicker."""
        end = mathematics.formula_end(self.text, position, len(self.text), after_formula=self.has_formula)
        if end >= 0:
            self.has_formula = True
            return end + 1
        may_become = self.may_hide and mathematics.may_become_formula(self.text, position)
        return self._cut(position) if may_become else position + 1

    def _tag(self, match: re.Match[str]) -> int:
        """A tag of ours opens or closes an element; half a tag is hidden, and half an address in angle brackets is shown without them."""
        rest = self.text[match.start() :]
        if _HALF_A_TAG.fullmatch(rest):
            return self._hide(match)
        if self.may_hide and _HALF_AN_ADDRESS.fullmatch(rest):
            self.text = self.text[: match.start()] + rest[1:]
            self._look_for_signs()
            return len(self.text)
        tag = _PAIRED.match(rest)
        if tag and tag[1]:
            self.open = [entry for entry in self.open if entry.marker != f"</{tag[2]}>"]
        elif tag:
            self.open.append(_Open(f"</{tag[2]}>", 1, match.start()))
        return match.start() + (tag.end() if tag else 1)

    def _link(self, match: re.Match[str]) -> int:
        rest = self.text[match.start() :]
        unfinished = _HALF_A_LINK.fullmatch(rest)
        if unfinished is None:
            return match.end()
        if match[0] == "![":
            return self._hide(match)
        self.text = self.text[: match.start()] + unfinished[1]
        self._look_for_signs()
        return match.start()

    def _emphasis(self, match: re.Match[str]) -> int:
        """A run of marks closes open emphasis of its kind, or opens some. At the end of the text, marks that may grow are held back."""
        marker, count = match[0][0], len(match[0])
        before = self.text[match.start() - 1 : match.start()] or " "
        after = self.text[match.end() : match.end() + 1]
        if marker == "_" and before.isalnum() and after.isalnum():
            return match.end()  # inside a word
        opener = self._innermost(marker)
        if opener is not None and not before.isspace():
            if not after and count < opener.count:
                return self._cut(match.start())
            self._close(marker, count)
            return match.end()
        if not after:
            return self._cut(match.start())
        if emphasis.flanks(inner=after, outer=before) and (marker != "~" or count == 2):
            self.open.append(_Open(marker, count, match.start()))
        return match.end()

    def _innermost(self, marker: str) -> _Open | None:
        return next((entry for entry in reversed(self.open) if entry.marker == marker), None)

    def _close(self, marker: str, count: int) -> None:
        """Close open emphasis of this kind, from the innermost on, until so many marks are used up or none is open."""
        while count and (opener := self._innermost(marker)) is not None:
            taken = min(count, opener.count)
            count -= taken
            opener.count -= taken
            if not opener.count:
                self.open.remove(opener)


_MATH = {"\\(": "\\)", "\\[": "\\]", "$$": "$$"}
_OPENER = re.compile(r"https?://[^\s<>]*|\\[(\[]|\\(?:.|$)|\$\$?|`+|\*+|_+|~+|!?\[|<|&[A-Za-z0-9#]{0,31}$", re.DOTALL)
_HALF_A_LINK = re.compile(r"!?\[([^\[\]]{0,300})(?:\](?:\([^()\s]*(?:\([^()\s]*\)?[^()\s]*)?(?:\s[^()]*)?|\[[^\[\]]*)?)?")
_HALF_A_TAG = re.compile(r"</?[A-Za-z]{0,4} ?/?")
_HALF_AN_ADDRESS = re.compile(r"<[A-Za-z]{2,6}:[^<>\s]*")
_PAIRED = re.compile(r"<(/?)(sub|sup|kbd|mark)>")
