"""Search in all conversations and in one, with links from a result to its place in the conversation."""

from __future__ import annotations

from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from chatui.display import conversation_actions, search
from chatui.limits import Throttle
from chatui.permissions import access
from chatui.web.guards import number, person_of, signed_in, visitor_of

# A fast typist causes a few requests a second, but not for minutes.
_searches = Throttle("search", attempts=120, seconds=60)


@signed_in("GET")
def results(request: HttpRequest) -> HttpResponse:
    person = person_of(request)
    _searches.check(str(person.pk))
    text = request.GET.get("q", "")
    found = search.search(person, text, number(request.GET.get("before"), None))
    return render(request, "sidebar/_search_results.html", {"results": found, "query": text[: search.QUERY_CHARS]})


@signed_in("GET")
def within(request: HttpRequest, conversation_id: UUID) -> JsonResponse:
    """The ids of the visible messages on the open branch that contain a text ``q``, or all ``words`` of a search."""
    person = person_of(request)
    _searches.check(str(person.pk))
    row = access.own_conversation(person, conversation_id)
    words = request.GET.get(search.WORDS)
    if words is None:
        found = search.matching_messages(row, person, request.GET.get("q", ""))
    else:
        found = search.messages_with_words(row, person, words)
    return JsonResponse({"messages": found})


@signed_in("GET")
def message(request: HttpRequest, conversation_id: UUID, message_id: UUID) -> HttpResponse:
    """Redirect to a visible message. Opens the branch that it is on, if another one is open. What the page is to find there stays."""
    row = conversation_actions.open_at(visitor_of(request, "page"), conversation_id, message_id)
    kept = {name: request.GET[name][: search.QUERY_CHARS] for name in _SOUGHT if name in request.GET}
    address = reverse("conversation", args=[row.pk])
    return redirect(f"{address}?{urlencode({'at': message_id} | kept, errors='replace')}#m-{message_id}")


_SOUGHT = (search.WORDS, "find", "by")
"""Parameters of an address that only the page's script reads: words of a search, or a text of the find bar and the direction it goes in."""
