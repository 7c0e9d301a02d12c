"""The permission catalogue: the permissions that this product uses, under headings, each with a description."""

from __future__ import annotations

from django.utils.translation import gettext_noop as noop

_VERBS = ("view", "add", "change", "delete")


def _table(app: str, model: str, words: tuple[str, str, str, str]) -> dict[str, str]:
    return {f"{app}.{verb}_{model}": meaning for verb, meaning in zip(_VERBS, words, strict=True)}


GROUPS: dict[str, dict[str, str]] = {
    noop("Hidden channels"): {
        "chatui.view_hidden_channels": noop("See hidden channels in the debug view (alone: of their own conversations)"),
        "chatui.view_any_conversation": noop("Open conversations of other people in the debug view"),
    },
    noop("Audit log"): {"chatui.view_auditevent": noop("Read and export the audit log")},
    noop("Ratings"): {"chatui.export_ratings": noop("Export ratings of answers, each with the visible conversation before it")},
    noop("Usage"): {
        "chatui.view_usage": noop("See how much everybody uses, and export it"),
        "chatui.change_limits": noop("Set usage limits and model prices on the admin pages"),
    },
    noop("Accounts"): _table(
        "chatui",
        "user",
        (
            noop("See accounts on the admin pages"),
            noop("Add accounts on the admin pages"),
            noop("Change accounts on the admin pages"),
            noop("Delete accounts on the admin pages"),
        ),
    ),
    noop("Groups"): _table(
        "auth",
        "group",
        (
            noop("See groups on the admin pages"),
            noop("Add groups on the admin pages"),
            noop("Change groups on the admin pages"),
            noop("Delete groups on the admin pages"),
        ),
    ),
    noop("Back ends"): _table(
        "chatui",
        "storedbackend",
        (
            noop("See back ends on the admin pages"),
            noop("Add back ends on the admin pages"),
            noop("Change back ends on the admin pages"),
            noop("Delete back ends on the admin pages"),
        ),
    ),
}
"""Permission names, such as ``chatui.view_auditevent``, with descriptions, under headings.

In English, as in the audit log; pages translate them.
"""

DESCRIPTIONS: dict[str, str] = {name: words for group in GROUPS.values() for name, words in group.items()}
"""The descriptions without the headings. Django's other permissions, such as "can add message", have no effect here."""
