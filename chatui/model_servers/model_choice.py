"""The models that a person may choose from, and which of them a stored choice refers to."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from chatui.backends.spec.choices import find, split_choice
from chatui.backends.spec.definition import BackendSpec
from chatui.codes import ProductCode
from chatui.model_servers import available, connected
from chatui.models import User

SEPARATOR = " · "
"""Separates the names of a back end and its model in a label."""


class NoSuchModelError(Exception):
    """The back end or model does not exist, or this person may not use it."""

    code = ProductCode.NO_SUCH_MODEL


@dataclass(frozen=True, slots=True)
class Choice:
    """A model that a person may choose.

    ``value`` is stored with a Conversation and a Turn; ``effort`` is the default of a new conversation.
    """

    value: str
    label: str
    effort: str
    is_demo: bool

    @property
    def runs_rtl(self) -> bool:
        """Whether the label is read from right to left. Depends only on the model's name, not on the name of the back end before it."""
        name = self.label.rpartition(SEPARATOR)[2]
        strong = (unicodedata.bidirectional(character) for character in name)
        return next((kind for kind in strong if kind in ("L", "R", "AL")), "L") != "L"


def choices_for(user: User | None) -> tuple[Choice, ...]:
    """The choices that this person has in the composer, the default first. Never waits for a model server."""
    return tuple(choice for spec in _usable_specs(user) for choice in _choices_of(spec))


def current_value(choices: Iterable[Choice], stored: str) -> str | None:
    """The value among ``choices`` for a stored choice: the same, or its replacement at the same back end; None if neither exists."""
    values = [choice.value for choice in choices]
    if stored in values:
        return stored
    name, model = split_choice(stored)
    others = [value for value in values if value == name or (model is None and value.startswith(f"{name}/"))]
    return next(iter(others), None)


def validated(user: User | None, choice: str) -> str:
    """The choice as a Turn stores it: with the name of the back end, even if the choice is empty because the default is used.

    Raises:
        NoSuchModelError: it does not exist, no longer exists, or this person may not use it. The error is the same for all three.
    """
    spec = find(_usable_specs(user), choice)
    _, model = split_choice(choice)
    if spec is None or (model is not None and model not in available.models_of(spec)):
        raise NoSuchModelError
    return choice or spec.name


def server_tools(user: User | None, choice: str) -> tuple[str, ...]:
    """The types of the tools that the chosen model server may run by itself; empty if there is no such choice."""
    spec = find(_usable_specs(user), choice)
    return tuple(str(each["type"]) for each in spec.server_tools) if spec is not None else ()


def any_server_tools(user: User | None) -> bool:
    """Whether any model server that this person may use runs tools by itself."""
    return any(spec.server_tools for spec in _usable_specs(user))


def _usable_specs(user: User | None) -> list[BackendSpec]:
    """The back ends that this person may use: those without groups, and those of the person's groups."""
    if user is None or not user.is_active:
        return []
    specs = connected.specs()
    # Queried only if needed, but never cached, so that a revoked membership takes effect at once.
    mine = set(user.groups.values_list("name", flat=True)) if any(spec.groups for spec in specs) else set()
    return [spec for spec in specs if not spec.groups or mine.intersection(spec.groups) or user.is_superuser]


def _choices_of(spec: BackendSpec) -> list[Choice]:
    models = available.models_of(spec)
    if len(models) < 2:
        return [Choice(spec.name, spec.shown, spec.effort, spec.is_demo)]
    return [Choice(f"{spec.name}/{model}", f"{spec.shown}{SEPARATOR}{model}", spec.effort, spec.is_demo) for model in models]
