"""Traces, if the settings ask for them: starts and stops them, and records a span for each HTTP request.

A span has the method, the URL pattern and the status. A Django system check examines the settings.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured
from django.urls import Resolver404, resolve

from chatui.env import Environment
from chatui.observability import measures

INSTALL = ".venv/bin/python -m pip install --require-hashes --requirement requirements-traces.txt"
_NEEDED = ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http", "requests")


def begin(env: Environment) -> None:
    """Turn tracing on, if the operator configured a collector.

    Raises:
        ImproperlyConfigured: the settings are invalid, or packages are missing.
    """
    if not env.traces_url or measures.is_tracing():
        return
    if problem := problem_of(env):
        raise ImproperlyConfigured(problem)
    # Imported here, so that nothing of it is loaded if tracing is off.
    from chatui.observability.collector import Collector

    header, propagates = header_of(env.traces_header), env.traces_to_model_servers
    measures.set_tracer(Collector(env.traces_url, header, env.traces_share, propagates_to_model_servers=propagates))


def end(seconds: float) -> None:
    """Turn tracing off when the process ends: send the queued spans, for at most ``seconds``."""
    collector = measures.set_tracer(None)
    if collector is not None:
        collector.stop(seconds)


def problem_of(env: Environment) -> str:
    """What is wrong with the settings, as a sentence without their values; empty if nothing is."""
    if not env.traces_url:
        return ""
    if not _is_address(env.traces_url):
        return "CHATUI_TRACES_URL must be an http or https address with its path, such as http://127.0.0.1:4318/v1/traces."
    if env.traces_header and not header_of(env.traces_header):
        return "CHATUI_TRACES_HEADER must be a name and a value, such as Authorization: Bearer KEY."
    if not all(map(_is_installed, _NEEDED)):
        return f"CHATUI_TRACES_URL needs packages that are not installed: {INSTALL}"
    return ""


def header_of(line: str) -> dict[str, str]:
    """``Name: value`` as a header; empty if it is not one."""
    name, colon, value = (part.strip() for part in line.partition(":"))
    is_one = colon and value and name.replace("-", "").isalnum() and line.isascii() and line.isprintable()
    return {name: value} if is_one else {}


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return fits and not parts.username and not parts.password and parts.path not in ("", "/")


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # the package that contains it is missing
        return False


Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_NOT_MEASURED = ("/static/", "/healthz", "/readyz", "/metrics")
"""The beginnings of paths that are requested every few seconds, or cost next to nothing."""


def measured(application: Application) -> Application:
    """The application with a span around each request; the application itself if tracing is off."""
    if not measures.is_tracing():
        return application

    async def around(scope: Scope, receive: Any, send: Send) -> None:
        if scope["path"].startswith(_NOT_MEASURED):
            await application(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in _METHODS else "_OTHER"
        route = _route(scope["path"])
        with measures.span(f"{method} {route}".strip(), "server", method=method, route=route) as span:

            async def sending(message: MutableMapping[str, Any]) -> None:
                if message["type"] == "http.response.start":
                    span.set_attributes(response_status=message["status"])
                await send(message)

            await application(scope, receive, sending)

    return around


def _route(path: str) -> str:
    """The URL pattern of a path. The path itself is never recorded: it can contain names of groups and secrets of links."""
    try:
        return f"/{resolve(path).route}"
    except Resolver404:
        return ""
