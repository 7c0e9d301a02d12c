"""The list of erasures: JSON lines of ids and names, kept outside the backup, so that a restored one can repeat them."""

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
    """Somebody who was erased: the id of the account, its name then, and when (ISO 8601, UTC)."""

    id: str
    name: str
    at: str

    def line(self) -> str:
        """The line for a file."""
        return json.dumps(asdict(self), ensure_ascii=False) + "\n"


class BadListError(Exception):
    """A file is not a list of erasures; ``number`` is the line, from 1."""

    def __init__(self, number: int) -> None:
        super().__init__(f"line {number} is no erasure")
        self.number = number


def recorded() -> Iterator[Erasure]:
    """The erasures in the audit log, oldest first, each person once."""
    found = rows(Filters(action=ACTION)).order_by("number").values_list("detail", "owner_name", "at")
    return erasures_of((detail, name, at.isoformat()) for detail, name, at in found.iterator())


def erasures_of(lines: Iterable[tuple[str, str, str]]) -> Iterator[Erasure]:
    """The same from the values of audit lines about erasures: detail, name and time."""
    seen: set[str] = set()
    for detail, name, at in lines:
        if (match := _ID.match(detail)) and match[1] not in seen:
            seen.add(match[1])
            yield Erasure(match[1], name, at)


def read(lines: Iterable[str]) -> list[Erasure]:
    """The erasures of a file. Raises BadListError."""
    return [_erasure(number, line) for number, line in enumerate(lines, 1) if line.strip()]


def restored(erasures: Iterable[Erasure]) -> list[User]:
    """The people among them who exist in the database again. Found by id alone: somebody else may have the name by now."""
    return list(User.objects.filter(pk__in=[erasure.id for erasure in erasures]).order_by("date_joined"))


def _erasure(number: int, line: str) -> Erasure:
    try:
        values = json.loads(line)
        return Erasure(str(UUID(values["id"])), str(values["name"]), str(values["at"]))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise BadListError(number) from None
