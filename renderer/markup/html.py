"""Converts Markdown from models, people and tools to sanitized HTML.

Each top-level block becomes one ``<div class="block" dir="auto">…</div>``. Anything that fails or is too large is shown as escaped text. In
a person's question, code is separated from the rest, which is shown as it was typed. Style sheets and scripts may rely on the names in
``ALLOWED``; ``renderer.markup.markdown`` describes mathematics.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from html import escape

import nh3

from renderer.frame_kinds import is_json
from renderer.frames import Header
from renderer.markup import links, markdown, repair
from renderer.markup.citations import PASSAGE_PATH, Pages
from renderer.markup.extensions import closing_lines
from renderer.markup.links import normalize, prose
from renderer.markup.markdown import Block, Definitions

MANY_CHARACTERS, MANY_LINES = 1500, 18
"""A longer question is folded on pages."""

_FENCE = re.compile(r" {0,3}(?P<marker>`{3,}(?=[^`]*$)|~{3,})")


def is_long(text: str) -> bool:
    """Whether a question would take more than about a screen."""
    return len(text) > MANY_CHARACTERS or text.count("\n") >= MANY_LINES


def parts(text: str) -> Iterator[tuple[bool, str]]:
    """A normalized text in parts: whether each is a code block, with its fences, and its lines. Blank lines around code are left out.

    An unclosed fence is not a code block: people also paste text that merely contains one.
    """
    lines = text.split("\n")
    fences = _Fences(lines)
    begin = line = 0
    while line < len(lines):
        end = fences.end_of(line)
        if end < 0:
            line += 1
            continue
        yield from _plain(lines[begin:line])
        yield True, "\n".join(lines[line : end + 1])
        begin = line = end + 1
    yield from _plain(lines[begin:])


class _Fences:
    """Finds the ends of fences among lines, as in answers. Searches that failed are not repeated, or each of many fences would be searched
    for to the end of the text.
    """

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._in_pairs = True
        self._unended: dict[str, int] = {}
        """For each kind of fence, the length from which on no fence is closed."""

    def end_of(self, line: int) -> int:
        """The line that closes the fence opened in ``line``; -1 if it opens none, or if the fence is never closed."""
        fence = _FENCE.match(self._lines[line])
        if fence is None:
            return -1
        kind, length = fence["marker"][0], len(fence["marker"])
        if length >= self._unended.get(kind, length + 1):
            return -1
        last, first = closing_lines(self._after(line), fence["marker"], in_pairs=self._in_pairs)
        self._in_pairs = self._in_pairs and last is not None
        if first is None:
            self._unended[kind] = length
            return -1
        return first if last is None else last

    def _after(self, line: int) -> Iterator[tuple[int, str]]:
        numbers = range(line + 1, len(self._lines))
        return ((at, self._lines[at].lstrip(" ")) for at in numbers if not self._lines[at].startswith("    "))


def _plain(lines: list[str]) -> Iterator[tuple[bool, str]]:
    text = "\n".join(lines).strip("\n")
    if text.strip():
        yield False, text


MESSAGE_LIMIT = 256 * 1024
"""The number of characters of a message that are read as Markdown. The rest is shown as plain text."""

BLOCK_LIMIT = 64 * 1024
"""The longest block that is read as Markdown, in characters. A longer one is shown as plain text."""


class _Markup(str):
    """The result of ``str()`` on a SafeHtml: templates call ``str()`` first and look for ``__html__`` afterwards."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


@dataclass(frozen=True, slots=True)
class SafeHtml:
    """HTML that a page may contain as it is. Only this module, ``operator_pages`` and the code that renders page templates in parts create
    it; a test enforces this.
    """

    html: str

    def __str__(self) -> str:
        return _Markup(self.html)

    def __html__(self) -> str:
        return self.html

    @classmethod
    def join(cls, parts: Iterable[SafeHtml]) -> SafeHtml:
        """Several pieces joined. Each is complete in itself, so the result is as safe as they are."""
        return cls("".join(part.html for part in parts))


JSON_OPENING = f"{'`' * 32}json\n"
"""Begins a code block that lasts to the end of the message, because no line of JSON closes it."""


def as_markdown(header: Header, text: str) -> str:
    """The Markdown of a message with this header: JSON is shown as code, which can be copied, instead of being read as Markdown."""
    return JSON_OPENING + text if is_json(header) else text


def render(text: str) -> SafeHtml:
    """The HTML of a whole text."""
    return SafeHtml.join(render_blocks(text))


def render_blocks(text: str, *, is_cut: bool = False, pages: Pages | None = None) -> tuple[SafeHtml, ...]:
    """The HTML of a whole text, block by block. Joined, it is what ``render`` returns.

    ``is_cut``: the text was cut off. Markup that is open at its end is closed, as during streaming. ``pages``: the pages that it may cite.
    """
    whole = normalize(text)
    head, rest = whole[:MESSAGE_LIMIT], whole[MESSAGE_LIMIT:]
    definitions = Definitions(pages={} if pages is None else pages)
    lines = head.split("\n")
    parsed = markdown.parse(head, definitions).blocks
    if is_cut and not rest:
        repair.repair_cut_text(parsed, lines)
    blocks = blocks_html(parsed, lines, definitions)
    return (*blocks, plain(rest)) if rest else blocks


def blocks_html(blocks: Iterable[Block], lines: list[str], definitions: Definitions) -> tuple[SafeHtml, ...]:
    """The HTML of the blocks of a text that people see, in order. ``lines``: of that text."""
    return tuple(
        block_html(block, "\n".join(lines[block.start : block.end]), definitions)
        for block in blocks
        if not markdown.is_unseen(block, definitions)
    )


def plain(text: str) -> SafeHtml:
    """Text as it is, escaped; line breaks are kept by the stylesheet (``white-space: pre-wrap``)."""
    return SafeHtml(f'<div class="block plain" dir="auto">{_escaped(text)}</div>')


def question(text: str) -> SafeHtml:
    """A person's question, as they wrote it; only text between fences becomes a code block."""
    whole = normalize(text)
    if len(whole) > MESSAGE_LIMIT:
        return plain(text)
    found = list(parts(whole))
    if not any(is_code for is_code, _ in found):
        return plain(text)
    return SafeHtml.join(render(part) if is_code else plain(part) for is_code, part in found)


def block_html(block: Block, source: str, definitions: Definitions) -> SafeHtml:
    """The HTML of one block. ``source`` is its text, which is shown if the block is too large or cannot be rendered."""
    if len(source) > BLOCK_LIMIT:
        return plain(source)
    try:
        return _sanitized(markdown.to_html(block.tokens, definitions))
    except Exception:  # noqa: BLE001 - the parser reads hostile text: if it fails in any way, the reader gets the plain text
        return plain(source)


def with_pending(head: SafeHtml, text: str) -> SafeHtml:
    """An open block, then its text that is not rendered yet, in ``<pre class="pending">``, where more text can be appended."""
    # HTML parsers drop a line break directly after <pre>, so there is always one to drop.
    return SafeHtml(f'{head.html}<pre class="pending" dir="auto">\n{_escaped(text)}</pre>')


def with_text(shown: SafeHtml, text: str, tag: str) -> SafeHtml:
    """The HTML with ``text`` appended to the last ``tag`` element (``code`` or ``pre``) of ``shown``."""
    at = shown.html.rindex(f"</{tag}>")
    return SafeHtml(shown.html[:at] + escape(text, quote=False) + shown.html[at:])


def with_words(shown: SafeHtml, at: int, text: str) -> SafeHtml:
    """The HTML with ``text`` inserted at ``at``, a position between its text and the end tags that follow."""
    return SafeHtml(shown.html[:at] + escape(prose(text), quote=False) + shown.html[at:])


def _escaped(text: str) -> str:
    return escape(prose(normalize(text)), quote=False)


_DIRECTION = {"dir": re.compile(r"auto|ltr")}
_HREF = re.compile(f"{links.ALLOWED_HREF.pattern}|(?-i:{PASSAGE_PATH.pattern})", links.ALLOWED_HREF.flags)
_WORDS_OF_A_TITLE = re.compile(r"[^\x00-\x08\x0b-\x1f\x7f]*")
_ALIGN = {"align": re.compile(r"left|right|center")}

ALLOWED: dict[str, dict[str, re.Pattern[str]]] = {
    "p": {"class": re.compile(r"alert-title")},
    **{tag: {} for tag in ("br", "hr", "strong", "em", "s", "sub", "kbd", "mark", "table", "thead", "tbody", "tr")},
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), _DIRECTION),
    "blockquote": {**_DIRECTION, "class": re.compile(r"alert alert-(?:note|tip|important|warning|caution)")},
    **dict.fromkeys(("th", "td"), _ALIGN),
    "ul": {**_DIRECTION, "class": re.compile(r"contains-task-list")},
    "ol": {**_DIRECTION, "class": re.compile(r"contains-task-list"), "start": re.compile(r"[0-9]{1,9}")},
    "li": {**_DIRECTION, "class": re.compile(r"task-list-item"), "value": re.compile(r"[0-9]{1,9}")},
    "input": {
        "type": re.compile(r"checkbox"),
        "checked": re.compile(r""),
        "disabled": re.compile(r""),
        "aria-label": re.compile(r"done|to do"),
    },
    "sup": {"class": re.compile(r"footnote-ref")},
    "code": {"class": re.compile(r"language-[A-Za-z0-9][A-Za-z0-9_+#.-]{0,39}")},
    "pre": {"dir": re.compile(r"auto|ltr"), "class": re.compile(r"pending"), "title": _WORDS_OF_A_TITLE},
    "span": {"class": re.compile(r"math math-inline|math math-inline math-dollars|math math-display|link-host|footnote-label")},
    "div": {**_DIRECTION, "class": re.compile(r"block|block plain|math math-display|footnote")},
    "a": {"href": _HREF, "title": _WORDS_OF_A_TITLE, "class": re.compile(r"image-link|citation")},
}
"""The allow-list: the attributes of each element, and a pattern for their whole value. ``rel`` and ``target`` of links are always set."""

LINK_ATTRIBUTES = {"rel": "noopener noreferrer nofollow ugc", "target": "_blank"}


def permitted(tag: str, attribute: str, value: str) -> bool:
    """Whether the allow-list has this attribute with this value."""
    pattern = ALLOWED.get(tag, {}).get(attribute)
    return pattern is not None and pattern.fullmatch(value) is not None


_OURS = {("a", name) for name in LINK_ATTRIBUTES}
_cleaner = nh3.Cleaner(
    tags=set(ALLOWED),
    clean_content_tags={"script", "style"},
    attributes={tag: set(attributes) for tag, attributes in ALLOWED.items() if attributes},
    attribute_filter=lambda tag, attribute, value: value if (tag, attribute) in _OURS or permitted(tag, attribute, value) else None,
    strip_comments=True,
    link_rel=LINK_ATTRIBUTES["rel"],
    set_tag_attribute_values={"a": {"target": LINK_ATTRIBUTES["target"]}, "input": {"type": "checkbox", "disabled": ""}},
    generic_attribute_prefixes=set(),
    url_schemes={"http", "https", "mailto"},
    url_relative="pass_through",  # the filter allows none of them except links to document passages, matched in full
)


_PLAIN = r"[\w \n.,;:!?'\"()/%–—‘’“”…-]*+"
PLAIN_PARAGRAPH = re.compile(rf"<p>{_PLAIN}(?:<br>{_PLAIN})*+</p>")
"""A paragraph that the sanitizer would return as it is: it has no other tags, and its text has nothing that begins a tag or an
entity, or that a parser replaces."""


_LINE = re.compile(r"(?:(?P<marks>#{1,6}) )?(?P<words>[^\W\d_][\w .,;:!?'\"()%–—‘’“”…-]*)")
_NOT_WORDS = re.compile(r"_|[.!]\w| \Z")


def plain_line(text: str, *, ends: bool = True) -> SafeHtml | None:
    """The HTML of a block that is one line of plain words or a heading of them, without parsing it; None for any other text. Most answers
    begin as such a line, and most of their headings are one.

    Its words mean nothing else in Markdown: there is no markup, no address, no marker of a list at the beginning, no space at the end. The
    sanitizer would return them as they are. ``ends``: no line may be added to it; otherwise only a heading is a block for certain.
    """
    line = _LINE.fullmatch(text) if len(text) <= _PLAIN_CHARS else None
    if line is None or _NOT_WORDS.search(text) or not (ends or line["marks"]):
        return None
    opening, closing = (f'<h{level} dir="auto">', f"</h{level}>") if (level := len(line["marks"] or "")) else ("<p>", "</p>")
    return SafeHtml(f'<div class="block" dir="auto">{opening}{line["words"]}{closing}</div>')


def without_citations(block: SafeHtml, gone: Collection[str]) -> SafeHtml:
    """A rendered block without its citations of these passages, given by their addresses: as if it had been rendered without their
    titles."""
    return SafeHtml(_CITED_PASSAGE.sub(lambda found: "" if found[1] in gone else found[0], block.html))


_CITED_PASSAGE = re.compile(r'<a href="(/documents/[^"]*)" class="citation" title="[^"]*"[^>]*>[^<]*</a>')

_PLAIN_CHARS = 2048


def _sanitized(html: str) -> SafeHtml:
    """Sanitize the HTML. Nothing may change it after this."""
    whole = f'<div class="block" dir="auto">{(content := html.rstrip())}</div>'
    # Most updates of an answer render one such paragraph, and for so little text the sanitizer takes as long as everything else.
    return SafeHtml(whole if PLAIN_PARAGRAPH.fullmatch(content) else _cleaner.clean(whole))
