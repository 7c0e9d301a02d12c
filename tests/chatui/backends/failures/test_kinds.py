"""Classifying a server's status and error message, for any product."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from chatui.backends.failures import error_of_body, error_of_status
from chatui.codes import ProductCode

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
SETUP, BUSY, CONTENT = ProductCode.BACKEND_SETUP, ProductCode.BACKEND_BUSY, ProductCode.CONTENT_REFUSED
REFUSED, OTHER = ProductCode.BACKEND_REFUSED, ProductCode.BACKEND
QUOTED = "SECRET rate_limit invalid_api_key content_filter"


def body(**error: object) -> dict[str, object]:
    return {"error": {"message": QUOTED, **error}}


CASES: list[tuple[int, object, ProductCode, bool, str]] = [
    (401, body(code="invalid_api_key", type="invalid_request_error"), SETUP, False, "HTTP 401, invalid_api_key, invalid_request"),
    (403, "Forbidden", SETUP, False, "HTTP 403"),
    (404, body(code=404, type="NotFoundError"), SETUP, False, "HTTP 404, notfounderror"),
    (400, body(code="model_not_found"), SETUP, False, "HTTP 400, model_not_found"),
    (429, body(code="insufficient_quota", type="insufficient_quota"), SETUP, False, "HTTP 429, insufficient_quota"),
    (307, "", SETUP, False, "HTTP 307"),
    (429, body(type="tokens", code="rate_limit_exceeded"), BUSY, True, "HTTP 429, rate_limit"),
    (503, body(code=503, type="unavailable_error"), BUSY, True, "HTTP 503, unavailable"),
    (529, body(type="overloaded_error"), BUSY, True, "HTTP 529, overloaded"),
    (400, body(code="content_filter", innererror={"code": "ResponsibleAIPolicyViolation"}), CONTENT, False, ""),
    (400, body(code="content_policy_violation"), CONTENT, False, "HTTP 400, content_policy"),
    (451, "", CONTENT, False, "HTTP 451"),
    (400, body(type="invalid_request_error"), REFUSED, False, "HTTP 400, invalid_request"),
    (422, {"detail": [{"msg": QUOTED}]}, REFUSED, False, "HTTP 422"),
    (413, "<html>", REFUSED, False, "HTTP 413"),
    (500, body(type="server_error"), OTHER, True, "HTTP 500, server_error"),
    (502, "<html>Bad gateway", OTHER, True, "HTTP 502"),
]


@pytest.mark.parametrize(("status", "message", "code", "may_retry", "cause"), CASES)
def test_a_refusal_is_classified_by_status_and_message(
    status: int, message: object, code: ProductCode, may_retry: bool, cause: str
) -> None:
    error = error_of_status(status, message if isinstance(message, str) else json.dumps(message), None, NOW)
    assert (error.code, error.retryable) == (code, may_retry)
    assert not cause or error.cause == cause
    assert error.detail.startswith(f"HTTP {status}: ")


@pytest.mark.parametrize(("status", "message", "code", "may_retry", "cause"), [case for case in CASES if isinstance(case[1], dict)])
@pytest.mark.parametrize("is_empty", [True, False])
def test_the_same_message_inside_a_stream_means_the_same(
    status: int, message: object, code: ProductCode, may_retry: bool, cause: str, is_empty: bool
) -> None:
    described = message["error"] if isinstance(message, dict) and isinstance(message.get("error"), dict) else {}
    error = error_of_body({**described, "status": status, "code": described.get("code", status)}, is_empty=is_empty)
    assert (error.code, error.retryable) == (code, may_retry and is_empty)


@pytest.mark.parametrize(
    "message", ["SECRET", "", [], ["SECRET"], None, 7, {"message": QUOTED}, {"code": True}, {"code": "SECRET"}, {"type": []}]
)
def test_an_unclassified_error_is_a_server_failure_and_quotes_nothing(message: object) -> None:
    error = error_of_body(message, is_empty=True)
    assert (error.code, error.retryable) == (OTHER, True)
    assert "SECRET" not in error.cause


def test_the_cause_has_only_the_products_own_words() -> None:
    error = error_of_status(400, json.dumps(body(code="rate_limit_because_the_SECRET_is_42", type="SECRET")), None, NOW)
    assert error.cause == "HTTP 400, rate_limit"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        (" 30 ", 30.0),
        ((NOW + timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S GMT"), 90.0),
        ((NOW - timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S GMT"), None),
        ("Fri, 99 Nov 2026 12:00:00 GMT", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("9" * 40, None),
        ("", None),
        (None, None),
    ],
)
def test_only_the_two_forms_of_retry_after_are_read(header: str | None, seconds: float | None) -> None:
    assert error_of_status(503, "", header, NOW).retry_after == seconds
    assert error_of_status(401, "", header, NOW).retry_after is None


def test_the_cause_contains_no_digits_of_the_server_except_a_status() -> None:
    error = error_of_body({"error": {"code": 742, "type": "913", "error_type": "006"}}, is_empty=True)
    assert error.cause == ""
    assert error_of_body({"error": {"code": 503, "type": "429"}}, is_empty=True).cause == "HTTP 429"
