"""Classifies the failures of a model server, and gives each its code and its cause.

They are told apart by status, by the server's error type, from the error object in a response body, in the forms that servers and
gateways use, and by a few words of its message, which are never quoted. Fields that a server rejects are left out of all later requests to
it. Other errors are for requests that did not reach a server, or whose answers did not arrive whole or in time.
"""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from chatui.backends.base import BackendError
from chatui.backends.sse import decoded, tables
from chatui.codes import Cause, ProductCode
from renderer.errors import Code, ErrorCode
from renderer.strict_json import object_of

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
_QUOTA = ("insufficient_quota", "billing", "budget_exceeded")
_KEY = ("invalid_api_key", "authentication", "unauthorized", "permission", "forbidden")
_MODEL = ("model_not_found", "model_not_available", "model_decommissioned", "deploymentnotfound")
_PATH = ("not_found", "notfounderror")
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
_CONTEXT = ("context_length", "exceed_context", "context_window")
_REFUSED = ("invalid_request", "invalid_prompt", "bad_request", "badrequest", "unsupported_")
_KNOWN = (*_CONTENT, *_QUOTA, *_KEY, *_MODEL, *_PATH, *_BUSY, *_CONTEXT, *_REFUSED, "server_error", "internal_error", "timeout")


@dataclass(frozen=True, slots=True)
class _Sign:
    """What a cause is told by: the ``beginnings`` of error types, a status, or ``words`` of the message at a status ``among`` these."""

    cause: Cause
    code: ProductCode
    beginnings: tuple[str, ...] = ()
    statuses: str = "-"
    words: str = ""
    among: str = ""

    def match(self, types: Collection[str], status: str, message: str) -> bool:
        if any(each.startswith(self.beginnings) for each in types if self.beginnings) or re.fullmatch(self.statuses, status):
            return True
        return bool(self.words and re.fullmatch(self.among, status) and re.search(self.words, message, re.IGNORECASE))


_NO_MODEL = (
    r"try pulling|\bmodel\b[^{}]{0,200}?(?:not found|not exist|not available|not loaded)"
    r"|(?:unknown|no such|invalid|not find|not have)(?: the)? model"
)
_NO_MEMORY = (
    r"out of memory|outofmemory|\boom\b|(?:not enough|insufficient) (?:\w+ )?memory|more (?:\w+ )?memory (?:\([^)]*\) )?than"
    r"|failed to allocate|cannot allocate memory|unable to allocate"
)
_NO_ROOM = r"^failed to load model\b.{0,200}\binsufficient system resources"
_NO_UPSTREAM = r"^(?:no healthy upstream|upstream connect error|no available server)|no server is available to handle"
# The first match counts: an exhausted quota is a 429, a filtered question a 400, and an unknown model can be either.
_SIGNS = (
    _Sign(Cause.CONTENT_RULES, ProductCode.CONTENT_REFUSED, _CONTENT, "451"),
    _Sign(Cause.REDIRECTED, ProductCode.BACKEND_SETUP, statuses="3.."),
    _Sign(
        Cause.WRONG_SCHEME, ProductCode.BACKEND_SETUP, words=r"plain http request|http request to an https|plain http to an", among="400"
    ),
    _Sign(Cause.PROXY, ProductCode.BACKEND_SETUP, statuses="407"),
    _Sign(Cause.QUOTA, ProductCode.BACKEND_SETUP, _QUOTA, "402", r"quota|credit|billing|balance", "403"),
    _Sign(Cause.KEY_REFUSED, ProductCode.BACKEND_SETUP, _KEY, "401|403", r"\bapi key\b", "400"),
    _Sign(Cause.MODEL_UNKNOWN, ProductCode.BACKEND_SETUP, _MODEL, words=_NO_MODEL, among="400|404|422"),
    _Sign(Cause.WEB_PAGE, ProductCode.BACKEND_SETUP, words=r"^\s*<(?:!doctype|html)", among="404|405"),
    _Sign(Cause.KIND_NOT_SPOKEN, ProductCode.BACKEND_SETUP, _PATH, "404|405|410|421|426|501", r"^unexpected endpoint", ""),
    _Sign(Cause.GATEWAY, ProductCode.BACKEND, words=_NO_UPSTREAM, among="503"),
    _Sign(Cause.LOADING, ProductCode.BACKEND_BUSY, words=r"\bload(?:ing|ed)\b|warming up|starting up", among="503"),
    _Sign(Cause.BUSY, ProductCode.BACKEND_BUSY, _BUSY, "429|503|529"),
    _Sign(Cause.CONTEXT_EXCEEDED, ProductCode.BACKEND_REFUSED, _CONTEXT),
    _Sign(Cause.OUT_OF_MEMORY, ProductCode.BACKEND, words=_NO_MEMORY, among="5..|"),
    _Sign(Cause.OUT_OF_MEMORY, ProductCode.BACKEND, words=_NO_ROOM, among="400"),
    _Sign(Cause.TOO_LARGE, ProductCode.BACKEND_REFUSED, statuses="413"),
    _Sign(Cause.REFUSED, ProductCode.BACKEND_REFUSED, _REFUSED, "4.."),
    _Sign(Cause.GATEWAY, ProductCode.BACKEND, statuses="502|504|52[0-7]|530"),
    _Sign(Cause.FAILED, ProductCode.BACKEND, statuses=".*"),
)
_NEEDS_MODEL = re.compile(
    r"^model\b|\bmodel\b.{0,30}\b(?:required|missing|empty|not specified)|\b(?:provide|specify|missing|no|requires?)\b.{0,12}\bmodel\b",
    re.IGNORECASE,
)
_RETRYABLE = (ProductCode.BACKEND, ProductCode.BACKEND_BUSY)
_ENDPOINT = re.compile(r"/(?:chat/completions|completions?|responses|messages|generate|models)/v1/")
"""What follows the configured address in the path of a request, if the address is already that of an endpoint."""


def error_of_status(status: int, body: str, retry_after: str | None, now: datetime) -> BackendError:
    """The error for an HTTP ``status`` other than 200 with its ``body`` and the header Retry-After. ``now`` has a time zone."""
    error = _error(decoded(body), str(status), _message_of(body), f"HTTP {status}: {body}")
    error.retry_after = _seconds(retry_after, now) if error.retryable else None
    return error


def blame_request(error: BackendError, body: str, path: str, *, names_model: bool) -> BackendError:
    """The same error, or with a cause that only the request shows: its ``path`` has two endpoints, or it lacks a model that is needed."""
    if error.cause in (Cause.WEB_PAGE, Cause.KIND_NOT_SPOKEN, Cause.REDIRECTED) and _ENDPOINT.search(path):
        error.cause = Cause.ADDRESS_OF_ENDPOINT
    elif not names_model and error.cause in (Cause.MODEL_UNKNOWN, Cause.REFUSED) and _NEEDS_MODEL.search(_message_of(body)):
        error.code, error.cause = ProductCode.BACKEND_SETUP, Cause.NO_MODELS
    return error


def error_of_body(body: object, *, is_empty: bool) -> BackendError:
    """The error in a response with status 200.

    ``is_empty``: no output had arrived, so a retry repeats nothing. ``body`` may quote the model, so it becomes the detail, which is for
    staff only.
    """
    detail = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    status = next((word for word in sorted(error_words(body)) if _STATUS.fullmatch(word)), "")
    error = _error(body, status, body[:_MAX_READ] if isinstance(body, str) else _message(body), detail[:MAX_DETAIL])
    error.retryable &= is_empty
    return error


def _error(body: object, status: str, message: str, detail: str) -> BackendError:
    types = error_words(body)
    sign = next(sign for sign in _SIGNS if sign.match(types, status, message))
    error = BackendError(sign.code, detail, retryable=sign.code in _RETRYABLE).with_cause(sign.cause, _seen(status, types))
    error.status = status
    return error


def _message_of(body: str) -> str:
    found = decoded(body)
    return body[:_MAX_READ] if found is None else _message(found)


def _message(body: object) -> str:
    """The beginning of the server's own words, in which a cause may be recognized. They are never passed on."""
    return next((f"{field} {words}".strip() for field, words in _complaints_of(body) if words), "")


def _seen(status: str, types: Collection[str]) -> str:
    """The evidence for admins without permission to see hidden text: the status, and known error types.

    Other words from the server are left out, because they could contain anything.
    """
    named = sorted({name.rstrip("_") for name in _KNOWN if any(word.startswith(name) for word in types)})
    return ", ".join([*([f"HTTP {status}"] if status else []), *named])


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
    """The ``names`` of the fields that one server has rejected. ``without`` returns a request that it may accept; ``learn`` reads a
    refusal.
    """

    def __init__(self) -> None:
        self.names: list[str] = []

    def without(self, payload: Mapping[str, object]) -> dict[str, Any]:
        reduced = dict(payload)
        for name in self.names:
            _remove(reduced, name)
        return reduced

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
        if found is not None and found not in self.names:
            self.names.append(found)
        return found


def _complaints(body: str) -> Iterator[tuple[str, str]]:
    """For each object of an error, the field that it names and the beginning of its message."""
    found = decoded(body)
    if found is None:
        yield "", body[:_MAX_READ]
    else:
        yield from _complaints_of(found)


def _complaints_of(body: object) -> Iterator[tuple[str, str]]:
    # Pydantic's format is a list of problems, each with its location.
    for each in [*error_objects(body), *tables(object_of(body).get("detail"))]:
        place = each.get("loc")
        field = ".".join(str(part) for part in place if part != "body") if isinstance(place, list) else each.get("param")
        words = " ".join(text[:_MAX_READ] for name in _MESSAGE_FIELDS if isinstance(text := each.get(name), str))
        yield field if isinstance(field, str) else "", words


def _is_about(complaints: tuple[str, str], name: str) -> bool:
    field, words = complaints
    if not _REJECTS.search(words):
        return False
    return field == name if field else re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.]*\w)", words) is not None


def _holds(payload: Mapping[str, object], name: str) -> bool:
    """Whether a request has the field. A name with a full stop, such as ``reasoning.summary``, is that of a field inside another."""
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


_NOT_REACHED = {
    "CERTIFICATE_VERIFY_FAILED": Cause.CERTIFICATE,
    "SSL|TLS": Cause.WRONG_SCHEME,
    "the proxy": Cause.PROXY,
    "[Nn]ame or service|[Nn]ame resolution|nodename|getaddrinfo|[Nn]o address": Cause.NAME_UNKNOWN,
    rf"refused|Errno {errno.ECONNREFUSED}\b": Cause.NOTHING_LISTENS,
}
_TLS_RECORD = re.compile(r"\\x1[56]\\x03")
"""The beginning of an answer in TLS, as it is quoted by the parser of HTTP."""


def lost(name: str, message: str, *, has_begun: bool = False) -> BackendError:
    """The error for a request that did not reach a server, or whose answer did not arrive whole or in time.

    ``name``: what the transport calls it, such as ``ConnectError``; ``message``: what it says about it. ``has_begun``: events had come.
    """
    if name == "ReadTimeout":
        return BackendError(ProductCode.TIMEOUT, "the server was silent, or slow, for too long").with_cause(Cause.SILENT)
    code: ErrorCode = ProductCode.BACKEND
    cause = Cause.WRONG_SCHEME if _TLS_RECORD.search(message) else Cause.BROKEN_OFF
    if has_begun:
        code, cause = Code.STREAM_TRUNCATED, Cause.BROKEN_OFF
    elif name == "ConnectTimeout":
        code, cause = ProductCode.TIMEOUT, Cause.UNREACHABLE
    elif name == "ConnectError":
        cause = next((known for sign, known in _NOT_REACHED.items() if re.search(sign, message)), Cause.UNREACHABLE)
        code = ProductCode.BACKEND_UNREACHABLE if cause.may_pass else ProductCode.BACKEND_SETUP
    is_vague = cause in (Cause.UNREACHABLE, Cause.BROKEN_OFF)
    return BackendError(code, f"{name}: {message}", retryable=not has_begun).with_cause(cause, name if is_vague else "")
