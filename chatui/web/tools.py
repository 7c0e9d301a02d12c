"""The pages of a person's tools: the approval cards of waiting tool calls, with the decisions, and the tool menu at the message box.

The cards work without scripts. The choice in the menu is stored for a conversation, and passed along for one that does not exist yet.
"""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from chatui.display import tool_cards, tool_forms
from chatui.display import tools as display_tools
from chatui.display.conversation_list import shown_conversation
from chatui.permissions import access
from chatui.tools import catalogue
from chatui.tools.forms import FormError
from chatui.turns import running, sweep
from chatui.turns.running import TurnPlace
from chatui.web.errors import wants_json
from chatui.web.guards import person_of, signed_in, visitor_of


@signed_in("GET")
def waiting_calls(request: HttpRequest, conversation_id: UUID, turn_id: UUID) -> HttpResponse:
    row = access.own_conversation(person_of(request), conversation_id)
    sweep.interrupt_abandoned(row)
    context = {"cards": tool_cards.of_turn(row, turn_id), "conversation": shown_conversation(row)}
    return render(request, "chat/_cards.html", context)


@signed_in("POST")
def decide(request: HttpRequest, conversation_id: UUID, approval_id: UUID) -> HttpResponse:
    """Decide about a call, or answer a form. If it is no longer waiting, the page shows its state."""
    decision = (conversation_id, approval_id, request.POST.get("decision", ""))
    try:
        turn = tool_cards.decide(visitor_of(request, "page"), *decision, lambda number: request.POST.getlist(f"field-{number}"))
    except FormError as error:
        if wants_json(request):
            return JsonResponse({"ok": False, "message": tool_forms.faults_in_words(error)})
        # The browser has checked most of it. The form still waits on the page.
        return redirect(reverse("conversation", args=[conversation_id]))
    if turn:
        running.decided_from_thread(TurnPlace(turn.pk, turn.lease_owner))
    if wants_json(request):
        return JsonResponse({"ok": turn is not None}, status=200 if turn else 409)
    return redirect(reverse("conversation", args=[conversation_id]))


@signed_in("GET")
def new_tools(request: HttpRequest) -> HttpResponse:
    """The fragment with the tools for a new conversation, without those in ``off``, after ``on`` went on, for the model ``choice``."""
    asked = request.GET
    off = catalogue.names_of(asked.get("off", ""))
    shown = display_tools.shown_tools(person_of(request), None, asked.get("choice", ""), off, asked.get("on", ""))
    return render(request, "chat/_tools_choice.html", {"tools": shown})


@signed_in("GET", "POST")
def tools(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """The fragment with the tools of a conversation. A POST first switches one on or off."""
    person = person_of(request)
    if request.method == "POST":
        name, state = request.POST.get("tool", ""), request.POST.get("state", "")
        row = display_tools.switch(person, conversation_id, name, state)
    else:
        row = access.own_conversation(person, conversation_id)
    shown = display_tools.shown_tools(person, row, request.GET.get("choice", ""))
    return render(request, "chat/_tools_choice.html", {"tools": shown})
