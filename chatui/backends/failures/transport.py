"""The errors for requests that did not reach a model server, or whose answers did not arrive whole or in time."""

from __future__ import annotations

import httpx

from chatui.backends.base import BackendError
from chatui.codes import ProductCode
from renderer.errors import Code


def unreachable(error: httpx.HTTPError) -> BackendError:
    """There was no answer."""
    name = type(error).__name__
    if isinstance(error, httpx.TimeoutException):
        code = ProductCode.TIMEOUT
    else:
        code = ProductCode.BACKEND_UNREACHABLE if isinstance(error, httpx.ConnectError) else ProductCode.BACKEND
    return BackendError(code, f"{name}: {error}", retryable=True).because(name)


def timed_out() -> BackendError:
    """A deadline of ours has passed."""
    silent = "the server was silent, or slow, for too long"
    return BackendError(ProductCode.TIMEOUT, silent).because(silent)


def connection_lost(error: httpx.HTTPError, *, response_started: bool) -> BackendError:
    """The answer broke off."""
    if not response_started:
        return unreachable(error)
    return BackendError(Code.STREAM_TRUNCATED, f"{type(error).__name__}: {error}").because(type(error).__name__)
