r"""Parses Markdown (CommonMark and GFM) with markdown-it and renders it as HTML that is not yet sanitized.

Our render rules write the HTML of each token that we add or change, and our rules are installed in the right order.

Our extensions: the ends of lines are kept; fences may contain fences, and cells of tables bars in code and formulas; emphasis next to
Chinese, Japanese and Korean text; ``\( \)``, ``\[ \]``, ``$$ $$`` and ``\begin{align}`` are mathematics before escapes are read, and so is
``$ $`` if it contains a formula rather than a price (``renderer.markup.mathematics``); bare web addresses become links and end at CJK
punctuation; footnotes keep their label and position; raw HTML is text, except ``br`` without attributes and paired ``sub sup kbd mark``; an
image becomes a link that names its host.

What stands directly below a list, a table or a quotation belongs to it only if it continues its sentence or has a bar
(``renderer.markup.lines_below``); a quotation that begins with ``[!NOTE]`` is an alert (``renderer.markup.alerts``).

Nothing that was written vanishes: marks without any content ("4.", "#", ">") are text, and so is the definition of a link to which nothing
before it refers; a list shows the numbers that it was given; what follows the language of a fence is the title of the code.

Mathematics comes out as its TeX source in ``<span class="math math-inline">`` (with ``math-dollars``, if it was written between single
dollars), ``<span class="math math-display">`` (display inside a sentence) or ``<div class="math math-display">``; the browser finishes it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import mdTrim
from markdown_it.parser_block import ParserBlock
from markdown_it.rules_block import StateBlock, blockquote, heading, list_block, reference
from markdown_it.rules_block.table import MAX_AUTOCOMPLETED_CELLS
from markdown_it.rules_core import StateCore
from markdown_it.rules_core.text_join import text_join
from markdown_it.token import Token

from renderer.markup import alerts, citations, extensions, lines_below, links, mathematics
from renderer.markup.citations import Pages
from renderer.markup.extensions import bare_address, fence, footnote_definition, footnote_mark, image_as_link, plain_tag
from renderer.markup.links import code_text, prose
from renderer.markup.mathematics import math, math_block, math_in_dollars

Env = MutableMapping[str, Any]
"""The environment that markdown-it passes along while it reads a text. It holds the definitions."""

Rule = Callable[[Any, Sequence[Token], int, Any, Env], str]
"""markdown-it's renderer, all tokens, the index of the one that is to be rendered, the options, the environment."""

_LANGUAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+#.-]{0,39}")


def _shown(text: str) -> str:
    return escape(prose(text), quote=False)


def _code(token: Token) -> str:
    """Code, with its language. Where more stands after the fence, such as a file's name, all of it is the title, which pages show."""
    words = token.info.split()
    language = words[0] if words and _LANGUAGE.fullmatch(words[0]) else ""
    attribute = f' class="language-{language}"' if language else ""
    title = f' title="{escape(prose(" ".join(words)))}"' if words not in ([], [language]) else ""
    return f'<pre dir="ltr"{title}><code{attribute}>{escape(code_text(token.content), quote=False)}</code></pre>\n'


def _link_close(token: Token) -> str:
    return f' <span class="link-host">({escape(token.info, quote=False)})</span></a>' if token.info else "</a>"


def _list_item(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Env) -> str:
    opening: str = self.renderToken(tokens, index, options, env)
    if "checked" not in tokens[index].meta:
        return opening
    checked, label = (' checked=""', "done") if tokens[index].meta["checked"] else ("", "to do")
    return f'{opening}<input type="checkbox" disabled=""{checked} aria-label="{label}"> '


def _image(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Env) -> str:
    """An image as a link. Images are never fetched, because their address can leak data from the conversation. A link needs a click."""
    token = tokens[index]
    href = str(token.attrs.get("src", ""))
    words = prose(self.renderInlineAsText(token.children, options, env)).strip()
    label = escape(f"image: {words} ({links.host(href)})" if words else f"image ({links.host(href)})", quote=False)
    if token.meta.get("in_link"):
        return label
    title = f' title="{escape(prose(str(token.attrs["title"])))}"' if token.attrs.get("title") else ""
    return f'<a class="image-link" href="{escape(href)}"{title}>{label}</a>'


def _of(rule: Callable[[Token], str]) -> Rule:
    return lambda self, tokens, index, options, env: rule(tokens[index])


RULES: dict[str, Rule] = {
    "text": _of(lambda token: _shown(token.content)),
    "text_block": _of(lambda token: _shown(token.content)),
    "code_inline": _of(lambda token: f"<code>{escape(code_text(token.content), quote=False)}</code>"),
    "code_block": _of(_code),
    "fence": _of(_code),
    "math_block": _of(lambda token: f'<div class="math math-display">{_shown(token.content)}</div>\n'),
    "math_inline": _of(lambda token: f'<span class="math math-{token.info}">{_shown(token.content)}</span>'),
    "link_close": _of(_link_close),
    "list_item_open": _list_item,
    "image": _image,
    "footnote_open": _of(lambda token: f'<div class="footnote" dir="auto"><span class="footnote-label">[{_shown(token.info)}]</span>\n'),
    "alert_title": _of(alerts.title),
    "footnote_close": _of(lambda token: "</div>\n"),
    "footnote_mark": _of(lambda token: f'<sup class="footnote-ref">[{_shown(token.info)}]</sup>'),
}
"""The rule for each type of token."""


_BAR = re.compile(r"(?<!\\)\|")
_ALIGNMENT = re.compile(r"[ \t]*(:?)-+(:?)[ \t]*")


def table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A table as in GFM, but no value of a row is lost: see ``_cells``. What a row has too many of stays in its last cell."""
    aligned = _alignments(state, start, end)
    header = _row(state, start)
    names = _cells(header, len(aligned)) if aligned and "|" in header and not state.is_code_block(start) else []
    if not aligned or len(names) != len(aligned):
        return False
    if silent:
        return True
    parent, state.parentType = state.parentType, "table"
    opening = state.push("table_open", "table", 1)
    state.push("thead_open", "thead", 1).map = [start, start + 1]
    _push_row(state, start, "th", names, aligned)
    state.push("thead_close", "thead", -1)
    state.line = _push_body(state, start + 2, end, aligned)
    state.push("table_close", "table", -1)
    opening.map = [start, state.line]
    state.parentType = parent
    return True


def _row(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].strip(" \t")


def _alignments(state: StateBlock, start: int, end: int) -> list[str]:
    """The columns' alignments that the line after ``start`` gives, empty for none; no columns if it is no line of dashes."""
    if start + 2 > end or state.sCount[start + 1] < state.blkIndent or state.is_code_block(start + 1):
        return []
    row = _row(state, start + 1)
    if len(row) < 2 or row.startswith(("- ", "-\t")):  # a list
        return []
    matches = [_ALIGNMENT.fullmatch(cell) for cell in row.removeprefix("|").removesuffix("|").split("|")]
    sides = {("", ""): "", (":", ""): "left", ("", ":"): "right", (":", ":"): "center"}
    return [sides[match[1], match[2]] for match in matches if match] if all(matches) else []


def _cells(row: str, columns: int) -> list[str]:
    """The cells of a row. If GFM's reading, in which each bar ends a cell, does not fit the columns, code and formulas stay whole."""
    cells = _split(row, row)
    return cells if len(cells) == columns else _split(row, mathematics.without_verbatim(row))


def _split(row: str, searched: str) -> list[str]:
    """The cells between the bars of ``searched``, which is as long as the row."""
    bars = [bar.start() for bar in _BAR.finditer(searched)]
    cells = [row[begin + 1 : end] for begin, end in itertools.pairwise([-1, *bars, len(row)])]
    first, last = int(cells[0] == ""), len(cells) - int(cells[-1] == "")
    return [mdTrim(cell.replace("\\|", "|")) for cell in cells[first:last]]


def _push_body(state: StateBlock, first: int, end: int, aligned: Sequence[str]) -> int:
    """Push the rows of a table from line ``first`` on. It ends where a row does not fit, or where a quotation would end. Returns the line
    after it."""
    rules = [rule for rule in state.md.block.ruler.getRules("blockquote") if rule is not lines_below.new_paragraph]
    has_bars = _row(state, first - 2).startswith("|")
    line, empty = first, 0
    while line < end and state.sCount[line] >= state.blkIndent and not any(rule(state, line, end, True) for rule in rules):
        row = _row(state, line)
        if not _is_row(state, line, row, len(aligned), has_bars=has_bars):
            break
        cells = _cells(row, len(aligned))
        empty += max(0, len(aligned) - len(cells))
        if not row or state.is_code_block(line) or empty > MAX_AUTOCOMPLETED_CELLS:
            break
        if line == first:
            state.push("tbody_open", "tbody", 1)
        last = " | ".join(cells[len(aligned) - 1 :])
        _push_row(state, line, "td", [*cells[: len(aligned) - 1], last, *[""] * len(aligned)][: len(aligned)], aligned)
        line += 1
    if line > first:
        state.push("tbody_close", "tbody", -1)
    return line


def _is_row(state: StateBlock, line: int, row: str, columns: int, *, has_bars: bool) -> bool:
    """Whether a line below a table is a row of it, not a sentence: it has a bar, and where all rows begin with one (``has_bars``) as many
    cells as columns. A line that is still being written gets its bar yet, if the rows begin without.
    """
    if row.startswith("|"):
        return True
    if not has_bars and state.env.get(extensions.GROWS) and state.eMarks[line] >= len(state.src):
        return True
    searched = mathematics.without_verbatim(row) if "|" in row else ""
    return _BAR.search(searched) is not None and (not has_bars or len(_split(row, searched)) == columns)


def _push_row(state: StateBlock, line: int, tag: str, cells: Sequence[str], aligned: Sequence[str]) -> None:
    state.push("tr_open", "tr", 1).map = [line, line + 1]
    for cell, side in zip(cells, aligned, strict=True):
        opening = state.push(f"{tag}_open", tag, 1)
        opening.attrs = {"style": f"text-align:{side}"} if side else {}
        inline = state.push("inline", "", 0)
        inline.map, inline.content, inline.children = [line, line + 1], cell, []
        state.push(f"{tag}_close", tag, -1)
    state.push("tr_close", "tr", -1)


BlockRule = Callable[[StateBlock, int, int, bool], bool]
"""markdown-it's: the state, the first line, the end, whether to try it only. Returns whether there is such a block."""

_FILLED = frozenset({"hr", "fence", "code_block", "math_block", "text_block", "footnote_open"})
"""Tokens that people see without any text in them."""


def marks_are_text(rule: BlockRule) -> BlockRule:
    """The rule of a block, for which a block that holds nothing is a paragraph of its marks: what a model wrote never vanishes.

    "4." is an answer, and no empty item of a list. A block inside is decided first, so "- 4." is an item that holds "4.".
    """

    def read(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        first = len(state.tokens)
        if not rule(state, start, end, silent):
            return False
        opened = state.tokens[first:]
        if opened and not any(token.type in _FILLED or (token.type == "inline" and token.content) for token in opened):
            del state.tokens[first:]
            paragraph = _push_paragraph(state, start, _source(state, start))
            paragraph.meta["kind"], paragraph.markup = opened[0].type, opened[0].markup
        return True

    return read


def _source(state: StateBlock, start: int) -> str:
    return state.getLines(start, state.line, state.blkIndent, False).strip()


def _push_paragraph(state: StateBlock, start: int, content: str) -> Token:
    opening = state.push("paragraph_open", "p", 1)
    inline = state.push("inline", "", 0)
    inline.content, inline.children = content, []
    opening.map = inline.map = [start, state.line]
    state.push("paragraph_close", "p", -1)
    return opening


_DEFINITION = "definition"


def definition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The definition of a link, as a paragraph: ``is_unseen`` says whether people see it."""
    known, found = state.env["references"], dict[str, Any]()
    state.env["references"] = found
    is_definition = reference(state, start, end, silent)
    state.env["references"] = known
    for label, target in found.items():
        is_first = label not in known
        if is_first:
            known[label] = target
        # Its label is no link: otherwise each definition would refer to itself.
        _push_paragraph(state, start, "\\" + _source(state, start)).meta.update(kind=_DEFINITION, label=label, is_first=is_first)
    return is_definition


def numbers_are_kept(rule: BlockRule) -> BlockRule:
    """The rule of a list, whose items keep their numbers. Only a list with the same number everywhere is counted, as its writer meant."""

    def read(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        first, level = len(state.tokens), state.level
        if not rule(state, start, end, silent):
            return False
        items = [token for token in state.tokens[first:] if token.type == "list_item_open" and token.level == level + 1 and token.info]
        numbers = [int(item.info) for item in items]
        if len(set(numbers)) > 1:
            for item, (before, number) in zip(items[1:], itertools.pairwise(numbers), strict=True):
                if number != before + 1:
                    item.attrs["value"] = str(number)
        return True

    return read


def install(markdown: MarkdownIt) -> None:
    """Add our rules to markdown-it."""
    # Tables are tried last, so that a heading or a fence is recognized at once, whatever line follows.
    block, inline = markdown.block.ruler, markdown.inline.ruler
    block.disable("table")
    block.at("fence", fence, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    block.before("lheading", "late_table", marks_are_text(table), {"alt": ["paragraph", "reference"]})
    block.at("list", marks_are_text(numbers_are_kept(list_block)), {"alt": ["paragraph", "reference", "blockquote"]})
    block.at("blockquote", alerts.alert(marks_are_text(blockquote)), {"alt": ["paragraph", "reference", "blockquote", "list"]})
    block.at("reference", definition)
    block.at("heading", marks_are_text(heading), {"alt": ["paragraph", "reference", "blockquote"]})
    block.before("reference", "footnote_definition", footnote_definition, {"alt": ["paragraph", "reference"]})
    block.before("paragraph", "new_paragraph", lines_below.new_paragraph, {"alt": ["paragraph", "reference", "blockquote"]})
    block.before("fence", "math_block", math_block, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    inline.before("escape", "math", math)
    inline.after("math", "math_in_dollars", math_in_dollars)
    inline.before("link", "footnote_mark", footnote_mark)
    inline.before("autolink", "plain_tag", plain_tag)
    inline.at("linkify", bare_address)
    inline.at("image", image_as_link)


class Labels(dict[str, Any]):
    """Definitions by label, looked up here and then in ``known``; the first definition wins. Labels that were looked up are kept."""

    def __init__(self, known: Labels | None = None) -> None:
        super().__init__()
        self.known = known
        self.asked: set[str] = set()
        self.missed: set[str] = set()

    def get(self, label: str, default: Any = None) -> Any:
        """The definition, or ``default``; the question is recorded, and so is a miss."""
        self.asked.add(label)
        found = self._found(label)
        if found is None:
            self.missed.add(label)
        return default if found is None else found

    def _found(self, label: str) -> Any:
        found = super().get(label)
        return self.known._found(label) if found is None and self.known is not None else found

    def was_asked(self, label: str) -> bool:
        """Whether a text so far refers to this label."""
        return label in self.asked or (self.known is not None and self.known.was_asked(label))

    def __contains__(self, label: object) -> bool:
        return super().__contains__(label) or (self.known is not None and label in self.known)


@dataclass(slots=True)
class Definitions:
    """The link and footnote definitions of a text so far, and the pages that the text may cite."""

    references: Labels = field(default_factory=Labels)
    footnotes: Labels = field(default_factory=Labels)
    pages: Pages = field(default_factory=dict)

    def layer(self) -> Definitions:
        """New definitions on top of these, which can be discarded or examined separately."""
        return Definitions(Labels(self.references), Labels(self.footnotes), self.pages)


@dataclass(frozen=True, slots=True)
class Block:
    """One top-level block: its tokens, its lines (from 0, ``end`` excluded) and whether no later line can change it."""

    tokens: tuple[Token, ...]
    start: int
    end: int
    closed: bool

    @property
    def kind(self) -> str:
        """The type of the first token: ``paragraph_open``, ``fence``, ``bullet_list_open``… Marks that are text may still become theirs."""
        return _kind(self.tokens[0])

    @property
    def is_definition(self) -> bool:
        """Whether it defines a link."""
        return self.kind == _DEFINITION


@dataclass(frozen=True, slots=True)
class Parsed:
    """The blocks of a text. ``settled``: later lines can only change lines from here on, apart from growth of the last block."""

    blocks: tuple[Block, ...]
    settled: int


def parse(text: str, definitions: Definitions, *, grows: bool = False) -> Parsed:
    """Split a normalized text into blocks, without parsing inline content. Its definitions are added to ``definitions``.

    ``grows``: it is still being written.
    """
    env: Env = {"references": definitions.references, "footnotes": definitions.footnotes, extensions.GROWS: grows}
    tokens: list[Token] = []
    _markdown.block.parse(text, _markdown, env, tokens)
    lines = text.split("\n")
    blocks = []
    first = 0
    for position, token in enumerate(tokens):
        if token.level == 0 and token.nesting <= 0:
            blocks.append(_block(tokens[first : position + 1], lines))
            first = position + 1
    return Parsed(tuple(blocks), env.get(mathematics.UNDECIDED, len(lines)))


BRACKETS_LIMIT = 4000
"""The most opening brackets in the text of one block. Each may begin a link, and nested ones cost most."""


def to_html(tokens: Sequence[Token], definitions: Definitions) -> str:
    """The HTML of a block's tokens, not yet sanitized. It parses the inline content, so the tokens can be used only once.

    Raises:
        ValueError: parsing would take too long.
    """
    if sum(token.content.count("[") for token in tokens if token.type == "inline") > BRACKETS_LIMIT:
        raise ValueError
    env: Env = {"references": definitions.references, "footnotes": definitions.footnotes}
    state = StateCore("", _markdown, env, list(tokens))
    for token in state.tokens:
        if token.type == "inline":
            token.children = []
            _markdown.inline.parse(token.content, _markdown, env, token.children)
    text_join(state)
    for token in state.tokens:
        token.children = token.children and citations.link_citations(token.children, definitions.pages)
        _add_attributes(token)
    html: str = _markdown.renderer.render(state.tokens, _markdown.options, env)
    return html


def is_unseen(block: Block, definitions: Definitions) -> bool:
    """Whether a block is the first definition of a link to which the blocks before it refer: they show it. Any other is text."""
    meta = block.tokens[0].meta if block.is_definition else {}
    return bool(meta) and meta["is_first"] and definitions.references.was_asked(meta["label"])


def _block(tokens: list[Token], lines: list[str]) -> Block:
    start, end = tokens[0].map or [0, len(lines)]
    return Block(tuple(tokens), start, end, _is_closed(tokens[0], lines, end))


def _kind(token: Token) -> str:
    return str(token.meta.get("kind", token.type))


def _is_closed(token: Token, lines: list[str], end: int) -> bool:
    """Whether a block can no longer change. ``lines`` ends with the line that is still being written (empty after a line end)."""
    whole = end < len(lines)
    match _kind(token):
        case "heading_open" | "hr" | "math_block":
            return whole
        case "paragraph_open" | "table_open" | "blockquote_open" | "definition":
            # It was ended by a blank line or by the next block; either way there is one more complete line.
            return end + 1 < len(lines)
        case "fence":
            return whole and bool(token.meta["is_closed"])
        case _:
            return False


def _add_attributes(token: Token) -> None:
    """Add our attributes to a block token. The first letters of a block decide its text direction."""
    if token.type in ("th_open", "td_open"):
        style = str(token.attrs.pop("style", ""))
        if style:
            token.attrs["align"] = style.removeprefix("text-align:")
    elif token.type in _DIRECTED:
        token.attrs["dir"] = "auto"
    for name in ("class", "title"):
        if name in token.attrs:
            token.attrs[name] = prose(str(token.attrs[name]))
    extensions.add_link_hosts(token.children or [])


_DIRECTED = frozenset({"heading_open", "blockquote_open", "bullet_list_open", "ordered_list_open", "list_item_open"})


class _Blocks(ParserBlock):
    """Block parser that shows content nested too deeply as one paragraph, where markdown-it would drop it."""

    def tokenize(self, state: StateBlock, startLine: int, endLine: int) -> None:  # noqa: N803
        """See markdown-it. What is nested too deeply becomes one paragraph, which is shown as text."""
        if state.level < state.md.options.maxNesting:
            if state.parentType == "list" and state.tokens[-1].info:
                state.blkIndent = lines_below.content_column(state, startLine, endLine)
            super().tokenize(state, startLine, endLine)
            return
        line = startLine + 1
        while line < endLine and (state.isEmpty(line) or state.sCount[line] >= state.blkIndent):
            line += 1
        state.push("paragraph_open", "p", 1).map = [startLine, line]
        token = state.push("text_block", "", 0)
        token.content = state.getLines(startLine, line, state.blkIndent, False).strip()
        state.push("paragraph_close", "p", -1)
        state.line = line


_OPTIONS = {"html": False, "maxNesting": 40, "tasklists": True, "xhtmlOut": False, "breaks": True}
"""``breaks``: models end lines where people see them end, in addresses, short lists and verses; CommonMark would join them."""


class _Markdown(MarkdownIt):
    """markdown-it with our link policy and our own block and inline parsers."""

    def __init__(self) -> None:
        super().__init__("commonmark", _OPTIONS)
        self.block = _Blocks()
        self.inline = extensions.InlineParser()
        self.configure("commonmark", _OPTIONS)
        self.enable(["strikethrough", "linkify"])
        install(self)

    def normalizeLink(self, url: str) -> str:  # noqa: N802
        return links.encode(url, super().normalizeLink)

    def normalizeLinkText(self, link: str) -> str:  # noqa: N802
        return link

    def validateLink(self, url: str) -> bool:  # noqa: N802
        return links.permitted(url)


_markdown = _Markdown()
for _name, _rule in RULES.items():
    _markdown.add_render_rule(_name, _rule)
