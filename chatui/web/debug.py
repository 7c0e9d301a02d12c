"""The debug view's pages, on which staff with the permission see every frame of a conversation after an opt-in.

On one of them staff approve or decline debug requests. Two are about one turn: the prompt that was sent to the model, and the tokens of
prompt and output.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from chatui.display import debug as display_debug
from chatui.display import debug_tokens
from chatui.display.conversation_list import shown_conversation
from chatui.env import environment
from chatui.permissions import access, administration, debug_requests
from chatui.permissions.administration import AdminPart
from chatui.site.languages import sentence_of
from chatui.web.guards import View, hidden_channels, notify_sockets, number, person_of, visitor_of
from chatui.web.manage import parts
from chatui.web.manage.parts import for_part

if TYPE_CHECKING:
    from chatui.models.conversation import Conversation


_AFTER_THE_END = 2
"""How many seconds after the end of a view its pages are loaded anew. By then a page's script has closed it."""


def opened(action: str, way: str = "page") -> Callable[[View], View]:
    """Guards a view of hidden channels that is given the conversation, once the access has been recorded as ``action``. People whose debug
    view is not open, or no longer open, are redirected to the page on which they can open it."""

    def decorate(view: View) -> View:
        @hidden_channels("GET", action)
        @wraps(view)
        def answer(request: HttpRequest, conversation_id: UUID, *args: Any, **kwargs: Any) -> HttpResponseBase:
            try:
                row = access.view_hidden(visitor_of(request, way), conversation_id, action=action)
            except access.OptInNeededError:
                return redirect("debug", conversation_id)
            return view(request, row, *args, **kwargs)

        return answer

    return decorate


@hidden_channels("GET", "debug page")
def debug(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """All frames of a branch, grouped by turns. If the view is not open, the page that asks for the opt-in."""
    visitor = visitor_of(request, "page")
    try:
        row = access.view_hidden(visitor, conversation_id, action="debug page")
    except access.OptInNeededError:
        return _opt_in(request, access.debuggable_conversation(visitor, conversation_id, action="debug page"))
    return _frames(request, row, "frames")


@opened("debug comparison")
def compare(request: HttpRequest, row: Conversation) -> HttpResponse:
    return _frames(request, row, "compare")


@opened("debug raw text")
def raw(request: HttpRequest, row: Conversation) -> HttpResponse:
    """The branch as an OpenChatML document."""
    text = display_debug.raw_branch(row, person_of(request), branch_of(request))
    return _page(request, row, "debug/raw.html", "raw", text=text)


@hidden_channels("GET", "debug raw frame")
def raw_frame(request: HttpRequest, conversation_id: UUID, message_id: UUID) -> HttpResponse:
    """One frame as it is stored, for a part of the page that is loaded when it is opened."""
    row = access.view_hidden(visitor_of(request, "page"), conversation_id, action="debug raw frame")
    return HttpResponse(display_debug.raw_frame(row, message_id), content_type="text/plain; charset=utf-8")


@hidden_channels("POST", "open debug view")
def debug_open(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Open the debug view, or request it if a second person has to approve."""
    visitor = visitor_of(request, "page")
    reason = " ".join(request.POST.get("reason", "").replace("\x00", "").split())
    try:
        row = debug_requests.open_debug_view(visitor, conversation_id, reason, number(request.POST.get("minutes"), 0))
    except debug_requests.ReasonNeededError as error:
        row = access.debuggable_conversation(visitor, conversation_id, action="open debug view")
        return _opt_in(request, row, reason=reason, problem=sentence_of(error.code))
    return redirect("debug", row.pk)


@hidden_channels("POST", "close debug view")
def debug_close(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Close the debug view. Other tabs that stream it stop at once."""
    row = debug_requests.close_debug_view(visitor_of(request, "page"), conversation_id)
    notify_sockets(person_of(request))
    return redirect("conversation", row.pk) if row.owner == request.user else redirect("home")


def _page(request: HttpRequest, row: Conversation, template: str, tab: str, **shown: object) -> HttpResponse:
    """A page of an open debug view. When the view's time is over, the browser itself loads it anew, without any script, so that no hidden
    text stays on the screen."""
    view = debug_requests.open_view(visitor_of(request, "page"), row)
    about = {"conversation": shown_conversation(row), "open_view": view, "tab": tab, "branch": branch_of(request) or ""}
    response = render(request, template, _about(request, row) | about | shown)
    if view is not None:
        response.headers["Refresh"] = str(view.seconds + _AFTER_THE_END)
    return response


def branch_of(request: HttpRequest) -> str | None:
    """A message on the branch to show; None for the branch that is open."""
    return request.GET.get("branch") or None


def _frames(request: HttpRequest, row: Conversation, tab: str) -> HttpResponse:
    view = display_debug.view(row, person_of(request), branch_of(request))
    return _page(request, row, "debug/frames.html", tab, view=view)


def _opt_in(request: HttpRequest, row: Conversation, *, reason: str = "", problem: str = "") -> HttpResponse:
    shown = shown_conversation(row)
    if row.owner != request.user:
        # The title is the person's text, and before the opt-in no line in the audit log would record who read it.
        shown = replace(shown, title=_("A conversation of %(name)s") % {"name": row.owner.get_username()})
    waits = environment().debug_approval
    context = _about(request, row) | {
        "conversation": shown,
        "choices": debug_requests.minutes_to_choose(),
        "reason_chars": debug_requests.REASON_CHARS,
        "waits": waits,
        "debug_request": debug_requests.own_request(visitor_of(request, "page"), row) if waits else None,
        "reason": reason,
        "problem": problem,
    }
    part = AdminPart.CONVERSATIONS if AdminPart.CONVERSATIONS in administration.parts_of(person_of(request)) else None
    return parts.page(request, part, "manage/opt_in.html", context, 400 if problem else 200)


def _about(request: HttpRequest, row: Conversation) -> dict[str, object]:
    return {"owner_name": row.owner.get_username(), "is_own": row.owner == request.user}


@for_part(AdminPart.REQUESTS)
def requests(request: HttpRequest) -> HttpResponse:
    """The open requests: who asks, for whose conversation, why and for how long. They show no content of the conversations."""
    waiting = debug_requests.pending_requests(visitor_of(request, "page"))
    return parts.page(request, AdminPart.REQUESTS, "manage/requests.html", {"waiting": waiting, "waits": environment().debug_approval})


@hidden_channels("POST", "approve debug view")
def approve(request: HttpRequest, conversation_id: UUID, request_id: UUID) -> HttpResponse:
    """Approve a request: the view opens for the person who asked, and their time starts now."""
    debug_requests.decide(visitor_of(request, "page"), conversation_id, request_id, approves=True)
    return parts.done("debug-approved", "", "debug_requests")


@hidden_channels("POST", "decline debug view")
def decline(request: HttpRequest, conversation_id: UUID, request_id: UUID) -> HttpResponse:
    debug_requests.decide(visitor_of(request, "page"), conversation_id, request_id, approves=False)
    return parts.done("debug-declined", "", "debug_requests")


@opened("debug prompt")
def prompt(request: HttpRequest, row: Conversation, turn_id: UUID) -> HttpResponse:
    """The body of the request, one part at a time. ``format=sent`` shows it byte for byte."""
    # Old links use ``form``.
    laid_out = request.GET.get("format", request.GET.get("form")) != "sent"
    shown = debug_tokens.part(row, turn_id, number(request.GET.get("part"), 1), laid_out=laid_out)
    return _page(request, row, "debug/prompt.html", "prompt", prompt=shown)


@opened("prompt download", "download")
def prompt_file(request: HttpRequest, row: Conversation, turn_id: UUID) -> HttpResponse:
    # Served as a download: a prompt may contain anything.
    response = HttpResponse(debug_tokens.whole(row, turn_id), content_type="text/plain; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="prompt-{turn_id}.json"'
    return response


@opened("debug tokens")
def turn_tokens(request: HttpRequest, row: Conversation, turn_id: UUID) -> HttpResponse:
    """Token ids and text, a few hundred per page: of the prompt, or of the model's output with ``of=output``."""
    of = debug_tokens.OUTPUT if request.GET.get("of") == debug_tokens.OUTPUT else debug_tokens.PROMPT
    page = debug_tokens.page(row, turn_id, of, number(request.GET.get("from"), 0))
    return _page(request, row, "debug/tokens.html", "tokens", page=page)
