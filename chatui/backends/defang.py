"""Escapes control markers in text from people and tools, for servers that build their prompts from text.

Such servers interpret markers anywhere in the prompt: ``<|end|>`` in a question would end it. In the copy that is sent, an invisible
word joiner is put between ``<`` and ``|``; it is removed again from the answer.
"""

from __future__ import annotations

import re

_JOINER = "\u2060"
_MARKER = re.compile(r"<(?=\|[A-Za-z0-9_]{1,40}\|>)")


def defang(text: str) -> str:
    """``text`` with every control marker escaped, known or not."""
    return _MARKER.sub(f"<{_JOINER}", text)


class Restorer:
    """Removes the joiner from streamed text, also if a piece ends inside an escaped marker. Buffers at most two characters."""

    def __init__(self) -> None:
        self._buffer = ""

    def feed(self, text: str) -> str:
        """More text; returns what can be released now."""
        text = (self._buffer + text).replace(f"<{_JOINER}|", "<|")
        keep = 2 if text.endswith(f"<{_JOINER}") else 1 if text.endswith("<") else 0
        self._buffer = text[len(text) - keep :]
        return text[: len(text) - keep]

    def finish(self) -> str:
        """Return the text that is still buffered."""
        text, self._buffer = self._buffer, ""
        return text


def is_defanged(messages: object) -> bool:
    """Whether anything in a request's messages was escaped, so that echoes must be restored."""
    match messages:
        case str():
            return f"<{_JOINER}|" in messages
        case list():
            return any(map(is_defanged, messages))
        case dict():
            return any(map(is_defanged, messages.values()))
    return False
