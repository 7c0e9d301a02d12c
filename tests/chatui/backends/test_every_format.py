"""The same server fault gives the same code in every wire format, before an answer and inside one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chatui.backends import registry
from chatui.backends.base import Endpoint
from chatui.codes import ProductCode
from renderer.errors import Code
from renderer.harmony.vocabulary import Vocabulary
from tests.support import stub
from tests.support.sampling import PATIENT, Outcome, outcome, sample_request

pytestmark = [pytest.mark.asyncio, pytest.mark.served]

MODELS = {"data": [{"id": "tiny", "owned_by": "vllm", "max_model_len": 4096}]}
FORMATS = ("chat", "responses", "harmony-vllm")


async def answered(kind: str, vocabulary: Vocabulary, answer: Any) -> Outcome:
    async with stub.running(answer, models=MODELS) as server:
        backend = registry.build(Endpoint(server.url, model="tiny", limits=PATIENT), kind=kind, vocabulary=lambda: vocabulary)
        try:
            return await outcome(backend, sample_request("Hello!"))
        finally:
            await backend.aclose()


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(
    ("status", "error", "headers", "code", "seconds"),
    [
        ("401 Unauthorized", {"code": "invalid_api_key"}, "", ProductCode.BACKEND_SETUP, None),
        ("404 Not Found", {"code": "model_not_found"}, "", ProductCode.BACKEND_SETUP, None),
        ("429 Too Many Requests", {"type": "rate_limit_error"}, "Retry-After: 120\r\n", ProductCode.BACKEND_BUSY, 120.0),
        ("503 Service Unavailable", {"type": "unavailable_error"}, "Retry-After: 30\r\n", ProductCode.BACKEND_BUSY, 30.0),
        ("400 Bad Request", {"code": "content_filter"}, "", ProductCode.CONTENT_REFUSED, None),
        ("422 Unprocessable Content", {"type": "invalid_request_error"}, "", ProductCode.BACKEND_REFUSED, None),
        ("500 Internal Server Error", {"type": "server_error"}, "", ProductCode.BACKEND, None),
    ],
)
async def test_a_refusal_has_the_same_code_and_retry_seconds(
    kind: str, status: str, error: dict[str, str], headers: str, code: ProductCode, seconds: float | None, vocabulary: Vocabulary
) -> None:
    body = json.dumps({"error": {"message": "SECRET", **error}}).encode()
    result = await answered(kind, vocabulary, stub.responds(status, body, headers))
    assert result.error is not None
    assert (result.error.code, result.error.retry_after) == (code, seconds)
    assert "SECRET" not in result.error.told


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"code": 401}, ProductCode.BACKEND_SETUP),
        ({"code": 429}, ProductCode.BACKEND_BUSY),
        ({"type": "overloaded_error"}, ProductCode.BACKEND_BUSY),
        ({"code": "content_filter"}, ProductCode.CONTENT_REFUSED),
        ({"code": 400}, ProductCode.BACKEND_REFUSED),
        ({"code": 500}, ProductCode.BACKEND),
    ],
)
async def test_an_error_inside_a_stream_has_the_same_code(
    kind: str, error: dict[str, object], code: ProductCode, vocabulary: Vocabulary
) -> None:
    event = b"data: " + json.dumps({"error": {"message": "SECRET", **error}}).encode() + b"\n\n"
    result = await answered(kind, vocabulary, stub.plays(event))
    assert result.error is not None
    assert result.error.code is code


@pytest.mark.parametrize("kind", FORMATS)
async def test_a_stream_that_a_server_cuts_has_the_same_code(kind: str, vocabulary: Vocabulary) -> None:
    result = await answered(kind, vocabulary, stub.plays(b": a comment, and then nothing\n\n"))
    assert result.error is not None
    assert result.error.code is Code.STREAM_TRUNCATED
