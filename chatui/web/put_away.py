"""The pages and actions of the archive, and of the bin, where conversations that a person deleted wait until they are erased.

An action moves a conversation between the list and the archive.
"""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from chatui.display import conversation_actions, conversation_list
from chatui.web.guards import done, person_of, signed_in


@signed_in("GET")
def archived(request: HttpRequest) -> HttpResponse:
    """The person's archived conversations."""
    return render(
        request, "sidebar/archived.html", {"archive": conversation_list.shown_archive(person_of(request), request.GET.get("list", ""))}
    )


@signed_in("POST")
def put(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Move a conversation to the top of the list, or into the archive. Redirects to the archive if ``back`` says so."""
    row = conversation_actions.put(person_of(request), conversation_id, request.POST.get("place", ""))
    conversation_list.tell(row.owner_id, *conversation_list.placed(row))
    url = reverse("archived") if request.POST.get("back") == "archive" else reverse("conversation", args=[row.pk])
    return done(request, url, title=row.title)


@signed_in("GET")
def bin_page(request: HttpRequest) -> HttpResponse:
    """The person's deleted conversations."""
    shown = conversation_list.shown_bin(person_of(request), request.GET.get("list", ""))
    context = {"bin": shown, "is_erased": "erased" in request.GET, "is_emptied": "emptied" in request.GET}
    return render(request, "sidebar/bin.html", context)


@signed_in("GET", "POST")
def erase(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Asks whether to delete a conversation in the bin for good; then does so."""
    person = person_of(request)
    if request.method == "POST":
        conversation_actions.erase(person, conversation_id)
        return redirect(f"{reverse('bin')}?erased=1")
    row = conversation_actions.in_bin(person, conversation_id)
    return render(request, "sidebar/erase.html", {"conversation": conversation_list.put_away(row)})
