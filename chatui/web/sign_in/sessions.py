"""Ends a person's own sessions. The page of sign-in methods lists them."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from chatui.accounts import session_list
from chatui.web.entrance import session_start
from chatui.web.guards import guarded
from chatui.web.people import notify_sockets, person_of
from chatui.web.visitors import visitor_of


@require_POST
@login_required
@guarded
def end(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """End one session, and its sockets."""
    session_start.admit_change(person_of(request))
    session_list.end(visitor_of(request, "page"), session_id)
    notify_sockets(person_of(request))
    return redirect("sign_in_ways")


@require_POST
@login_required
@guarded
def end_others(request: HttpRequest) -> HttpResponse:
    """End all sessions but this one."""
    session_start.admit_change(person_of(request))
    session_list.end_others(visitor_of(request, "page"), request.session.session_key)
    notify_sockets(person_of(request))
    return redirect("sign_in_ways")
