"""Reads the answer to an operation: text of any kind by its bytes and charset, web pages as text, and the headers that say how to go on."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from typing import Any

from chatui.documents import plain_text
from chatui.tools.remote.offers import cleaned
from renderer.strict_json import JsonError, loads_bounded

HEADERS = ("location", "retry-after", "link", "x-total-count")
"""What a caller needs beside the body: where the new thing is, when to ask again, where the next page is, how many there are."""
HEADER_CHARS = 500
MAX_MARKS = 100_000
"""The most strings, commas and opening brackets of a body that is read as JSON. A model gets another one as text, whose middle is left out
as that of the values would be."""
_PAGES = ("text/html", "application/xhtml+xml")
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_NO_CHARSETS = ("idna", "punycode", "utf-7", "raw-unicode-escape", "unicode-escape")
"""Codecs that Python counts as those of texts, and that make of plain letters something else."""


def read(headers: Mapping[str, str], body: bytes, *, is_cut: bool) -> Any:
    """The body as JSON for a model; empty if there is none. What is no text becomes a mark with its kind and size. Blocks while a web page
    is read."""
    declared = headers.get("content-type", "")
    kind = declared.partition(";")[0].strip().lower()
    if kind in _PAGES:
        return _page(kind, _charset(declared), body, is_cut=is_cut)
    if (text := _text(body, _charset(declared))) is None:
        return _mark(kind, body, is_cut=is_cut)
    if text.strip() and not is_cut and (kind == "application/json" or kind.endswith("+json")):
        try:
            return loads_bounded(text.encode("utf-8", "surrogatepass"), MAX_MARKS)
        except JsonError:
            pass
    return f"{text}\n[cut here: the answer was longer]" if is_cut else text


def headers_for_model(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of an answer that the model gets: those of ``HEADERS`` that it has, cleaned."""
    found = {name: cleaned(headers.get(name, ""), HEADER_CHARS) for name in HEADERS}
    return {name: value for name, value in found.items() if value}


def with_headers(value: Any, status: int, named: Mapping[str, str]) -> Any:
    """The body, with the status and these headers if there are any."""
    return {"status": status, "headers": dict(named), "body": value} if named else value


def _text(body: bytes, charset: str) -> str | None:
    """The text of a body; None if it is none, whatever it is called. The declared charset counts, then what its bytes look like."""
    if charset and not (body.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))):
        return body.decode(charset, "replace")
    if (marked := plain_text.marked(body)) is not None:
        return marked
    if _NOT_TEXT.search(body):
        return None
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")


def _charset(declared: str) -> str:
    """The declared charset, if it is one of texts; otherwise empty."""
    for each in declared.split(";")[1:]:
        name, _, value = each.partition("=")
        if name.strip().lower() == "charset":
            try:
                found = codecs.lookup(value.strip(" \"'"))
            except (LookupError, ValueError):
                return ""
            is_text = getattr(found, "_is_text_encoding", False)
            return found.name if is_text and found.name.replace("_", "-") not in _NO_CHARSETS else ""
    return ""


def _page(kind: str, charset: str, body: bytes, *, is_cut: bool) -> str:
    from chatui.tools import browser  # most operations answer with JSON
    from chatui.tools.fetcher import FetchedPage, FetchError

    try:
        page = browser.read(FetchedPage("", kind, charset, body, is_cut))
    except FetchError:
        return _mark(kind, body, is_cut=is_cut)
    return "\n".join(filter(None, (page.title, *page.lines)))


def _mark(kind: str, body: bytes, *, is_cut: bool) -> str:
    size = f"{'more than ' * is_cut}{len(body):,} byte{'s' * (len(body) != 1)}"
    return f"[a file ({cleaned(kind, 100) or 'of no known type'}, {size}) was returned, which is not shown here]"
