"""The list of erasures: JSON lines of ids and names, stored outside backups, to repeat the erasures in a restored backup."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from uuid import UUID

from chatui.audit_log.lines import Filters, rows
from chatui.erasure.person import ACTION
from chatui.models import User

_ID = re.compile(r"id ([0-9a-f-]{36}):")


@dataclass(frozen=True, slots=True)
class Erasure:
    """An erased person: the id and the last name of the account, and the time of the erasure (ISO 8601, UTC)."""

    id: str
    name: str
    at: str

    def line(self) -> str:
        """The JSON line for a file."""
        return json.dumps(asdict(self), ensure_ascii=False) + "\n"


class BadListError(Exception):
    """A file is not a list of erasures; ``number`` is the line, from 1."""

    def __init__(self, number: int) -> None:
        super().__init__(f"line {number} is not an erasure")
        self.number = number


def recorded() -> Iterator[Erasure]:
    """The erasures in the audit log, oldest first, one for each person."""
    found = rows(Filters(action=ACTION)).order_by("number").values_list("detail", "owner_name", "at")
    return erasures_of((detail, name, at.isoformat()) for detail, name, at in found.iterator())


def erasures_of(lines: Iterable[tuple[str, str, str]]) -> Iterator[Erasure]:
    """The erasures from audit lines about them: the detail, name and time of each."""
    seen: set[str] = set()
    for detail, name, at in lines:
        if (match := _ID.match(detail)) and match[1] not in seen:
            seen.add(match[1])
            yield Erasure(match[1], name, at)


def read(lines: Iterable[str]) -> list[Erasure]:
    """Parse the lines of a file. Raises BadListError."""
    return [_erasure(number, line) for number, line in enumerate(lines, 1) if line.strip()]


def restored(erasures: Iterable[Erasure]) -> list[User]:
    """The erased people whose accounts exist again. Found by id alone: somebody else may have the name by now."""
    return list(User.objects.filter(pk__in=[erasure.id for erasure in erasures]).order_by("date_joined"))


def _erasure(number: int, line: str) -> Erasure:
    try:
        values = json.loads(line)
        return Erasure(str(UUID(values["id"])), str(values["name"]), str(values["at"]))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise BadListError(number) from None
