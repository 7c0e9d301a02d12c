"""Parses an HTML document as browsers do, and extracts its visible text, with its headings, lists and tables.

If links are kept, each is written as ``【id†text†host】``, and ``links[id]`` is its target. The host is omitted if it is the page's own.
"""

from __future__ import annotations

import codecs
import re
import textwrap
from typing import Any
from urllib.parse import urljoin, urlsplit

from chatui.documents import plain_text
from chatui.documents.inside.text_collector import TextCollector
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
_PREFIXES = {"li": "* ", "td": " | ", "th": " | ", **{f"h{depth}": f"{'#' * depth} " for depth in range(1, 7)}}
_LINK_MARKS = str.maketrans({"【": "〖", "】": "〗", "†": "‡"})
"""Replaces the characters that mark links, so that a page cannot imitate our links."""


class HtmlReader:
    """An HTML reader: after ``read``, it has the document's ``title``, the ``parts`` of its text, and its ``links``."""

    def __init__(self, url: str, has_links: bool = True, max_chars: int = TEXT_CHARS) -> None:
        self.title = ""
        self.parts: list[str] = []
        self.links: list[str] = []
        self._url = url
        self._host = host(url)
        self._has_links = has_links
        self._max_chars = max_chars
        self._chars = 0
        self._pre = 0
        self._link: tuple[str, list[str]] | None = None

    def read(self, document: str) -> None:
        """Read the whole document. Nothing here is recursive, because a page can be nested to any depth."""
        from selectolax.lexbor import LexborHTMLParser

        tree = LexborHTMLParser(document)
        if title := tree.css_first("title"):
            self.title = " ".join(clean(title.text()).split())[:TITLE_CHARS]
        if base := tree.css_first("base[href]"):
            self._url = joined(self._url, base.attributes.get("href") or "") or self._url
        todo: list[tuple[Any, bool]] = [(tree.body, False)] if tree.body else []
        while todo and self._chars < self._max_chars:
            node, has_ended = todo.pop()
            if has_ended:
                self._leave(node.tag)
            elif node.tag == "-text":
                self._add_text(node.text_content or "")
            elif not (node.tag.startswith("-") or node.tag in _SKIPPED_TAGS or _is_hidden(node.attributes)):
                self._enter(node)
                todo.append((node, True))
                todo += [(child, False) for child in reversed(list(node.iter(include_text=True)))]

    def _enter(self, node: Any) -> None:
        tag = node.tag
        self._break(tag)
        self._pre += tag == "pre"
        self._append(_PREFIXES.get(tag, ""))
        if tag == "img" and (words := (node.attributes.get("alt") or "").strip()):
            self._add_text(f"[Image: {words[:TITLE_CHARS]}]")
        if tag == "a" and self._has_links and self._link is None and (target := joined(self._url, node.attributes.get("href") or "")):
            self._link = (target, [])

    def _leave(self, tag: str) -> None:
        self._pre -= tag == "pre"
        if tag == "a" and self._link is not None:
            (target, words), self._link = self._link, None
            text = " ".join("".join(words).split())[:TITLE_CHARS]
            self._append(self.linked(target, text) if text and len(self.links) < MAX_LINKS else text)
        self._break(tag)

    def linked(self, target: str, text: str) -> str:
        """Add a link with this cleaned text, and return how it is written."""
        where = host(target)
        self.links.append(target)
        return f"【{len(self.links) - 1}†{text}{'' if where == self._host else f'†{where}'}】"

    def _add_text(self, text: str) -> None:
        plain = clean(text) if self._has_links else drop(text)
        self._append(plain if self._pre else re.sub(r"\s+", " ", plain))

    def _break(self, tag: str) -> None:
        if tag in _BREAKS:
            self._append(_BREAKS[tag] if self._link is None else " ")

    def _append(self, text: str) -> None:
        self._chars += len(text)
        (self.parts if self._link is None else self._link[1]).append(text)


def clean(text: str) -> str:
    """Text without invisible characters, and without anything that looks like one of our links."""
    return drop(text).translate(_LINK_MARKS)


def _is_hidden(attributes: dict[str, str | None]) -> bool:
    style = (attributes.get("style") or "").replace(" ", "").lower()
    return "hidden" in attributes or attributes.get("aria-hidden") == "true" or "display:none" in style or "visibility:hidden" in style


def joined(base: str, reference: str) -> str:
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
    try:
        return codecs.lookup(named).name if _WEB_ENCODINGS.fullmatch(named) else "utf-8"
    except LookupError:
        return "utf-8"


def prepare(data: bytes) -> None:
    """Load the parser, and the codec of the encoding that the page declares, because a confined process cannot open them."""
    from selectolax.lexbor import LexborHTMLParser

    plain_text.prepare()
    LexborHTMLParser("")
    encoding_of(data)


def read(data: bytes, collector: TextCollector) -> None:
    """Read the whole document as one part, which begins with its title."""
    text = plain_text.marked(data)
    reader = HtmlReader("", has_links=False, max_chars=collector.max_bytes)
    reader.read(data.decode(encoding_of(data), "replace") if text is None else text)
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
