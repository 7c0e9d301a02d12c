"""Request fields that a server rejects: they are left out of all later requests to it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from chatui.backends.base import BackendError
from chatui.backends.failures.bodies import error_objects

OPTIONAL = (
    "reasoning.summary",
    "reasoning.exclude",
    "include_reasoning",
    "reasoning_effort",
    "reasoning",
    "stream_options",
    "truncation",
    "store",
    "include",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "presence_penalty",
    "frequency_penalty",
    "repetition_penalty",
    "seed",
)
"""Fields that a request does not need, in the order in which they are given up. A dot leads into an object."""
RENAMED = {"max_tokens": "max_completion_tokens"}
"""Fields that are renamed and not given up: they limit something, and newer servers use another name."""

_REJECTED_STATUS = re.compile(r"HTTP (?:400|422): ")
_REJECTS = re.compile(
    r"unknown|unrecogni[sz]ed|unsupported|not support|unexpected|extra (?:fields|inputs)|extra_forbidden|not permitted|not allowed"
    r"|no such|invalid (?:field|parameter|argument)",
    re.IGNORECASE,
)
_MESSAGE_FIELDS = ("message", "msg", "detail", "error", "type", "code")
_MAX_READ = 300
"""Characters read of a server's message: the rest may quote people."""


class RejectedFields:
    """The fields that one server has rejected. ``without`` returns a request that it may accept; ``learn`` reads a refusal."""

    def __init__(self) -> None:
        self._names: list[str] = []

    def without(self, payload: Mapping[str, object]) -> dict[str, Any]:
        """A copy of the request, without the rejected fields."""
        left = dict(payload)
        for name in self._names:
            _remove(left, name)
        return left

    def learn(self, error: BackendError, sent: Mapping[str, object]) -> str | None:
        """The field for which the request ``sent`` was refused, if it can be repeated without; else None.

        A field that is already known counts too: of several concurrent requests, each must be repeated.
        """
        begin = _REJECTED_STATUS.match(error.detail)
        if begin is None:
            return None
        complaints = list(_complaints(error.detail[begin.end() :]))
        found = next(
            (name for name in (*OPTIONAL, *RENAMED) if _holds(sent, name) and any(_is_about(each, name) for each in complaints)), None
        )
        if found is not None and found not in self._names:
            self._names.append(found)
        return found


def _complaints(body: str) -> Iterator[tuple[str, str]]:
    """For each object of an error, the field that it names and the beginning of its message."""
    try:
        decoded = json.loads(body)
    except (ValueError, RecursionError):
        yield "", body[:_MAX_READ]
        return
    for each in [*error_objects(decoded), *_problems(decoded)]:
        place = each.get("loc")
        field = ".".join(str(part) for part in place if part != "body") if isinstance(place, list) else each.get("param")
        words = " ".join(text[:_MAX_READ] for name in _MESSAGE_FIELDS if isinstance(text := each.get(name), str))
        yield field if isinstance(field, str) else "", words


def _problems(decoded: object) -> list[Mapping[str, object]]:
    """Pydantic's format: a list of problems, each with its location."""
    listed = decoded.get("detail") if isinstance(decoded, dict) else None
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def _is_about(complaints: tuple[str, str], name: str) -> bool:
    field, words = complaints
    if not _REJECTS.search(words):
        return False
    return field == name if field else re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.]*\w)", words) is not None


def _holds(payload: Mapping[str, object], name: str) -> bool:
    first, _, rest = name.partition(".")
    inner = payload.get(first)
    return isinstance(inner, dict) and rest in inner if rest else first in payload


def _remove(payload: dict[str, Any], name: str) -> None:
    first, _, rest = name.partition(".")
    if rest and isinstance(payload.get(first), dict):
        payload[first] = {key: value for key, value in payload[first].items() if key != rest}
    elif not rest and first in payload:
        value = payload.pop(first)
        if first in RENAMED:
            payload[RENAMED[first]] = value
