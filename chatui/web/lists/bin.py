"""The bin: conversations that a person deleted, until they are erased."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from chatui.display import bin_and_archive, conversation_actions
from chatui.web.guards import guarded
from chatui.web.people import person_of


@require_GET
@login_required
@guarded
def bin_page(request: HttpRequest) -> HttpResponse:
    """The person's deleted conversations."""
    shown = bin_and_archive.shown_bin(person_of(request), request.GET.get("list", ""))
    return render(request, "lists/bin.html", {"bin": shown, "is_erased": "erased" in request.GET})


@require_http_methods(["GET", "POST"])
@login_required
@guarded
def erase(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Asks whether to delete a conversation in the bin for good; then does so."""
    person = person_of(request)
    if request.method == "POST":
        conversation_actions.erase(person, conversation_id)
        return redirect(f"{reverse('bin')}?erased=1")
    row = conversation_actions.in_bin(person, conversation_id)
    return render(request, "lists/erase.html", {"conversation": bin_and_archive.binned(row)})
