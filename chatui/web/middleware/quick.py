"""Lets middleware that only looks at headers run where a program's request is answered.

Django runs each of its steps in a thread, two for each class, because a step may ask the database: that was most of what a request of a
program cost. Cookies count for nothing there, so none of these steps asks anything; one that did would be refused by Django.
"""

from __future__ import annotations

from typing import Any

from csp.middleware import CSPMiddleware
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponseBase
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.common import CommonMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.security import SecurityMiddleware
from django.utils.deprecation import MiddlewareMixin

PROGRAMS = "/v1/"
_QUICK: tuple[Any, ...] = (
    SecurityMiddleware,
    XFrameOptionsMiddleware,
    CSPMiddleware,
    SessionMiddleware,
    CommonMiddleware,
    CsrfViewMiddleware,
    AuthenticationMiddleware,
    MessageMiddleware,
)
_in_threads: Any = MiddlewareMixin.__acall__


def begin() -> None:
    """From now on. For requests of pages nothing changes."""
    for middleware in _QUICK:
        middleware.__acall__ = call_quickly


async def call_quickly(self: Any, request: HttpRequest) -> HttpResponseBase:
    """What ``MiddlewareMixin`` does."""
    if not request.path_info.startswith(PROGRAMS):
        response: HttpResponseBase = await _in_threads(self, request)
        return response
    early = self.process_request(request) if hasattr(self, "process_request") else None
    response = early or await self.get_response(request)
    return self.process_response(request, response) if hasattr(self, "process_response") else response
