"""The page on which a person rates an answer. Scripts show its form in a dialog."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from chatui.delivery import groups
from chatui.delivery.bus import send_from_thread
from chatui.display import list_events
from chatui.display.ratings import actions
from chatui.display.ratings.actions import MAX_CHARS, REASONS, NoRatingError, RatingInput
from chatui.permissions import access
from chatui.throttle import Throttle
from chatui.web.guards import guarded
from chatui.web.visitors import visitor_of

_writes = Throttle("ratings", attempts=120, seconds=60)


@require_http_methods(["GET", "POST"])
@login_required
@guarded
def rating(request: HttpRequest, conversation_id: UUID, message_id: UUID) -> HttpResponse:
    """The form with the person's current rating, for the thumb ``verdict``; stores or removes their rating."""
    visitor = visitor_of(request, "page")
    before = actions.current(visitor, conversation_id, message_id)
    back = f"{reverse('conversation', args=[conversation_id])}?at={message_id}#m-{message_id}"
    asked = (request.POST or request.GET).get("verdict", before.verdict)
    context = {
        "conversation": {"id": conversation_id},
        "message_id": message_id,
        "verdict": asked if asked == "up" else "down",
        "reasons": REASONS,
        "reason": request.POST.get("reason", before.reason),
        "note": request.POST.get("note", before.note),
        "note_chars": MAX_CHARS,
        "back": back,
    }
    if request.method == "POST":
        _writes.check(str(visitor.user))
        given = _given(request)
        try:
            actions.rate(visitor, conversation_id, message_id, given)
        except NoRatingError:
            context["problem"] = gettext("Choose a reason. Your comment can have up to 1,000 characters.")
            return render(request, "ratings/rating.html", context, status=400)
        person = access.person_of(visitor)
        send_from_thread(groups.person(person.pk), list_events.rated(conversation_id, message_id, given.verdict))
        if "application/json" in request.headers.get("Accept", ""):
            return JsonResponse({"ok": True})
        return redirect(back)
    return render(request, "ratings/rating.html", context)


def _given(request: HttpRequest) -> RatingInput:
    sent = request.POST
    # A form sends CR LF for each line end, which the textarea, and so its maximum length, counts as one character.
    return RatingInput(sent.get("verdict", ""), sent.get("reason", ""), sent.get("note", "").replace("\r\n", "\n"))
