"""Reads what a web address answered with: HTML, a feed, JSON, a PDF or plain text, as a title, lines of text, and the targets of its links.

Links are written as in ``html``. What is not shown is marked in its place, or said in one line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from html import escape
from urllib.parse import unquote, urlsplit
from xml.etree.ElementTree import Element

from chatui.documents import plain_text
from chatui.documents.inside import html, pdf, xml
from chatui.documents.inside.html import HtmlReader
from chatui.documents.inside.text_collector import TextCollector, TextLimitError, UnreadableFileError
from chatui.documents.kinds import PDF

MAX_ENTRIES = 300
"""The most entries of a feed. Feeds begin with the newest."""
MAX_INDENT = 24
_VALUE_CHARS = 300


def prepare(data: bytes) -> None:
    """Load what the page needs, because a confined process cannot."""
    about, page = _page(data)
    if about["kind"] == PDF:
        pdf.prepare(page)
    html.prepare(b"")
    html.encoding_of(page, about["charset"], about["kind"])


def read(data: bytes, collector: TextCollector) -> None:
    """Add three parts: the title, the lines, and the targets of the links, one a line. ``data``: a line of JSON (``url``, ``kind``,
    ``charset``), then the page."""
    about, page = _page(data)
    reader = HtmlReader(about["url"])
    if about["kind"] == PDF:
        reader.title = html.clean(unquote(urlsplit(about["url"]).path.rpartition("/")[2]))[: html.TITLE_CHARS]
        text = html.clean(_of_pdf(page, collector))
    else:
        marked = plain_text.marked(page)
        decoded = page.decode(html.encoding_of(page, about["charset"], about["kind"]), "replace") if marked is None else marked
        text = _text(about["kind"], decoded, reader)
    lines = html.wrapped(text[: html.TEXT_CHARS])
    collector.is_cut |= len(text) >= html.TEXT_CHARS or len(lines) >= html.MAX_LINES
    for label, each in (("title", [reader.title]), ("lines", lines), ("links", reader.links)):
        collector.begin(label)
        collector.put("\n".join(each))


def _page(data: bytes) -> tuple[dict[str, str], bytes]:
    head, _, page = data.partition(b"\n")
    return json.loads(head), page


def _text(kind: str, text: str, reader: HtmlReader) -> str:
    if "html" in kind:
        reader.read(text)
        return "".join(reader.parts)
    if "json" in kind:
        return _json(text, reader)
    if "xml" in kind:
        with suppress(UnreadableFileError):
            root = xml.parsed(text)
            if root.tag in _FEEDS:
                _read_feed(root, reader)
                return "".join(reader.parts)
    return html.clean(text)


def _of_pdf(page: bytes, collector: TextCollector) -> str:
    """The text of a PDF, with the number of each page above it. Raises UnreadableFileError."""
    pages = TextCollector(collector.max_bytes, collector.cpu_seconds)
    with suppress(TextLimitError):
        pdf.read(page, pages)
    pages.end()
    collector.is_cut |= pages.is_cut
    collector.left_out = pages.left_out
    texts = (f"# {label}\n\n{text.decode() or '[This page has no text. It may be a picture.]'}" for label, text in pages.parts)
    return "\n\n".join(texts)


_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},:]|[^\s\[\]{},:"]++|"', re.DOTALL)
_JSON_BEGINS = re.compile(r"\s*+[\[{]")


def _json(text: str, reader: HtmlReader) -> str:
    """JSON with a value on each line. It is not parsed but divided, so that no number, repeated name or broken end gets lost, and depth
    costs nothing. A value that is an address becomes a link."""
    if not _JSON_BEGINS.match(text):
        return html.clean(text)
    parts: list[str] = []
    depth, before = 0, ""
    for found in _TOKEN.finditer(text):
        piece = found[0]
        depth = max(depth - (piece in "]}"), 0)
        if _is_on_new_line(piece, before, depth):
            parts.append("\n" + "  " * min(depth, MAX_INDENT))
        parts.append(piece if piece in "[]{},:" else _scalar(piece, reader, is_value=before != "{"))
        parts += [" "] if piece == ":" else []
        depth += piece in "[{"
        before = piece
    return "".join(parts)


def _is_on_new_line(piece: str, before: str, depth: int) -> bool:
    """``depth``: 0 for a value that follows another, as in lines of JSON."""
    if piece in "]}":
        return before not in ("[", "{")
    return piece not in ",:" and (before in ("[", "{", ",") or (depth == 0 and before not in ("", ":")))


def _scalar(piece: str, reader: HtmlReader, *, is_value: bool) -> str:
    if not piece.startswith('"'):
        return html.clean(piece)
    with suppress(ValueError):
        value = json.loads(piece, strict=False)
        if is_value and html.absolute_url(value, "") == value and len(reader.links) < html.MAX_LINKS:
            return f'"{reader.linked(value, value)}"'
        return html.clean(json.dumps(value, ensure_ascii=False))
    return html.clean(piece)


_FEEDS = ("rss", "feed", "RDF")
_ENTRIES = ("item", "entry")
_DATES = ("pubDate", "published", "updated", "date")
_PEOPLE = ("author", "creator", "contributor")
_TEXTS = ("encoded", "content", "description", "summary")
"""What an entry says, the longest form first: the first that it has is read, and a shorter one only if it says something else."""
_SILENT = ("guid", "id", "title", "link", *_DATES, *_PEOPLE, *_TEXTS)


def _read_feed(root: Element, reader: HtmlReader) -> None:
    """A feed as a page: its title and description, then each entry with its title as a link, its dates and authors, and its text."""
    channel = next((child for child in root if child.tag == "channel"), root)
    reader.title = " ".join(html.clean(_first(channel, "title")).split())[: html.TITLE_CHARS]
    reader.read(f"<h1>{escape(_first(channel, 'title'))}</h1><p>{escape(_first(channel, 'description', 'subtitle'))}</p>")
    entries = [child for place in dict.fromkeys((channel, root)) for child in place if child.tag in _ENTRIES]
    for entry in entries[:MAX_ENTRIES]:
        link = _link(entry)
        title = escape(_first(entry, "title") or link or "(no title)")
        heading = f'<a href="{escape(link)}">{title}</a>' if link else title
        reader.read(f"<h2>{heading}</h2><p>{escape(' · '.join(_about(entry)))}</p>")
        for text in _texts(entry):
            reader.read(f"<div>{text}</div>")
        for line in _others(entry):
            reader.read(f"<p>{escape(line)}</p>")
    if len(entries) > MAX_ENTRIES:
        reader.read(f"<p>[The feed has {len(entries)} entries. The first {MAX_ENTRIES} are shown.]</p>")


def _first(element: Element, *names: str) -> str:
    return next((text for name in names for child in element if child.tag == name and (text := _words(child))), "")


def _words(element: Element) -> str:
    return " ".join("".join(element.itertext()).split())


def _link(entry: Element) -> str:
    """RSS has the address as text; Atom in an attribute, of several links the one that leads to the entry's page."""
    links = [(child.get("rel") or "alternate", (child.get("href") or child.text or "").strip()) for child in entry if child.tag == "link"]
    return next((target for rel, target in links if rel == "alternate" and target), "")


def _about(entry: Element) -> Iterator[str]:
    yield from dict.fromkeys(filter(None, (_first(entry, name) for name in _DATES)))
    yield from dict.fromkeys(words for child in entry if child.tag in _PEOPLE and (words := _words(child)))


def _texts(entry: Element) -> Iterable[str]:
    """The entry's text as HTML. In RSS it is written out; Atom says what it is, and XHTML is a tree."""
    found: dict[str, str] = {}
    for child in sorted((child for child in entry if child.tag in _TEXTS), key=lambda child: _TEXTS.index(child.tag)):
        is_plain = child.get("type") in ("text", "text/plain") or (child.get("type") is None and child.tag in ("content", "summary"))
        text = _markup(child) if child.get("type") == "xhtml" else "".join(child.itertext())
        words = " ".join(re.sub(r"<[^>]*>", " ", text).split())
        if words and not any(words.rstrip(". …") in longer for longer in found):
            found[words] = escape(text) if is_plain else text
    return found.values()


def _markup(element: Element) -> str:
    """The content of an element as HTML, without its attributes except addresses."""
    parts = [escape(element.text or "")]
    for child in element:
        target = f' href="{escape(child.get("href", ""))}"' if child.get("href") else ""
        parts += [f"<{child.tag}{target}>", _markup(child), f"</{child.tag}>", escape(child.tail or "")]
    return "".join(parts)


def _others(entry: Element) -> Iterator[str]:
    """What else an entry has: attached files with address, kind and size, and texts under their names."""
    for child in entry:
        target = child.get("url") or child.get("href") or ""
        if child.tag == "link" and child.get("rel", "alternate") == "alternate":
            continue
        if target:
            facts = [target, child.get("type") or "", f"{child.get('length')} bytes" if child.get("length") else ""]
            yield f"[{child.get('rel') or child.tag}: {', '.join(filter(None, facts))}]"
        elif child.tag not in _SILENT and (words := _words(child) or child.get("term") or child.get("label") or ""):
            yield f"{child.tag}: {words[:_VALUE_CHARS]}"
