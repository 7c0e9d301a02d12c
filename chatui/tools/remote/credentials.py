"""Credentials for tool servers: read from the environment or a file when needed, and redacted from every response."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, model_validator

from chatui.tools.remote.offer import ServerError

_MAX_CHARS = 16_384
_MIN_CHARS = 4
"""Shorter values are not redacted: they protect nothing, and may be ordinary words."""
_INSTEAD = "(hidden)"
_MAX_DEPTH = 60


class CredentialSource(BaseModel):
    """Where a credential comes from: an environment variable, a file, or the operator's file itself if it is not secret."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    env: str = ""
    file: Path | None = None
    value: str = Field("", repr=False)
    prefix: str = ""

    @model_validator(mode="after")
    def _is_one(self) -> CredentialSource:
        if [bool(self.env), self.file is not None, bool(self.value)].count(True) != 1:
            raise ValueError("must have one of env, file and value")
        return self

    def bare(self) -> str:
        """The value without ``prefix`` and surrounding white space.

        Raises:
            ServerError: the value is missing, or has characters that cannot be sent.
        """
        if self.file is not None:
            try:
                with self.file.open(encoding="utf-8") as file:
                    found = file.read(_MAX_CHARS).strip()
            except (OSError, UnicodeDecodeError):
                raise ServerError("a file with a credential cannot be read") from None
        else:
            found = (os.environ.get(self.env, "") if self.env else self.value).strip()
        if not found:
            raise ServerError("a credential is not set")
        if not found.isprintable() or not found.isascii():
            raise ServerError("a credential has characters that cannot be sent")
        return found

    def text(self) -> str:
        """The text to send.

        Raises:
            ServerError: see ``bare``.
        """
        return self.prefix + self.bare()


def texts(values: Mapping[str, CredentialSource]) -> dict[str, str]:
    """The texts to send, by name.

    Raises:
        ServerError: a credential is missing.
    """
    return {name: value.text() for name, value in values.items()}


def secrets(*groups: Mapping[str, CredentialSource]) -> tuple[str, ...]:
    """The values to redact from responses, longest first.

    Raises:
        ServerError: a credential is missing.
    """
    bare = {each.bare() for group in groups for each in group.values() if not each.value}
    # A server may quote the second word of "Basic dXNlcjpwYXNz" alone.
    words = {word for text in bare for word in (text, *text.split()) if len(word) >= _MIN_CHARS}
    return tuple(sorted({*words, *(quote(word, safe="") for word in words)}, key=len, reverse=True))


def without(found: Any, hidden: tuple[str, ...], depth: int = 0) -> Any:
    """A JSON value without any of ``hidden``, lone surrogates, or invalid numbers."""
    if isinstance(found, str):
        for each in hidden:
            found = found.replace(each, _INSTEAD)
        return found.encode("utf-8", "replace").decode()
    if isinstance(found, float) and not math.isfinite(found):
        return None
    if depth > _MAX_DEPTH:
        return None
    if isinstance(found, dict):
        return {without(name, hidden): without(value, hidden, depth + 1) for name, value in found.items()}
    return [without(each, hidden, depth + 1) for each in found] if isinstance(found, list) else found
