"""The permission catalogue: the permissions that have a meaning here, in groups, each described in words."""

from __future__ import annotations

_ALL_FOUR = ("view", "add", "change", "delete")
_VERBS = {"view": "See", "add": "Add", "change": "Change", "delete": "Delete"}


def _table(app: str, model: str, plural: str) -> dict[str, str]:
    return {f"{app}.{verb}_{model}": f"{_VERBS[verb]} {plural} on the admin pages" for verb in _ALL_FOUR}


GROUPS: dict[str, dict[str, str]] = {
    "Hidden channels": {
        "chatui.view_hidden_channels": "See hidden channels in the debug view (alone: of their own conversations)",
        "chatui.view_any_conversation": "Open conversations of other people in the debug view",
    },
    "Audit log": {"chatui.view_auditevent": "Read and export the audit log"},
    "Accounts": _table("chatui", "user", "accounts"),
    "Groups": _table("auth", "group", "groups"),
    "Back ends": _table("chatui", "storedbackend", "back ends"),
}
"""Names of permissions, such as ``chatui.view_auditevent``, with what they allow, under headings."""

WORDS: dict[str, str] = {name: words for group in GROUPS.values() for name, words in group.items()}
"""The same without headings. What Django makes besides, such as "can add message", opens nothing here."""
