"""Decides who gets summaries of a model's hidden reasoning."""

from __future__ import annotations

from chatui.env import environment
from chatui.models import User


def are_enabled_for(person: User) -> bool:
    """Whether this person's turns get reasoning summaries, if the back end supports them. At most one statement."""
    named = environment().summary_groups
    return not named or person.groups.filter(name__in=named).exists()
