"""The output items of a Responses stream, with their content parts, and which item each event belongs to.

Servers differ in ids and indices: some leave them out, count them wrongly, or give one item a new id in each event. The kind of an item
decides who may see it, so an event that fits no known item creates one of unknown kind, whose text waits until its kind is known.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chatui.backends.base import GivenReasoning
from chatui.backends.leaks.scanner import LeakGuard
from chatui.backends.speaker import SpeakerLabel, other_label
from chatui.backends.sse import number, tables
from renderer.frame_kinds import ANSWER, BROKEN, PREAMBLE
from renderer.frames import Header
from renderer.strict_json import text_of

MESSAGE, REASONING, CALL = "message", "reasoning", "function_call"
TEXT, THOUGHT, SUMMARY = "text", "thought", "summary"
"""The lanes of an item: three kinds of text that are never mixed."""


_CHECKED_LABELS = ("type", "role", "phase", "channel", "name", "call_id", "arguments", "summary", "encrypted_content")
"""Labels of an item that ``Item.header`` checks, or that only items other than messages have."""

_SENT_BACK = ("type", "id", "summary", "content", "encrypted_content")
"""The fields of a reasoning item that are sent back. Servers refuse some others, such as its status."""


class Flow:
    """The text of one lane so far. A whole text that arrives later only adds what is missing at the end: text that people have read is
    final.

    Servers may repeat the whole text of a part, then of its item, then of the response; the last one counts. So a part's whole text is a
    claim that waits until its item ends, something else begins, or the stream ends.
    """

    def __init__(self, separator: str = "") -> None:
        self._separator = separator
        self._parts: dict[int, list[str]] = {}
        self._all: list[tuple[int, str]] = []
        """All pieces in the order of arrival, each with the number of its part."""
        self._last: int | None = None
        self._claims: dict[int, str] = {}
        self.differs = False

    @property
    def text(self) -> str:
        return "".join(text for _, text in self._all)

    def drop(self, part: int) -> str:
        """Forget a part, whose text is of another lane, and return that."""
        self._claims.pop(part, None)
        self._all = [(each, text) for each, text in self._all if each != part]
        return "".join(self._parts.pop(part, ()))

    def add(self, part: int, text: str) -> str:
        claimed = self.settle() if part != self._last else ""
        return claimed + self._append(part, text)

    def claim(self, part: int, whole: str) -> None:
        """Record the whole text of one part, as the server states it."""
        if whole:
            self._claims[part] = whole

    def wholes(self) -> set[str]:
        """What the text is as a whole, so far and as the server states it, without regard to white space; nothing if it is blank."""
        wholes = (self.text, self._separator.join(self._claims.values()))
        return {" ".join(whole.split()) for whole in wholes if whole.strip()}

    def settle(self) -> str:
        """Apply the claims, because nothing better arrived; returns what to write. A part cannot grow once a later one has begun."""
        claims, self._claims = self._claims, {}
        text = ""
        for part, whole in claims.items():
            arrived = "".join(self._parts.get(part, ()))
            if whole.startswith(arrived) and (part == self._last or part not in self._parts):
                text += self._append(part, whole[len(arrived) :])
            elif whole != arrived:
                self.differs = True
        return text

    def complete(self, parts: list[str]) -> str:
        """All parts, as the server states them; returns what to write. If it states none, the claims count."""
        whole, arrived = self._separator.join(part for part in parts if part), self.text
        if not whole:
            return self.settle()
        self._claims = {}
        if not whole.startswith(arrived):
            self.differs = True
            return ""
        at, added = 0, ""
        for part, text in enumerate(parts):
            lead = self._separator if at and text else ""
            at += len(lead + text)
            missing = max(at - len(arrived), 0)
            if text and missing:
                added += self._put(part, text[-missing:], lead if missing > len(text) else "")
        return added

    def _append(self, part: int, text: str) -> str:
        return self._put(part, text, self._separator if self._all and part not in self._parts else "") if text else ""

    def _put(self, part: int, text: str, lead: str) -> str:
        self._parts.setdefault(part, []).append(text)
        self._last = part
        self._all.append((part, lead + text))
        return lead + text


@dataclass(slots=True, eq=False)
class OutputItem:
    """One output item."""

    number: int
    """Counts items in order of appearance."""
    kind: str = ""
    """Empty until the server says what it is."""
    ids: set[str] = field(default_factory=set)
    index: int | None = None
    role: str = ""
    phase: object = None
    channel: object = None
    label: SpeakerLabel | None = None
    status: str = ""
    is_done: bool = False
    call_id: str = ""
    name: str = ""
    arguments: str = field(default="", repr=False)
    given: dict[str, Any] = field(default_factory=dict, repr=False)
    argument_deltas: list[str] = field(default_factory=list, repr=False)
    counted: int = 0
    """How many characters of the arguments count towards the limit already: servers repeat them."""
    part_kinds: dict[int, str] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list, repr=False)
    guard: LeakGuard | None = None
    is_closed: bool = False
    joins: OutputItem | None = None
    """The message whose frame this one continues."""
    has_text: bool = False
    flows: dict[str, Flow] = field(default_factory=lambda: {TEXT: Flow(), THOUGHT: Flow("\n\n"), SUMMARY: Flow("\n\n")}, repr=False)

    def learn(self, data: Mapping[str, Any]) -> None:
        """Update the fields that the server sends. Missing ones do not change."""
        kind = text_of(data.get("type"))
        if self.kind == MESSAGE and kind and kind != MESSAGE:
            self.mark(SpeakerLabel("type", is_known=True))
        self.kind = self.kind or kind
        if text_of(data.get("id")):
            self.ids.add(data["id"])
        self.role = text_of(data.get("role")) or self.role
        if data.get("role") and not text_of(data.get("role")):
            self.mark(SpeakerLabel("role", is_known=True))
        self.status = text_of(data.get("status")) or self.status
        self.phase = self.phase if data.get("phase") is None else data["phase"]
        self.channel = self.channel if data.get("channel") is None else data["channel"]
        self.mark(other_label(data, besides=_CHECKED_LABELS))
        self.call_id = text_of(data.get("call_id")) or self.call_id
        self.name = text_of(data.get("name")) or self.name

    def learn_part(self, part: int, kind: str) -> None:
        """A part that was hidden once stays hidden, whatever the server calls it later."""
        if self.part_kinds.get(part, "output_text") in VISIBLE_PARTS:
            self.part_kinds[part] = kind

    @property
    def place(self) -> int:
        """The number of the item whose frame has its text."""
        return self.joins.place if self.joins else self.number

    def mark(self, label: SpeakerLabel | None) -> None:
        """A label says that its text is not the answer; this applies to all of its text."""
        self.label = self.label or label

    def header(self) -> Header:
        """The header of its text: visible only for an assistant message of a known phase."""
        if self.label or self.name or self.call_id or self.kind != MESSAGE:
            return BROKEN
        if self.role != "assistant" or self.channel not in (None, "final"):
            return BROKEN
        if self.phase in (None, "final_answer"):
            return ANSWER
        return PREAMBLE if self.phase == "commentary" else BROKEN

    def take_arguments(self, value: object) -> None:
        """The complete arguments of a call; the last non-empty value counts."""
        self.arguments = (json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else text_of(value)) or self.arguments

    def contradicts(self, data: Mapping[str, Any]) -> bool:
        """Whether it is a call that has ended, and ``data`` has other arguments: another call, whatever its id."""
        arguments = data.get("arguments")
        return self.is_done and isinstance(arguments, str) and arguments not in ("", self.whole_arguments())

    def whole_arguments(self) -> str:
        return self.arguments or "".join(self.argument_deltas) or "{}"


class Items:
    """The items of one response, in order of first appearance."""

    def __init__(self) -> None:
        self._items: list[OutputItem] = []
        self._by_id: dict[str, OutputItem] = {}

    def __iter__(self) -> Iterator[OutputItem]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def reasoning(self) -> GivenReasoning | None:
        """The reasoning items as the server gave them; None if one of them is empty, because its text was only streamed."""
        given = [item.given for item in self._items if item.kind == REASONING]
        if not given or not all(data.get("encrypted_content") or data.get("content") for data in given):
            return None
        return GivenReasoning(items=tuple({name: data[name] for name in _SENT_BACK if name in data} for data in given))

    def added(self, data: Mapping[str, Any], index: int | None) -> OutputItem:
        """An item began. A known item is updated."""
        item = self._same(data, index, pending_only=True)
        if item and item.is_done:
            item = None  # one server gives all messages of a response the same id
        return self._updated(item or self._new(index), data, index)

    def done(self, data: Mapping[str, Any], index: int | None) -> OutputItem:
        """An item ended. Many servers announce some items only now."""
        item = self._same(data, index, pending_only=False) or self._renamed(data, index)
        return self._updated(item or self._new(index), data, index)

    def item_for_text(self, event: Mapping[str, Any]) -> OutputItem:
        """The item that a text event belongs to: by id, else the open item at its index, else the newest."""
        item_id, index = text_of(event.get("item_id")), number(event.get("output_index"))
        if item_id in self._by_id:
            return self._by_id[item_id]
        if item_id or index is not None:
            found = self._newest(index, (MESSAGE, REASONING, "")) if index is not None else None
        else:
            found = next((item for item in reversed(self._items) if item.kind != CALL), None)
        return found or self._named(item_id, index, "")

    def item_for_call(self, event: Mapping[str, Any]) -> OutputItem:
        """The call that an argument event belongs to."""
        item_id, index = text_of(event.get("item_id")), number(event.get("output_index"))
        known = self._by_id.get(item_id)
        if known and known.kind == CALL:
            return known
        found = self._newest(index, (CALL,)) if index is not None else None
        if not found and not item_id:
            found = self._newest(None, (CALL,))
        return found or self._named(item_id, index, CALL)

    def matched(self, outputs: Sequence[Mapping[str, Any]]) -> list[tuple[OutputItem, Mapping[str, Any]]]:
        """Matches the items of a snapshot with known ones: by id, else by order within their kind. Other items are new."""
        free = list(self._items)
        by_id: dict[int, OutputItem] = {}
        for position, data in enumerate(outputs):
            item = self._known(data)
            if item in free:
                by_id[position] = item
                free.remove(item)
        messages = {text_of(data.get("id")) for data in outputs if text_of(data.get("type")) == MESSAGE}
        for data in outputs:
            # It was a message while it was streamed, and is not one now.
            item = self._by_id.get(text_of(data.get("id")))
            if item and item.kind == MESSAGE and not item.ids & messages:
                item.mark(SpeakerLabel("type", is_known=True))
        matched: list[tuple[OutputItem, Mapping[str, Any]]] = []
        for position, data in enumerate(outputs):
            kind = text_of(data.get("type"))
            item = by_id.get(position) or next((other for other in free if other.kind == kind), None)
            if item in free:
                free.remove(item)
            matched.append((self._updated(item or self._new(None), data, None), data))
        return matched

    def _same(self, data: Mapping[str, Any], index: int | None, *, pending_only: bool) -> OutputItem | None:
        """The known item that ``data`` is about; None for a new one. By its id; else the one of which only text has come at that index;
        else, unless ``pending_only``, an open one of its type: at that index, or, without an index, by its call id, or the oldest."""
        known = self._known(data)
        if known:
            return known
        kind = text_of(data.get("type"))
        pending = self._newest(index, ("",)) if index is not None else None
        if pending or pending_only:
            return pending
        if index is not None:
            return self._newest(index, (kind,))
        if kind == CALL and data.get("call_id"):
            same = (item for item in self._items if item.kind == CALL and item.call_id == data["call_id"] and not item.contradicts(data))
            return next(same, None) or self._oldest_open(kind)
        return None if data.get("id") else self._oldest_open(kind)

    def _renamed(self, data: Mapping[str, Any], index: int | None) -> OutputItem | None:
        """The unfinished message with the same id and index, of which the server now gives another type."""
        item = self._by_id.get(text_of(data.get("id")))
        is_same = item is not None and item.kind == MESSAGE and not item.is_done and index in (None, item.index)
        return item if is_same else None

    def _known(self, data: Mapping[str, Any]) -> OutputItem | None:
        """The known item with this id and kind: one server gives a message the id of the reasoning before it."""
        item = self._by_id.get(text_of(data.get("id")))
        return item if item and item.kind in ("", text_of(data.get("type"))) else None

    def _newest(self, index: int | None, kinds: tuple[str, ...]) -> OutputItem | None:
        fits = (item for item in reversed(self._items) if not item.is_done and item.kind in kinds and index in (None, item.index))
        return next(fits, None)

    def _oldest_open(self, kind: str) -> OutputItem | None:
        return next((item for item in self._items if item.kind == kind and not item.is_done), None)

    def _new(self, index: int | None) -> OutputItem:
        item = OutputItem(len(self._items), index=index)
        self._items.append(item)
        return item

    def _named(self, item_id: str, index: int | None, kind: str) -> OutputItem:
        return self._updated(self._new(index), {"id": item_id, "type": kind}, index)

    def _updated(self, item: OutputItem, data: Mapping[str, Any], index: int | None) -> OutputItem:
        item.learn(data)
        item.index = item.index if index is None else index
        for item_id in item.ids:
            # If two items share an id, it means the newer one.
            if item_id not in self._by_id or self._by_id[item_id].number < item.number:
                self._by_id[item_id] = item
        return item


VISIBLE_PARTS = ("output_text", "text", "refusal")


def kind_of(part: Mapping[str, Any]) -> str:
    """The type of a part; empty if a label says that it is something else."""
    return "" if other_label(part, besides=("type",)) else text_of(part.get("type"))


def words_of(part: Mapping[str, Any]) -> str:
    """The text of a part, or of its refusal."""
    return text_of(part.get("refusal" if part.get("type") == "refusal" else "text"))


def texts_of(parts: object) -> list[str]:
    """The texts of a reasoning item's parts, whatever their type."""
    if isinstance(parts, str):
        return [parts]
    return list(filter(None, map(words_of, tables(parts))))
