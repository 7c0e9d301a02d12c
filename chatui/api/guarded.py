"""Authenticates a program by its key, and returns each error in the API's format. Cookies are ignored here."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any
from uuid import uuid4

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from chatui.accounts.api_keys import checking
from chatui.accounts.api_keys.checking import KeyRefusedError, LiveKey
from chatui.api.errors import NOT_FOUND, SERVER_ERROR, TOO_MANY, ApiError, invalid, of_code, of_refusal
from chatui.database import pools
from chatui.database.faults import FAULTS, DatabaseBusyError, busy_error, is_transient
from chatui.env import environment
from chatui.error_reports import log_without_content
from chatui.guess_limits import MustWaitError
from chatui.permissions.access import NotFoundError
from chatui.throttle import ThrottledError
from chatui.turns.start import AskRefusedError

log = logging.getLogger(__name__)

Handler = Callable[..., Awaitable[HttpResponseBase]]


def endpoint(**handlers: Handler) -> Callable[..., Any]:
    """A view with a handler for each method. A handler takes the request and its key."""
    methods: Mapping[str, Handler] = {name.upper(): handler for name, handler in handlers.items()}

    @csrf_exempt
    @wraps(next(iter(handlers.values())))
    async def view(request: HttpRequest, **named: Any) -> HttpResponseBase:
        try:
            return await _answered(request, methods, named)
        except ApiError as error:
            return error.response()
        except Exception as error:  # noqa: BLE001 - the program gets an error object for any exception, without its text
            return failed(error).response()

    view.handlers = methods  # type: ignore[attr-defined] # for the description of the API
    return view


async def _answered(request: HttpRequest, methods: Mapping[str, Handler], named: dict[str, Any]) -> HttpResponseBase:
    if not environment().api:
        raise ApiError(404, NOT_FOUND, "not_found", "There is no such address.")
    with errors():
        key = await _key(request)
        handler = methods.get(request.method or "")
        if handler is None:
            raise invalid("This address does not know this method.", code="method_not_allowed", status=405)
        return await handler(request, key, **named)


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
        raise _too_often("Too many wrong keys came from this address.", wait.seconds) from None
    except ThrottledError:
        raise _too_often("This key has asked too often within a minute.", checking.WINDOW_SECONDS) from None


def _busy(error: Exception) -> ApiError:
    """The error for a transient fault. Other faults are raised again, as unexpected."""
    if isinstance(error, DatabaseBusyError):
        return of_code(error.code)
    if not is_transient(error):
        raise error
    log.warning("a program was told to come again: the database could not be used (%s)", type(error).__name__)
    return of_code(busy_error(error).code)


def _too_often(sentence: str, seconds: int) -> ApiError:
    error = ApiError(429, TOO_MANY, "rate_limit_exceeded", sentence)
    error.retry_after = seconds
    return error


async def _key(request: HttpRequest) -> LiveKey:
    kind, _, text = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() != "bearer" or not text:
        raise ApiError(401, "invalid_request", "missing_api_key", "Send your key as a bearer token (Authorization: Bearer …).")
    return await pools.commands.run(checking.admit, text.strip(), request.META.get("REMOTE_ADDR") or "")


def failed(error: Exception) -> ApiError:
    """The error for an unexpected exception. It is logged without its text, under the incident number in the response."""
    incident = uuid4()
    log_without_content(log, incident, error)
    return ApiError(500, SERVER_ERROR, "server_error", f"Something went wrong on our side. Incident {incident}.")
