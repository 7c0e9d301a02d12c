"""Resolves the model that a person chose (``name`` or ``name/model``) to its BackendSpec."""

from __future__ import annotations

from collections.abc import Sequence

from chatui.backends.spec.definition import BackendSpec


def split_choice(choice: str) -> tuple[str, str | None]:
    """A choice as the name of a back end and a model; None for that back end's default."""
    name, _, model = choice.partition("/")
    return name, model or None


def find(specs: Sequence[BackendSpec], choice: str) -> BackendSpec | None:
    """The spec of a choice; the first one for the empty choice. None if that back end no longer exists."""
    if not choice:
        return next(iter(specs), None)
    name, _ = split_choice(choice)
    return next((spec for spec in specs if spec.name == name), None)
