"""Starts and stops tracing, according to the settings."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from chatui.env import Environment
from chatui.tracing import spans

if TYPE_CHECKING:
    from chatui.tracing.collector import Collector

INSTALL = ".venv/bin/python -m pip install --require-hashes --requirement requirements-traces.txt"
_NEEDED = ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http", "requests")
_collector: Collector | None = None


def begin(env: Environment) -> None:
    """Turn tracing on, if the operator configured a collector.

    Raises:
        ImproperlyConfigured: the settings are invalid, or packages are missing.
    """
    global _collector
    if not env.traces_url or _collector is not None:
        return
    if problem := problem_of(env):
        raise ImproperlyConfigured(problem)
    # Imported here, so that nothing of it is loaded if tracing is off.
    from chatui.tracing.collector import Collector

    _collector = Collector(
        env.traces_url, header_of(env.traces_header), env.traces_share, propagates_to_model_servers=env.traces_to_model_servers
    )
    spans.set_tracer(_collector)


def end(seconds: float) -> None:
    """Turn tracing off when the process ends: send the queued spans, for at most ``seconds``."""
    global _collector
    collector, _collector = _collector, None
    spans.set_tracer(None)
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
