"""Authenticates a program by its key, and returns each error in the API's format. Cookies are ignored here."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial, wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from chatui.accounts import key_admission
from chatui.accounts.key_admission import KeyRefusedError, KeyThrottledError, LiveKey
from chatui.api import reasoning_access
from chatui.api.bodies import body_of
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
from chatui.turns.start import AskRefusedError

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
        if key_in(request.headers):
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
        raise ApiError(429, TOO_MANY, "rate_limit_exceeded", sentence).after(error.seconds or key_admission.WINDOW_SECONDS) from None


def _busy(error: Exception) -> ApiError:
    """The error for a transient fault. Other faults are raised again, as unexpected."""
    if isinstance(error, DatabaseBusyError):
        return of_code(error.code)
    if not is_transient(error):
        raise error
    log.warning("a program was told to come again: the database could not be used (%s)", type(error).__name__)
    return of_code(busy_error(error).code)


async def _key(request: HttpRequest) -> LiveKey:
    text = key_in(request.headers)
    if not text:
        raise ApiError(401, "invalid_request", "missing_api_key", "Send your key as a bearer token (Authorization: Bearer …).")
    return await pools.commands.run(key_admission.admit, text, request.META.get("REMOTE_ADDR") or "")


KEY_HEADERS = ("x-api-key", "api-key")
"""Other headers for a key, as clients of other services send it. It is the same key with the same rights."""


def key_in(headers: Mapping[str, str]) -> str:
    """The text of the key in these headers, which are asked for by lower-case names; empty if there is none. A bearer token comes first."""
    kind, _, text = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and text.strip():
        return text.strip()
    return next((value for name in KEY_HEADERS if (value := headers.get(name, "").strip())), "")


def failed(error: Exception) -> ApiError:
    """The error for an unexpected exception. It is logged without its text, under the id of the request, which the response names."""
    log_without_content(log, None, error)
    return ApiError(500, SERVER_ERROR, "server_error", f"Something went wrong on our side. Request {request_id.get()}.")
