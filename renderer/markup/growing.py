"""Renders a visible message as blocks of safe HTML while it is being written.

Streaming Markdown is split into closed blocks, which are final, and one open block at the end. A block is closed when no later line can
change it. markdown-it decides that: when a line arrives that may end a block, which a quick check of each new line decides, the text since
the last split is parsed, and all its blocks but the last are closed. Only ``finish`` changes closed blocks: those that refer to a later
definition (``[x]: …``, ``[^x]: …``). After it, the blocks are those of ``html.render_blocks`` for the whole text.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from renderer.gate import VisibleText
from renderer.markup import html, markdown, repair
from renderer.markup.citations import Pages
from renderer.markup.html import JSON_OPENING, SafeHtml
from renderer.markup.links import normalize
from renderer.markup.markdown import Block, Definitions, Parsed
from renderer.markup.tails import Tail

SMALL_WORK = 2048
"""Work below this many characters is not worth saving."""
_STARTER = re.compile(r"[-+*=#>`~|:$\\_\[0-9]|.*\|")
_NUMBERED = re.compile(r"[0-9]{1,9}[.)](?:[ \t]|$)")


class Trigger:
    """Decides from each new line whether parsing may close a block. If it misses one, the block only closes later.

    After a parse that closed nothing, a large block is parsed again only when it has grown by a quarter, so that the total work stays
    proportional to its size.
    """

    def __init__(self, block: Block | None = None, size: int = 0, *, undecided: bool = False) -> None:
        self._kind = "undecided" if undecided else block.kind if block else ""
        self._markup = block.tokens[0].markup if block else ""
        self._size = size
        self._worthwhile = size * 5 // 4 if size > SMALL_WORK else 0
        self._count = 0

    def add_line(self, line: str) -> bool:
        """Add this line, and return whether to parse now."""
        self._size += parsing_work(line)
        self._count += 1
        return self._size >= self._worthwhile and self._may_close(line)

    def _may_close(self, line: str) -> bool:
        """Whether this line may end the open block, by its kind. Parsing before that would find no closed block."""
        bare = line.lstrip(" \t")
        indent = len(line) - len(bare)
        match self._kind:
            case "":
                return bool(bare)
            case "fence":
                return bare.startswith(self._markup) and not bare.strip(self._markup[0] + " \t")
            case "undecided":
                return self._count % 16 == 0 or any(sign in line for sign in ("\\]", "\\[", "$$", "\\end{"))
            case "paragraph_open" | "definition" | "table_open":
                # Below a table, a line without bars is no row; a line with one may begin another block.
                return not bare or self._kind == "table_open" or _STARTER.match(bare) is not None
            case "bullet_list_open":
                return bool(bare) and indent < 2 and not bare.startswith((self._markup + " ", self._markup + "\t"))
            case "ordered_list_open":
                return bool(bare) and indent < 2 and _NUMBERED.match(bare) is None
            case "blockquote_open":
                return not bare.startswith(">")
        return bool(bare) and indent < 4


def parsing_work(line: str) -> int:
    """The cost of parsing a line, in characters."""
    return len(line) + 40


@dataclass(frozen=True, slots=True)
class BlockClosed:
    """Block ``index`` (from 0) is final. Sent once for each block, in order."""

    index: int
    html: SafeHtml


@dataclass(frozen=True, slots=True)
class BlockPatched:
    """The closed block ``index`` changed after all, because a definition that it refers to has arrived.

    Empty at the index after the last block, if something was shown there that turned out not to be a block.
    """

    index: int
    html: SafeHtml


@dataclass(frozen=True, slots=True)
class BlockOpen:
    """The open block ``index`` as it is shown now. It replaces what was shown before."""

    index: int
    html: SafeHtml


@dataclass(frozen=True, slots=True)
class MoreText:
    """More text for the open block ``index``, to be appended as text to its innermost last ``code`` or ``pre`` element."""

    index: int
    text: VisibleText = field(repr=False)


Final = BlockClosed | BlockPatched


class GrowingMarkdown:
    """Text that passed the gate in, blocks of HTML out. Takes only VisibleText, so nothing else can be rendered into a stream."""

    def __init__(self, pages: Pages | None = None, *, is_json: bool = False) -> None:
        """``pages``: the pages that the text may cite. More may be added while it is written. ``is_json``: it is shown as code."""
        self._definitions = Definitions(pages={} if pages is None else pages)
        self._closed: list[SafeHtml] = []
        self._waiting: dict[int, tuple[Block, str, set[str]]] = {}
        self._lines: list[str] = []
        self._partial: list[str] = []
        self._taken = 0
        self._carriage_return = False
        self._is_plain = False
        self._trigger = Trigger()
        self._tail = Tail(0, "", self._definitions)
        if is_json:
            self._take(JSON_OPENING)

    def feed(self, text: VisibleText) -> list[Final]:
        """Add text and return the blocks that are final now. Never renders the open block."""
        return self._take(self._normalized(text))

    def tail(self, now: float = math.inf) -> BlockOpen | MoreText | None:
        """How to show the open block now; None if nothing is new. Call it about 20 times a second, and at ``waits_until``. ``now``: in
        seconds; without it, no text waits."""
        match self._tail.show(self._text, now):
            case SafeHtml() as shown:
                return BlockOpen(self._tail.index, shown)
            case str(more):
                return MoreText(self._tail.index, VisibleText(more))
        return None

    @property
    def waits_until(self) -> float | None:
        """When to show the text that waits, for the open block is rendered a few times a second only; None if none does."""
        return self._tail.waits_until

    def finish(self, *, is_cut: bool) -> list[Final]:
        """Signal the end of the text. Everything left is closed. ``is_cut``: see ``html.render_blocks``."""
        events = self._take("\n" if self._carriage_return else "")
        if self._is_plain:
            events.append(self._add(html.plain(self._text())))
            self._partial = []
        else:
            events += self._close(final=True, is_cut=is_cut)
        events += self._patch()
        self._tail = self._new_tail()
        if self._tail.html() is not None:
            events.append(BlockPatched(len(self._closed), SafeHtml.join(())))
            self._tail = Tail(len(self._closed), "", self._definitions)
        return events

    def html(self) -> tuple[SafeHtml, ...]:
        """The blocks so far: the closed ones, then the open one as it was last shown."""
        shown = self._tail.html()
        return tuple(self._closed) if shown is None else (*self._closed, shown)

    def _normalized(self, text: str) -> str:
        """Line ends as ``\\n``. A carriage return at the end waits for the line feed that may follow it in the next piece."""
        if self._carriage_return and text:
            text = "\r" + text
            self._carriage_return = False
        if text.endswith("\r"):
            text = text[:-1]
            self._carriage_return = True
        return normalize(text)

    def _take(self, text: str) -> list[Final]:
        if self._is_plain:
            self._keep(text)
            return []
        room = html.MESSAGE_LIMIT - self._taken
        self._taken += len(text)
        events = self._read(text[:room])
        if len(text) > room:
            events += self._close(final=True)
            self._is_plain = True
            self._tail = Tail(len(self._closed), "", self._definitions, is_plain=True)
            self._keep(text[room:])
        return events

    def _keep(self, text: str) -> None:
        if text:
            self._partial.append(text)
            self._tail.grow(text)

    def _read(self, text: str) -> list[Final]:
        self._keep(text)
        if "\n" not in text:
            return []
        lines = "".join(self._partial).split("\n")
        self._partial = [lines.pop()]
        self._lines += lines
        wanted = False
        for line in lines:
            wanted |= self._trigger.add_line(line)
        return self._close(final=False) if wanted else []

    def _text(self) -> str:
        return "\n".join([*self._lines, "".join(self._partial)])

    def _close(self, *, final: bool, is_cut: bool = False) -> list[Final]:
        """Parse the open text, close what can be closed, and keep the rest."""
        lines = [*self._lines, "".join(self._partial) if final else ""]
        # A blank line ends a paragraph.
        if not any(lines[1:]) and (words := html.plain_line(lines[0], ends=final or len(lines) > 2)) is not None:
            self._trigger, self._lines, self._partial = Trigger(), [], [] if final else self._partial
            closed_words = self._add(words)
            self._tail = self._new_tail()
            return [closed_words]
        layer = self._definitions.layer()
        parsed = markdown.parse("\n".join(lines), layer, grows=not final)
        if is_cut:
            repair.repair_cut_text(parsed.blocks, lines)
        closed = parsed.blocks if final else _closed_of(parsed)
        rest = parsed.blocks[len(closed) :]
        cut = len(lines) if final else rest[0].start if rest else len(lines) - 1
        self._trigger = Trigger(rest[0] if rest else None, sum(map(parsing_work, lines[cut:])), undecided=parsed.settled < len(lines))
        if not cut:
            return []
        self._commit(layer, cut)
        events: list[Final] = [self._render(block, lines) for block in closed if not markdown.is_unseen(block, self._definitions)]
        self._lines = lines[cut:-1]
        if final:
            self._lines, self._partial = [], []
        self._tail = self._new_tail()
        return events

    def _new_tail(self) -> Tail:
        text = self._text()
        shown = self._tail.html() if self._tail.index == len(self._closed) else None
        return Tail(len(self._closed), text if text.strip() else "", self._definitions, shown=shown)

    def _commit(self, layer: Definitions, cut: int) -> None:
        """Keep the definitions before the cut; later ones can still change."""
        for known, new in ((self._definitions.references, layer.references), (self._definitions.footnotes, layer.footnotes)):
            known.update((label, definition) for label, definition in new.items() if definition["map"][1] <= cut)

    def _render(self, block: Block, lines: list[str]) -> BlockClosed:
        source = "\n".join(lines[block.start : block.end])
        rendered, asked, missed = self._rendered(block, source)
        self._definitions.references.asked |= asked
        if missed:
            self._waiting[len(self._closed)] = block, source, missed
        return self._add(rendered)

    def _add(self, rendered: SafeHtml) -> BlockClosed:
        self._closed.append(rendered)
        return BlockClosed(len(self._closed) - 1, rendered)

    def _rendered(self, block: Block, source: str) -> tuple[SafeHtml, set[str], set[str]]:
        """The HTML of a closed block, the labels of links that it refers to, and all labels that are not defined yet."""
        layer = self._definitions.layer()
        rendered = html.block_html(block, source, layer)
        return rendered, layer.references.asked, layer.references.missed | {f"^{label}" for label in layer.footnotes.missed}

    def _patch(self) -> list[Final]:
        """Render the closed blocks again whose definitions came after them."""
        defined = {*self._definitions.references, *(f"^{label}" for label in self._definitions.footnotes)}
        events: list[Final] = []
        for index, (block, source, missed) in self._waiting.items():
            if missed & defined:
                self._closed[index], *_ = self._rendered(block, source)
                events.append(BlockPatched(index, self._closed[index]))
        self._waiting = {}
        return events


def _closed_of(parsed: Parsed) -> tuple[Block, ...]:
    """The blocks that no later line can change: all but the last (unless it is closed), and none that may become mathematics."""
    blocks = list(parsed.blocks)
    if blocks and not blocks[-1].closed:
        start = blocks.pop().start
        if blocks and blocks[-1].is_definition and blocks[-1].end == start:
            blocks.pop()  # what is open may be its title
    return tuple(block for block in blocks if block.end <= parsed.settled)


STEP_CHARS = 8 * 1024
"""The most text to feed in one step of an event loop."""


def in_steps(text: VisibleText) -> list[VisibleText]:
    """The text in pieces of at most STEP_CHARS characters."""
    if len(text) <= STEP_CHARS:
        return [text]
    return [VisibleText(text[start : start + STEP_CHARS]) for start in range(0, len(text), STEP_CHARS)]
