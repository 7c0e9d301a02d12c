"""Checks a model server's address, and extracts the scheme, host and port for its requests."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import httpx

_PORTS = {"http": 80, "https": 443}
# Parsers read these characters differently, so a request could go to another server than the one that was checked.
_ADDRESS = re.compile(r"[!-~]+")
_AMBIGUOUS = re.compile(r"[\\\"<>^`{|}]")


def origin(url: str) -> str:
    """Scheme, host and port of an address, exactly as requests use them.

    Raises:
        ValueError: it is not an http address.
    """
    if problem := address_problem(url):
        raise ValueError(problem)
    parts = httpx.URL(url)
    return f"{parts.scheme}://{parts.raw_host.decode('ascii').lower()}:{parts.port or _PORTS[parts.scheme]}"


def address_problem(url: str) -> str:
    """Why a model server cannot have this address, as words that follow its name; empty if it can."""
    if not _ADDRESS.fullmatch(url) or _AMBIGUOUS.search(url):
        return "must be a plain address without spaces or special characters"
    try:
        parts, second = httpx.URL(url), urlsplit(url)
        is_agreed = bool(parts.host) and (parts.scheme, parts.raw_host.decode("ascii")) == (second.scheme, second.hostname)
        port = second.port
    except (httpx.InvalidURL, ValueError):  # the second also for an invalid host name
        return "is no address"
    if parts.scheme not in _PORTS or not url.lower().startswith(f"{parts.scheme}://") or not parts.host:
        return "must begin with http:// or https:// and name a host"
    if "@" in second.netloc:
        return "must hold no user name or password; name the key instead"
    if not is_agreed or "%" in second.netloc or (port is not None and parts.port != port and _PORTS[parts.scheme] != port):
        return "is no address"
    if "?" in url or "#" in url:
        return "must have neither ? nor #"
    return ""
