"""Merges chunks of a Chat Completions stream that were read together and differ only in their text, and removes what chunks repeat.

A chunk holds one token. Merged, they pass through every later step at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from chatui.backends.sse import ServerSentEvent

_TEXTS = ("content", "reasoning_content", "reasoning")
Decoded = tuple[ServerSentEvent, Any]
"""An event, and its decoded JSON; None if it is not JSON."""


@dataclass(slots=True)
class _Piece:
    """A chunk with text in one field of its delta, and nothing else. The text was removed from it."""

    event: ServerSentEvent
    chunk: dict[str, Any]
    delta: dict[str, Any]
    name: str
    texts: list[str] = field(repr=False)

    def matches(self, other: _Piece) -> bool:
        """Whether the other one is the same, apart from its text."""
        return self.name == other.name and self.chunk == other.chunk

    def joined(self) -> Decoded:
        self.delta[self.name] = "".join(self.texts)
        return self.event, self.chunk


class Repetitions:
    """Removes repetitions from a stream each of whose texts begins with all of the text before it, where that is sure.

    The second text waits if it begins with the whole first one, and adds to it. If the third begins with the whole second one, and adds to
    it, and there is a letter in both, each text repeats those before it: a model that writes this would have repeated itself twice.
    """

    def __init__(self, text_of: Callable[[Any], tuple[dict[str, Any], str] | None]) -> None:
        """``text_of``: the object that holds the text of a decoded event, and the name of its field; None if there is no such text."""
        self._text_of = text_of
        self._whole = ""
        self._waiting: tuple[Decoded, dict[str, Any], str, str] | None = None
        self._is_decided = False
        self.are_certain = False
        """Whether the server repeats its text."""

    def feed(self, events: Iterable[Decoded]) -> Iterator[Decoded]:
        """The same events, without what they repeat."""
        for event in events:
            place = None if self._is_decided and not self.are_certain else self._text_of(event[1])
            if place is not None:
                yield from self._fed(event, *place)
            else:
                yield from self.finish()
                yield event

    def finish(self) -> list[Decoded]:
        """The event that still waits: it repeats nothing for certain."""
        waiting, self._waiting = self._waiting, None
        self._is_decided = self._is_decided or waiting is not None
        return [waiting[0]] if waiting else []

    def _fed(self, event: Decoded, holder: dict[str, Any], name: str) -> list[Decoded]:
        before, text = self._whole, holder[name]
        if self.are_certain:
            self._whole, holder[name] = (text, text[len(before) :]) if text.startswith(before) else (before + text, text)
            return [event]
        self._whole = text
        if not before:
            return [event]
        if not text.startswith(before) or text == before or not any(map(str.isalpha, before)):
            self._is_decided = True
            return [*self.finish(), event]
        if self._waiting is None:
            self._waiting = (event, holder, name, text[len(before) :])
            return []
        held, its_holder, its_name, its_rest = self._waiting
        self._waiting, self._is_decided, self.are_certain = None, True, True
        its_holder[its_name], holder[name] = its_rest, text[len(before) :]
        return [held, event]


def joined(events: Iterable[Decoded]) -> Iterator[Decoded]:
    """The same events, with fewer and longer texts. White space at the beginning is not merged: by itself it can mean something else."""
    pending: _Piece | None = None
    for event, chunk in events:
        piece = _piece_of(event, chunk)
        if pending and piece and pending.matches(piece):
            pending.texts += piece.texts
            continue
        if pending:
            yield pending.joined()
        pending = piece if piece and not piece.texts[0].isspace() else None
        if pending is None:
            yield piece.joined() if piece else (event, chunk)
    if pending:
        yield pending.joined()


def text_of_chunk(chunk: Any) -> tuple[dict[str, Any], str] | None:
    """The delta that holds text of the answer, and the name of the field."""
    choices = chunk.get("choices") if isinstance(chunk, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    delta = choice.get("delta") if isinstance(choice, dict) else None
    if not isinstance(delta, dict) or not isinstance(delta.get("content"), str) or not delta["content"]:
        return None
    return delta, "content"


def _piece_of(event: ServerSentEvent, chunk: Any) -> _Piece | None:
    """Removes the text from the chunk if it can be merged."""
    choices = chunk.get("choices") if isinstance(chunk, dict) else None
    choice = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
    delta = choice.get("delta") if isinstance(choice, dict) and not choice.get("finish_reason") else None
    if event.name or not isinstance(delta, dict):
        return None
    fields = [name for name, value in delta.items() if value is not None and value != "" and name != "role"]
    if len(fields) != 1 or fields[0] not in _TEXTS or not isinstance(text := delta[fields[0]], str):
        return None
    delta[fields[0]] = ""
    return _Piece(event, chunk, delta, fields[0], [text])
