"""Reads an EPUB book, chapter by chapter, in the order in which it is read."""

from __future__ import annotations

import re
from urllib.parse import unquote

from chatui.documents.inside import html, xml
from chatui.documents.inside.text_collector import TextCollector, UnreadableFileError
from chatui.documents.inside.xml import Archive, resolve_name
from chatui.documents.kinds import NoTextReason, UnreadThing

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_SHEETS = re.compile(r"<link\b[^>]{0,300}?\bhref=[\"']([^\"'>]{1,300}\.css)[\"']", re.IGNORECASE)
_HEAD_CHARS = 20_000
_FONTS = ("font", "otf", "ttf", "woff")


def prepare(data: bytes) -> None:
    xml.prepare(data)
    html.prepare(b"")


def read(data: bytes, collector: TextCollector) -> None:
    """Read each chapter as one part."""
    archive = Archive(data)
    if _ENCRYPTION in archive:
        places = (xml.attribute(each.attrib, "URI").lower() for each in archive.tree(_ENCRYPTION).iter("CipherReference"))
        if any(not place.endswith(_FONTS) for place in places):
            raise UnreadableFileError(NoTextReason.ENCRYPTED)
    book = next((each.get("full-path", "") for each in archive.tree(_CONTAINER).iter("rootfile")), "")
    tree = archive.tree(book)
    items = {each.get("id", ""): each for each in tree.iter("item")}
    order = [items[key] for each in tree.iter("itemref") if (key := each.get("idref", "")) in items]
    collector.places = len(order)
    for number, item in enumerate(order, 1):
        collector.begin(f"chapter {number}", is_place=True)
        place = resolve_name(book, unquote(item.get("href", "").partition("#")[0]))
        if item.get("media-type", "") not in _PAGES or place not in archive:
            collector.count(UnreadThing.PART)
            continue
        page = html.decoded(archive.content(place))
        reader = html.HtmlReader("", collector.max_bytes, collector)
        for each in _SHEETS.findall(page[:_HEAD_CHARS]):
            sheet = resolve_name(place, unquote(each))
            if sheet in archive:
                reader.styles.read(html.decoded(archive.content(sheet)))
        reader.read(page)
        for piece in reader.parts:
            collector.put(piece)
