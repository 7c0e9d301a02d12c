"""Which tools are on, for whom, and whether their calls need approval: of the operator's settings, and of Administration.

What the operator's settings name is as they say. Administration can only pause it; of every other tool it decides. Its rows are in the
database, so that all processes follow them within ``ROWS_SECONDS``, without a restart.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db import DatabaseError, InterfaceError

from chatui.env import environment
from chatui.models.tools import StoredToolServer, ToolSetting

log = logging.getLogger(__name__)

ROWS_SECONDS = 2.0
"""How many seconds old the cached rows of Administration may be before they are read again."""
SEARCH = "search"
"""The name of the row about the search engine. No tool in settings has it: the browser's search is switched with the browser."""
BY_OPERATOR = frozenset({"python"})
"""Tools that only the operator's settings can offer: code is run where the product runs."""


@dataclass(frozen=True, slots=True)
class OfferRule:
    """How a tool is offered."""

    groups: tuple[str, ...]
    """Their members are offered it; empty: everybody."""
    needs_approval: bool
    facts: tuple[str, ...] | None
    """As ``Environment.tool_facts``; None: those of the tool's author."""
    is_from_file: bool
    """Whether the operator's settings say so."""


@dataclass(frozen=True, slots=True)
class StoredEngine:
    """The search engine that was chosen in Administration. ``sealed_key`` is for the address."""

    engine: str
    address: str
    sealed_key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class StoredServer:
    """A tool server that was connected in Administration. ``place`` identifies it: what was confirmed of one with another address, key or
    header is not confirmed of this one."""

    name: str
    url: str
    header: str
    sealed_key: str = field(repr=False)
    selected: tuple[str, ...]
    row: str
    gives_resources: bool = False
    more: str = field(default="", repr=False)

    @property
    def place(self) -> str:
        named = json.dumps([self.row, self.name, self.url, self.header, self.sealed_key, *filter(None, [self.more])])
        return hashlib.sha256(named.encode()).hexdigest()

    @classmethod
    def of(cls, row: StoredToolServer) -> StoredServer:
        more = json.dumps(row.more, sort_keys=True) if row.more else ""
        return cls(row.name, row.url, row.header, row.sealed_key, tuple(row.selected), str(row.pk), row.gives_resources, more)


@dataclass(slots=True)
class _Read:
    """The rows that this process read last, and when (``time.monotonic``): the rules of those that are on, and the names of the others."""

    on: Mapping[str, OfferRule] = field(default_factory=dict)
    off: frozenset[str] = frozenset()
    engine: StoredEngine | None = None
    servers: tuple[StoredServer, ...] = ()
    at: float = float("-inf")
    has_succeeded: bool = False


_read = _Read()


def rules() -> dict[str, OfferRule]:
    """The rules of all tools that are on, by the name in settings."""
    env, stored = environment(), _rows()
    if not env.tools and not stored.on:
        return {}
    harmless, facts = env.tools_without_approval, env.tool_facts
    found = {
        name: OfferRule(tuple(groups), name not in harmless, facts.get(name), is_from_file=True)
        for name, groups in env.tools.items()
        if name not in stored.off
    }
    for name, rule in stored.on.items():
        if name not in env.tools and name not in BY_OPERATOR:
            asks = rule.needs_approval and name not in harmless
            found[name] = OfferRule(rule.groups, asks, facts.get(name, rule.facts), is_from_file=False)
    return found


def has_any() -> bool:
    """Whether any tool may be on. For a quick answer: a tool that is paused counts, too."""
    return bool(environment().tools or _rows().on)


def is_paused(name: str) -> bool:
    """Whether the operator's settings name the tool, and Administration has paused it."""
    return name in environment().tools and name in _rows().off


def is_off(name: str) -> bool:
    """Whether Administration has switched it off, whatever else says that it is on: for the calls of answers that began before."""
    return name in _rows().off


def engine() -> StoredEngine | None:
    return _rows().engine


def servers() -> tuple[StoredServer, ...]:
    """The tool servers of Administration that are on, and have tools to offer or accounts to connect."""
    return _rows().servers


def has_servers() -> bool:
    """Whether there may be tool servers."""
    return environment().tools_file is not None or bool(servers())


def forget_rows() -> None:
    """Read the rows again at the next use. Other processes do so within ROWS_SECONDS."""
    _read.at = float("-inf")


def _rows() -> _Read:
    """The rows, read again if they are old; but never on an event loop, which must not wait for a database."""
    now = time.monotonic()
    if now - _read.at >= ROWS_SECONDS and not is_on_event_loop():
        try:
            _read_again()
        except (DatabaseError, InterfaceError) as error:
            # Before the first migration, this is normal, and not worth a warning.
            level = logging.WARNING if _read.has_succeeded else logging.DEBUG
            log.log(level, "the tools of Administration could not be read (%s)", type(error).__name__)
        _read.at = now
    return _read


def _read_again() -> None:
    on: dict[str, OfferRule] = {}
    off: set[str] = set()
    engine = None
    for row in ToolSetting.objects.prefetch_related("groups").order_by("name"):
        groups = tuple(sorted(group.name for group in row.groups.all())) if row.is_for_groups else ()
        if row.name == SEARCH:
            engine = StoredEngine(row.engine, row.address, row.sealed_key) if row.is_on else None
        elif row.is_on and (groups or not row.is_for_groups):
            on[row.name] = OfferRule(groups, row.needs_approval, facts_of(row), is_from_file=False)
        elif not row.is_on:
            off.add(row.name)
    rows = StoredToolServer.objects.filter(is_on=True).order_by("name")
    _read.servers = tuple(StoredServer.of(row) for row in rows if row.selected or row.more)
    _read.on, _read.off, _read.engine, _read.has_succeeded = on, frozenset(off), engine, True


def facts_of(row: ToolSetting) -> tuple[str, ...] | None:
    """The facts that the row states, as ``OfferRule.facts``."""
    if row.reads_private_data is None or row.sends_outside is None:
        return None
    stated = (("private", row.reads_private_data), ("outside", row.sends_outside))
    return tuple(word for word, is_so in stated if is_so) or ("neither",)


def is_on_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
