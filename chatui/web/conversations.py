"""The chat page with its fragments, and the actions on a conversation: rename, delete, restore, switch branch, copy."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from chatui.accounts import first_account
from chatui.delivery import groups
from chatui.delivery.bus import send_from_thread
from chatui.display import conversation_actions, list_events
from chatui.display.blanks import blank_conversation, blank_exchange, blank_link
from chatui.display.conversation import (
    EFFORTS,
    ConversationLink,
    conversation_link,
    shown_conversation,
    shown_exchange,
    shown_exchanges,
    visible_text,
)
from chatui.display.operator_pages import examples, welcome
from chatui.env import environment
from chatui.model_servers import model_choice
from chatui.permissions import access, access_notices
from chatui.turns import running, sweep
from chatui.web.guards import guarded
from chatui.web.middleware.context import SIDEBAR_LENGTH
from chatui.web.people import person_of
from chatui.web.visitors import visitor_of

if TYPE_CHECKING:
    from chatui.models import Conversation, User


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """A new conversation. Leads to the set-up page while there is no account, and to the sign-in page for people who are signed out."""
    if not request.user.is_authenticated:
        return redirect("setup" if first_account.is_needed() else "sign_in")
    return _page(request, person_of(request), None)


@require_GET
@login_required
@guarded
def conversation(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """One conversation."""
    person = person_of(request)
    row = access.own_conversation(person, conversation_id)
    sweep.interrupt_abandoned(row)
    return _page(request, person, row)


def _page(request: HttpRequest, person: User, row: Conversation | None) -> HttpResponse:
    current = row.pk if row else None
    context = {
        "conversation": shown_conversation(row) if row else None,
        "conversations": [conversation_link(item, current) for item in access.own_conversations(person, SIDEBAR_LENGTH)],
        "exchanges": shown_exchanges(row, person) if row else [],
        "blank_exchange": blank_exchange(),
        "blank_conversation": blank_conversation(),
        "blank_link": blank_link(),
        "access_notices": access_notices.undismissed(person, row) if row else [],
        "welcome": welcome(),
        "examples": [] if row else examples(),
        "deleted": _just_deleted(request, person),
        "limits": {"text_chars": environment().max_message_chars},
        "efforts": EFFORTS,
        **_choice(person, row),
    }
    return render(request, "chat/chat.html", context)


def _choice(person: User, row: Conversation | None) -> dict[str, object]:
    """The choices at the composer, with those that are selected when the page opens."""
    choices = model_choice.choices_for(person)
    kept = row.choice if row else ""
    offered = model_choice.offered_as(choices, kept) if kept else None
    first = choices[0].effort if choices else "medium"
    return {
        "choices": choices,
        "choice": offered,
        "choice_is_gone": bool(kept) and offered is None,
        "effort": row.effort if row else first,
    }


def _just_deleted(request: HttpRequest, person: User) -> ConversationLink | None:
    asked = request.GET.get("deleted")
    if not asked:
        return None
    try:
        return conversation_link(access.own_conversation(person, asked, deleted=True))
    except access.NotFoundError:
        return None


@require_GET
@login_required
@guarded
def exchange(request: HttpRequest, conversation_id: UUID, turn_id: UUID) -> HttpResponse:
    """The fragment of one question and its answer."""
    row = access.own_conversation(person_of(request), conversation_id)
    sweep.interrupt_abandoned(row)
    shown = shown_exchange(row, access.turn_of(row, turn_id))
    context = {"exchange": shown, "conversation": shown_conversation(row), "efforts": EFFORTS}
    return render(request, "exchange/_exchange.html", context)


@require_POST
@login_required
@guarded
def rename(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Rename a conversation."""
    row = conversation_actions.rename(person_of(request), conversation_id, request.POST.get("title", ""))
    send_from_thread(groups.person(row.owner_id), list_events.retitled(row))
    return _done(request, reverse("conversation", args=[row.pk]), title=row.title)


@require_POST
@login_required
@guarded
def delete(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Delete a conversation; it can be restored until it is purged."""
    row = conversation_actions.delete(person_of(request), conversation_id)
    running.stop_all_from_thread(row.pk)
    send_from_thread(groups.person(row.owner_id), list_events.unlisted(row.pk))
    return _done(request, f"{reverse('home')}?deleted={row.pk}", restore=reverse("restore", args=[row.pk]))


@require_POST
@login_required
@guarded
def restore(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Restore a deleted conversation."""
    row = conversation_actions.restore(person_of(request), conversation_id)
    send_from_thread(groups.person(row.owner_id), list_events.listed(row))
    return _done(request, reverse("conversation", args=[row.pk]), title=row.title)


@require_POST
@login_required
@guarded
def branch(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Open the branch that a message is on."""
    row = conversation_actions.open_branch(person_of(request), conversation_id, request.POST.get("message"))
    return _done(request, reverse("conversation", args=[row.pk]))


@require_GET
@login_required
@guarded
def message_text(request: HttpRequest, conversation_id: UUID, message_id: UUID) -> HttpResponse:
    """The Markdown source of a visible message, for the clipboard. 404 for a hidden one."""
    text = visible_text(visitor_of(request, "page"), conversation_id, message_id)
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


def _done(request: HttpRequest, url: str, **fields: str) -> HttpResponse:
    if "application/json" in request.headers.get("Accept", ""):
        return JsonResponse({"ok": True, "url": url, **fields})
    return redirect(url)
