"""Reads what an MCP server lists as its resources, and what it returns for one (specification of 2025-11-25, server/resources).

All of it is a stranger's text. Names and descriptions are cleaned and bounded; an address is only ever sent back to the server that named
it, and never fetched. What is for the person alone is not listed, because what is attached goes to a model.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from chatui.documents import kinds
from chatui.json_schemas import listed_in
from chatui.tools.mcp.results import is_for_person
from chatui.tools.remote.offers import Moment, ServerError, cleaned

PAGE = 50
"""The most resources that are shown at once."""
MAX_TEMPLATES = 50
MAX_FIELDS = 5
"""The most fields of a template."""
VALUE_CHARS = 500
NAME_CHARS = 100
WORDS_CHARS = 300
URI_CHARS = 2000
CURSOR_CHARS = 4000
"""As it is written in JSON."""
MAX_CONTENTS = 10
"""The most contents of one resource. Each becomes a file, and a message has at most so many."""
_URI = re.compile(rf"[A-Za-z][A-Za-z0-9+.-]*:[^\s\x00-\x1f\x7f-\x9f]{{1,{URI_CHARS}}}")
_PLACE = re.compile(r"\{([A-Za-z0-9_.]{1,60})\}")
_ENDINGS = {
    "application/epub+zip": "epub",
    "application/json": "json",
    "application/pdf": "pdf",
    "application/rtf": "rtf",
    "application/vnd.ms-excel": "xls",
    "application/vnd.oasis.opendocument.presentation": "odp",
    "application/vnd.oasis.opendocument.spreadsheet": "ods",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/x-ipynb+json": "ipynb",
    "application/xhtml+xml": "xhtml",
    "application/xml": "xml",
    "message/rfc822": "eml",
    "text/csv": "csv",
    "text/html": "html",
    "text/markdown": "md",
    "text/rtf": "rtf",
    "text/tab-separated-values": "tsv",
    "text/xml": "xml",
}
"""File name extensions by media type, of those that are read in a way of their own."""
_READ = {**kinds.TEXTS, **kinds.UNPACKED, **kinds.OLD, "pdf": "pdf"}


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource that a person can pick."""

    uri: str
    name: str
    description: str = ""
    media_type: str = ""
    """As the server says, cleaned; empty if it does not."""
    size: int | None = None
    """In bytes, if it says so."""


@dataclass(frozen=True, slots=True)
class Template:
    """Resources whose address a person completes. ``pattern``: with the names of ``fields`` in braces."""

    pattern: str
    name: str
    description: str = ""
    media_type: str = ""
    fields: tuple[str, ...] = ()

    def filled(self, values: Mapping[str, str]) -> Resource:
        """The resource, named after the values too. None of these can leave its place in the address. Raises ValueError if one is missing,
        too long, or no name."""
        if any(not 0 < len(values.get(name, "")) <= VALUE_CHARS or values[name] in (".", "..") for name in self.fields):
            raise ValueError("a value is missing or cannot be used")
        uri = _PLACE.sub(lambda place: quote(values[place[1]], safe="", errors="replace"), self.pattern)
        if not _URI.fullmatch(uri):
            raise ValueError("the address is too long")
        words = cleaned(" ".join([self.name, *(values[name] for name in self.fields)]), NAME_CHARS)
        return Resource(uri, words, media_type=self.media_type)


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a resource as a file, with a name whose extension says how it is read."""

    name: str
    data: bytes = field(repr=False)


def listed(result: Mapping[str, Any]) -> tuple[list[Resource], int]:
    """The resources of one answer, and how many of it cannot be picked: without a usable address, or for the person alone."""
    every = listed_in(result, "resources")
    found = [each for each in map(_resource, every) if each is not None]
    return found, len(every) - len(found)


def next_cursor(result: Mapping[str, Any], cursor: str) -> str:
    """The cursor of the page after this one, which was asked for with ``cursor``; empty on the last page.

    Also empty if the cursor is too long. A browser sends it back in an address: web servers limit its length, and letters other than ASCII
    take six characters there.
    """
    following = result.get("nextCursor")
    is_usable = isinstance(following, str) and following != cursor and len(json.dumps(following)) <= CURSOR_CHARS
    return str(following) if is_usable else ""


def templates(result: Mapping[str, Any]) -> tuple[list[Template], int]:
    """The templates of one answer, and how many of it a person cannot fill in: those that are more than places for names."""
    every = listed_in(result, "resourceTemplates")
    found = [each for each in map(_template, every) if each is not None][:MAX_TEMPLATES]
    return found, len(every) - len(found)


def _resource(each: Any) -> Resource | None:
    if not isinstance(each, Mapping) or is_for_person(each):
        return None
    uri, size = each.get("uri"), each.get("size")
    if not isinstance(uri, str) or not _URI.fullmatch(uri):
        return None
    return Resource(uri, *_words(each, uri), size if type(size) is int and size >= 0 else None)


def _template(each: Any) -> Template | None:
    if not isinstance(each, Mapping) or is_for_person(each):
        return None
    pattern = each.get("uriTemplate")
    if not isinstance(pattern, str) or not _URI.fullmatch(pattern):
        return None
    fields = tuple(dict.fromkeys(_PLACE.findall(pattern)))
    if not 0 < len(fields) <= MAX_FIELDS or re.search(r"[{}]", _PLACE.sub("", pattern)):
        return None
    return Template(pattern, *_words(each, pattern), fields)


def _words(each: Mapping[str, Any], uri: str) -> tuple[str, str, str]:
    """Name, description and media type."""
    texts = [each.get(name) for name in ("title", "name")]
    name = next((words for text in texts if isinstance(text, str) and (words := cleaned(text, NAME_CHARS).strip())), "")
    description, media_type = (value if isinstance(value, str) else "" for value in (each.get("description"), each.get("mimeType")))
    return name or cleaned(uri, NAME_CHARS), cleaned(description, WORDS_CHARS), cleaned(media_type, NAME_CHARS)


def contents(result: Mapping[str, Any], picked: Resource) -> list[Content]:
    """The contents of a resource. Raises ServerError if there are none, too many, or one that cannot be decoded."""
    every = listed_in(result, "contents")
    if not 0 < len(every) <= MAX_CONTENTS or result.get("resultType", "complete") != "complete":
        raise ServerError("the server returned no content that can be attached", Moment.ANSWERED)
    return [_content(each, picked) for each in every]


def _content(each: Any, picked: Resource) -> Content:
    if not isinstance(each, Mapping) or is_for_person(each):
        raise ServerError("the server returned no content that can be attached", Moment.ANSWERED)
    text, blob = each.get("text"), each.get("blob")
    media_type = each.get("mimeType") if isinstance(each.get("mimeType"), str) else picked.media_type
    uri = each.get("uri") if isinstance(each.get("uri"), str) else ""
    names = [_last(str(uri)), picked.name]
    if isinstance(text, str):
        return Content(_file_name(names, str(media_type), is_text=True), text.encode("utf-8", "replace"))
    try:
        data = base64.b64decode(blob, validate=True) if isinstance(blob, str) else None
    except (binascii.Error, ValueError):
        data = None
    if data is None:
        raise ServerError("the server returned a content that cannot be decoded", Moment.ANSWERED)
    return Content(_file_name(names, str(media_type), is_text=False), data)


def _last(uri: str) -> str:
    """The last part of an address's path."""
    try:
        return unquote(urlsplit(uri[:URI_CHARS]).path).rstrip("/").rpartition("/")[2]
    except ValueError:
        return ""


def _file_name(names: list[str], media_type: str, *, is_text: bool) -> str:
    """The best of these names, with the extension of its type. A type that says little leaves the extension as it is: many servers call
    everything plain text."""
    bare = media_type.partition(";")[0].strip().lower()
    ending = _ENDINGS.get(bare) or ("json" if bare.endswith("+json") else "xml" if bare.endswith("+xml") else "")
    if ending:
        fitting = [name for name in names if _READ.get(_ending(name)) == _READ[ending]]
        return fitting[0] if fitting else f"{names[1]}.{ending}"
    known = [name for name in names if _ending(name) in _READ or _ending(name) in kinds.PICTURES]
    if known:
        return known[0]
    return f"{names[1]}.txt" if is_text else names[1]


def _ending(name: str) -> str:
    stem, _, ending = name.lower().rpartition(".")
    return ending if stem else ""
