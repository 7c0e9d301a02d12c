"""Markdown emphasis next to Chinese, Japanese and Korean text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from markdown_it.common.utils import isMdAsciiPunct, isPunctChar
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Scanned
from markdown_it.token import Token

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.utils import EnvType

_CJK = (
    "\u1100-\u11ff\u2e80-\u303f\u3040-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f"
    "\uff01-\uff9f\uffa0-\uffef\U0001f200-\U0001f2ff\U00020000-\U0003ffff"
)
_IS_CJK = re.compile(f"[{_CJK}]")


class InlineState(StateInline):
    """Allows emphasis delimiters between punctuation and a CJK letter, as these scripts have no spaces to tell the two sides apart.

    ``**「強調」**です`` is strong; so is ``**"강조"**입니다``. CJK punctuation counts as a CJK letter.
    """

    def __init__(self, src: str, md: MarkdownIt, env: EnvType, outTokens: list[Token]) -> None:  # noqa: N803
        super().__init__(src, md, env, outTokens)
        self.without_closer: dict[tuple[str, int], int] = {}
        self.refused_until = 0
        self.has_formula = False

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: N802, N803
        marker, end = self.src[start], start
        while end < self.posMax and self.src[end] == marker:
            end += 1
        before = self.src[start - 1] if start > 0 else " "
        after = self.src[end] if end < self.posMax else " "
        left = _flanks(inner=after, outer=before)
        right = _flanks(inner=before, outer=after)
        if canSplitWord:
            return Scanned(left, right, end - start)
        return Scanned(left and (not right or _is_punctuation(before)), right and (not left or _is_punctuation(after)), end - start)


def _flanks(*, inner: str, outer: str) -> bool:
    if inner.isspace():
        return False
    if _IS_CJK.match(inner) or not _is_punctuation(inner):
        return True
    return outer.isspace() or _is_punctuation(outer) or _IS_CJK.match(outer) is not None


def _is_punctuation(character: str) -> bool:
    return isMdAsciiPunct(ord(character)) or isPunctChar(character)


class Inline(ParserInline):
    """markdown-it's inline parser with our state."""

    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        state = InlineState(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens
