"""The data classes for a parsed export: an ExportedConversation is one conversation, a tree of Nodes with frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from chatui.models.conversation import Source
from chatui.transfer.other_products.left_out import Counts
from renderer.frames import Frame


@dataclass(frozen=True, slots=True)
class Node:
    """One message of an export. ``frames`` may be empty: then the node only connects others. ``parent``: the key of another node."""

    key: str
    parent: str | None
    frames: tuple[Frame, ...] = ()
    is_complete: bool = True
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ExportedConversation:
    """One conversation of an export. ``current``: the key of the node that was open there. ``title`` is unchanged from the file."""

    source: Source
    nodes: Sequence[Node]
    current: str = ""
    title: str = field(default="", repr=False)
    model: str = ""
    created_at: datetime | None = None
    active_at: datetime | None = None
    left_out: Counts = field(default_factory=Counts)
