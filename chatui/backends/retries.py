"""Retries a busy model server, but only before any of the answer has arrived."""

from __future__ import annotations

import asyncio
import logging
import random
import re
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

from chatui import measures
from chatui.backends.base import Backend, BackendError, SampleEvent, SampleRequest
from chatui.codes import ProductCode

_log = logging.getLogger(__name__)
_STATUS = re.compile(r"HTTP (\d{3})\b")

PAUSES = (0.5, 2.0)
"""Seconds before the second and the third attempt, if the server names none."""
MAX_PAUSE_SECONDS = 15.0
"""A longer wait counts as a refusal: the person decides whether to wait."""


async def sample(backend: Backend, request: SampleRequest) -> AsyncGenerator[SampleEvent, None]:
    """As ``backend.sample``, with at most two more attempts if it failed before its first event and a retry may help.

    ``Retry-After`` is respected. A timeout is not retried: the person has waited long enough.

    Raises:
        BackendError: the last attempt's.
    """
    begun_at = time.monotonic()
    for pause in (*PAUSES, None):
        has_begun = False
        try:
            async with aclosing(backend.sample(request)) as events:
                async for event in events:
                    has_begun = True
                    yield event
            return
        except BackendError as error:
            wait = pause if error.retry_after is None else error.retry_after
            may_help = error.retryable and not has_begun and error.code is not ProductCode.TIMEOUT
            if pause is None or wait is None or wait > MAX_PAUSE_SECONDS or not may_help:
                _note(backend, error, time.monotonic() - begun_at)
                raise
        # A little longer than requested, with random variation, so that requests that were refused together do not return together.
        await asyncio.sleep(wait * (1 + random.random() / 4))  # noqa: S311 - no secret


def status_of(error: BackendError) -> str:
    """The HTTP status that a model server answered with; empty if the failure was not a status."""
    return found[1] if (found := _STATUS.search(error.cause)) else ""


def _note(backend: Backend, error: BackendError, seconds: float) -> None:
    """Write a log line and a metric for the operator. Neither contains the server's message."""
    status = status_of(error)
    measures.MODEL_SERVER_ERRORS.labels(backend.name, error.code.value, status).inc()
    fields = {"backend": backend.name, "code": error.code.value, "status": status, "cause": error.cause, "seconds": round(seconds, 3)}
    _log.warning("a model server failed", extra=fields)
