"""The id of the request that is being worked on: one word that its log lines, its response and the model server's log have in common.

A request takes the id that a trusted proxy gave it, or makes one. The turn of a person has the turn's own id, because a socket lives for
hours. Tasks inherit it; threads that serve many requests take it over with each piece of work, and tasks that outlive a request begin
without one (``context=Context()``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextvars import ContextVar

HEADER = "X-Request-ID"
MAX_CHARS = 64
_SAFE = re.compile(rf"[A-Za-z0-9._:-]{{1,{MAX_CHARS}}}")
"""Such as the ids that nginx, Caddy, haproxy and Envoy make. Nothing in them can end a line, a header or a field."""

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""Empty outside of requests and turns."""


def begin(given: str = "") -> str:
    """The id of the request that begins in this context: ``given`` by whom we trust if it is safe, otherwise a new one (16 characters)."""
    chosen = given if given and _SAFE.fullmatch(given) else os.urandom(8).hex()
    request_id.set(chosen)
    return chosen


def headers() -> Mapping[str, str]:
    """The header for a request to a model server: the id and 8 random digits, because vLLM refuses a request with the id of one that runs,
    and a turn asks several times. Empty outside of requests and turns."""
    current = request_id.get()
    return {HEADER: f"{current}.{os.urandom(4).hex()}"} if current else {}
