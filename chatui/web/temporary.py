"""The endpoint for a temporary conversation's page: reports that it was left or is open again, and closes or keeps the conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse

from chatui.codes import ProductCode
from chatui.display import conversation_list
from chatui.permissions import access
from chatui.turns import running
from chatui.turns import temporary as turns_temporary
from chatui.web.errors import refuse
from chatui.web.guards import person_of, signed_in

if TYPE_CHECKING:
    from chatui.models.conversation import Conversation


@signed_in("POST")
def temporary_chat(request: HttpRequest, conversation_id: UUID, what: str) -> HttpResponse:
    """Performs one of the four actions on a person's temporary conversation. 409 for keeping it while an answer is being written."""
    row = access.own_temporary(person_of(request), conversation_id)
    if what not in _ACTIONS:
        raise access.NotFoundError
    if not _ACTIONS[what](row):
        return refuse(request, ProductCode.BUSY, 409)
    return JsonResponse({"ok": True, "title": row.title})


def _close(row: Conversation) -> bool:
    running.stop_all_from_thread(row.pk)
    turns_temporary.close(row)
    return True


def _keep(row: Conversation) -> bool:
    if not turns_temporary.keep(row):
        return False
    conversation_list.tell(row.owner_id, *conversation_list.placed(row))
    return True


_ACTIONS: dict[str, Callable[[Conversation], bool]] = {
    "close": _close,
    "keep": _keep,
    "leave": turns_temporary.leave,
    "stay": turns_temporary.stay,
}
