"""Request fields that a server rejects are omitted from then on, with one log line; no other field is ever given up."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace
from typing import Any

import pytest

from chatui.backends import registry
from chatui.backends.base import BackendError, Endpoint
from chatui.backends.failures import OPTIONAL, RejectedFields
from chatui.codes import ProductCode
from tests.support import stub
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


def refusal(body: object, status: int = 400) -> BackendError:
    return BackendError(ProductCode.BACKEND_REFUSED, f"HTTP {status}: {json.dumps(body) if not isinstance(body, str) else body}")


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
def test_a_rejected_field_is_recognized_from_the_error(body: object, status: int, name: str | None) -> None:
    fields = RejectedFields()
    assert fields.learn(refusal(body, status), PAYLOAD) == name
    left = fields.without(PAYLOAD)
    assert left["messages"] == [] and PAYLOAD["reasoning"] == {"effort": "low", "summary": "auto"}, "the request itself is not changed"
    if name == "reasoning.summary":
        assert left["reasoning"] == {"effort": "low"}
    elif name == "max_tokens":
        assert (left.get("max_tokens"), left["max_completion_tokens"]) == (None, 5), "the limit itself is never given up"
    else:
        assert set(PAYLOAD) - set(left) == ({name} if name else set())


def test_the_same_field_is_given_up_once() -> None:
    fields = RejectedFields()
    error = refusal({"error": {"message": "Unknown field: temperature"}})
    assert fields.learn(error, PAYLOAD) == "temperature"
    assert fields.learn(error, fields.without(PAYLOAD)) is None, "it was not sent any more, so retrying would never end"
    assert not {"messages", "input", "prompt", "model", "max_tokens", "tools", "stream"} & set(OPTIONAL)


@pytest.mark.asyncio
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


@pytest.mark.asyncio
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
