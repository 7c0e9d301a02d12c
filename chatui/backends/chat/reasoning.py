"""Collects the reasoning fields of a Chat Completions stream, so that they can be sent back to the server with a tool call.

Servers use different fields, and some sign or encrypt parts of it: they accept it only if it comes back unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from chatui.backends.base import GivenReasoning
from chatui.backends.speaker import REASONING_TEXTS

_DETAILS = "reasoning_details"
_GROWING = ("text", "summary", "data")
"""Fields of a detail whose fragments are joined. For any other field, such as a signature, the last value counts."""


class ReasoningCollector:
    """Collects reasoning: ``feed`` each delta; ``given`` is the result. Beyond ``max_chars`` characters, nothing is sent back."""

    def __init__(self, max_chars: int) -> None:
        self._chars_left = max_chars
        self._texts: dict[str, list[str]] = {}
        self._details: dict[tuple[object, object], dict[str, Any]] = {}

    def feed(self, delta: Mapping[str, Any]) -> None:
        for name in REASONING_TEXTS:
            text = delta.get(name)
            if isinstance(text, str) and text and self._spend(len(text)):
                self._texts.setdefault(name, []).append(text)
        details = delta.get(_DETAILS)
        for position, part in enumerate(details if isinstance(details, list) else []):
            if isinstance(part, dict) and self._spend(len(json.dumps(part))):
                self._merge(position, part)

    def given(self) -> GivenReasoning | None:
        """The reasoning so far; None if there was none, or too much. Details include the text, so they are sent back alone."""
        if self._chars_left < 0:
            return None
        if self._details:
            return GivenReasoning({_DETAILS: list(self._details.values())})
        texts = {name: "".join(parts) for name, parts in self._texts.items()}
        return GivenReasoning(dict(texts)) if texts else None

    def _spend(self, chars: int) -> bool:
        self._chars_left -= chars
        return self._chars_left >= 0

    def _merge(self, position: int, part: dict[str, Any]) -> None:
        known = self._details.setdefault((part.get("type"), part.get("index", position)), {})
        for name, value in part.items():
            if name in _GROWING and isinstance(value, str) and isinstance(known.get(name), str):
                known[name] += value
            elif value is not None or name not in known:
                known[name] = value
