"""The page on which staff approve or decline debug requests."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from chatui.env import environment
from chatui.permissions import debug_requests
from chatui.web.guards import guarded, hidden_channels
from chatui.web.visitors import visitor_of


@require_GET
@login_required
@guarded
def requests(request: HttpRequest) -> HttpResponse:
    """The open requests: who asks, for whose conversation, why and for how long. They show no content of the conversations."""
    waiting = debug_requests.pending_requests(visitor_of(request, "page"))
    return render(request, "debug/requests.html", {"waiting": waiting, "waits": environment().debug_approval})


@hidden_channels("POST", "approve debug view")
def approve(request: HttpRequest, conversation_id: UUID, request_id: UUID) -> HttpResponse:
    """Approve a request: the view opens for the person who asked, and their time starts now."""
    debug_requests.decide(visitor_of(request, "page"), conversation_id, request_id, approves=True)
    return redirect("debug_requests")


@hidden_channels("POST", "decline debug view")
def decline(request: HttpRequest, conversation_id: UUID, request_id: UUID) -> HttpResponse:
    """Decline a request."""
    debug_requests.decide(visitor_of(request, "page"), conversation_id, request_id, approves=False)
    return redirect("debug_requests")
