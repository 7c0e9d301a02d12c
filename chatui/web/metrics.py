"""The ``/metrics`` endpoint, for a monitoring system with the operator's token."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_GET

from chatui.display import metrics as display_metrics
from chatui.env import environment
from chatui.limits import GuessLimit, Scope
from chatui.permissions.access import NotFoundError
from chatui.web.guards import guarded, visitor_of

_guesses = GuessLimit("metrics token", address=Scope(free=9, longest=60, window=600))


@require_GET
@guarded
def metrics(request: HttpRequest) -> HttpResponse:
    """The metrics. 404 without the right token."""
    token = environment().metrics_token
    if not token:
        raise NotFoundError
    if not constant_time_compare(request.headers.get("Authorization", ""), f"Bearer {token}"):
        _guesses.admit(visitor_of(request, "page").address)
        raise NotFoundError
    return HttpResponse(display_metrics.text(), content_type="text/plain; version=0.0.4; charset=utf-8")
