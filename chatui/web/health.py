"""Liveness (``/healthz``) and readiness (``/readyz``), open to everybody, with no other information."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from chatui.display import readiness


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """200 while the process runs. It checks nothing else: a process must not be killed because its database is down."""
    return _uncached(HttpResponse("ok\n", content_type="text/plain"))


@require_safe
async def readyz(request: HttpRequest) -> HttpResponse:
    """200 if everything that the process needs is available, else 503; both list the state of each."""
    findings = await readiness.check()
    is_ready = readiness.is_ready(findings)
    response = JsonResponse({"ready": is_ready, **findings}, status=200 if is_ready else 503)
    response._has_been_logged = True  # type: ignore[attr-defined] # or Django logs an error for every request
    return _uncached(response)


def _uncached(response: HttpResponse) -> HttpResponse:
    response.headers["Cache-Control"] = "no-store"
    return response
