"""The functions that a program declared in its request. Only that program may see calls to them."""

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
    """For each turn, the program's names for its functions, by the recipient of the calls."""

    turns: Mapping[UUID, Mapping[str, str]] = field(repr=False)

    def of(self, message: Message) -> Mapping[str, str]:
        """The functions for a message. Calls and replies that a program sent as earlier messages are its own, whatever their names."""
        known = self.turns.get(message.turn_id, {}) if message.turn_id else {}
        if message.author != Author.IMPORT:
            return known
        recipient = message.recipient if message.recipient.startswith(_FUNCTIONS) else message.name
        is_named = recipient in known or not recipient.startswith(_FUNCTIONS)
        return known if is_named else {**known, recipient: recipient.removeprefix(_FUNCTIONS)}


def by_turn(turn_ids: Iterable[UUID | None]) -> ByTurn:
    """The functions of these turns; none for turns that no program asked for. One statement."""
    rows = ProgramAnswer.objects.filter(turn__in={each for each in turn_ids if each}).values_list("turn", "given")
    return ByTurn({turn: _named(given) for turn, given in rows})


def _named(given: Mapping[str, object]) -> dict[str, str]:
    names = given.get("functions")
    return {f"{_FUNCTIONS}{model_name(name)}": name for name in names if isinstance(name, str)} if isinstance(names, list) else {}
