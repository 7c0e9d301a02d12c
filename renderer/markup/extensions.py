"""Our Markdown rules for emphasis next to Chinese, Japanese and Korean text, fences in fences, footnotes, HTML tags, bare web addresses
and images.

Each definition of a footnote is shown where it is written, and each reference shows its label.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline, image
from markdown_it.rules_inline.state_inline import Scanned
from markdown_it.token import Token

from renderer.markup import emphasis, links
from renderer.markup.emphasis import flanks, is_punctuation

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.utils import EnvType


class InlineState(StateInline):
    """Allows emphasis delimiters between punctuation and a CJK letter, as these scripts have no spaces to tell the two sides apart.

    ``**「強調」**です`` is strong; so is ``**"강조"**입니다``. CJK punctuation counts as a CJK letter. Stars of arithmetic and
    underscores of names are no delimiters: see ``renderer.markup.emphasis``.
    """

    def __init__(self, src: str, md: MarkdownIt, env: EnvType, outTokens: list[Token]) -> None:  # noqa: N803
        super().__init__(src, md, env, outTokens)
        self.without_closer: dict[tuple[str, int], int] = {}
        self.signs: frozenset[int] | None = None
        self._raw_from: int | None = None
        self.refused_until = 0
        self.has_formula = False

    def raw_from(self) -> int:
        """Where TeX begins that is not typeset; the length of the text, if there is none."""
        if self._raw_from is None:
            found = self.src.find("\\begin{")
            self._raw_from = len(self.src) if found < 0 else found
        return self._raw_from

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: N802, N803
        marker, end = self.src[start], start
        if self.signs is None:
            self.signs = emphasis.signs(self.src)
        while end < self.posMax and self.src[end] == marker:
            end += 1
        if start in self.signs:
            return Scanned(False, False, end - start)
        before = self.src[start - 1] if start > 0 else " "
        after = self.src[end] if end < self.posMax else " "
        left = flanks(inner=after, outer=before)
        right = flanks(inner=before, outer=after)
        if canSplitWord:
            return Scanned(left, right, end - start)
        return Scanned(left and (not right or is_punctuation(before)), right and (not left or is_punctuation(after)), end - start)


class InlineParser(ParserInline):
    """markdown-it's inline parser with our state."""

    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        state = InlineState(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


_FENCE = re.compile(r"(`{3,}(?=[^`]*\Z)|~{3,})(.*)")
_UNPAIRED = "unpaired"
"""Key in the parser's environment: the line before which all fences end as in CommonMark, because one does not pair."""
GROWS = "grows"
"""Key in the parser's environment: whether the text is still being written."""


def closing_lines(lines: Iterable[tuple[int, str]], marker: str, *, in_pairs: bool = True) -> tuple[int | None, int | None]:
    """Two line numbers of a fence among lines without indentation: the line that closes it if fences pair, and the first that may close it;
    None for neither.

    Models write fences into fences of the same length. A fence with text after its marker cannot close anything, so it opens a fence
    inside, and the next closing line ends that one. ``in_pairs``: False if they do not, so that the first one closes it.
    """
    waiting, first = [len(marker)], None
    for number, line in lines:
        match = _FENCE.fullmatch(line) if line.startswith(marker) else None
        if match is None:
            continue
        length, opens = len(match[1]), bool(match[2].strip())
        if first is None and not opens:
            if not in_pairs:
                return number, number
            first = number
        if length >= waiting[-1]:
            waiting.append(length) if opens else waiting.pop()
        if not waiting:
            return number, first
    return None, first


def fence(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A code block between fences, with the fences inside it as text: see ``closing_lines``.

    If the fences do not pair before the end of the text, the quotation or the list item, the first closing line ends the block, as in
    CommonMark; and so for all fences up to there. While the text is being written, more of it may complete the pairs.
    """
    opening = None if state.is_code_block(start) else _FENCE.fullmatch(_line(state, start))
    if opening is None or silent:
        return opening is not None
    in_pairs = start >= state.env.get(_UNPAIRED, 0)
    last, first = closing_lines(_lines_inside(state, start, end), opening[1], in_pairs=in_pairs)
    stop = _stop(state, start, end) if last is None else last
    if last is None and not (state.env.get(GROWS) and stop >= len(state.bMarks) - 1):
        state.env[_UNPAIRED] = max(stop, state.env.get(_UNPAIRED, 0))
        last = first
    token = state.push("fence", "code", 0)
    token.markup, token.info, token.meta = opening[1], opening[2], {"is_closed": last is not None}
    token.content = _content(state, start + 1, stop if last is None else last)
    state.line = stop if last is None else last + 1
    token.map = [start, state.line]
    return True


def _content(state: StateBlock, start: int, end: int) -> str:
    """The lines of a code block that is opened in the line before them, without its indentation."""
    # The text may end in a container's empty line, behind which markdown-it would read.
    end = next((line for line in range(start, end) if state.bMarks[line] >= len(state.src)), end)
    return state.getLines(start, end, state.sCount[start - 1], True)


def _lines_inside(state: StateBlock, start: int, end: int) -> Iterator[tuple[int, str]]:
    for line in range(start + 1, end):
        if _is_outside(state, line):
            return
        if not state.is_code_block(line):
            yield line, _line(state, line)


def _stop(state: StateBlock, start: int, end: int) -> int:
    return next((line for line in range(start + 1, end) if _is_outside(state, line)), end)


def _is_outside(state: StateBlock, line: int) -> bool:
    return state.sCount[line] < state.blkIndent and not state.isEmpty(line)


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


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


_TAG = re.compile(r"<(?:br ?/?>(?:[ \t]*\n[ \t]*)?|(sub|sup|kbd|mark)>)", re.IGNORECASE)


def plain_tag(state: StateInline, silent: bool) -> bool:
    """``<br>``, and ``<sub> <sup> <kbd> <mark>`` around text, with their end tag: the only HTML tags from a model that are kept.

    A ``<br>`` and the line end after it are one line end.
    """
    match = _TAG.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not match[1]:
        if not silent:
            state.push("hardbreak", "br", 0)
        state.pos = match.end()
        return True
    name, start, limit = match[1], match.end(), state.posMax
    stop = _closer(state, f"</{name}>", start)
    if stop < 0 or not state.src[start:stop].strip():
        return False
    if not silent:
        state.push("plain_tag_open", name.lower(), 1)
        state.pos, state.posMax = start, stop
        state.md.inline.tokenize(state)
        state.posMax = limit
        state.push("plain_tag_close", name.lower(), -1)
    state.pos = stop + len(name) + 3
    return True


def _closer(state: StateInline, closer: str, start: int) -> int:
    """The position of the end tag, or -1. A failed search is cached; otherwise a run of openers would repeat it for each."""
    known = state.without_closer if isinstance(state, InlineState) else {}
    key = (closer, state.posMax)
    if start >= known.get(key, state.posMax):
        return -1
    stop = state.src.find(closer, start, state.posMax)
    if stop < 0:
        known[key] = start
    return stop


_ADDRESS_END = "\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\u2018-\u201f\u2026"
_BARE = re.compile(rf"://[^\s<>\"`|\\^{{}}{_ADDRESS_END}]{{1,{links.URL_LIMIT}}}")
_SCHEME = re.compile(r"(?<![A-Za-z0-9+.-])https?", re.IGNORECASE)


def bare_address(state: StateInline, silent: bool) -> bool:
    """``https://…`` in plain text. It ends at white space and CJK punctuation, and excludes trailing punctuation and unmatched brackets."""
    if not isinstance(state, InlineState) or state.linkLevel or not state.src.startswith("://", state.pos):
        return False
    if state.pos < state.refused_until:
        return False
    begin = state.pos - (5 if state.src[state.pos - 5 : state.pos].lower() == "https" else 4)
    if begin < 0 or _SCHEME.fullmatch(state.src, begin, state.pos) is None:
        return False
    match = _BARE.match(state.src, state.pos, state.posMax)
    scheme = state.src[begin : state.pos]
    if match is None or not state.pending.endswith(scheme):
        return False
    url = scheme + _without_tail(match[0])
    href = state.md.normalizeLink(url)
    if not state.md.validateLink(href):
        # One attempt for each run of characters: otherwise "http://http://…" would be read again from every colon.
        state.refused_until = match.end()
        return False
    if not silent:
        state.pending = state.pending[: -len(scheme)]
        state.push("link_open", "a", 1).attrs = {"href": href}
        state.push("text", "", 0).content = url
        state.push("link_close", "a", -1)
    state.pos += len(url) - len(scheme)
    return True


def _without_tail(address: str) -> str:
    """Remove what belongs to the sentence: trailing punctuation, unmatched closing brackets, emphasis."""
    surplus = {closer: address.count(closer) - address.count(opener) for opener, closer in ("()", "[]")}
    end = len(address)
    while end:
        last = address[end - 1]
        if last in surplus and surplus[last] > 0:
            surplus[last] -= 1
        elif last not in ".,;:!?'*_~":
            break
        end -= 1
    return address[:end]


def image_as_link(state: StateInline, silent: bool) -> bool:
    """An image, which records whether it is inside a link: it becomes a link itself, and links do not nest."""
    if not image(state, silent):
        return False
    if not silent:
        state.tokens[-1].meta["in_link"] = state.linkLevel > 0
    return True


def add_link_hosts(tokens: Sequence[Token]) -> None:
    """Record on each closing link token the host to show next to its text, if any."""
    text: list[str] = []
    href = ""
    for token in tokens:
        match token.type:
            case "link_open":
                href, text = str(token.attrs.get("href", "")), []
            case "link_close":
                token.info = links.host_to_show("".join(text), href) or ""
            case "image":
                text.append(f"{token.content} ({links.host(str(token.attrs.get('src', '')))})")
            case _:
                text.append(token.content)
