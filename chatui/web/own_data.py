"""The pages about a person's own data: the archive, the bin, several conversations at once, all of them, and undoing the last such change.

The bin has the conversations that a person deleted, until they are erased.

The last change is in the session, so that it can be undone from any page, with and without scripts.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, ngettext, ngettext_lazy

from chatui import wire
from chatui.display import conversation_actions, conversation_list, own_data
from chatui.display import folders as display_folders
from chatui.display.own_data import MAX_CHOSEN, ChangedConversations
from chatui.env import environment
from chatui.limits import Throttle
from chatui.permissions import access
from chatui.permissions.access import NotFoundError
from chatui.turns.calls import file_access
from chatui.web import downloads
from chatui.web.guards import done, person_of, signed_in, visitor_of
from chatui.web.language import back

_SESSION_KEY = "last_change"
_writes = Throttle("own-data", attempts=120, seconds=60)


@signed_in("GET")
def data(request: HttpRequest) -> HttpResponse:
    """How much the person has, and what they can do with all of it."""
    context = {
        "own": own_data.summary(person_of(request)),
        "changed": changed(request),
        "can_close": environment().close_own_account,
    }
    return render(request, "account/data.html", context)


@signed_in("GET", "POST")
def delete_all(request: HttpRequest) -> HttpResponse:
    """Asks whether to put all conversations into the bin, and says which share links then show nothing; then does so."""
    if request.method == "POST":
        _writes.check(str(person_of(request).pk))
        change = own_data.delete_all(visitor_of(request, "page"))
        remember(request, change)
        return redirect(f"{reverse('own_data')}?changed")
    context = {"own": own_data.summary(person_of(request)), "days": environment().bin_days}
    return render(request, "account/delete_all.html", context)


@signed_in("GET")
def archived(request: HttpRequest) -> HttpResponse:
    shown = conversation_list.shown_archive(person_of(request), request.GET.get("list", ""))
    return render(request, "sidebar/archived.html", {"archive": shown})


@signed_in("POST")
def put(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Move a conversation to the top of the list, or into the archive. Redirects to the archive if ``back`` says so."""
    row = conversation_actions.put(person_of(request), conversation_id, request.POST.get("place", ""))
    conversation_list.tell(row.owner_id, *conversation_list.placed(row))
    url = reverse("archived") if request.POST.get("back") == "archive" else reverse("conversation", args=[row.pk])
    return done(request, url, title=row.title)


@signed_in("GET")
def bin_page(request: HttpRequest) -> HttpResponse:
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
    return render(request, "sidebar/erase.html", {"conversation": conversation_list.shown_outside_list(row)})


@signed_in("GET", "POST")
def empty_bin(request: HttpRequest) -> HttpResponse:
    """Asks whether to delete everything in the bin for good; then does so."""
    if request.method == "POST":
        _writes.check(str(person_of(request).pk))
        own_data.empty_bin(visitor_of(request, "page"))
        return redirect(f"{reverse('bin')}?emptied=1")
    return render(request, "account/empty_bin.html", {"own": own_data.summary(person_of(request))})


@signed_in("GET", "POST")
def choose(request: HttpRequest) -> HttpResponseBase:
    """The conversations with boxes; deletes, archives, moves or downloads those that are ticked."""
    person, problem = person_of(request), ""
    if request.method == "POST":
        _writes.check(str(person.pk))
        keys = list(map(access.key_of, request.POST.getlist("conversation")))
        if keys and len(keys) <= MAX_CHOSEN:
            return _act(request, keys)
        problem = gettext("Choose at most %(most)s conversations at once.") % {"most": MAX_CHOSEN}
        problem = problem if keys else gettext("Choose at least one conversation.")
    context = {
        "page": own_data.choosable(person, request.GET.get("list", "")),
        "folders": display_folders.names(person),
        "problem": problem,
        "changed": changed(request),
    }
    return render(request, "account/choose.html", context, status=400 if problem else 200)


def _act(request: HttpRequest, keys: Sequence[UUID]) -> HttpResponseBase:
    person, folder = person_of(request), request.POST.get("folder", "")
    match request.POST.get("action", ""):
        case "download":
            return downloads.download_chosen(request, keys)
        case own_data.DELETE:
            change = own_data.delete(person, keys)
        case own_data.ARCHIVE:
            change = own_data.archive(person, keys)
        case own_data.MOVE:
            change = own_data.move(person, keys, folder)
        case _:
            raise NotFoundError
    kept = remember(request, change)
    return done(request, f"{reverse('own_data_choose')}?changed", title=kept["text"], undo=kept["key"], folder=folder)


@signed_in("POST")
def undo(request: HttpRequest) -> HttpResponse:
    """Undo the last change of several conversations, if it is the one that the form names."""
    person, kept = person_of(request), request.session.get(_SESSION_KEY, {})
    if not kept.get("key") or request.POST.get("key") != kept["key"]:
        raise NotFoundError
    rows = own_data.undo(person, kept["undo"])
    conversation_list.tell(person.pk, *conversation_list.all_placed(rows))
    count = len(rows)
    text = ngettext("%(count)s conversation is back where it was.", "%(count)s conversations are back where they were.", count)
    request.session[_SESSION_KEY] = {"text": text % {"count": count}, "key": ""}
    return done(request, back(request, reverse("own_data")), title=text % {"count": count})


def remember(request: HttpRequest, change: ChangedConversations) -> dict[str, Any]:
    """Tell the person's pages about a change, and keep it for ``undo``; returns the sentence about it (``text``) and its ``key``."""
    person = person_of(request)
    if change.what == own_data.DELETE:
        file_access.forget_from_thread(*change.keys)
        conversation_list.tell(person.pk, *(wire.Unlisted(str(key)) for key in change.keys))
    else:
        conversation_list.tell(person.pk, *conversation_list.all_placed(access.own_chosen(person, change.keys)))
    kept = {"text": _sentence(change), "key": secrets.token_hex(8) if change.keys else "", "undo": dict(change.undo)}
    request.session[_SESSION_KEY] = kept
    return kept


def changed(request: HttpRequest) -> dict[str, Any] | None:
    """The last change, for the page that the person is sent to after it."""
    return request.session.get(_SESSION_KEY) if "changed" in request.GET else None


_CHANGED = {
    own_data.DELETE: ngettext_lazy("Moved %(count)s conversation to the bin.", "Moved %(count)s conversations to the bin.", "count"),
    own_data.ARCHIVE: ngettext_lazy("Archived %(count)s conversation.", "Archived %(count)s conversations.", "count"),
    own_data.MOVE: ngettext_lazy("Moved %(count)s conversation.", "Moved %(count)s conversations.", "count"),
}
_STAY = ngettext_lazy(
    "%(count)s stays, because an answer is being written in it.", "%(count)s stay, because answers are being written in them.", "count"
)


def _sentence(change: ChangedConversations) -> str:
    changed, stay = _CHANGED[change.what] % {"count": len(change.keys)}, _STAY % {"count": change.unchanged}
    return changed if not change.unchanged else f"{changed} {stay}" if change.keys else stay
