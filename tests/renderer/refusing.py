"""Expects that a transcript is refused, and with which code."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from renderer.errors import ErrorCode, OpenChatMLError


@contextmanager
def refused(code: ErrorCode, *, match: str | None = None) -> Iterator[pytest.ExceptionInfo[OpenChatMLError]]:
    """``pytest.raises`` for an OpenChatMLError of this code."""
    with pytest.raises(OpenChatMLError, match=match) as caught:
        yield caught
    assert caught.value.code is code, caught.value.code
