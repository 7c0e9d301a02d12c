"""The models at the message box, with the one that will be asked next, and, where that is not the expected one, which is not offered."""

from __future__ import annotations

from dataclasses import dataclass

from chatui.backends.spec import split_choice
from chatui.model_servers import choice
from chatui.model_servers.choice import SEPARATOR, ModelChoice
from chatui.models.conversation import Conversation
from chatui.models.user import User


@dataclass(frozen=True, slots=True)
class ShownChoices:
    """What a person may choose from for the next question, and what is chosen."""

    choices: tuple[ModelChoice, ...]
    """What is offered."""
    chosen: ModelChoice | None
    """The one that is asked next unless the person chooses another; None if nothing is offered."""
    gone: str = ""
    """The name of the model that was expected there, and is not offered; empty if all is as expected."""
    instead: str = ""
    """The name of ``chosen`` beside it."""
    is_linked: bool = False
    """Whether the address named ``chosen``, or an assistant did, which goes before what the browser remembers."""
    is_other: bool = False
    """Whether ``chosen`` is not the assistant's model, because that is not offered to this person."""

    @property
    def is_named(self) -> bool:
        """Whether the message box names the model: always, unless it is the only one and the default, as everybody expects."""
        return len(self.choices) > 1 or (self.chosen is not None and (bool(self.gone) or not self.chosen.is_default))


def shown_choices(person: User, row: Conversation | None, asked: str = "", begins_with: str = "", maker: str = "") -> ShownChoices:
    """What the message box of a conversation shows, or that of a new one.

    ``asked``: what the page has just asked for in vain, or what a link to a new conversation names. A model that is not offered reads like
    one that does not exist. ``begins_with``: the choice of an assistant, instead of the person's.
    ``maker``: whose assistant it is, if it is somebody else's. Its model is not named if it is not offered to this person.
    """
    choices = choice.choices_for(person)
    if asked and row is None and (named := choice.named(choices, asked)):
        return ShownChoices(choices, named, is_linked=True)
    is_other = bool(begins_with and maker and choice.current(choices, begins_with) is None)
    if is_other:
        begins_with = ""
    stored, last_model = (choice.remembered(row), row.model) if row else (begins_with or person.choice, "")
    found = choice.current(choices, stored, last_model) if stored else None
    if found is not None:
        # The model may be one of a server whose list is not known now.
        choices = tuple(found if each.value == found.value else each for each in choices)
    chosen = found or choice.beginning(choices)
    if asked and choice.current(choices, asked) is None:
        return ShownChoices(choices, chosen, *_names(asked, "", chosen))
    if stored and found is None:
        return ShownChoices(choices, chosen, *_names(stored, last_model, chosen))
    return ShownChoices(choices, chosen, is_linked=bool(begins_with), is_other=is_other)


def _names(gone: str, last_model: str, chosen: ModelChoice | None) -> tuple[str, str]:
    """The names of both, as their owner read them: that of the model, else of the model server. Two models of one name are told apart by
    their model servers."""
    server, model = split_choice(gone)
    name, instead = model or last_model or server, chosen.label if chosen else ""
    if chosen and name == chosen.model:
        return f"{server}{SEPARATOR}{name}", f"{chosen.server}{SEPARATOR}{chosen.model}"
    return name, instead
