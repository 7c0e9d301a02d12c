"""Renders the open block at the end of a streaming text.

If possible, plain words are appended to the block's last sentence without parsing the block again: if the words contain no markup, and if
the text before them was shown unchanged, so that nothing at its end was held back, hidden or rewritten because it was incomplete.

Otherwise a block of a line is rendered again for each update, and a longer one less often, at least four times a second: until then, new
text waits, because its markup must not be seen. A large block is rendered again only after it has grown by a fraction of its size; until
then, new text is shown as plain text after it (``<pre class="pending">``). Inside code, text is only appended. So the cost grows with the
length of the text, not with the number of updates. Nothing here is final.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from renderer.markup import html, markdown, repair
from renderer.markup.html import SafeHtml
from renderer.markup.links import code_text, prose
from renderer.markup.markdown import Block, Definitions

_MAX_CHARS = 2048
"""The longest sentence that is continued like this. Repairing does not search for markup that was opened further back."""
_MAX_WORD_CHARS, _MAX_END_CHARS = 80, 1000
_WORDS = re.compile(r"(?: |(?!_)\w|[.,;:!?'\"()-])+")
"""Words without markup, escapes, parts of an address or line ends."""
_LAST_WORD = re.compile(r"(?:(?!_)\w|[.,;:!?'\"()-])*(?!_)\w[.,;:!?]?\Z")
_END_TAGS = re.compile(r"(?:\s*</[a-z0-9]+>)+\s*\Z")
_OPEN_OR_CLOSE = frozenset(
    f"{kind}_{side}"
    for kind in ("paragraph", "heading", "bullet_list", "ordered_list", "list_item", "blockquote")
    for side in ("open", "close")
)


@dataclass(slots=True)
class Sentence:
    """The end of the text of an open block, and where it ends in its HTML: ``end_tags`` characters before the end."""

    end_tags: int
    length: int

    def can_continue_with(self, words: str) -> bool:
        """Whether ``words`` can be appended unchanged. They must not end with a space."""
        return self.length + len(words) <= _MAX_CHARS and _WORDS.fullmatch(words) is not None and _LAST_WORD.search(words) is not None

    def continued(self, shown: SafeHtml, words: str) -> SafeHtml:
        """The block with the words appended."""
        self.length += len(words)
        return html.with_words(shown, len(shown.html) - self.end_tags, words)


def sentence_at_end(block: Block, text: str, rendered: SafeHtml) -> Sentence | None:
    """The sentence at the end of ``text``, if it can be continued. ``block`` is the last block of it; its last sentence is shown as
    written, with open markup closed.
    """
    if not all(token.type in _OPEN_OR_CLOSE or token.type == "inline" for token in block.tokens):
        return None
    sentence = next(token.content for token in reversed(block.tokens) if token.type == "inline")
    return sentence_of_words(text, rendered, len(sentence))


def sentence_of_words(text: str, rendered: SafeHtml, length: int) -> Sentence | None:
    """The same for a block whose last ``length`` characters are one line of plain words."""
    word = _LAST_WORD.search(text, max(0, len(text) - _MAX_WORD_CHARS))
    end_tags = _END_TAGS.search(rendered.html, max(0, len(rendered.html) - _MAX_END_CHARS))
    if word is None or end_tags is None:
        return None
    before = text[: word.start()][-1:]
    if before not in (" ", "\n") or not rendered.html.endswith(word[0], 0, end_tags.start()):
        return None
    return Sentence(len(rendered.html) - end_tags.start(), length)


WORK_PER_CHARACTER = 16
WORK_TO_BEGIN_WITH = 128 * 1024
"""An open block of n characters is rendered again as long as all its renderings together cost less than 16 n + 131,072.

The unit of cost is about 0.4 µs: a character of text counts as 1, one that may be markup as 9, an opening bracket as 33, an address
as 49, a line end as 21 (measured). So an open block costs at most 7 µs a character besides its final rendering, and 0.05 s once.
"""

AGAIN_SECONDS, COST_PER_SECOND = 0.25, 8_000
"""Before a block is rendered again, it stays for 1/8,000 s for each unit of its cost, but no longer than that: a line is rendered
for each update, a table of ten rows four times a second. Most lists and paragraphs are so short that nobody sees them wait."""

TAIL_LIMIT = 96 * 1024
"""From this cost on (about 50 ms), an open block is not rendered again. New text is plain text until it closes."""


@dataclass(slots=True)
class _Code:
    """An open fence: the indentation of its lines in columns, its marker, and whether it is inside a list."""

    indent: int
    marker: str
    nested: bool

    def may_close(self, line: str) -> bool:
        """Whether a line, as far as it is written, is or may become the closing fence."""
        return not line.strip(self.marker[0] + " \t")

    def leaves(self, line: str) -> bool:
        """Whether a line may end code inside a list. The block parser knows where other code ends."""
        return self.nested and bool(line.strip()) and (not line.startswith(" " * self.indent) or self.may_close(line))


class Tail:
    """The displayed state of an open block. ``grow`` is fast and called for all text; ``show`` is called once per update."""

    def __init__(self, index: int, text: str, definitions: Definitions, *, shown: SafeHtml | None = None, is_plain: bool = False) -> None:
        """``is_plain``: everything is shown as plain text, because there is too much to render."""
        self.index = index
        """The number of the block."""
        self._definitions = definitions
        self._length = len(text)
        """The characters of the whole block."""
        self.cost = cost_of(text)
        """What rendering the block costs."""
        # What was shown at this index may have turned out not to be a block (a definition). Then an empty block is an update.
        self._fresh = [text] if text or shown is not None else []
        """The text that is not shown yet."""
        self._work = 0
        """The cost of all that was rendered."""
        self._is_plain = is_plain
        self._code: _Code | None = None
        """The open fence, to which text is added as it is."""
        self._inside_line = False
        """Whether a line of the fence has begun to be shown."""
        self._appending = False
        """Whether more text is added unparsed, because rendering the block again costs too much."""
        self._inner = "pre"
        """The element to which text is added."""
        self._shown = shown
        """The HTML that was rendered last, to which ``_added`` was added."""
        self._added: list[str] = []
        self._sentence: Sentence | None = None
        """The sentence at the end, if words can be added to it without parsing the block."""
        self._again_at = -math.inf
        """Before this time, the block is not rendered again."""
        self.waits_until: float | None = None
        """When to show the text that waits; None if none does."""

    def grow(self, text: str) -> None:
        """Add more text of this block, normalized."""
        self._fresh.append(text)
        self._length += len(text)
        self.cost += cost_of(text)

    def show(self, source: Callable[[], str], now: float = math.inf) -> SafeHtml | str | None:
        """The open block as it is shown now, or more text for it, or None if nothing is new.

        The text is to be appended as text to its innermost last ``code`` or ``pre`` element. ``source`` returns the block's whole text;
        called only if the block is rendered. ``now``: in seconds; without it, no text waits.
        """
        self.waits_until = None
        if not self._fresh:
            return None
        if self._code is not None:
            event = self._more_code(self._code)
            if self._code is not None:
                return event
        if (continued := self._continue_sentence()) is not None:
            return continued
        if not self._is_plain and self._in_budget(self._length, self.cost):
            return self._render(source, now)
        if not self._appending:
            return self._open_plain(source())
        return self._append("".join(self._fresh), [])

    def html(self) -> SafeHtml | None:
        """The HTML shown so far, or None: the same as replaying the events."""
        if self._shown is None or not self._added:
            return self._shown
        return html.with_text(self._shown, "".join(self._added), self._inner)

    def _in_budget(self, length: int, cost: int) -> bool:
        return cost <= TAIL_LIMIT and self._work + cost <= WORK_PER_CHARACTER * length + WORK_TO_BEGIN_WITH

    def _continue_sentence(self) -> SafeHtml | None:
        """Most updates are a few more words in the middle of a sentence: they are inserted into the existing HTML."""
        if self._sentence is None or self._shown is None or self._is_plain or self._length > html.BLOCK_LIMIT:
            return None
        text = "".join(self._fresh)
        words = text.rstrip(" ")
        if not words or not self._sentence.can_continue_with(words):
            return None
        held = text[len(words) :]
        self._fresh = [held] if held else []
        self._shown = self._sentence.continued(self._shown, words)
        return self._shown

    def _render(self, source: Callable[[], str], now: float) -> SafeHtml | None:
        """The block rendered again, if it is time."""
        if now < self._again_at:
            self.waits_until = self._again_at
            return None
        self._again_at = now + min(AGAIN_SECONDS, self.cost / COST_PER_SECOND)
        return self._open(source())

    def _open(self, text: str) -> SafeHtml | None:
        self._work += self.cost
        self._code, self._fresh, self._appending, self._sentence = None, [], False, None
        is_cheap = self._in_budget(self._length + 12, self.cost + 16)
        if is_cheap and (words := html.plain_line(text)) is not None:
            self._sentence = sentence_of_words(text, words, len(text))
            return self._replace(words)
        blocks, definitions, shown, is_as_written = _presentable(text, self._definitions)
        self._code = _open_code(blocks, text)
        if self._code is not None:
            self._inside_line, shown, held = _split_code(text)
            self._fresh = [held] if held else []
            blocks, definitions, shown, _ = _presentable(shown, self._definitions, is_repaired=False)
        rendered = _blocks_html(blocks, shown, definitions)
        if self._code is None and not is_cheap:
            rendered, self._appending = html.with_pending(*_head_and_rest(text, rendered, self._definitions)), True
        elif self._code is None and is_as_written and shown == text:
            self._sentence = sentence_at_end(blocks[-1], text, rendered)
        return self._replace(rendered)

    def _open_plain(self, text: str) -> SafeHtml | None:
        self._fresh, self._code, self._appending, self._sentence = [], None, True, None
        return self._replace(html.with_pending(SafeHtml.join(()), text))

    def _replace(self, rendered: SafeHtml) -> SafeHtml | None:
        self._inner = "pre" if self._code is None else "code"
        if rendered == (SafeHtml.join(()) if self._shown is None else self._shown) and not self._added:
            return None
        self._shown, self._added = rendered, []
        return rendered

    def _append(self, text: str, rest: list[str]) -> str | None:
        self._fresh = rest
        clean = code_text(text) if self._code is not None else prose(text)
        if clean:
            self._added.append(clean)
        return clean or None

    def _more_code(self, code: _Code) -> str | None:
        """The new text of an open fence. A last line that may close the fence waits; one that leaves it ends this mode."""
        *whole, last = "".join(self._fresh).split("\n")
        shown = []
        for number, line in enumerate([*whole, last]):
            if number == 0 and self._inside_line:
                shown.append(line)
            elif number == len(whole) and code.may_close(line):
                self._inside_line = False
                return self._append("".join(f"{line}\n" for line in shown), [line] if line else [])
            elif code.leaves(line):
                self._code = None
                return None
            else:
                shown.append(re.sub(f"^ {{0,{code.indent}}}", "", line))
        self._inside_line = True
        return self._append("\n".join(shown), [])


_MARKUP = "[]!*_`<&\\$~|:^#%+=>@{}"
_COSTLY = re.compile(f"[{re.escape(_MARKUP)}\n†]")


def cost_of(text: str) -> int:
    """What rendering a text costs, in the unit of ``WORK_PER_CHARACTER``. Many short lines cost up to ten times as much."""
    if _COSTLY.search(text) is None:
        return len(text)  # a few words, like most new text of an answer
    markup = sum(map(text.count, _MARKUP))
    # A citation is short, and the address that it becomes can have 2,000 characters.
    links = 24 * text.count("[") + 40 * text.count("://") + 80 * text.count("†")
    return len(text) + 8 * markup + links + 20 * text.count("\n")


def _presentable(text: str, definitions: Definitions, *, is_repaired: bool = True) -> tuple[tuple[Block, ...], Definitions, str, bool]:
    """The blocks of an unfinished text with its markup repaired, the definitions to render them with, and their source text; and whether
    the last sentence is shown as written, apart from markup that was closed at its end.
    """
    layer = definitions.layer()
    shown = repair.hold_back(text) if is_repaired else text
    parsed = markdown.parse(shown, layer, grows=True)
    if not is_repaired:
        return parsed.blocks, layer, shown, False
    if parsed.settled < shown.count("\n") + 1:
        # Incomplete mathematics is hidden, with everything that may belong to it.
        shown = "\n".join(shown.split("\n")[: parsed.settled])
        layer = definitions.layer()
        return markdown.parse(shown, layer, grows=True).blocks, layer, shown, False
    is_as_written = bool(parsed.blocks) and not text.endswith("\n\n") and repair.repair_block(parsed.blocks[-1])
    return parsed.blocks, layer, shown, is_as_written


def _blocks_html(blocks: tuple[Block, ...], text: str, definitions: Definitions) -> SafeHtml:
    return SafeHtml.join(html.blocks_html(blocks, text.split("\n"), definitions))


def _head_and_rest(text: str, rendered: SafeHtml, definitions: Definitions) -> tuple[SafeHtml, str]:
    """Split off the line that is being written, if the lines before it are most of the text: further text is then appended unchanged."""
    head, _, rest = text.rpartition("\n")
    if not rest.strip() or len(rest) > len(text) // 4:
        return rendered, ""
    blocks, layer, shown, _ = _presentable(head + "\n", definitions)
    return _blocks_html(blocks, shown, layer), rest


def _open_code(blocks: tuple[Block, ...], text: str) -> _Code | None:
    """The code fence that is open at the end of a text, if it is at the top level or only inside lists."""
    if not blocks:
        return None
    last = blocks[-1]
    fence = next((token for token in reversed(last.tokens) if token.nesting == 0), None)
    if (
        fence is None
        or fence.type != "fence"
        or fence.map is None
        or fence.meta["is_closed"]
        or any(token.type == "blockquote_open" for token in last.tokens)
    ):
        return None
    lines = text.split("\n")
    opener = lines[fence.map[0]]
    indent = len(opener) - len(opener.lstrip(" "))
    inside = not fence.meta["is_closed"] and fence.map[1] >= len(lines) - 1 and fence.map[0] < len(lines) - 1
    if not inside or not opener.lstrip(" ").startswith(fence.markup) or (len(last.tokens) == 1) != (fence.level == 0):
        return None
    return _Code(indent, fence.markup, fence.level > 0)


def _split_code(text: str) -> tuple[bool, str, str]:
    """Text inside a fence: whether it ends inside a line, what can be shown, and a last line that may become the closing fence."""
    head, _, last = text.rpartition("\n")
    if not last.strip("`~ \t"):
        return False, head + "\n", last
    return True, text, ""
