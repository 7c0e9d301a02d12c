"""Joins and removes what the events of a stream of text repeat, in either format.

A chunk of Chat Completions holds one token. Those that were read together and differ only in their text are merged, so that they pass
through every later step at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from chatui.backends.speaker import REASONING_TEXTS
from chatui.backends.sse import ServerSentEvent, choice_of
from renderer.strict_json import object_of, text_of

_TEXTS = ("content", *REASONING_TEXTS)
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
        """The last text, or all of the text so far once the repetitions are certain."""
        self._waiting: tuple[Decoded, dict[str, Any], str, str] | None = None
        """The second event, the object and field of its text, and what that adds to the first."""
        self._is_decided = False
        """Whether the first texts have shown if the server repeats."""
        self.are_certain = False
        """Whether the server repeats its text."""

    def feed(self, events: Sequence[Decoded]) -> Sequence[Decoded]:
        """The events that were read together, but for one that waits."""
        return events if self._is_decided and not self.are_certain else [found for each in events for found in self._taken(each)]

    def _taken(self, event: Decoded) -> list[Decoded]:
        place = self._text_of(event[1])
        return [*self.finish(), event] if place is None else self._without_repetition(event, *place)

    def finish(self) -> list[Decoded]:
        """The event that still waits: it repeats nothing for certain."""
        waiting, self._waiting = self._waiting, None
        self._is_decided = self._is_decided or waiting is not None
        return [waiting[0]] if waiting else []

    def _without_repetition(self, event: Decoded, holder: dict[str, Any], name: str) -> list[Decoded]:
        """The events to pass on, now that this one came with the text ``holder[name]``: what it repeats is cut there, in place."""
        before, text = self._whole, holder[name]
        if self.are_certain:
            self._whole, holder[name] = (text, text[len(before) :]) if text.startswith(before) else (before + text, text)
            return [event]
        if self._is_decided:
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


def joined(events: Sequence[Decoded]) -> Sequence[Decoded]:
    """The same events, with fewer and longer texts. White space at the beginning is not merged: by itself it can mean something else."""
    if len(events) < 2:
        return events
    found: list[_Piece | Decoded] = []
    pending: _Piece | None = None
    for event, chunk in events:
        piece = _piece_of(event, chunk)
        if pending and piece and pending.matches(piece):
            pending.texts += piece.texts
            continue
        found.append(piece or (event, chunk))
        pending = piece if piece and not piece.texts[0].isspace() else None
    return [each.joined() if isinstance(each, _Piece) else each for each in found]


def text_of_chunk(chunk: Any) -> tuple[dict[str, Any], str] | None:
    """The delta that holds text of the answer, and the name of the field."""
    delta = object_of((choice_of(chunk) or {}).get("delta"))
    return (delta, "content") if text_of(delta.get("content")) else None


def _piece_of(event: ServerSentEvent, chunk: Any) -> _Piece | None:
    """Removes the text from the chunk if it can be merged."""
    match chunk:
        case {"choices": [{"delta": dict(delta)} as choice]} if not event.name and choice.get("index") in (0, None):
            fields = [name for name, value in delta.items() if value not in (None, "") and name != "role"]
            match fields:
                case [name] if name in _TEXTS and type(text := delta[name]) is str and not choice.get("finish_reason"):
                    delta[name] = ""
                    return _Piece(event, chunk, delta, name, [text])
    return None
