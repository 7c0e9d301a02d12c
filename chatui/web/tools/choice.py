"""The tool menu at the message box: stored for a conversation, and passed along for one that does not exist yet."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_http_methods

from chatui.display.tools import menu
from chatui.display.tools.menu import Chosen
from chatui.model_servers import connected
from chatui.permissions import access
from chatui.tools import switches
from chatui.web.guards import guarded
from chatui.web.people import person_of


@require_GET
@login_required
@guarded
def new_tools(request: HttpRequest) -> HttpResponse:
    """The fragment with the tools for a new conversation, without those in ``off``, for the model ``choice``."""
    chosen = Chosen(request.GET.get("choice", ""), switches.names_of(request.GET.get("off", "")))
    shown = menu.shown_tools(person_of(request), None, chosen, is_demo=connected.is_demo())
    return render(request, "tools/_choice.html", {"tools": shown})


@require_http_methods(["GET", "POST"])
@login_required
@guarded
def tools(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """The fragment with the tools of a conversation. A POST first switches one on or off."""
    person = person_of(request)
    if request.method == "POST":
        row = menu.switch(person, conversation_id, request.POST.get("tool", ""), request.POST.get("state", ""))
    else:
        row = access.own_conversation(person, conversation_id)
    shown = menu.shown_tools(person, row, Chosen(request.GET.get("choice", "")), is_demo=connected.is_demo())
    return render(request, "tools/_choice.html", {"tools": shown})
