"""Detects which product an export is from by its contents, and reads it one conversation at a time."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from chatui.transfer import upload
from chatui.transfer.other_products import archive, chatgpt, json_items, librechat, open_webui
from chatui.transfer.other_products.conversation_tree import ExportedConversation
from chatui.transfer.other_products.left_out import Kind
from chatui.transfer.other_products.values import Object
from renderer import strict_json

MAX_CONVERSATION_BYTES = 16 * 1024 * 1024
MAX_CONVERSATION_MARKS = 600_000
"""The most strings, commas and opening brackets of one conversation. A message of ChatGPT has about a hundred."""

_PRODUCTS = (chatgpt, open_webui, librechat)


@dataclass(frozen=True, slots=True)
class RawConversation:
    """One conversation of an export, as unparsed JSON. ``key`` is the SHA-256 of its bytes, in hexadecimal."""

    key: str
    data: bytes

    def read(self) -> ExportedConversation | Kind:
        """Parse it. Returns the reason as a Kind if it cannot be read."""
        if _is_too_large(self.data):
            return Kind.CONVERSATION_TOO_LARGE
        value = _value(self.data)
        product = next((product for product in _PRODUCTS if value and product.is_conversation(value)), None)
        return product.read(value) if product and value else Kind.CONVERSATION_UNREADABLE


def is_export(data: bytes) -> bool:
    """Whether an upload is an export of another product: a zip, or JSON in the format of one of these products."""
    if archive.is_zip(data):
        return True
    if _OBJECT_BEGINS.match(data):
        return not _is_too_large(data) and _is_known(data)
    # Checks several conversations, because one of them may be damaged.
    firsts = islice(_items(data), 20)
    return any(not _is_too_large(item) and _is_known(item) for item in firsts)


def conversations(data: bytes) -> Iterator[RawConversation | Kind]:
    """All conversations of an export, in the order of the file; a Kind takes the place of what was not read.

    Raises:
        ImportRefusedError: the archive cannot be read.
    """
    room = archive.MAX_UNPACKED
    for file in archive.json_files(data) if archive.is_zip(data) else [data]:
        if json_items.begins_list(file):
            try:
                yield from map(_raw, json_items.items(file))
            except json_items.TooMuchError:
                yield Kind.FILE_CUT
        else:
            yield _raw(file)
        room -= len(file)
    if room <= 0:
        yield Kind.FILE_CUT


def _items(data: bytes) -> Iterator[bytes]:
    try:
        yield from json_items.items(data)
    except json_items.TooMuchError:
        return


def _raw(data: bytes) -> RawConversation:
    return RawConversation(hashlib.sha256(data).hexdigest(), data)


def _is_known(data: bytes) -> bool:
    value = _value(data)
    return value is not None and any(product.is_conversation(value) for product in _PRODUCTS)


def _is_too_large(data: bytes) -> bool:
    return len(data) > MAX_CONVERSATION_BYTES or upload.has_more_marks(data, MAX_CONVERSATION_MARKS)


_OBJECT_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*+\{")


def _value(data: bytes) -> Object | None:
    try:
        value = strict_json.loads(data.decode("utf-8-sig", "replace"))
    except strict_json.JsonError:
        return None
    return value if isinstance(value, dict) else None
