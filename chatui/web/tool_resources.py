"""The endpoint of the dialog at the message box in which a person picks a resource of a tool server as an attachment."""

from __future__ import annotations

from django.http import HttpRequest, JsonResponse

from chatui.limits import Throttle
from chatui.web.files import message_box, uploads
from chatui.web.guards import person_of, signed_in, visitor_of

_lists = Throttle("tool-resources", attempts=120, seconds=600)
_MOST_FIELDS = 10
TOKEN_CHARS = 50_000
"""Enough for the longest address and words that a resource may have, in any letters."""


@signed_in("GET", "POST")
def resources(request: HttpRequest, server: str) -> JsonResponse:
    """A page of what the server lists, after the token ``page``; or attach what was picked, with ``pick`` and a ``field-NAME`` for each
    field of a template, to the message box of ``conversation``. A failure of the server is a sentence in the reply."""
    person = person_of(request)
    if request.method == "GET":
        from chatui.display import tool_resources  # takes 2 MB, and most installations have no tool servers

        _lists.check(str(person.pk))
        return JsonResponse(tool_resources.page(person, server, request.GET.get("page", "")[:TOKEN_CHARS]))
    from chatui.transfer.tool_resources import Pick, attach

    place, choice = message_box(request), request.GET.get("choice", "")
    uploads.check(str(person.pk))
    fields = [(name.removeprefix("field-"), str(value)) for name, value in request.POST.items() if name.startswith("field-")]
    pick = Pick(server, request.POST.get("pick", "")[:TOKEN_CHARS], dict(fields[:_MOST_FIELDS]))
    return JsonResponse(attach(visitor_of(request, "page"), pick, place, choice))
