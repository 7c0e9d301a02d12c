"""What staff decide about tools in Administration: which are on, for whom, and the search engine. Each change is recorded."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from django.contrib.auth.models import Group
from django.db import transaction

from chatui.audit_log.record import Visitor, record
from chatui.models.tools import ToolSetting
from chatui.tools import rules, search_engines

_LABELS = {
    "is_on": "enabled",
    "needs_approval": "asks before each call",
    "reads_private_data": "reads private data",
    "sends_outside": "sends something out",
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a tool shall be from now on."""

    is_on: bool
    groups: Collection[Group] | None = None
    """None for everybody."""
    needs_approval: bool = True
    facts: tuple[bool, bool] | None = None
    """Whether it reads private data, and whether it sends something out; None for what its author says."""


def setting(name: str) -> ToolSetting:
    """The row about this tool, which may not be stored yet."""
    return ToolSetting.objects.filter(name=name).first() or ToolSetting(name=name, is_on=False)


def save(visitor: Visitor, name: str, wanted: Wanted) -> None:
    """Store what the tool of that name in settings shall be."""
    with transaction.atomic():
        row, is_new = _locked(name)
        before = {} if is_new else _in_words(row)
        row.is_on, row.needs_approval, row.is_for_groups = wanted.is_on, wanted.needs_approval, wanted.groups is not None
        row.reads_private_data, row.sends_outside = wanted.facts or (None, None)
        row.save()
        row.groups.set(wanted.groups or ())
        _record(visitor, name, before, _in_words(row))


def switch(visitor: Visitor, name: str, *, is_on: bool) -> None:
    """Switch a tool on or off, and change nothing else."""
    with transaction.atomic():
        row, is_new = _locked(name)
        before = {} if is_new else _in_words(row)
        row.is_on = is_on
        row.save()
        after = _in_words(row)
        _record(visitor, name, before, {_LABELS["is_on"]: after[_LABELS["is_on"]]} if is_new else after)


def distrust(visitor: Visitor, names: Collection[str]) -> None:
    """Take back what was said of these tools in favour of their server, because another may answer under its name: from now on their calls
    ask, and nothing is known of what they do. Call it in a transaction."""
    for row in ToolSetting.objects.select_for_update().filter(name__in=names).order_by("name"):
        before = _in_words(row)
        row.needs_approval, row.reads_private_data, row.sends_outside = True, None, None
        row.save()
        _record(visitor, row.name, before, _in_words(row))


def _locked(name: str) -> tuple[ToolSetting, bool]:
    """The row of a tool, locked until the transaction ends, and whether it was made just now."""
    row, is_new = ToolSetting.objects.get_or_create(name=name, defaults={"is_on": False})
    return ToolSetting.objects.select_for_update().get(pk=row.pk), is_new


def _in_words(row: ToolSetting) -> dict[str, str]:
    """The row's values by what the audit log calls them."""
    groups = ", ".join(sorted(row.groups.values_list("name", flat=True)))
    found = {label: str(getattr(row, name)) for name, label in _LABELS.items()}
    return found | {"groups": (groups or "none") if row.is_for_groups else "everybody"}


def _record(visitor: Visitor, name: str, before: Mapping[str, str], after: Mapping[str, str]) -> None:
    changed = [f"{label} is now {value}" for label, value in after.items() if before.get(label) != value and value != "None"]
    if changed:
        record("tool setting changed", visitor, name, detail="; ".join(changed))
    transaction.on_commit(rules.forget_rows)


@dataclass(frozen=True, slots=True)
class WantedEngine:
    """The search engine from now on."""

    engine: str
    address: str = ""
    """Empty for the engine's own."""
    key: str | None = field(default=None, repr=False)
    """A new one; None keeps the stored one, if it is for the same engine and address."""


def has_key(row: ToolSetting, engine: str, address: str) -> bool:
    """Whether a key is stored for this engine at this address."""
    return bool(row.sealed_key) and search_engines.unsealed(row.sealed_key, engine, address) is not None


def save_engine(visitor: Visitor, wanted: WantedEngine | None) -> None:
    """Store the search engine; None: there is none any more, and its key is forgotten. Raises ValueError: the key cannot be used."""
    row = setting(rules.SEARCH)
    before = (row.engine, row.address, row.sealed_key) if row.is_on else ("", "", "")
    row.is_on = wanted is not None
    if wanted is None:
        row.engine = row.address = row.sealed_key = ""
    else:
        if wanted.key is not None:
            row.sealed_key = search_engines.sealed(wanted.key, wanted.engine, wanted.address)
        elif not has_key(row, wanted.engine, wanted.address):
            row.sealed_key = ""
        row.engine, row.address = wanted.engine, wanted.address
    after = (row.engine, row.address, row.sealed_key)
    if after == before:
        return
    with transaction.atomic():
        row.save()
        words = [f"search engine is now {row.engine or 'empty'}"]
        words += [f"address is now {row.address}"] if row.address else []
        words += [f"key is now {'stored' if row.sealed_key else 'empty'}"] if after[2] != before[2] else []
        record("tool setting changed", visitor, rules.SEARCH, detail="; ".join(words))
        transaction.on_commit(rules.forget_rows)
