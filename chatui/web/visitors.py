"""Identifies the sender of an HTTP request: the person, their address, and whether they or another site caused it."""

from __future__ import annotations

from collections.abc import Mapping

from django.http import HttpRequest

from chatui.audit_log.record import Cause, Visitor
from chatui.permissions.access import as_person


def visitor_of(request: HttpRequest, way: str) -> Visitor:
    """The signed-in person of a request (None for nobody), the address that it came from, and what caused it."""
    return Visitor(as_person(request.user), request.META.get("REMOTE_ADDR") or "", way, cause_of(request.headers))


def cause_of(headers: Mapping[str, str]) -> Cause:
    """What caused a request, according to the browser (Fetch Metadata Request Headers; ``Purpose`` is the older name).

    No script can set these headers. Another client can: then the attempt is missing from the warnings, but not from the log.
    """
    if any(word in headers.get(name, "").lower() for name in ("Sec-Purpose", "Purpose") for word in ("prefetch", "prerender")):
        return Cause.PREFETCH
    if headers.get("Sec-Fetch-Site") not in ("cross-site", "same-site"):
        return Cause.PERSON
    is_navigation = headers.get("Sec-Fetch-Mode") == "navigate" and headers.get("Sec-Fetch-Dest") == "document"
    return Cause.LINK if is_navigation else Cause.EMBEDDED
