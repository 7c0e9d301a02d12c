"""Compares a document's ``capabilities`` (specification section 2) with those that we support, and with those that its frames use.

Each list states what writer and reader agreed on; a missing list states nothing. Nothing is refused because of them: anything unknown is
hidden where it occurs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from renderer.frames import Channel, Frame, Role
from renderer.tokens import Token

KNOWN: dict[str, tuple[str, ...]] = {
    "roles": (*Role, "functions.*"),
    "channels": tuple(Channel),
    "tokens": tuple(Token),
    "streaming": ("response.delta", "response.delta.flush", "response.cancel", "tool.cancel"),
}
"""The capabilities that are known here, by list. ``*`` stands for any characters."""


def hints(header: Mapping[str, object]) -> list[str]:
    """Descriptions of what is wrong with the capabilities in a document header's keys; empty if nothing is."""
    listing = header.get("capabilities")
    if listing is None:
        return []
    if not isinstance(listing, Mapping):
        return ["the capabilities are not a mapping"]
    found = []
    for name, known in KNOWN.items():
        listed = listing.get(name)
        if listed is not None and not _is_list(listed):
            found.append(f"the {name} of the capabilities are not a list of names")
        elif any(not _is_among(each, known) for each in listed or ()):
            found.append(f"the capabilities list {name} that are not known here")
    return found


def with_used_names(header: Mapping[str, object], frames: Iterable[Frame]) -> dict[str, object]:
    """The keys of a document header, with the roles and channels that frames use and its capabilities do not list added to them."""
    listing = header.get("capabilities")
    if not isinstance(listing, Mapping):
        return dict(header)
    headers = [frame.header for frame in frames]
    used = {"roles": [each.role for each in headers], "channels": [each.channel for each in headers if each.channel is not None]}
    lists = dict(listing)
    for name, values in used.items():
        listed = listing.get(name)
        if listed is not None and _is_list(listed):
            lists[name] = [*listed, *(value for value in dict.fromkeys(values) if not _is_among(value, listed))]
    return {**header, "capabilities": lists}


def _is_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_among(value: str, names: Iterable[str]) -> bool:
    return any(value == name or fnmatchcase(value, name) for name in names)
