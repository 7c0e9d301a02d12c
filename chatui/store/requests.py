"""Packs the request that was sent to a model server into the column ``Turn.request``: path and exact JSON body, compressed.

It is hidden text.
"""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass, field
from typing import Any

from chatui.backends.hosted_tools import KEY_WORDS, is_key_field

MAX_STORED = 4 << 20
"""The longest compressed request that is stored, in bytes. Of a longer one, only the path and the size are stored."""


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """One request."""

    path: str
    body: str | None = field(repr=False)
    """None if it was too long to be stored."""
    size: int
    """The length of the request in bytes, stored or not."""


def pack(path: str, body: bytes) -> bytes:
    """Pack a request for the column.

    Left out are the headers, which contain the model server's key, the keys of tools that the server runs by itself, and encrypted
    reasoning, which is only sent back to its server.
    """
    text = _without_sealed(body)
    packed = _packed({"path": path, "body": text, "size": len(body)})
    return packed if len(packed) <= MAX_STORED else _packed({"path": path, "body": None, "size": len(body)})


def unpack(packed: bytes) -> StoredRequest | None:
    """Read what ``pack`` wrote; None if the column contains something else."""
    try:
        stored = json.loads(zlib.decompress(packed))
        return StoredRequest(stored["path"], stored["body"], stored["size"])
    except (zlib.error, ValueError, KeyError, TypeError):
        return None


def _without_sealed(body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    if not any(sign in text for sign in _SEALED) and not _KEY_FIELD.search(text):
        return text
    try:
        found = json.loads(text)
        if isinstance(found, dict) and isinstance(found.get("tools"), list):
            found["tools"] = [each if _is_function(each) else _without_keys(each) for each in found["tools"]]
        return json.dumps(_opened(found), ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


_SEALED = ('"encrypted_content"', '"reasoning.encrypted"', '"signature"')
_KEY_FIELD = re.compile(rf'(?i)"[a-z0-9_-]*(?:{"|".join(KEY_WORDS)})[a-z0-9_-]*"\s*:')
_LEFT_OUT = "(left out)"


def _is_function(tool: Any) -> bool:
    return not isinstance(tool, dict) or tool.get("type") == "function"


def _without_keys(value: Any, *, is_key: bool = False) -> Any:
    """An operator's tool definition without credentials."""
    if isinstance(value, dict):
        return {name: _without_keys(each, is_key=is_key or is_key_field(name)) for name, each in value.items()}
    if isinstance(value, list):
        return [_without_keys(each, is_key=is_key) for each in value]
    return _LEFT_OUT if is_key and isinstance(value, str) else value


def _opened(value: Any) -> Any:
    """A part of a request without encrypted values."""
    if isinstance(value, list):
        return [_opened(each) for each in value]
    if not isinstance(value, dict):
        return value
    sealed = {"encrypted_content", "signature"} | ({"data"} if value.get("type") == "reasoning.encrypted" else set())
    return {name: _LEFT_OUT if name in sealed and isinstance(each, str) else _opened(each) for name, each in value.items()}


def _packed(stored: dict[str, object]) -> bytes:
    return zlib.compress(json.dumps(stored, ensure_ascii=False).encode("utf-8", "replace"))
