"""Extracts the visible text of an HTML file, with its headings, lists and tables."""

from __future__ import annotations

from chatui.documents import plain_text
from chatui.documents.inside import html_reader
from chatui.documents.inside.html_reader import Reader, decoded
from chatui.documents.inside.text_collector import TextCollector


def prepare(data: bytes) -> None:
    """Load the parser, and the codec of the encoding that the page declares."""
    plain_text.prepare()
    html_reader.prepare_reader(data, "", "html")


def read(data: bytes, collector: TextCollector) -> None:
    """Read the whole document as one part, which begins with its title."""
    text = plain_text.marked(data)
    reader = Reader("", has_links=False, max_chars=collector.max_bytes)
    reader.read(decoded(data, "", "html") if text is None else text)
    collector.begin()
    if reader.title:
        collector.put(f"{reader.title}\n\n")
    for piece in reader.parts:
        collector.put(piece)
