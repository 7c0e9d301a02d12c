"""Extracts the error object from a response body, in the forms that servers and gateways use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

_CODE_FIELDS = ("code", "type", "error_type")


def error_objects(body: object) -> Iterator[Mapping[str, object]]:
    """The objects of a decoded body that describe an error, the innermost first, the whole body last; empty if it is not an object."""
    if isinstance(body, list) and len(body) == 1:
        body = body[0]
    if isinstance(body, dict):
        for name in ("error", "detail", "innererror"):
            if isinstance(body.get(name), (dict, list)):
                yield from error_objects(body[name])
        yield body


def error_words(body: object) -> frozenset[str]:
    """The error codes and types in a body, in lower case, numbers as digits. Never its message, which may quote people."""
    found = (each.get(name) for each in error_objects(body) for name in _CODE_FIELDS)
    return frozenset(str(word).lower() for word in found if isinstance(word, (str, int)) and not isinstance(word, bool))
