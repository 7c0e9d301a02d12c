"""Classifies failures by status and by the server's error type, and gives each its code and its cause."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime

from chatui.backends.base import BackendError
from chatui.backends.failures.bodies import error_words
from chatui.codes import ProductCode

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
