"""Finds out who sent an HTTP request, and from which address."""

from __future__ import annotations

from django.http import HttpRequest

from chatui.audit_log.record import Visitor
from chatui.permissions.access import as_person


def visitor_of(request: HttpRequest, way: str) -> Visitor:
    """The signed-in person of a request (None for nobody), and the address that the request came from."""
    return Visitor(as_person(request.user), request.META.get("REMOTE_ADDR") or "", way)
