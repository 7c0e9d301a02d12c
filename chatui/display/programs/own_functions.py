"""The functions that a program declared in its request. Only that program may see the calls of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from chatui.models import Message, ProgramAnswer
from chatui.models.message import Author
from chatui.tools.callers import model_name

_FUNCTIONS = "functions."


@dataclass(frozen=True, slots=True)
class ByTurn:
    """For each turn, what its program calls each function, by the recipient of calls."""

    turns: Mapping[UUID, Mapping[str, str]] = field(repr=False)

    def of(self, message: Message) -> Mapping[str, str]:
        """For the traffic in a message: what a program gave as said before is its own, whatever it named."""
        known = self.turns.get(message.turn_id, {}) if message.turn_id else {}
        if message.author != Author.IMPORT:
            return known
        recipient = message.recipient if message.recipient.startswith(_FUNCTIONS) else message.name
        is_named = recipient in known or not recipient.startswith(_FUNCTIONS)
        return known if is_named else {**known, recipient: recipient.removeprefix(_FUNCTIONS)}


def by_turn(turn_ids: Iterable[UUID | None]) -> ByTurn:
    """For some turns; those that no program asked for have none. One statement."""
    rows = ProgramAnswer.objects.filter(turn__in={each for each in turn_ids if each}).values_list("turn", "given")
    return ByTurn({turn: _named(given) for turn, given in rows})


def _named(given: Mapping[str, object]) -> dict[str, str]:
    names = given.get("functions")
    return {f"{_FUNCTIONS}{model_name(name)}": name for name in names if isinstance(name, str)} if isinstance(names, list) else {}
