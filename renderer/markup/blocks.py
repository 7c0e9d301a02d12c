"""Splits streaming Markdown into closed blocks, which are final, and one open block at the end.

A block is closed when no later line can change it. markdown-it decides that: when a line arrives that may end a block, the text since the
last split is parsed, and all its blocks but the last are closed. Only a late definition (``[x]: …``, ``[^x]: …``) changes a closed block
that refers to it. After ``finish``, the blocks are those of ``html.render_blocks`` for the whole text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from renderer.markup import html, markdown, repair
from renderer.markup.citations import Pages
from renderer.markup.html import SafeHtml
from renderer.markup.late_definitions import WaitingBlocks
from renderer.markup.markdown import Block, Definitions, Parsed
from renderer.markup.page_text import normalize
from renderer.markup.parse_triggers import Trigger, parsing_work
from renderer.markup.tails import BlockOpen, BlockText, Tail, cost_of

__all__ = ["BlockClosed", "BlockOpen", "BlockPatched", "BlockText", "Blocks"]


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


Final = BlockClosed | BlockPatched


class Blocks:
    """Pieces of Markdown in, blocks of HTML out."""

    def __init__(self, pages: Pages | None = None) -> None:
        """``pages``: the pages that the text may cite. More may be added while it is written."""
        self._definitions = Definitions(pages={} if pages is None else pages)
        self._closed: list[SafeHtml] = []
        self._waiting = WaitingBlocks()
        self._lines: list[str] = []
        self._partial: list[str] = []
        self._taken = 0
        self._carriage_return = False
        self._overflow: list[str] | None = None
        self._trigger = Trigger()
        self._tail = Tail(0, "", self._definitions)

    def cost_to_feed(self, text: str) -> int:
        """The most that feeding ``text``, and showing the tail after it, can cost: see ``cost_of``."""
        if self._overflow is not None:
            return 0
        if self._trigger.is_fence and self._tail.is_code and "`" not in text and "~" not in text:
            return cost_of(text)
        late = self._waiting.cost if self._tail.may_define or ":" in text else 0
        return self._tail.cost + cost_of(text[: html.MESSAGE_LIMIT]) + late

    def cost_to_finish(self) -> int:
        """The most that finishing can cost: see ``cost_of``."""
        return self._waiting.cost + (0 if self._overflow is not None else self._tail.cost)

    def feed(self, text: str) -> list[Final]:
        """Add text and return the blocks that are final now. Never renders the open block."""
        return self._take(self._normalized(text))

    def tail(self) -> BlockOpen | BlockText | None:
        """How to show the open block now; None if nothing is new. Call it about 20 times a second."""
        return self._tail.show(self._text)

    def finish(self, *, is_cut: bool = False) -> list[Final]:
        """Signal the end of the text. Everything left is closed. ``is_cut``: see ``html.render_blocks``."""
        events = self._take("\n" if self._carriage_return else "")
        if self._overflow is None:
            events += self._close(final=True, is_cut=is_cut)
        else:
            events.append(self._add(html.plain("".join(self._overflow))))
            self._overflow = None
        events += self._patch(self._waiting.postponed())
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
        if self._overflow is not None:
            self._grow_overflow(text)
            return []
        room = html.MESSAGE_LIMIT - self._taken
        self._taken += len(text)
        events = self._read(text[:room])
        if len(text) > room:
            events += self._close(final=True)
            self._overflow = []
            self._tail = Tail(len(self._closed), "", self._definitions)
            self._tail.show_as_plain_text()
            self._grow_overflow(text[room:])
        return events

    def _grow_overflow(self, text: str) -> None:
        if text and self._overflow is not None:
            self._overflow.append(text)
            self._tail.grow(text)

    def _read(self, text: str) -> list[Final]:
        if not text:
            return []
        self._partial.append(text)
        self._tail.grow(text)
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
        if self._overflow is not None:
            return "".join(self._overflow)
        return "\n".join([*self._lines, "".join(self._partial)])

    def _close(self, *, final: bool, is_cut: bool = False) -> list[Final]:
        """Parse the open text, close what can be closed, and keep the rest."""
        if final and not self._lines and (words := html.plain_paragraph("".join(self._partial))) is not None:
            self._trigger, self._partial = Trigger(), []
            closed_words = self._add(words)
            self._tail = self._new_tail()
            return [closed_words]
        lines = [*self._lines, "".join(self._partial)] if final else [*self._lines, ""]
        layer = self._definitions.layer()
        parsed = markdown.parse("\n".join(lines), layer)
        if is_cut:
            repair.repair_cut_text(parsed.blocks, lines)
        closed = parsed.blocks if final else _closed_of(parsed)
        left = parsed.blocks[len(closed) :]
        cut = len(lines) if final else _cut(lines, closed, left)
        self._trigger = Trigger(left[0] if left else None, sum(map(parsing_work, lines[cut:])), undecided=parsed.settled < len(lines))
        if not cut:
            return []
        found = self._commit(layer, cut)
        events: list[Final] = [self._render(block, lines) for block in closed]
        events += self._patch(self._waiting.affordable(found, self._taken))
        self._lines = lines[cut:-1]
        if final:
            self._lines, self._partial = [], []
        self._tail = self._new_tail()
        return events

    def _new_tail(self) -> Tail:
        text = self._text()
        shown = self._tail.html() if self._tail.index == len(self._closed) else None
        return Tail(len(self._closed), text if text.strip() else "", self._definitions, shown=shown)

    def _commit(self, layer: Definitions, cut: int) -> set[str]:
        """Keep the definitions before the cut; later ones can still change. Returns the labels, those of footnotes with ``^``."""
        found = set()
        for known, new, sign in ((self._definitions.references, layer.references, ""), (self._definitions.footnotes, layer.footnotes, "^")):
            for label, definition in new.items():
                if definition["map"][1] <= cut:
                    known[label] = definition
                    found.add(sign + label)
        return found

    def _render(self, block: Block, lines: list[str]) -> BlockClosed:
        source = "\n".join(lines[block.start : block.end])
        rendered, missed = self._rendered(block, source)
        self._waiting.add(len(self._closed), block, source, missed)
        return self._add(rendered)

    def _add(self, rendered: SafeHtml) -> BlockClosed:
        self._closed.append(rendered)
        return BlockClosed(len(self._closed) - 1, rendered)

    def _rendered(self, block: Block, source: str) -> tuple[SafeHtml, set[str]]:
        """The HTML of a closed block, and the labels that it refers to and that are not defined yet."""
        layer = self._definitions.layer()
        rendered = html.block_html(block, source, layer)
        return rendered, layer.references.missed | {f"^{label}" for label in layer.footnotes.missed}

    def _patch(self, indices: Iterable[int]) -> list[Final]:
        events: list[Final] = []
        for index in sorted(indices):
            block, source = self._waiting.take(index)
            rendered, missed = self._rendered(block, source)
            self._waiting.add(index, block, source, missed)
            if rendered != self._closed[index]:
                self._closed[index] = rendered
                events.append(BlockPatched(index, rendered))
        return events


def _closed_of(parsed: Parsed) -> tuple[Block, ...]:
    """The blocks that no later line can change: all but the last (unless it is closed), and none that may become mathematics."""
    blocks = parsed.blocks if parsed.blocks and parsed.blocks[-1].closed else parsed.blocks[:-1]
    return tuple(block for block in blocks if block.end <= parsed.settled)


def _cut(lines: list[str], closed: tuple[Block, ...], left: tuple[Block, ...]) -> int:
    """The first line to keep. Link definitions directly above it are kept too: the next line may be the title of the last one."""
    floor = closed[-1].end if closed else 0
    cut = left[0].start if left else len(lines) - 1
    while cut > floor and lines[cut - 1].strip(" \t"):
        cut -= 1
    return cut
