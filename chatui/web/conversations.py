"""The chat page with its fragments, and the actions on a conversation: rename, delete, restore, switch branch, copy."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext

from chatui import wire
from chatui.accounts import people, sign_in
from chatui.display import assistants, collections, conversation_actions, conversation_list, files, operator_pages, tools, windows
from chatui.display.assistants import ShownAssistant
from chatui.display.conversation import BLANK_EXCHANGE, EFFORTS, shown_exchange, visible_text
from chatui.display.conversation_list import ShownConversation, blank_conversation, blank_list, shown_conversation
from chatui.display.folders import BLANK_FOLDER, shown_folders
from chatui.display.model_choice import ShownChoices, shown_choices
from chatui.display.versions import shown_versions
from chatui.display.windows import ShownWindow
from chatui.env import environment
from chatui.model_servers import connected
from chatui.permissions import access, access_notices, administration
from chatui.proxies import is_only_here
from chatui.turns import running, sweep, temporary
from chatui.web import downloads
from chatui.web.answer_format import stored_schema
from chatui.web.collections import begins_with
from chatui.web.guards import done, for_anybody, person_of, signed_in, visitor_of
from chatui.web.pages import draws_diagrams

if TYPE_CHECKING:
    from chatui.models.conversation import Conversation
    from chatui.models.message import Message
    from chatui.models.user import User


@for_anybody("GET", "HEAD")
@draws_diagrams
def home(request: HttpRequest) -> HttpResponse:
    """A new conversation. Redirects to the set-up page while there is no account, and people who are signed out to the sign-in page, with
    what a link fills in (``q``, which only the page's script reads)."""
    if not request.user.is_authenticated:
        if request.GET and not sign_in.is_needed():
            return redirect_to_login(request.get_full_path())
        return redirect("setup" if sign_in.is_needed() else "sign_in")
    response = HttpResponse(_page(request, person_of(request), None, ShownWindow([])))
    if "q" in request.GET:
        response.headers["Referrer-Policy"] = "strict-origin"  # or a proxy logs it with each style sheet
    return response


@signed_in("GET")
@draws_diagrams
def conversation(request: HttpRequest, conversation_id: UUID) -> HttpResponseBase:
    """One conversation, at its end; ``at``, ``before`` or ``after`` a message show another part; ``all`` shows the whole.

    Somebody else's leads those who may to its debug view: people send the address of the page that they see.
    """
    person = person_of(request)
    try:
        asked = _asked(request, conversation_id)
        row, is_late, _ = access.own_opened(person, conversation_id)
    except access.NotFoundError:
        if access.debuggable_conversations(person).exclude(owner=person).filter(pk=conversation_id).exists():
            return redirect("debug", conversation_id)
        raise
    if is_late:
        sweep.interrupt_abandoned(row)
    if row.temporary_until is not None:
        temporary.stay(row)
    if request.GET.get("all"):
        return _whole(request, person, row)
    return HttpResponse(_page(request, person, row, _SIDES[asked[0]](row, asked[1]) if asked else windows.latest(row)))


@signed_in("GET")
def exchanges(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """The fragment of the exchanges ``before`` or ``after`` a message, with the link to further ones."""
    asked = _asked(request, conversation_id)
    if asked is None or asked[0] == "at":
        raise access.NotFoundError
    row = access.own_conversation(person_of(request), conversation_id)
    side, message = asked
    shown = _SIDES[side](row, message)
    shown = replace(shown, later="") if side == "before" else replace(shown, earlier="")
    return HttpResponse(_rendered_window(request, row, shown))


@signed_in("GET")
def more_conversations(request: HttpRequest) -> HttpResponse:
    """The fragment of the sidebar's list, or of a ``folder``'s conversations, from ``list`` on."""
    person, start, folder = person_of(request), request.GET.get("list", ""), request.GET.get("folder", "")
    key = access.own_folder(person, folder).pk if folder else None
    shown = conversation_list.shown_list(person, start=start, folder=key)
    return render(request, "sidebar/_conversation_items.html", {"conversations": shown})


_SIDES = {"at": windows.around, "before": windows.earlier, "after": windows.later}


def _asked(request: HttpRequest, conversation_id: UUID) -> tuple[str, Message] | None:
    """The message that the address names, and the requested side of it, one of ``_SIDES``; None if it names none.

    This is checked before the conversation: requesting a hidden message is recorded as an attempt, whoever owns the conversation.
    """
    for name in _SIDES:
        if name in request.GET:
            visitor = visitor_of(request, "page")
            return name, access.visible_message(visitor, conversation_id, request.GET[name], action="link to message")
    return None


def _whole(request: HttpRequest, person: User, row: Conversation) -> StreamingHttpResponse:
    """The page with the whole conversation, streamed one window at a time, with only one in memory."""
    mark = secrets.token_hex(16)
    head, tail = _page(request, person, row, ShownWindow([]), mark=mark).split(mark)

    def pieces() -> Iterator[bytes]:
        yield head.encode()
        for shown in windows.whole(row):
            yield _rendered_window(request, row, shown).encode()
        yield tail.encode()

    return downloads.streamed(request, pieces())


def _rendered_window(request: HttpRequest, row: Conversation, shown: ShownWindow) -> str:
    context = {"window": shown, "conversation": shown_conversation(row), "efforts": EFFORTS}
    return render_to_string("chat/_window.html", context, request)


def _page(request: HttpRequest, person: User, row: Conversation | None, shown: ShownWindow, *, mark: str = "") -> str:
    """The page. ``mark``: a placeholder for exchanges that are rendered separately."""
    start, asked = request.GET.get("list", ""), "" if row else request.GET.get("folder", "")
    folders, folder = shown_folders(person, row, asked, start if asked else "")
    is_temporary = row.temporary_until is not None if row else "temporary" in request.GET
    wanted = "" if row else request.GET.get("assistant", "")
    assistant = _assistant(person, wanted) if wanted else None
    shown_row = shown_conversation(row) if row else None
    models = shown_choices(person, row, request.GET.get("model", ""), *_model_of(assistant))
    context = {
        "conversation": shown_row,
        "page_title": shown_row.title if shown_row else gettext("Temporary chat") if is_temporary else "",
        "conversations": conversation_list.shown_list(person, row.pk if row else None, "" if asked else start),
        "folders": folders,
        "folder": folder,
        "window": shown,
        "mark": mark,
        "blank_exchange": BLANK_EXCHANGE,
        "blank_conversation": blank_conversation(),
        "blank_list": blank_list(),
        "blank_folder": BLANK_FOLDER,
        "access_notices": access_notices.undismissed(person, row) if row else [],
        "welcome": operator_pages.welcome(is_named=assistant is not None),
        **_of_assistant(person, assistant, wanted),
        **_begins(request, person, row, assistant),
        "assistant_here": assistants.here(row) if row and row.began_with_assistant else None,
        "assistants": [] if row or assistant else assistants.listed(person),
        "examples": _examples(row, assistant),
        "may_invite_first": row is None and not connected.is_demo() and administration.may_invite(person, None) and people.is_alone(person),
        "is_only_here": is_only_here(request),
        "deleted": _just_deleted(request, person),
        "is_temporary": is_temporary,
        "limits": {"text_chars": environment().max_message_chars, "file_mb": environment().file_mb, "files": files.accepted()},
        "efforts": EFFORTS,
        "has_format": row is not None and row.answer_format is not None,
        **_new_format(request, row, assistant),
        "has_files": files.are_any(person, row.pk if row else None),
        "has_tools": tools.has_tools(person),
        "resource_servers": tools.resource_servers(person),
        "models": models,
        "effort": row.effort if row else _effort(person, assistant, models),
    }
    return render_to_string("chat/chat.html", context, request)


def _assistant(person: User, wanted: str) -> ShownAssistant | None:
    """The assistant that the address names; None if this person has no such assistant. The page then says so, and keeps what else the link
    fills in."""
    try:
        return assistants.to_begin_with(person, wanted)
    except access.NotFoundError:
        return None


def _documents_asked(request: HttpRequest, person: User, row: Conversation | None, assistant: ShownAssistant | None) -> dict[str, object]:
    """The collections that a conversation asks, or a new one will, and the address at which they are chosen."""
    if row is not None:
        return {
            "asked_here": collections.here(row) if access.asks_collections(row) else None,
            "choose_documents": reverse("conversation_documents", args=[row.pk]),
        }
    if not request.GET:
        return {"choose_documents": reverse("collections_choose")}
    named = request.GET.getlist("collection")
    asked = collections.to_begin_with(person, named) if named else []
    lent = collections.of_assistant(person, assistant.id) if assistant else None
    query = urlencode([*begins_with(request), *(("collection", each.id) for each in asked)])
    return {
        "asked_names": sorted({each.name for each in asked} | set(lent.names if lent else ()), key=str.casefold),
        "lends_less": lent is not None and lent.lends_less,
        "begins_asking": ",".join(each.id for each in asked),
        "choose_documents": reverse("collections_choose") + (f"?{query}" if query else ""),
    }


def _model_of(assistant: ShownAssistant | None) -> tuple[str, str]:
    """The model with which it begins, and its maker, for ``shown_choices``."""
    return (assistant.choice, assistant.maker) if assistant else ("", "")


def _begins(request: HttpRequest, person: User, row: Conversation | None, assistant: ShownAssistant | None) -> dict[str, object]:
    """What a conversation asks. For a new one also the addresses to begin it otherwise: with an assistant, whose id is to be appended;
    without one; and temporarily, or not if this one is temporary."""
    asked = _documents_asked(request, person, row, assistant)
    if row is not None:
        return asked
    other = {"temporary": "" if "temporary" in request.GET else "1", "assistant": assistant.id if assistant else ""}
    query = urlencode({name: value for name, value in other.items() if value})
    kept = [(name, value) for name in ("folder", "temporary", "format") if (value := request.GET.get(name))]
    return {
        **asked,
        "begin_with": f"?{urlencode([*kept, ('assistant', '')])}",
        "begin_without": f"?{urlencode(kept)}" if kept else reverse("home"),
        "other_kind": reverse("home") + (f"?{query}" if query else ""),
    }


def _of_assistant(person: User, assistant: ShownAssistant | None, wanted: str) -> dict[str, object]:
    """For the template: the assistant, whether one was ``wanted`` that there is not, and the tools that it turns on, if it says which."""
    begun = tools.begun_with(person, assistant.tools) if assistant and assistant.tools is not None else None
    return {"assistant": assistant, "no_assistant": bool(wanted) and assistant is None, "begun_tools": begun}


def _effort(person: User, assistant: ShownAssistant | None, models: ShownChoices) -> str:
    """The reasoning effort of a new conversation: its assistant's, or else the person's, or else the model's."""
    return (assistant.effort if assistant else "") or person.effort or (models.chosen.effort if models.chosen else "medium")


def _examples(row: Conversation | None, assistant: ShownAssistant | None) -> Sequence[str]:
    """Questions to begin with: those of the assistant, or the operator's."""
    if row is not None:
        return ()
    return assistant.starters if assistant else operator_pages.examples(is_demo=connected.is_demo())


def _new_format(request: HttpRequest, row: Conversation | None, assistant: ShownAssistant | None) -> dict[str, str]:
    """The schema for the first message of a new conversation, and the address that sets it. Temporary chats have no schema."""
    if row is not None or "temporary" in request.GET:
        return {}
    stored = stored_schema(request, "format")
    asked = {
        "folder": request.GET.get("folder"),
        "assistant": assistant and assistant.id,
        "for": request.GET.get("format") if stored else None,
    }
    query = urlencode({name: value for name, value in asked.items() if value})
    return {"new_format": stored, "set_format": reverse("new_answer_format") + (f"?{query}" if query else "")}


def _just_deleted(request: HttpRequest, person: User) -> ShownConversation | None:
    asked = request.GET.get("deleted")
    if not asked:
        return None
    try:
        return shown_conversation(access.own_conversation(person, asked, deleted=True))
    except access.NotFoundError:
        return None


@signed_in("GET")
def exchange(request: HttpRequest, conversation_id: UUID, turn_id: UUID) -> HttpResponse:
    row = access.own_conversation(person_of(request), conversation_id)
    sweep.interrupt_abandoned(row)
    context = {"exchange": shown_exchange(row, access.turn_of(row, turn_id)), "conversation": shown_conversation(row), "efforts": EFFORTS}
    return render(request, "exchange/_exchange.html", context)


@signed_in("GET")
def answers(request: HttpRequest, conversation_id: UUID, message_id: UUID) -> HttpResponse:
    question = access.visible_message(visitor_of(request, "page"), conversation_id, message_id, action="versions of an answer")
    row = access.own_conversation(person_of(request), conversation_id)
    context = {"shown": shown_versions(row, question), "conversation": shown_conversation(row)}
    return render(request, "exchange/_versions.html", context)


@signed_in("POST")
def rename(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    row = conversation_actions.rename(person_of(request), conversation_id, request.POST.get("title", ""))
    conversation_list.tell(row.owner_id, wire.TitleChanged(str(row.pk), row.title))
    return done(request, reverse("conversation", args=[row.pk]), title=row.title)


@signed_in("POST")
def delete(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    row = conversation_actions.delete(person_of(request), conversation_id)
    running.stop_all_from_thread(row.pk)
    conversation_list.tell(row.owner_id, wire.Unlisted(str(row.pk)))
    return done(request, f"{reverse('home')}?deleted={row.pk}", restore=reverse("restore", args=[row.pk]))


@signed_in("POST")
def restore(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    row = conversation_actions.restore(person_of(request), conversation_id)
    conversation_list.tell(row.owner_id, *conversation_list.placed(row))
    return done(request, reverse("conversation", args=[row.pk]), title=row.title)


@signed_in("POST")
def branch(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Open the branch that a message is on, and redirect to the part of the conversation with its question."""
    row, question = conversation_actions.open_branch(visitor_of(request, "page"), conversation_id, request.POST.get("message"))
    url = reverse("conversation", args=[row.pk])
    return done(request, f"{url}?at={question}#m-{question}" if question else url)


@signed_in("GET")
def message_text(request: HttpRequest, conversation_id: UUID, message_id: UUID) -> HttpResponse:
    """The Markdown source of a visible message, for the clipboard. 404 for a hidden one."""
    text = visible_text(visitor_of(request, "page"), conversation_id, message_id)
    return HttpResponse(text, content_type="text/plain; charset=utf-8")
