"""Classifies the failures of a model server, and gives each its code and its cause.

They are told apart by status and by the server's error type, from the error object in a response body, in the forms that servers and
gateways use. Fields that a server rejects are left out of all later requests to it. Other errors are for requests that did not reach a
server, or whose answers did not arrive whole or in time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from chatui.backends.base import BackendError
from chatui.codes import ProductCode
from renderer.errors import Code

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


MAX_DETAIL = 8 << 10
_STATUS = re.compile(r"[1-5][0-9]{2}", re.ASCII)

_CONTENT = ("content_filter", "content_policy", "responsibleaipolicy", "content_blocked", "moderation", "safety", "policy_violation")
_SETUP = (
    "invalid_api_key",
    "authentication",
    "unauthorized",
    "permission",
    "forbidden",
    "model_not_found",
    "model_not_available",
    "not_found",
    "notfounderror",
    "deploymentnotfound",
    "insufficient_quota",
    "billing",
    "unsupported_",
)
_BUSY = (
    "rate_limit",
    "too_many_requests",
    "ratelimit",
    "overloaded",
    "engine_overloaded",
    "slow_down",
    "unavailable",
    "service_unavailable",
)
_REFUSED = ("invalid_request", "invalid_prompt", "bad_request", "badrequest", "context_length", "exceed_context", "context_window")
_SETUP_STATUS = frozenset({"401", "402", "403", "404", "405", "407", "410", "421", "426"})
_BUSY_STATUS = frozenset({"429", "503", "529"})
_CONTENT_STATUS = frozenset({"451"})


@dataclass(frozen=True, slots=True)
class _Kind:
    code: ProductCode
    retryable: bool
    beginnings: tuple[str, ...] = ()
    statuses: Collection[str] = ()

    def match(self, words: Collection[str], statuses: Collection[str]) -> bool:
        return any(word.startswith(self.beginnings) for word in words) or any(status in self.statuses for status in statuses)


# The first match counts: an exhausted quota is a 429, a filtered question a 400, and an unknown model can be either.
_KINDS = (
    _Kind(ProductCode.CONTENT_REFUSED, retryable=False, beginnings=_CONTENT, statuses=_CONTENT_STATUS),
    _Kind(ProductCode.BACKEND_SETUP, retryable=False, beginnings=_SETUP, statuses=_SETUP_STATUS),
    _Kind(ProductCode.BACKEND_BUSY, retryable=True, beginnings=_BUSY, statuses=_BUSY_STATUS),
    _Kind(ProductCode.BACKEND_REFUSED, retryable=False, beginnings=_REFUSED),
)


def error_of_status(status: int, body: str, retry_after: str | None, now: datetime) -> BackendError:
    """The error for an HTTP ``status`` other than 200 with its ``body`` and the header Retry-After. ``now`` has a time zone."""
    words, statuses = error_words(_decoded(body)), {str(status)}
    kind = _kind(words, statuses)
    seconds = _seconds(retry_after, now) if kind.retryable else None
    cause = _cause(statuses, words)
    return BackendError(kind.code, f"HTTP {status}: {body}", retryable=kind.retryable, retry_after=seconds).because(cause)


def error_of_body(body: object, *, is_empty: bool) -> BackendError:
    """The error in a response with status 200.

    ``is_empty``: no output had arrived, so a retry repeats nothing. ``body`` may quote the model, so it becomes the detail, which is for
    staff only.
    """
    words = error_words(body)
    statuses = set(sorted(word for word in words if _STATUS.fullmatch(word))[:1])
    kind = _kind(words, statuses)
    detail = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    return BackendError(kind.code, detail[:MAX_DETAIL], retryable=is_empty and kind.retryable).because(_cause(statuses, words))


def _kind(words: Collection[str], statuses: Collection[str]) -> _Kind:
    found = next((kind for kind in _KINDS if kind.match(words, statuses)), None)
    if found is not None:
        return found
    if any(status[0] in "34" for status in statuses):
        is_elsewhere = any(status[0] == "3" for status in statuses)
        return _Kind(ProductCode.BACKEND_SETUP if is_elsewhere else ProductCode.BACKEND_REFUSED, retryable=False)
    return _Kind(ProductCode.BACKEND, retryable=True)


def _cause(statuses: Collection[str], words: Collection[str]) -> str:
    """The cause for admins without permission to see hidden text: the status, and known error types.

    Other words from the server are left out, because they could contain anything.
    """
    known = (*_CONTENT, *_SETUP, *_BUSY, *_REFUSED, "server_error", "internal_error", "timeout")
    named = sorted({name.rstrip("_") for name in known if any(word.startswith(name) for word in words)})
    return ", ".join([*(f"HTTP {status}" for status in sorted(statuses)), *named])


def _decoded(body: str) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _seconds(value: str | None, now: datetime) -> float | None:
    """Retry-After in seconds, from either of its two forms (RFC 9110, 10.2.3); None if it has no usable value."""
    if not value:
        return None
    if value.strip().isdecimal():
        return float(value) if len(value.strip()) < 6 else None
    try:
        then = parsedate_to_datetime(value)
        wait = (then - now).total_seconds() if then.tzinfo else -1.0
    except (ValueError, TypeError, OverflowError):
        return None
    return wait if 0 <= wait < 100_000 else None


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


def unreachable(error: httpx.HTTPError) -> BackendError:
    """There was no answer."""
    name = type(error).__name__
    if isinstance(error, httpx.TimeoutException):
        code = ProductCode.TIMEOUT
    else:
        code = ProductCode.BACKEND_UNREACHABLE if isinstance(error, httpx.ConnectError) else ProductCode.BACKEND
    return BackendError(code, f"{name}: {error}", retryable=True).because(name)


def timed_out() -> BackendError:
    """A deadline of ours has passed."""
    silent = "the server was silent, or slow, for too long"
    return BackendError(ProductCode.TIMEOUT, silent).because(silent)


def connection_lost(error: httpx.HTTPError, *, response_started: bool) -> BackendError:
    """The answer broke off."""
    if not response_started:
        return unreachable(error)
    return BackendError(Code.STREAM_TRUNCATED, f"{type(error).__name__}: {error}").because(type(error).__name__)
