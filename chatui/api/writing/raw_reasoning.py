"""The raw reasoning part of a reasoning item, for a program that may read it. For others the part is left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from chatui.api.writing.response_object import reasoning_part

Place = dict[str, Any]


class MakeEvent(Protocol):
    """Creates an event of a kind, with the next number."""

    def __call__(self, kind: str, **fields: Any) -> dict[str, Any]:
        """See above."""


class RawReasoning:
    """Collects the raw reasoning of one item. Call ``more`` with each text, then ``end``, then ``take`` it for the item."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def more(self, event: MakeEvent, place: Place, text: str) -> Iterator[dict[str, Any]]:
        """The events of more text. The first opens the part."""
        place = place | {"content_index": 0}
        if not self._texts:
            yield event("response.content_part.added", **place, part=reasoning_part(""))
        self._texts.append(text)
        yield event("response.reasoning.delta", **place, delta=text)

    def end(self, event: MakeEvent, place: Place) -> Iterator[dict[str, Any]]:
        """The events that close the part, if it was opened."""
        if self._texts:
            place, text = place | {"content_index": 0}, "".join(self._texts)
            yield event("response.reasoning.done", **place, text=text)
            yield event("response.content_part.done", **place, part=reasoning_part(text))

    def take(self) -> str | None:
        """The whole reasoning; None if there was none."""
        texts, self._texts = self._texts, []
        return "".join(texts) if texts else None
