"""Parses an HTML document as browsers do, and extracts its visible text, with its headings, lists and tables.

Of a web page, each link is written as ``【id†text†host】``, and ``links[id]`` is its target. The host is omitted if it is the page's own.
Of a file, links are written with their addresses, forms with what was filled in, and what is neither text nor marked counts.
"""

from __future__ import annotations

import codecs
import re
import textwrap
from itertools import islice
from typing import Any
from urllib.parse import urljoin, urlsplit
from xml.etree.ElementTree import Element, SubElement

from chatui.documents import plain_text
from chatui.documents.inside import encodings, formulas
from chatui.documents.inside.counting import counted
from chatui.documents.inside.html_depth import shallow
from chatui.documents.inside.html_styles import Shown, StyleSheets
from chatui.documents.inside.html_tables import MAX_SPAN, HtmlTable
from chatui.documents.inside.marks import PLAIN, Look, linked
from chatui.documents.inside.text_collector import TextCollector
from chatui.documents.kinds import HiddenPart, UnreadThing
from renderer.characters import drop

TEXT_CHARS = 600_000
MAX_LINKS = 2000
URL_CHARS = 2000
TITLE_CHARS = 200
_WEB_ENCODINGS = re.compile(
    r"utf-?8|utf-?16(?:le|be)?|us-ascii|latin1|(?:windows-|cp)\d{3,4}|iso-?8859-\d{1,2}|koi8-[ru]|macintosh"
    r"|gbk|gb2312|gb18030|big5(?:-hkscs)?|euc-(?:jp|kr)|shift[_-]jis|iso-2022-jp",
    re.IGNORECASE,
)
_DECLARED_IN_HTML = re.compile(rb"<meta[^>]{0,200}charset=[\"']?([A-Za-z0-9_-]{2,40})")
_DECLARED_IN_XML = re.compile(rb"\A\s*<\?xml[^>]{0,200}encoding=[\"']([A-Za-z0-9_-]{2,40})")
_SKIPPED_TAGS = frozenset(
    [
        *("audio", "button", "canvas", "embed", "head", "iframe", "input", "math", "noscript", "object", "script", "select", "style"),
        *("svg", "template", "textarea", "video"),
    ]
)
_BREAKS = {
    tag: kind
    for kind, tags in (
        ("\n\n", "blockquote dl figure h1 h2 h3 h4 h5 h6 ol p pre section table ul"),
        ("\n", "address article aside body br center dd details div dt fieldset figcaption footer form header hr html li main"),
        ("\n", "nav option summary tbody tfoot thead tr"),
    )
    for tag in tags.split()
}
"""What separates the text of an element from that before and after it."""
MAX_INDENT = 20
CELL_NODES = 40
_LOOKS = {
    "sup": Look(1),
    "sub": Look(-1),
    **dict.fromkeys(("s", "strike", "del"), Look(is_struck=True)),
}
_COUNTED_TAGS = {
    **dict.fromkeys(("audio", "video"), UnreadThing.MEDIA),
    **dict.fromkeys(("iframe", "object", "embed"), UnreadThing.FILE),
    **dict.fromkeys(("canvas", "svg"), UnreadThing.SHAPE),
    "math": UnreadThing.EQUATION,
}
_KINDS = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_INLINE = ("span", "font", "a", "b", "i", "em", "strong", "u", "small", "big", "code", "label")
_OF_ROWS = ("tr", "thead", "tbody", "tfoot", "td", "th")
_MATH_NODES, _MATH_DEPTH = 2000, 50
_SILENT_INPUTS = ("hidden", "password", "submit", "button", "reset", "image", "file")
_PREFIXES = {"td": " | ", "th": " | ", **{f"h{depth}": f"{'#' * depth} " for depth in range(1, 7)}}
_LINK_MARKS = str.maketrans({"【": "〖", "】": "〗", "†": "‡"})
"""Replaces the characters that mark links, so that a page cannot imitate our links."""


class HtmlReader:
    """An HTML reader: after ``read``, it has the document's ``title``, the ``parts`` of its text, and its ``links``."""

    def __init__(self, url: str, max_chars: int = TEXT_CHARS, collector: TextCollector | None = None) -> None:
        """``collector``: where what a file holds beside its text is counted; None for a web page."""
        self.title = ""
        self.parts: list[str] = []
        self.links: list[str] = []
        self._url = url
        self._host = host(url)
        self._collector = collector
        self._max_chars = max_chars
        self._chars = 0
        self._pre = 0
        self._link = ""
        self._held: list[list[str]] = []
        self._lists: list[tuple[int, str] | None] = []
        self._tables: list[HtmlTable] = []
        self._cells = 0
        self._looks: list[Look] = []
        self.styles = StyleSheets()

    def read(self, document: str) -> None:
        """Read the whole document. Nothing here is recursive, because a page can be nested to any depth."""
        from selectolax.lexbor import LexborHTMLParser

        tree = LexborHTMLParser(shallow(document))
        self._read_head(tree)
        todo: list[tuple[Any, str | None]] = [(tree.body, None)] if tree.body else []
        while todo and self._chars < self._max_chars:
            node, holds = todo.pop()
            if holds is not None:
                self._leave(node, holds)
            elif node.tag == "-text":
                self._add_text(node.text_content or "")
            elif self._is_shown(node, shown := self.styles.of(node.tag, node.attributes)):
                todo.append((node, self._enter(node, shown)))
                todo += [(child, None) for child in reversed(list(node.iter(include_text=True)))]

    def _read_head(self, tree: Any) -> None:
        if title := tree.css_first("title"):
            self.title = " ".join(clean(title.text()).split())[:TITLE_CHARS]
        if base := tree.css_first("base[href]"):
            self._url = absolute_url(self._url, base.attributes.get("href") or "") or self._url
        if self._collector is not None:
            for each in tree.css("style"):
                self.styles.read(each.text())

    def _is_shown(self, node: Any, shown: Shown) -> bool:
        tag = node.tag
        if tag.startswith("-"):
            return False
        if not (shown.is_hidden or _is_hidden(node.attributes)):
            if tag not in _SKIPPED_TAGS:
                return True
            if self._collector is not None:
                self._count(node, self._collector)
        elif self._collector is not None and tag not in _SKIPPED_TAGS and node.text().strip():
            self._collector.leave_out(HiddenPart.TEXT, "")
        return False

    def _count(self, node: Any, collector: TextCollector) -> None:
        """Write what was filled into a form of a file. What has no text counts."""
        tag, attributes = node.tag, node.attributes
        if tag == "math" and (formula := formulas.written(_tree(node)).strip()):
            self._append(formula)
        elif tag in _COUNTED_TAGS:
            collector.count(_COUNTED_TAGS[tag])
        elif tag == "input" and (kind := (attributes.get("type") or "text").lower()) not in _SILENT_INPUTS:
            is_box = kind in ("checkbox", "radio")
            self._append(("☒" if "checked" in attributes else "☐") if is_box else clean(attributes.get("value") or ""))
        elif tag == "textarea":
            self._append(clean(node.text()))
        elif tag == "select":
            options = node.css("option")
            chosen = [each for each in options if "selected" in each.attributes] or options[:1]
            self._append(", ".join(clean(each.text()).strip() for each in chosen))

    def _enter(self, node: Any, shown: Shown) -> str:
        """Begin an element. Returns why its text is held until it ends; empty if it is not."""
        tag, attributes = node.tag, node.attributes
        self._break(tag)
        self._pre += tag == "pre"
        if self._collector is not None and tag in ("table", "tr") and not self._cells:
            self._enter_table(tag)
        is_value = self._is_cell(node)
        self._cells += is_value
        if tag in ("td", "th") and self._tables and self._tables[-1].is_in_row:
            if is_value:
                return self._hold("value")
            self._append(self._tables[-1].end_values())
        if tag in ("ol", "ul"):
            self._lists.append((_number(attributes.get("start"), 1), _KINDS.get(attributes.get("type") or "", "")) if tag == "ol" else None)
        self._append(self._item(attributes) if tag == "li" else _PREFIXES.get(tag, ""))
        if tag == "img":
            self._add_picture((attributes.get("alt") or "").strip(), attributes)
        look = _LOOKS.get(tag) or (Look(shown.level or 0, bool(shown.is_struck)) if self._collector and tag in _INLINE else PLAIN)
        if look != PLAIN:
            self._looks.append(look)
            return self._hold("look")
        if tag == "a" and not self._link and (target := self._target(attributes.get("href") or "")):
            self._link = target
            return self._hold("link")
        return ""

    def _hold(self, why: str) -> str:
        self._held.append([])
        return why

    def _enter_table(self, tag: str) -> None:
        if tag == "table":
            self._tables.append(HtmlTable())
        elif self._tables:
            self._tables[-1].begin_row()

    def _item(self, attributes: dict[str, str | None]) -> str:
        """What begins an item: its number in a list that has them."""
        indent = "  " * min(max(len(self._lists) - 1, 0), MAX_INDENT)
        own = self._lists[-1] if self._lists else None
        if own is None:
            return f"{indent}* "
        number = _number(attributes.get("value"), own[0])
        self._lists[-1] = (number + 1, own[1])
        return f"{indent}{counted(number, own[1])}. "

    def _add_picture(self, words: str, attributes: dict[str, str | None]) -> None:
        if words:
            self._add_text(f"[Image: {words[:TITLE_CHARS]}]")
        elif self._collector is not None and "alt" not in attributes:
            self._collector.count(UnreadThing.PICTURE)

    def _target(self, reference: str) -> str:
        """The address of a link; empty for a place in the document."""
        if self._collector is not None and reference.lower().startswith(("mailto:", "tel:")):
            return reference
        return absolute_url(self._url, reference)

    def _is_cell(self, node: Any) -> bool:
        """Whether a cell holds a value, and not a part of the page: its paragraphs are on one line."""
        if self._collector is None or node.tag not in ("td", "th"):
            return False
        todo, seen = [node], 0
        while todo and not self._cells:
            for child in islice(todo.pop().iter(include_text=True), CELL_NODES):
                seen += 1
                if child.tag == "table" or seen >= CELL_NODES:
                    return False
                todo.append(child)
        return True

    def _leave(self, node: Any, holds: str) -> None:
        tag = node.tag
        self._cells = max(self._cells - (tag in ("td", "th")), 0)
        self._pre -= tag == "pre"
        if tag in ("ol", "ul"):
            self._lists.pop()
        if holds:
            self._end_held(node, holds, "".join(self._held.pop()))
        elif tag in ("td", "th"):
            self._append(" | " * (_number(node.attributes.get("colspan"), 1, MAX_SPAN) - 1))
        if tag in ("table", "tr") and self._tables and not self._cells:
            self._append(self._tables[-1].end_row())
            if tag == "table":
                self._tables.pop()
        if holds != "value":
            self._break(tag)

    def _end_held(self, node: Any, holds: str, text: str) -> None:
        if holds == "value":
            columns, rows = (_number(node.attributes.get(name), 1, MAX_SPAN) for name in ("colspan", "rowspan"))
            self._tables[-1].add(" ".join(text.split()), columns, rows)
        elif holds == "link":
            self._append(self._linked(text))
        else:
            self._append(self._looks.pop().written(text))

    def _linked(self, words: str) -> str:
        target, self._link = self._link, ""
        if self._collector is not None:
            return linked(words, target)
        text = " ".join(words.split())[:TITLE_CHARS]
        return self.linked(target, text) if text and len(self.links) < MAX_LINKS else text

    def linked(self, target: str, text: str) -> str:
        """Add a link with this cleaned text, and return how it is written."""
        where = host(target)
        self.links.append(target)
        return f"【{len(self.links) - 1}†{text}{'' if where == self._host else f'†{where}'}】"

    def _add_text(self, text: str) -> None:
        if self._tables and not self._cells and not text.strip() and not self._pre:
            return  # between rows and cells
        plain = clean(text) if self._collector is None else drop(text)
        self._append(plain if self._pre else re.sub(r"\s+", " ", plain))

    def _break(self, tag: str) -> None:
        in_rows = self._tables and tag in _OF_ROWS
        if tag in _BREAKS and not in_rows:
            self._append(" " if self._link or self._cells else _BREAKS[tag])

    def _append(self, text: str) -> None:
        self._chars += len(text)
        (self._held[-1] if self._held else self.parts).append(text)


def _number(value: str | None, default: int, most: int = 99_999) -> int:
    return min(max(int(value), 1), most) if value and value.isdecimal() and len(value) < 6 else default


def _tree(node: Any) -> Element:
    """A formula of a page as a tree; without its end if it is deeper or larger than formulas are."""
    root = Element("math")
    todo, nodes_left = [(node, root, 0)], _MATH_NODES
    while todo:
        parent, copy, depth = todo.pop()
        for child in parent.iter(include_text=True):
            nodes_left -= 1
            if nodes_left < 0 or depth >= _MATH_DEPTH:
                break
            if child.tag == "-text":
                copy.text = (copy.text or "") + (child.text_content or "")
            elif not child.tag.startswith("-"):
                todo.append((child, SubElement(copy, child.tag.rpartition(":")[2]), depth + 1))
    return root


def clean(text: str) -> str:
    """Text without invisible characters, and without anything that looks like one of our links."""
    return drop(text).translate(_LINK_MARKS)


def _is_hidden(attributes: dict[str, str | None]) -> bool:
    style = (attributes.get("style") or "").replace(" ", "").lower()
    return "hidden" in attributes or attributes.get("aria-hidden") == "true" or "display:none" in style or "visibility:hidden" in style


def absolute_url(base: str, reference: str) -> str:
    """The absolute URL of a link, without its fragment; empty if it is not an http or https URL."""
    try:
        found = urljoin(base, reference.strip()).partition("#")[0]
    except ValueError:
        return ""
    is_web = re.fullmatch(r"https?://[^\s\\\x00-\x20\x7f-\xa0【】†]+", found, re.IGNORECASE)
    return found if is_web and len(found) <= URL_CHARS else ""


def host(url: str) -> str:
    """The host of a URL for display: without ``www.``."""
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def encoding_of(page: bytes, charset: str = "", kind: str = "html") -> str:
    """The encoding of a page: that of the response header (``charset``) or its own, if the web standard has it; otherwise UTF-8. Python has
    others, which could hide markup from checks."""
    named = charset
    declared = {"html": _DECLARED_IN_HTML, "xml": _DECLARED_IN_XML}
    for words, declaration in declared.items():
        if not named and words in kind and (found := declaration.search(page[:4096])):
            named = found[1].decode("ascii")
    return encoding_named(named) or "utf-8"


def encoding_named(name: str) -> str:
    """The encoding of a name, if the web standard has it; otherwise empty."""
    try:
        return codecs.lookup(name).name if _WEB_ENCODINGS.fullmatch(name) else ""
    except LookupError:
        return ""


def decoded(page: bytes) -> str:
    """The text of a page, by its byte order mark or the encoding that it names."""
    text = plain_text.marked(page)
    return page.decode(encoding_of(page), "replace") if text is None else text


def prepare(data: bytes) -> None:
    """Load the parser, and the codec of the encoding that the page declares, because a confined process cannot open them."""
    from selectolax.lexbor import LexborHTMLParser

    encodings.prepare(data)
    LexborHTMLParser("")


def read(data: bytes, collector: TextCollector) -> None:
    """Read the whole document as one part, which begins with its title."""
    reader = HtmlReader("", collector.max_bytes, collector)
    reader.read(encodings.read(data, collector))
    collector.begin()
    if reader.title:
        collector.put(f"{reader.title}\n\n")
    for piece in reader.parts:
        collector.put(piece)


WIDTH = 80
MAX_LINES = 20_000


def wrapped(text: str) -> list[str]:
    """Lines of at most WIDTH characters; consecutive empty lines are merged."""
    lines: list[str] = []
    for line in text.splitlines():
        if len(lines) >= MAX_LINES:
            break
        whole = line.rstrip()
        if whole.strip() or (lines and lines[-1]):
            lines += textwrap.wrap(whole, WIDTH, drop_whitespace=True, break_on_hyphens=False) or [""]
    while lines and not lines[-1].strip():
        lines.pop()
    return lines
