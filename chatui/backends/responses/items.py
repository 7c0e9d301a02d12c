"""The output items of a Responses stream: what the server said of each, and which item an event belongs to.

Servers disagree about ids and indices: some leave them out, count them wrongly, or give one item a new id in each event. What an item
is decides who may see it, so an event that fits no known item makes one of unknown kind, whose text waits until the kind is told.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chatui.backends.leak_guard import LeakGuard
from chatui.backends.speaker import Label, other_label
from renderer.frame_kinds import ANSWER, BROKEN, PREAMBLE
from renderer.frames import Header

MESSAGE, REASONING, CALL = "message", "reasoning", "function_call"
TEXT, THOUGHT, SUMMARY = "text", "thought", "summary"
"""The lanes of an item: three kinds of text that are never mixed."""


_LOOKED_AT = ("type", "role", "phase", "channel", "name", "call_id", "arguments", "summary", "encrypted_content")
"""Labels of an item that ``Item.header`` looks at, or that only items other than messages have."""


class Flow:
    """The text of one lane as it has come. A text that comes whole later adds what is missing at the end, and nothing else:
    what people have read cannot be taken back.

    Of several whole texts the last counts: that of a part, that of its item, that of the response. So what a part's adds is a claim
    that waits until its item ends, something else begins, or nothing more comes.
    """

    def __init__(self, separator: str = "") -> None:
        self._separator = separator
        self._parts: dict[int, list[str]] = {}
        self._all: list[str] = []
        self._last: int | None = None
        self._claims: dict[int, str] = {}
        self.differs = False

    @property
    def came(self) -> str:
        """All of it, in the order in which it came."""
        return "".join(self._all)

    def add(self, part: int, text: str) -> str:
        """A delta; returns what to write."""
        if not text:
            return ""
        claimed = self.settle() if part != self._last else ""
        return claimed + self._append(part, text)

    def claim(self, part: int, whole: str) -> None:
        """One part as the server says it is."""
        if whole:
            self._claims[part] = whole

    def settle(self) -> str:
        """No better word came than the claims. A part can only grow while no later one has begun."""
        claims, self._claims = self._claims, {}
        text = ""
        for part, whole in claims.items():
            came = "".join(self._parts.get(part, ()))
            if whole.startswith(came) and (part == self._last or part not in self._parts):
                text += self._append(part, whole[len(came) :])
            elif whole != came:
                self.differs = True
        return text

    def complete(self, parts: list[str]) -> str:
        """All parts as the server says they are; returns what to write. Where it says nothing, the claims count."""
        whole, came = self._separator.join(part for part in parts if part), self.came
        if not whole:
            return self.settle()
        self._claims = {}
        if not whole.startswith(came):
            self.differs = True
            return ""
        rest = whole[len(came) :]
        self._last = 0 if self._last is None else self._last
        self._parts.setdefault(self._last, []).append(rest)
        self._all.append(rest)
        return rest

    def _append(self, part: int, text: str) -> str:
        if not text:
            return ""
        lead = self._separator if self._all and part not in self._parts else ""
        self._parts.setdefault(part, []).append(text)
        self._last = part
        self._all.append(lead + text)
        return lead + text


@dataclass(slots=True, eq=False)
class Item:
    """One output item. ``kind`` is empty until the server says what it is; ``number`` counts items as they were heard of."""

    number: int
    kind: str = ""
    ids: set[str] = field(default_factory=set)
    index: int | None = None
    role: str = ""
    phase: object = None
    channel: object = None
    label: Label | None = None
    status: str = ""
    is_done: bool = False
    call_id: str = ""
    name: str = ""
    arguments: str = field(default="", repr=False)
    argument_deltas: list[str] = field(default_factory=list, repr=False)
    part_kinds: dict[int, str] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list, repr=False)
    guard: LeakGuard | None = None
    is_closed: bool = False
    flows: dict[str, Flow] = field(default_factory=lambda: {TEXT: Flow(), THOUGHT: Flow("\n\n"), SUMMARY: Flow("\n\n")}, repr=False)

    def learn(self, data: Mapping[str, Any]) -> None:
        """Take over what the server says now. What it leaves out stays as it was."""
        self.kind = self.kind or _string(data.get("type"))
        if _string(data.get("id")):
            self.ids.add(data["id"])
        self.role = _string(data.get("role")) or self.role
        self.status = _string(data.get("status")) or self.status
        self.phase = self.phase if data.get("phase") is None else data["phase"]
        self.channel = self.channel if data.get("channel") is None else data["channel"]
        self.mark(other_label(data, besides=_LOOKED_AT))
        self.call_id = _string(data.get("call_id")) or self.call_id
        self.name = _string(data.get("name")) or self.name

    def mark(self, label: Label | None) -> None:
        """Something calls its text another name than the answer: that holds for all of it."""
        self.label = self.label or label

    def header(self) -> Header:
        """What its text becomes: visible only for an assistant's message of a phase that is known, by its exact name."""
        if self.label or self.name or self.call_id or self.kind != MESSAGE:
            return BROKEN
        if self.role != "assistant" or self.channel not in (None, "final"):
            return BROKEN
        if self.phase in (None, "final_answer"):
            return ANSWER
        return PREAMBLE if self.phase == "commentary" else BROKEN

    def take_arguments(self, value: object) -> None:
        """A call's arguments as a whole; the last that is not empty counts."""
        self.arguments = (json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else _string(value)) or self.arguments

    def whole_arguments(self) -> str:
        """What the call is to be made with."""
        return self.arguments or "".join(self.argument_deltas) or "{}"


class Items:
    """The items of one response, in the order in which they were heard of."""

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._by_id: dict[str, Item] = {}

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def added(self, data: Mapping[str, Any], index: int | None) -> Item:
        """An item began. One that is known already is told again."""
        item = self._same(data, index, pending_only=True)
        if item and item.is_done:
            item = None  # one server gives all messages of a response the same id
        return self._taught(item or self._new(index), data, index)

    def done(self, data: Mapping[str, Any], index: int | None) -> Item:
        """An item ended. Many servers tell of some items only now."""
        item = self._same(data, index, pending_only=False)
        return self._taught(item or self._new(index), data, index)

    def of_text(self, event: Mapping[str, Any]) -> Item:
        """The item that a text event means. Not known by its id: the open item at its index, or the newest where neither is said."""
        item_id, index = _string(event.get("item_id")), number(event.get("output_index"))
        if item_id in self._by_id:
            return self._by_id[item_id]
        if item_id or index is not None:
            found = self._newest(index, (MESSAGE, REASONING, "")) if index is not None else None
        else:
            found = next((item for item in reversed(self._items) if item.kind != CALL), None)
        return found or self._named(item_id, index, "")

    def of_call(self, event: Mapping[str, Any]) -> Item:
        """The call that an event about arguments means."""
        item_id, index = _string(event.get("item_id")), number(event.get("output_index"))
        known = self._by_id.get(item_id)
        if known and known.kind == CALL:
            return known
        found = self._newest(index, (CALL,)) if index is not None else None
        if not found and not item_id:
            found = self._newest(None, (CALL,))
        return found or self._named(item_id, index, CALL)

    def matched(self, outputs: Sequence[Mapping[str, Any]]) -> list[tuple[Item, Mapping[str, Any]]]:
        """The items of a snapshot with those they stand for: by id, else by their order within a kind. Unheard ones are new."""
        free = list(self._items)
        by_id: dict[int, Item] = {}
        for position, data in enumerate(outputs):
            item = self._known(data)
            if item in free:
                by_id[position] = item
                free.remove(item)
        matched: list[tuple[Item, Mapping[str, Any]]] = []
        for position, data in enumerate(outputs):
            kind = _string(data.get("type"))
            item = by_id.get(position) or next((other for other in free if other.kind == kind), None)
            if item in free:
                free.remove(item)
            matched.append((self._taught(item or self._new(None), data, None), data))
        return matched

    def _same(self, data: Mapping[str, Any], index: int | None, *, pending_only: bool) -> Item | None:
        known = self._known(data)
        if known:
            return known
        kind = _string(data.get("type"))
        pending = self._newest(index, ("",)) if index is not None else None
        if pending or pending_only:
            return pending
        if index is not None:
            return self._newest(index, (kind,))
        if kind == CALL and data.get("call_id"):
            same = (item for item in self._items if item.kind == CALL and item.call_id == data["call_id"])
            return next(same, None) or self._oldest_open(kind)
        return None if data.get("id") else self._oldest_open(kind)

    def _known(self, data: Mapping[str, Any]) -> Item | None:
        """Known by its id, and of the same kind: one server gives a message the id of the reasoning before it."""
        item = self._by_id.get(_string(data.get("id")))
        return item if item and item.kind in ("", _string(data.get("type"))) else None

    def _newest(self, index: int | None, kinds: tuple[str, ...]) -> Item | None:
        fits = (item for item in reversed(self._items) if not item.is_done and item.kind in kinds and index in (None, item.index))
        return next(fits, None)

    def _oldest_open(self, kind: str) -> Item | None:
        return next((item for item in self._items if item.kind == kind and not item.is_done), None)

    def _new(self, index: int | None) -> Item:
        item = Item(len(self._items), index=index)
        self._items.append(item)
        return item

    def _named(self, item_id: str, index: int | None, kind: str) -> Item:
        return self._taught(self._new(index), {"id": item_id, "type": kind}, index)

    def _taught(self, item: Item, data: Mapping[str, Any], index: int | None) -> Item:
        item.learn(data)
        item.index = item.index if index is None else index
        for item_id in item.ids:
            # An id that two items share means the newer one.
            if item_id not in self._by_id or self._by_id[item_id].number < item.number:
                self._by_id[item_id] = item
        return item


def number(value: object) -> int | None:
    """A JSON integer, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
