"""The endpoint of the message box for the prompts of one tool server, which it asks for after a slash."""

from __future__ import annotations

from django.http import HttpRequest, JsonResponse

from chatui.limits import Throttle
from chatui.web.guards import person_of, signed_in

_asks = Throttle("tool-prompts", attempts=240, seconds=600)
_MOST_VALUES = 10
TOKEN_CHARS = 50_000
"""Enough for the longest names that a prompt and its arguments may have, in any letters."""


@signed_in("GET", "POST")
def prompts(request: HttpRequest, server: str) -> JsonResponse:
    """What the server lists; or the text of the one with the token ``pick``, with a ``value`` for each of its arguments, in their order.
    Nothing is stored. A failure of the server is a sentence in the reply."""
    from chatui.display import tool_prompts  # as in ``tool_resources``

    person = person_of(request)
    _asks.check(str(person.pk))
    if request.method == "GET":
        return JsonResponse(tool_prompts.listed(person, server))
    pick, values = request.POST.get("pick", "")[:TOKEN_CHARS], request.POST.getlist("value")[:_MOST_VALUES]
    return JsonResponse(tool_prompts.filled(person, server, pick, values))
