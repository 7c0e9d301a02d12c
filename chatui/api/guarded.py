"""Authenticates a program by its key, reads its JSON body, and returns each error in the API's format.

Cookies are ignored here. The size of a body and the number of its values are limited.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial, wraps
from typing import Any, TypeVar

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from pydantic import BaseModel, ValidationError

from chatui.accounts import api_keys
from chatui.accounts.api_keys import KeyRefusedError, KeyThrottledError, LiveKey
from chatui.api import reasoning_access, request_parts
from chatui.api.errors import NOT_FOUND, SERVER_ERROR, TOO_MANY, ApiError, invalid, of_code, of_refusal
from chatui.api.messages_errors import ADDRESS, body_for
from chatui.database import pools
from chatui.database.faults import FAULTS, DatabaseBusyError, busy_error, is_transient
from chatui.env import environment
from chatui.guesses import MustWaitError
from chatui.limits import ThrottledError
from chatui.observability.error_reports import log_without_content
from chatui.observability.request_ids import request_id
from chatui.permissions.access import NotFoundError
from chatui.turns.asks import storable
from chatui.turns.start import AskRefusedError
from renderer.strict_json import TooManyValuesError, loads_bounded

log = logging.getLogger(__name__)

Handler = Callable[..., Awaitable[HttpResponseBase]]
Counted = list[LiveKey | KeyThrottledError]
"""The key of a request, once it is known to be valid; or, last, that it has been used too often."""


def endpoint(**handlers: Handler) -> Callable[..., Any]:
    """A view with a handler for each method. A handler takes the request and its key."""
    methods: Mapping[str, Handler] = {name.upper(): handler for name, handler in handlers.items()}
    view = wraps(next(iter(handlers.values())))(_view(methods, partial(_answered, methods)))
    view.handlers = methods  # type: ignore[attr-defined] # for the description of the API
    return view


def nowhere(refusal: Callable[[str], ApiError]) -> Callable[..., Any]:
    """A view for addresses that are not served, with any method. ``refusal``: the error for an ``address``, which needs no key."""

    async def refused(request: HttpRequest, named: dict[str, Any], known: Counted) -> HttpResponseBase:
        if key_in(_headers(request)):
            with errors(), suppress(KeyRefusedError):
                key = await _admitted(request, known)
                if request.content_type == "application/json" and request.method not in ("GET", "HEAD"):
                    with suppress(ApiError):  # whatever is wrong with its body, nothing is here
                        await body_of(request, key)
        raise refusal(named.get("address", ""))

    return _view({}, refused)


_Answer = Callable[[HttpRequest, dict[str, Any], Counted], Awaitable[HttpResponseBase]]


def _view(methods: Mapping[str, Handler], answer: _Answer) -> Callable[..., Any]:
    """``answer`` appends to the list that it is given."""

    @csrf_exempt
    async def view(request: HttpRequest, **named: Any) -> HttpResponseBase:
        known: Counted = []
        try:
            if not environment().api:
                raise ApiError(404, NOT_FOUND, "not_found", "There is no such address.")
            response = _preflight(methods) if request.method == "OPTIONS" else await answer(request, named, known)
        except ApiError as error:
            response = error.response(body_for(request, error))
        except Exception as error:  # noqa: BLE001 - the program gets an error object for any exception, without its text
            known_error = failed(error)
            response = known_error.response(body_for(request, known_error))
        named_id = {"request-id": request_id.get()}  # Anthropic's name for x-request-id
        rate = rate_of(known[-1], is_for_messages=request.path.startswith(ADDRESS)) if known else {}
        for name, value in {**named_id, **rate, **shared_with(request)}.items():
            response.headers.setdefault(name, value)  # a handler that counted more has said so
        return _without_body(response) if request.method == "HEAD" else response

    return view


def _allowed(methods: Iterable[str]) -> str:
    return ", ".join(sorted({*methods, "OPTIONS", *(["HEAD"] if "GET" in methods else [])}))


def _preflight(methods: Mapping[str, Handler]) -> HttpResponseBase:
    """The reply to OPTIONS, which needs no key: a browser asks so before it sends one."""
    return HttpResponse(status=204, headers={"Allow": _allowed(methods)})


LIMIT, REMAINING, RESET = "x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"
OF_MESSAGES = {LIMIT: "anthropic-ratelimit-requests-limit", REMAINING: "anthropic-ratelimit-requests-remaining"}
RESET_OF_MESSAGES = "anthropic-ratelimit-requests-reset"
RATES = (LIMIT, REMAINING, RESET, *OF_MESSAGES.values(), RESET_OF_MESSAGES)
EXPOSED = ", ".join(("Retry-After", "request-id", "x-request-id", "x-chatui-ignored", "x-should-retry", *RATES))
_NAMES_OF_HEADERS = re.compile(r"[A-Za-z0-9-]{1,60}(?: *, *[A-Za-z0-9-]{1,60}){0,40}")


def shared_with(request: HttpRequest) -> dict[str, str]:
    """The headers with which a browser lets a page of another origin ask, and read the reply, if the operator allows that origin. Never
    with cookies, which mean nothing here: the page has a key."""
    origin = request.headers.get("Origin", "")
    if not origin or not environment().api_origins:
        return {}
    headers = {"Vary": "Origin"}
    if origin in environment().api_origins:
        headers |= {"Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": EXPOSED}
        if request.method == "OPTIONS":
            asked = request.headers.get("Access-Control-Request-Headers", "")
            names = asked if _NAMES_OF_HEADERS.fullmatch(asked) else "Authorization, Content-Type"
            headers |= {"Access-Control-Allow-Methods": "GET, POST, DELETE", "Access-Control-Allow-Headers": names}
            headers["Access-Control-Max-Age"] = "600"
    return headers


def _without_body(response: HttpResponseBase) -> HttpResponseBase:
    headers = {name: value for name, value in response.headers.items() if name != "Content-Length"}
    length = None if response.streaming else len(response.content)  # type: ignore[attr-defined]
    response.close()
    return HttpResponse(status=response.status_code, headers=headers | ({"Content-Length": str(length)} if length is not None else {}))


def rate_of(key: LiveKey | KeyThrottledError, *, is_for_messages: bool = False) -> dict[str, str]:
    """The headers that say how many requests the key may make within a minute, how many more within this one, and when that ends: as
    OpenAI's servers write a duration (``59s``, ``1m0s``), in Anthropic's format as a time. While requests cannot be counted only the first
    is known. There is no limit of tokens within a minute, so there is no header about one."""
    found = {LIMIT: str(key.per_minute)}
    if key.used:
        minutes, seconds = divmod(key.seconds, 60)
        found |= {REMAINING: str(max(key.per_minute - key.used, 0)), RESET: f"{minutes}m{seconds}s" if minutes else f"{seconds}s"}
    if is_for_messages:
        found |= {name: found[same] for same, name in OF_MESSAGES.items() if same in found}
        if key.used:
            found[RESET_OF_MESSAGES] = f"{timezone.now() + timedelta(seconds=key.seconds):%Y-%m-%dT%H:%M:%SZ}"
    return found


async def _answered(methods: Mapping[str, Handler], request: HttpRequest, named: dict[str, Any], known: Counted) -> HttpResponseBase:
    with errors():
        key = await _admitted(request, known)
        handler = methods.get("GET" if request.method == "HEAD" else request.method or "")
        if handler is None:
            refused = invalid("This address does not know this method.", code="method_not_allowed", status=405)
            refused.headers["Allow"] = _allowed(methods)
            raise refused
        try:
            return await handler(request, key, **named)
        except KeyThrottledError as throttled:
            known.append(throttled)
            raise


async def _admitted(request: HttpRequest, known: Counted) -> LiveKey:
    """The key of a request, which is appended to ``known``. If the query asks for what it may not read, that is recorded."""
    try:
        key = await _key(request)
    except KeyThrottledError as throttled:
        known.append(throttled)
        raise
    known.append(key)
    await reasoning_access.record_if_asked(reasoning_access.address_of(request), key, reasoning_access.fields_of_query(request.GET))
    return key


@contextmanager
def errors() -> Iterator[None]:
    """Converts the product's exceptions into API errors."""
    try:
        yield
    except NotFoundError:
        raise ApiError(404, NOT_FOUND, "not_found", "There is no such response, or it is not yours.") from None
    except AskRefusedError as error:
        raise of_refusal(error) from None
    except (DatabaseBusyError, *FAULTS) as error:
        raise _busy(error) from None
    except KeyRefusedError:
        raise ApiError(401, "invalid_request", "invalid_api_key", "This key does not work (any more).") from None
    except MustWaitError as wait:
        raise ApiError(429, TOO_MANY, "rate_limit_exceeded", "Too many wrong keys came from this address.").after(wait.seconds) from None
    except ThrottledError as error:
        sentence = "This key has asked too often within a minute."
        raise ApiError(429, TOO_MANY, "rate_limit_exceeded", sentence).after(error.seconds or api_keys.WINDOW_SECONDS) from None


def _busy(error: Exception) -> ApiError:
    """The error for a transient fault. Other faults are raised again, as unexpected."""
    if isinstance(error, DatabaseBusyError):
        return of_code(error.code)
    if not is_transient(error):
        raise error
    log.warning("a program was told to come again: the database could not be used (%s)", type(error).__name__)
    return of_code(busy_error(error).code)


async def _key(request: HttpRequest) -> LiveKey:
    text = key_in(_headers(request))
    if not text:
        raise ApiError(401, "invalid_request", "missing_api_key", "Send your key as a bearer token (Authorization: Bearer …).")
    return await pools.commands.run(api_keys.admit, text, request.META.get("REMOTE_ADDR") or "")


def _headers(request: HttpRequest) -> dict[str, str]:
    return {name.lower(): value for name, value in request.headers.items()}


KEY_HEADERS = ("x-api-key", "api-key")
"""Other headers for a key, as clients of other services send it. It is the same key with the same rights."""


def key_in(headers: Mapping[str, str]) -> str:
    """The text of the key in these headers, by lower-case names; empty if there is none. A bearer token comes first."""
    kind, _, text = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and text.strip():
        return text.strip()
    return next((value for name in KEY_HEADERS if (value := headers.get(name, "").strip())), "")


def failed(error: Exception) -> ApiError:
    """The error for an unexpected exception. It is logged without its text, under the id of the request, which the response names."""
    log_without_content(log, None, error)
    return ApiError(500, SERVER_ERROR, "server_error", f"Something went wrong on our side. Request {request_id.get()}.")


Model = TypeVar("Model", bound=BaseModel)

MIB = 1024 * 1024
LENGTH_DIGITS = 15
"""Python refuses to parse numbers with thousands of digits."""

_SUSPECT = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])|\xed[\xa0-\xbf]|\x00")
"""Matches bodies that may contain NUL or lone surrogates, or are not UTF-8.

Only then every text is checked: a mebibyte can contain many.
"""


MAX_JSON_MARKS = 100_000
"""The most strings, commas and brackets in a body. Bodies are read on the event loop, and a mebibyte of empty lists takes half a second."""

_PICTURE = re.compile(rb'("(?:image_)?url"\s*:\s*"data:image/)[\w.+-]{1,40};base64,(?:[A-Za-z0-9+/=]++|\\[/u])*+"')
"""A picture in a body. It becomes a note for the model, so its bytes are dropped before anything else is done with them.
An escaped quotation mark does not end it: what a text contains must not become fields of the body."""
_BASE64 = rb"(?:[A-Za-z0-9+/=]++|\\/)*+"
_TYPE = rb'"media_type"\s*:\s*"image/[\w.+-]{1,40}"\s*,\s*'
_KIND = rb'(?:"type"\s*:\s*"base64"\s*,\s*)?'
_SOURCES = (
    re.compile(rb"(" + _TYPE + _KIND + rb'"data"\s*:\s*")' + _BASE64 + rb'(?=")'),
    re.compile(rb'("data"\s*:\s*")' + _BASE64 + rb'(?="\s*,\s*' + _KIND + rb'"media_type"\s*:\s*"image/)'),
)
"""The same in Anthropic's format, whose pictures are objects with a type and data, in any order."""


async def body_of(request: HttpRequest, key: LiveKey) -> dict[str, Any]:
    """As ``json_of``. If the body asks for raw reasoning that the key may not read, that is recorded, whatever else is wrong with it."""
    body = json_of(request)
    if not reasoning_access.asks_for_reasoning(request):  # a query that asks was recorded
        await reasoning_access.record_if_asked(reasoning_access.address_of(request), key, body)
    return body


def json_of(request: HttpRequest) -> dict[str, Any]:
    """The JSON object in a request. The length is checked before the body is read.

    Raises:
        ApiError: it is not a JSON object, or too long.
    """
    if request.content_type != "application/json":
        raise invalid("The body has to be application/json.", code="unsupported_media_type", status=415)
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise invalid("The body has to be sent as it is, not compressed.", code="unsupported_media_type", status=415)
    most = environment().api_body_mb * MIB
    length = request.META.get("CONTENT_LENGTH") or "0"  # none: it came in chunks
    # Read without Django's own limit, which is that of forms. The server keeps no more than a little over this one.
    body = request.read(most + 1) if length.isdecimal() and len(length) < LENGTH_DIGITS and int(length) <= most else None
    if body is None or len(body) > most:
        raise invalid(f"The body may have {most} bytes.", code="body_too_large", status=413)
    return read_json(_without_pictures(body))


def _without_pictures(body: bytes) -> bytes:
    if b"data:image/" in body:
        body = _PICTURE.sub(rb'\1png;base64,"', body)
    if b'"media_type"' in body:
        for source in _SOURCES:
            body = source.sub(rb"\1", body)
    return body


def read_json(body: bytes) -> dict[str, Any]:
    """The JSON object in ``body``. Raises ApiError if it is not one, or has too many values."""
    try:
        found = loads_bounded(body, MAX_JSON_MARKS)
        found = storable(found) if _SUSPECT.search(body) else found
    except TooManyValuesError:
        raise invalid("The body has too many values.", code="body_too_large", status=413) from None
    except (ValueError, RecursionError):
        raise invalid("The body is not valid JSON.", code="invalid_json") from None
    if not isinstance(found, dict):
        raise invalid("The body has to be a JSON object.", code="invalid_json")
    return found


_ADDED = ("str", "list[any]", "[key]")
"""What pydantic adds to the place of a value: which of several types it tried, or that the name itself is wrong."""


def checked(model: type[Model], body: dict[str, Any]) -> Model:
    """The body as a request of its format. Raises ApiError with the first invalid field."""
    try:
        return model.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field, *inner = (part for part in first["loc"][:3] if part not in _ADDED)
        param = f"{field}{''.join(f'[{part}]' if isinstance(part, int) else f'.{request_parts.safe_name(part)}' for part in inner)}"
        raise invalid(f"{param}: {first['msg']}.", param=param) from None
