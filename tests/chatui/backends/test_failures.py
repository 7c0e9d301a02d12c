"""A server's failures: classifying its status and error message, for any product, and omitting the request fields that it rejects.

Rejected fields are omitted from then on, with one log line; no other field is ever given up.
"""

import asyncio
import contextlib
import json
import logging
import re
import socket
import ssl
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chatui.backends import registry
from chatui.backends.base import BackendError, Endpoint
from chatui.backends.failures import OPTIONAL
from chatui.backends.http import Upstream
from chatui.backends.route import Route
from chatui.codes import Cause, ProductCode
from tests.chatui.backends.faults import FAULTS
from tests.support import stub
from tests.support.limits import set_limits
from tests.support.places import ROOT
from tests.support.sampling import PATIENT, outcome, sample_request
from tests.support.several import constant_answer

PAYLOAD: dict[str, object] = {
    "model": "m",
    "messages": [],
    "max_tokens": 5,
    "temperature": 0.5,
    "top_p": 1,
    "stream_options": {},
    "reasoning": {"effort": "low", "summary": "auto"},
}


PATH = "/v1/chat/completions"


async def refused(
    status: int, message: object, *headers: str, path: str = PATH, payload: Mapping[str, object] | None = None
) -> BackendError:
    """What becomes of an answer with another status than 200, and with these headers."""
    text = message if isinstance(message, str) else json.dumps(message)
    more = "".join(f"{header}\r\n" for header in headers)
    async with stub.running(stub.responds(f"{status} Said", text.encode(), f"Connection: close\r\n{more}")) as server:
        upstream = Upstream(server.url, None, PATIENT)
        with pytest.raises(BackendError) as caught:
            await upstream.post(path, payload or {"model": "m"})
        await upstream.aclose()
    return caught.value


async def said_in_stream(message: object, *, is_empty: bool = True) -> BackendError:
    """What becomes of an error in a stream with status 200. ``is_empty``: nothing came before it."""
    before = b"" if is_empty else stub.chunk(content="Hi")
    async with stub.running(
        stub.plays(before + b"data: " + json.dumps({"object": "error", "error": message}).encode() + b"\n\n")
    ) as server:
        backend = registry.build(Endpoint(server.url, model="m", limits=PATIENT, separates="always"), kind="chat")
        result = await outcome(backend, sample_request("Hello!"))
        await backend.aclose()
    assert result.error is not None
    return result.error


@pytest.fixture(autouse=True)
def asks_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.backends", PAUSES=(0.0, 0.0))


@pytest.mark.parametrize(
    ("body", "status", "name"),
    [
        ({"error": {"message": "Unrecognized request argument supplied: stream_options", "param": None}}, 400, "stream_options"),
        ({"error": {"message": "Unsupported parameter", "param": "top_p"}}, 400, "top_p"),
        ({"error": {"message": "Unknown parameter: 'reasoning.summary'.", "param": "reasoning.summary"}}, 400, "reasoning.summary"),
        ({"detail": [{"type": "extra_forbidden", "loc": ["body", "temperature"], "msg": "not it"}]}, 422, "temperature"),
        ('unknown field "temperature"', 400, "temperature"),
        ({"error": 'json: unknown field "top_p"'}, 400, "top_p"),
        ({"error": {"message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'."}}, 400, "max_tokens"),
        ({"error": {"message": "Unknown field: messages"}}, 400, None),
        ({"error": {"message": "temperature is too high"}}, 400, None),
        ({"error": {"message": "Unknown field: temperatures"}}, 400, None),
        ({"error": {"message": "Unknown field: min_p"}}, 400, None),
        ({"error": {"message": "Unknown field: temperature"}}, 500, None),
        ({"detail": [{"type": "x", "loc": ["body", "messages"], "msg": "bad", "input": "unknown field temperature"}]}, 422, None),
        ({"error": {"message": "x" * 400 + " unknown field temperature"}}, 400, None),
    ],
)
async def test_a_rejected_field_is_recognized_from_the_error_and_left_out(body: object, status: int, name: str | None) -> None:
    refuse = stub.responds(f"{status} Said", (body if isinstance(body, str) else json.dumps(body)).encode(), "Connection: close\r\n")
    accept = stub.responds("200 OK", b"{}", "Connection: close\r\n")
    payload = json.loads(json.dumps(PAYLOAD))
    async with stub.running(lambda writer: (refuse if len(server.requests) == 1 else accept)(writer)) as server:
        upstream = Upstream(server.url, None, PATIENT)
        with contextlib.nullcontext() if name else pytest.raises(BackendError):
            await upstream.post(PATH, payload)
        await upstream.aclose()
    left = server.posted
    assert len(server.requests) == (2 if name else 1)
    assert left["messages"] == [] and payload == PAYLOAD, "the request itself is not changed"
    if name == "reasoning.summary":
        assert left["reasoning"] == {"effort": "low"}
    elif name == "max_tokens":
        assert (left.get("max_tokens"), left["max_completion_tokens"]) == (None, 5), "the limit itself is never given up"
    else:
        assert set(PAYLOAD) - set(left) == ({name} if name else set())


async def test_the_same_field_is_given_up_once() -> None:
    refuse = stub.responds("400 Bad Request", json.dumps({"error": {"message": "Unknown field: temperature"}}).encode())
    async with stub.running(refuse) as server:
        upstream = Upstream(server.url, None, PATIENT)
        with pytest.raises(BackendError):
            await upstream.post(PATH, PAYLOAD)
        await upstream.aclose()
    assert ["temperature" in request.body for request in server.requests] == [True, False], "retrying would never end"
    assert not {"messages", "input", "prompt", "model", "max_tokens", "tools", "stream"} & set(OPTIONAL)


@pytest.mark.served
async def test_a_real_server_is_retried_without_the_field_which_is_remembered(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with stub.running(constant_answer("Hello.")) as server:

        async def strict(writer: asyncio.StreamWriter) -> None:
            body: dict[str, Any] = server.requests[-1].body
            bad = next((name for name in ("stream_options", "temperature") if name in body), None)
            refuse = stub.responds("400 Bad Request", json.dumps({"error": {"message": f"Unknown field: {bad}"}}).encode())
            await (refuse if bad else constant_answer("Hello."))(writer)

        server.answer = strict
        backend = registry.build(Endpoint(server.url, limits=PATIENT), kind="chat")
        sent: list[dict[str, Any]] = []
        question = replace(
            sample_request("Hello!"), sampling={"temperature": 0.5}, on_sent=lambda path, body: sent.append(json.loads(body))
        )
        for _ in range(2):
            assert (await outcome(backend, question)).visible == "Hello."
        await backend.aclose()
    assert sum(request.method == "POST" for request in server.requests) == 4, "two refusals, then it is known"
    assert "temperature" not in sent[-1], "the stored request equals the sent one"
    assert sum("rejects the field" in record.getMessage() for record in caplog.records) == 2


@pytest.mark.served
async def test_two_concurrent_refusals_are_both_retried() -> None:
    both = asyncio.Barrier(2)
    async with stub.running(constant_answer("Hello.")) as server:

        async def strict(writer: asyncio.StreamWriter) -> None:
            if "temperature" not in server.requests[-1].body:
                await constant_answer("Hello.")(writer)
                return
            await asyncio.wait_for(both.wait(), 5)
            await stub.responds("400 Bad Request", json.dumps({"error": {"message": "Unknown field: temperature"}}).encode())(writer)

        server.answer = strict
        backend = registry.build(Endpoint(server.url, limits=PATIENT), kind="chat")
        question = replace(sample_request("Hello!"), sampling={"temperature": 0.5})
        results = await asyncio.gather(outcome(backend, question), outcome(backend, question))
        await backend.aclose()
    assert sum("temperature" in request.body for request in server.requests if request.method == "POST") == 2, "both were refused"
    assert [result.visible for result in results] == ["Hello.", "Hello."]


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
async def test_a_refusal_is_classified_by_status_and_message(
    status: int, message: object, code: ProductCode, may_retry: bool, cause: str
) -> None:
    error = await refused(status, message)
    assert (error.code, error.retryable) == (code, may_retry)
    assert not cause or error.evidence == cause
    assert error.detail.startswith(f"HTTP {status}: ")


@pytest.mark.parametrize(("status", "message", "code", "may_retry", "cause"), [case for case in CASES if isinstance(case[1], dict)])
@pytest.mark.parametrize("is_empty", [True, False])
async def test_the_same_message_inside_a_stream_means_the_same(
    status: int, message: object, code: ProductCode, may_retry: bool, cause: str, is_empty: bool
) -> None:
    described = message["error"] if isinstance(message, dict) and isinstance(message.get("error"), dict) else {}
    error = await said_in_stream({**described, "status": status, "code": described.get("code", status)}, is_empty=is_empty)
    assert (error.code, error.retryable) == (code, may_retry and is_empty)


@pytest.mark.parametrize(
    "message", ["SECRET", "", [], ["SECRET"], None, 7, {"message": QUOTED}, {"code": True}, {"code": "SECRET"}, {"type": []}]
)
async def test_an_unclassified_error_is_a_server_failure_and_quotes_nothing(message: object) -> None:
    error = await said_in_stream(message)
    assert (error.code, error.retryable) == (OTHER, True)
    assert "SECRET" not in error.log_text


async def test_the_cause_has_only_the_products_own_words() -> None:
    error = await refused(400, body(code="rate_limit_because_the_SECRET_is_42", type="SECRET"))
    assert error.log_text == "busy: HTTP 400, rate_limit"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        (" 30 ", 30.0),
        (timedelta(seconds=90), 90.0),
        (timedelta(seconds=-90), None),
        ("Fri, 99 Nov 2026 12:00:00 GMT", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("9" * 40, None),
        ("", None),
        (None, None),
    ],
)
async def test_only_the_two_forms_of_retry_after_are_read(header: str | timedelta | None, seconds: float | None) -> None:
    if isinstance(header, timedelta):
        header = (datetime.now(UTC) + header).strftime("%a, %d %b %Y %H:%M:%S GMT")
    said = () if header is None else (f"Retry-After: {header}",)
    waits = (await refused(503, "", *said)).retry_after
    assert waits is seconds or (waits is not None and seconds is not None and seconds - 30 <= waits <= seconds)
    assert (await refused(401, "", *said)).retry_after is None


async def test_the_cause_contains_no_digits_of_the_server_except_a_status() -> None:
    assert (await said_in_stream({"code": 742, "type": "913", "error_type": "006"})).log_text == "failed"
    assert (await said_in_stream({"code": 503, "type": "429"})).log_text == "busy: HTTP 429"


async def test_an_endpoint_that_a_server_does_not_have_is_told_by_an_answer_with_status_200() -> None:
    error = await said_in_stream("Unexpected endpoint or method. (POST /v1/responses)")
    assert (error.cause, error.retryable) == (Cause.KIND_NOT_SPOKEN, False)


NO_SUCH_PARAMETER: dict[str, object] = {"detail": [{"type": "missing", "loc": ["body", "model"], "msg": "Field required"}]}
CAUSES: list[tuple[int, object, Cause]] = [
    (500, {"error": {"message": "CUDA out of memory. Tried to allocate 2.00 GiB"}}, Cause.OUT_OF_MEMORY),
    (500, {"error": "model requires more system memory (12.3 GiB) than is available (5 GiB)"}, Cause.OUT_OF_MEMORY),
    (500, {"error": {"message": "x" * 400 + " out of memory"}}, Cause.FAILED),
    (401, "", Cause.KEY_REFUSED),
    (400, [{"error": {"message": "API key not valid. Please pass a valid API key."}}], Cause.KEY_REFUSED),
    (402, {"error": {"message": "Insufficient credits"}}, Cause.QUOTA),
    (429, {"error": {"type": "insufficient_quota"}}, Cause.QUOTA),
    (404, {"error": {"message": "The model `gpt` does not exist."}}, Cause.MODEL_UNKNOWN),
    (404, {"detail": "Not Found"}, Cause.KIND_NOT_SPOKEN),
    (404, "<html><head><title>404 Not Found", Cause.WEB_PAGE),
    (503, {"error": {"message": "Loading model", "type": "unavailable_error"}}, Cause.LOADING),
    (503, "", Cause.BUSY),
    (530, "error code: 1033", Cause.GATEWAY),
    (529, "", Cause.BUSY),
    (503, "no healthy upstream", Cause.GATEWAY),
    (503, "upstream connect error or disconnect/reset before headers. reset reason: connection failure", Cause.GATEWAY),
    (503, "<html><body><h1>503 Service Unavailable</h1>\nNo server is available to handle this request.", Cause.GATEWAY),
    (400, {"error": 'Failed to load model "gpt". Error: Model loading aborted due to insufficient system resources.'}, Cause.OUT_OF_MEMORY),
    (400, {"error": {"type": "budget_exceeded", "code": "400"}}, Cause.QUOTA),
    (400, {"error": {"code": "model_decommissioned", "type": "invalid_request_error"}}, Cause.MODEL_UNKNOWN),
    (413, "<html>", Cause.TOO_LARGE),
    (307, "", Cause.REDIRECTED),
    (400, "<html><title>400 The plain HTTP request was sent to HTTPS port", Cause.WRONG_SCHEME),
    (400, {"error": {"code": "context_length_exceeded"}}, Cause.CONTEXT_EXCEEDED),
    (400, NO_SUCH_PARAMETER, Cause.REFUSED),
]


@pytest.mark.parametrize(("status", "message", "cause"), CAUSES)
async def test_a_cause_is_told_by_status_type_and_the_first_words(status: int, message: object, cause: Cause) -> None:
    error = await refused(status, message)
    assert (error.cause, error.evidence.split(",")[0]) == (cause, f"HTTP {status}")


async def test_two_causes_are_told_by_the_request() -> None:
    assert (await refused(404, "", path="/v1/chat/completions/v1/chat/completions")).cause is Cause.ADDRESS_OF_ENDPOINT
    assert (await refused(404, "", path="/models/acme/v1/chat/completions")).cause is Cause.KIND_NOT_SPOKEN
    assert (await refused(400, NO_SUCH_PARAMETER, payload={"input": "?"})).cause is Cause.NO_MODELS
    assert (await refused(400, NO_SUCH_PARAMETER)).cause is Cause.REFUSED


@pytest.mark.parametrize(
    ("raised", "cause"),
    [
        (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number"), Cause.WRONG_SCHEME),
        (ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"), Cause.CERTIFICATE),
        (socket.gaierror(-2, "Name or service not known"), Cause.NAME_UNKNOWN),
        (ConnectionRefusedError(111, "Connect call failed"), Cause.NOTHING_LISTENS),
        (OSError(113, "No route to host"), Cause.UNREACHABLE),
    ],
)
async def test_why_a_server_cannot_be_reached_is_told(raised: OSError, cause: Cause, monkeypatch: pytest.MonkeyPatch) -> None:
    async def unreachable(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_connect", unreachable)
    upstream = Upstream("https://127.0.0.1:9" if isinstance(raised, ssl.SSLError) else "http://127.0.0.1:9", None, PATIENT)
    with pytest.raises(BackendError) as caught:
        await upstream.get("/v1/models")
    await upstream.aclose()
    assert caught.value.cause is cause


async def test_a_proxy_that_refuses_is_told() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        upstream = Upstream("https://model.example", None, PATIENT, Route(proxy=f"http://127.0.0.1:{port}"))
        with pytest.raises(BackendError) as caught:
            await upstream.get("/v1/models")
        await upstream.aclose()
    assert caught.value.cause is Cause.PROXY


async def test_tls_in_the_place_of_http_is_told() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"\x15\x03\x03\x00\x02\x02P")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        upstream = Upstream(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", None, PATIENT)
        with pytest.raises(BackendError) as caught:
            await upstream.get("/v1/models")
        await upstream.aclose()
    assert caught.value.cause is Cause.WRONG_SCHEME


# ``docs/faults.md`` lists each simulated fault of a model server with its code.


UNREACHED = ("nobody listens", "no such name", "no TLS")


def test_the_page_lists_every_simulated_fault() -> None:
    page = (ROOT / "docs/faults.md").read_text(encoding="utf-8").partition("## Faults of a model server")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| ([^|`]+) \| `(E-[\w-]+)` \| (.+) \|$", page, re.MULTILINE)
    played = [(name, ProductCode.BACKEND_UNREACHABLE.value, "all") for name in UNREACHED]
    played += [("certified by nobody", ProductCode.BACKEND_SETUP.value, "all")]
    played += [(fault.name, fault.code.value, "all" if fault.is_of_ids else "chat, responses") for fault in FAULTS]
    assert listed == played
