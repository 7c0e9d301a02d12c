"""The approval cards of waiting tool calls, and the decisions. They work without scripts."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from chatui.display.conversation_links import shown_conversation
from chatui.display.tools import cards, decisions
from chatui.permissions import access
from chatui.turns import running, sweep
from chatui.turns.running import Place
from chatui.web.guards import guarded
from chatui.web.people import person_of
from chatui.web.visitors import visitor_of


@require_GET
@login_required
@guarded
def waiting_calls(request: HttpRequest, conversation_id: UUID, turn_id: UUID) -> HttpResponse:
    """The fragment with the cards of a turn."""
    row = access.own_conversation(person_of(request), conversation_id)
    sweep.interrupt_abandoned(row)
    context = {"cards": cards.of_turn(row, turn_id), "conversation": shown_conversation(row)}
    return render(request, "tools/_cards.html", context)


@require_POST
@login_required
@guarded
def decide(request: HttpRequest, conversation_id: UUID, approval_id: UUID) -> HttpResponse:
    """Decide about a call. If it is no longer waiting, the page shows its state."""
    is_decided = True
    try:
        turn = decisions.decide(visitor_of(request, "page"), conversation_id, approval_id, request.POST.get("decision", ""))
        running.decided_from_thread(Place(turn.pk, turn.lease_owner))
    except decisions.NotWaitingError:
        is_decided = False
    if "application/json" in request.headers.get("Accept", ""):
        return JsonResponse({"ok": is_decided}, status=200 if is_decided else 409)
    return redirect(reverse("conversation", args=[conversation_id]))
