"""The pages and actions of the archive, and of the bin, where conversations that a person deleted wait until they are erased.

An action moves a conversation between the list and the archive.
"""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chatui.display import conversation_actions, conversation_list
from chatui.web.guards import guarded
from chatui.web.sign_in.pages import person_of
from chatui.wire import bus
from chatui.wire.bus import send_from_thread


@require_GET
@login_required
@guarded
def archived(request: HttpRequest) -> HttpResponse:
    """The person's archived conversations."""
    return render(
        request, "sidebar/archived.html", {"archive": conversation_list.shown_archive(person_of(request), request.GET.get("list", ""))}
    )


@require_POST
@login_required
@guarded
def put(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Move a conversation to the top of the list, or into the archive. Redirects to the archive if ``back`` says so."""
    row = conversation_actions.put(person_of(request), conversation_id, request.POST.get("place", ""))
    for message in conversation_list.placed(row):
        send_from_thread(bus.person(row.owner_id), message)
    url = reverse("archived") if request.POST.get("back") == "archive" else reverse("conversation", args=[row.pk])
    if "application/json" in request.headers.get("Accept", ""):
        return JsonResponse({"ok": True, "url": url, "title": row.title})
    return redirect(url)


@require_GET
@login_required
@guarded
def bin_page(request: HttpRequest) -> HttpResponse:
    """The person's deleted conversations."""
    shown = conversation_list.shown_bin(person_of(request), request.GET.get("list", ""))
    return render(request, "sidebar/bin.html", {"bin": shown, "is_erased": "erased" in request.GET})


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
    return render(request, "sidebar/erase.html", {"conversation": conversation_list.put_away(row)})
