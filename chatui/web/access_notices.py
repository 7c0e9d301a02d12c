"""For owners: the list of looks that staff took at hidden channels of their conversations, and putting a notice away."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from chatui.permissions import access_notices
from chatui.web.guards import guarded
from chatui.web.people import person_of


@require_GET
@login_required
@guarded
def looks_page(request: HttpRequest) -> HttpResponse:
    """All of a person's, whether put away or not. Not found where owners are not told."""
    return render(request, "account/access_notices.html", {"looks": access_notices.all_of(person_of(request))})


@require_POST
@login_required
@guarded
def looks_dismiss(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Put the notice on a conversation's page away."""
    row = access_notices.dismiss(person_of(request), conversation_id)
    return redirect("conversation", row.pk)
