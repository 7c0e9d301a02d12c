"""The page that shows owners when staff opened hidden channels of their conversations."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from chatui.permissions import access_notices
from chatui.web.guards import person_of, signed_in
from chatui.web.language import back


@signed_in("GET")
def listing(request: HttpRequest) -> HttpResponse:
    """All notices for a person, dismissed or not. 404 where owners are not notified."""
    return render(request, "account/access_notices.html", {"notices": access_notices.all_for(person_of(request))})


@signed_in("POST")
def dismiss(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Dismiss the notice of a conversation, on its page or another."""
    row = access_notices.dismiss(person_of(request), conversation_id)
    return redirect(back(request, reverse("conversation", args=[row.pk])))
