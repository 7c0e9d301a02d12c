"""The models that a person may choose from, and which of them a stored choice means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from chatui.backends.spec.choices import find, split_choice
from chatui.backends.spec.definition import BackendSpec
from chatui.codes import ProductCode
from chatui.model_servers import available, connected
from chatui.models import User


class NoSuchModelError(Exception):
    """There is no such back end or model, or it is not for this person."""

    code = ProductCode.NO_SUCH_MODEL


@dataclass(frozen=True, slots=True)
class Choice:
    """A model that a person may choose. ``value`` is what a Conversation and a Turn keep; ``effort`` is where a new conversation begins."""

    value: str
    label: str
    effort: str
    is_demo: bool


def choices_for(user: User | None) -> tuple[Choice, ...]:
    """What this person may choose from at the composer, their default first. Waits for no model server."""
    return tuple(choice for spec in _usable_specs(user) for choice in _choices_of(spec))


def offered_as(choices: Iterable[Choice], kept: str) -> str | None:
    """Which of ``choices`` a kept choice is: itself, or what a back end offers in its place. None where it is not offered any more."""
    values = [choice.value for choice in choices]
    if kept in values:
        return kept
    name, model = split_choice(kept)
    others = [value for value in values if value == name or (model is None and value.startswith(f"{name}/"))]
    return next(iter(others), None)


def chosen(user: User | None, choice: str) -> str:
    """The choice as a Turn keeps it: by name, also where this person's default was meant.

    Raises:
        NoSuchModelError: it does not exist, does not exist any more, or is not for this person, which all look the same.
    """
    spec = find(_usable_specs(user), choice)
    _, model = split_choice(choice)
    if spec is None or (model is not None and model not in available.models(spec)):
        raise NoSuchModelError
    return choice or spec.name


def _usable_specs(user: User | None) -> list[BackendSpec]:
    """A back end without groups is for everybody who has signed in."""
    if user is None or not user.is_active:
        return []
    specs = connected.specs()
    # Asked only where it matters, and each time anew: a membership that was taken back counts at once.
    mine = set(user.groups.values_list("name", flat=True)) if any(spec.groups for spec in specs) else set()
    return [spec for spec in specs if not spec.groups or mine.intersection(spec.groups) or user.is_superuser]


def _choices_of(spec: BackendSpec) -> list[Choice]:
    models = available.models(spec)
    if len(models) < 2:
        return [Choice(spec.name, spec.shown, spec.effort, spec.is_demo)]
    return [Choice(f"{spec.name}/{model}", f"{spec.shown} · {model}", spec.effort, spec.is_demo) for model in models]
