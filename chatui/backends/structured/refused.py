"""Asks again without a format where a server refuses it: the model is still told in words, and the answer is checked in any case."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from chatui.backends.base import BackendError, SampleEvent, SampleRequest
from chatui.backends.context.refusals import overflow_of
from chatui.backends.context.sampling import Sample
from chatui.codes import ProductCode

_log = logging.getLogger(__name__)
_REFUSALS = (ProductCode.BACKEND_REFUSED, ProductCode.BACKEND_SETUP)
"""A field that a server does not know is refused as a wrong request, or as one that is not set up ("unsupported_parameter")."""


async def sample_in_format(request: SampleRequest, sample: Sample) -> AsyncGenerator[SampleEvent, None]:
    """As ``sample``. Raises as that one does, also where the same request without the format is refused."""
    has_begun = False
    try:
        async with aclosing(sample(request)) as events:
            async for event in events:
                has_begun = True
                yield event
        return
    except BackendError as error:
        if has_begun or request.answer_format is None or not refuses_format(error):
            raise
        _log.info("a model server refused the format of an answer (%s): asking without", error.cause or "no cause is known")
    async with aclosing(sample(replace(request, answer_format=None))) as events:
        async for event in events:
            yield event


def refuses_format(error: BackendError) -> bool:
    """Whether a request may have been refused for its format."""
    return error.code in _REFUSALS and overflow_of(error) is None
