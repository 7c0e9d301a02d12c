"""API errors: the specification's error object, with messages of our own that quote nothing from the request."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from django.http import JsonResponse
from django.utils import timezone

from chatui.codes import ProductCode
from chatui.env import environment
from chatui.turns.asks import AskRefusedError
from chatui.turns.streams.program import Ended
from renderer.errors import Code, ErrorCode

QUOTA = "quota_exceeded"
CONTEXT = "context_length_exceeded"
INVALID, NOT_FOUND, TOO_MANY, SERVER_ERROR, MODEL = "invalid_request", "not_found", "too_many_requests", "server_error", "model_error"


class ApiError(Exception):
    """A refused request."""

    def __init__(self, status: int, kind: str, code: str, sentence: str, *, param: str | None = None) -> None:
        super().__init__(code)
        self.status = status
        self.kind = kind
        self.code = code
        self.sentence = sentence
        """For the program's author."""
        self.param = param
        """The name of the field."""
        self.retry_after: int | None = None
        self.may_retry = True
        self.headers: dict[str, str] = {}

    def after(self, seconds: int) -> ApiError:
        """This error, with the time after which the program may ask again."""
        self.retry_after = seconds
        return self

    def body(self) -> dict[str, Any]:
        return {"message": self.sentence, "type": self.kind, "param": self.param, "code": self.code}

    def response(self, written: Mapping[str, Any] | None = None) -> JsonResponse:
        """The error as a response, if nothing was sent yet. ``written``: its body, if that is not OpenAI's."""
        response = JsonResponse(written or {"error": self.body()}, status=self.status, headers=self.headers)
        if self.retry_after is not None:
            response.headers["Retry-After"] = str(max(self.retry_after, 1))
        if self.status == 401:
            response.headers["WWW-Authenticate"] = "Bearer"
        if (self.status, self.kind) != (500, SERVER_ERROR) and self.status >= 500:
            # Django would log each as an error of its own, and mail it to the administrators. The turn's line, or that about the database,
            # says which server failed, and why.
            response._has_been_logged = True  # type: ignore[attr-defined]
        if not self.may_retry:
            response.headers["x-should-retry"] = "false"  # clients that retry respect it
        return response


def invalid(sentence: str, *, param: str | None = None, code: str = "invalid_value", status: int = 400) -> ApiError:
    return ApiError(status, INVALID, code, sentence, param=param)


def check_format(may_use: bool) -> None:
    """Raises ApiError for a key that may not use this format."""
    if not may_use:
        raise ApiError(403, INVALID, "insufficient_scope", "This key may not use this format.")


def unsupported(param: str, sentence: str) -> ApiError:
    """The error for a feature that is not supported, and must not be ignored silently."""
    return invalid(sentence, param=param, code="unsupported_value")


# The status, the type and the code of the error for each.
_KNOWN: dict[ErrorCode, tuple[int, str, str]] = {
    ProductCode.BACKEND_BUSY: (503, MODEL, "model_overloaded"),
    ProductCode.BUSY: (409, INVALID, "conversation_busy"),
    ProductCode.CONTENT_REFUSED: (400, INVALID, "content_filter"),
    ProductCode.CONVERSATION_TOO_LONG: (400, INVALID, CONTEXT),
    ProductCode.EMPTY: (400, INVALID, "empty_input"),
    ProductCode.INTERNAL: (500, SERVER_ERROR, "server_error"),
    ProductCode.NO_SUCH_MODEL: (404, NOT_FOUND, "model_not_found"),
    ProductCode.NOT_FOUND: (404, NOT_FOUND, "not_found"),
    ProductCode.QUESTION_TOO_LONG: (400, INVALID, CONTEXT),
    ProductCode.QUOTA_DAY: (429, QUOTA, "quota_exceeded"),
    ProductCode.QUOTA_MONTH: (429, QUOTA, "quota_exceeded"),
    ProductCode.RATE: (429, TOO_MANY, "rate_limit_exceeded"),
    ProductCode.SERVER_BUSY: (503, SERVER_ERROR, "server_busy"),
    ProductCode.SIGNED_OUT: (401, INVALID, "invalid_api_key"),
    ProductCode.STORAGE_FULL: (503, SERVER_ERROR, "server_busy"),
    ProductCode.TOO_LARGE: (400, INVALID, "input_too_long"),
    ProductCode.TOO_MANY: (429, TOO_MANY, "too_many_at_once"),
    Code.STREAM_TRUNCATED: (500, MODEL, "model_error"),
}
_OTHER = (500, MODEL, "model_error")


_SENTENCES: dict[ErrorCode, str] = {
    ProductCode.QUESTION_TOO_LONG: "The last message alone is too long for the model.",
    ProductCode.TOO_MANY: "Too many requests with keys of this account are answered at once, or wait for it.",
}
"""What is said instead of a sentence that only makes sense on a page."""


def of_code(code: ErrorCode | None, retry_after: int | None = None) -> ApiError:
    """The error for a product code. ``retry_after``: seconds, if a server asked to wait."""
    code = code or ProductCode.INTERNAL
    status, kind, name = _KNOWN.get(code, _OTHER)
    error = ApiError(status, kind, name, f"{_SENTENCES.get(code, code.sentence)} ({code.value})")
    error.retry_after = retry_after if retry_after is not None else 1 if status in (429, 503) else None
    return error


def of_end(ended: Ended | None, field: str) -> ApiError:
    """The error for an answer that failed. ``field``: that of the request with its messages. If the model could not read them all, it says
    how much fits."""
    error = of_code(ended.code if ended else None, ended.retry_after if ended else None)
    if error.code == CONTEXT and ended is not None:
        error.param = field
        if (context := ended.context) is not None:
            has = f", and the last message alone has about {context.used}" if context.used else ""
            error.sentence += f" About {context.size} tokens of input fit{has}."
    return error


def of_refusal(refused: AskRefusedError) -> ApiError:
    """The error for a refused question. For a usage limit it says until when, and whom to ask, and tells clients not to retry soon."""
    error = of_code(refused.code, refused.retry_after)
    if refused.until is not None:
        contact = environment().usage_contact
        error.sentence = " ".join(filter(None, (error.sentence, f"It ends at {refused.until:%Y-%m-%d %H:%M} UTC.", contact)))
        error.retry_after = math.ceil((refused.until - timezone.now()).total_seconds())
        error.may_retry = False
    return error
