"""Extracts the error object from a response body, in the forms that servers and gateways use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

_WORDS = ("code", "type", "error_type")


def error_objects(said: object) -> Iterator[Mapping[str, object]]:
    """The objects of a decoded body that describe an error, the innermost first, the whole body last; empty if it is not an object."""
    if isinstance(said, list) and len(said) == 1:
        said = said[0]
    if isinstance(said, dict):
        for name in ("error", "detail", "innererror"):
            if isinstance(said.get(name), (dict, list)):
                yield from error_objects(said[name])
        yield said


def error_words(said: object) -> frozenset[str]:
    """The error codes and types in a body, in lower case, numbers as digits. Never its message, which may quote people."""
    found = (each.get(name) for each in error_objects(said) for name in _WORDS)
    return frozenset(str(word).lower() for word in found if isinstance(word, (str, int)) and not isinstance(word, bool))
