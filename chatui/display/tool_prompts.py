"""The prompts of tool servers for the message box: what a person may take, as inert text, and why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chatui.display.tools import prompt_servers
from chatui.models.user import User
from chatui.permissions.access import NotFoundError
from chatui.tools import prompts
from chatui.tools.mcp.prompts import LeftOut
from chatui.tools.picks import NoSuchPickError
from chatui.tools.remote.offers import ResponseTooLongError, ServerError
from chatui.tools.sign_in.tokens import SignInNeededError

_KINDS = {
    LeftOut.PICTURE: gettext_lazy("pictures"),
    LeftOut.SOUND: gettext_lazy("sounds"),
    LeftOut.FILE: gettext_lazy("files"),
    LeftOut.LINK: gettext_lazy("links"),
    LeftOut.ANSWER: gettext_lazy("prepared answers"),
    LeftOut.PRIVATE: gettext_lazy("texts for you alone"),
    LeftOut.OTHER: gettext_lazy("parts of an unknown kind"),
}


def listed(person: User, server: str) -> dict[str, Any]:
    """The prompts of a server, or why there are none. Raises as ``check``."""
    check(person, server)
    try:
        found = prompts.listed(server, person.pk)
    except ServerError as error:
        return _failure(server, error, _("%(server)s gives no prompts now: it could not be reached in time, or refused."))
    return {
        "ok": True,
        "prompts": [
            {
                "name": each.name,
                "begins": each.about,
                "pick": pick,
                "fields": [{"name": field.name, "about": field.about, "required": field.is_required} for field in each.arguments],
            }
            for each, pick in found
        ],
    }


def filled(person: User, server: str, token: str, values: Sequence[str]) -> dict[str, Any]:
    """The text of a prompt that the person took, with a note of what is not in it; or why there is none. Raises as ``check``."""
    check(person, server)
    try:
        found = prompts.filled(server, person.pk, token, values)
    except (NoSuchPickError, ServerError) as error:
        otherwise = _("%(server)s did not give this prompt: it could not be reached in time, refused it, or gave no text.")
        return _failure(server, error, otherwise)
    kinds = ", ".join(str(_KINDS[each]) for each in found.left_out)
    note = _("Only text can be inserted. Left out of what %(server)s gave: %(kinds)s.") % {"server": server, "kinds": kinds}
    return {"ok": True, "text": found.text, "note": note if kinds else ""}


def check(person: User, server: str) -> None:
    """Raises NotFoundError if this person may not ask the server for prompts."""
    if server not in prompt_servers(person):
        raise NotFoundError


def _failure(server: str, error: Exception, otherwise: str) -> dict[str, Any]:
    """What the person is told: nothing that the server said."""
    message, connect = otherwise, ""
    if isinstance(error, SignInNeededError):
        message, connect = _("%(server)s needs your own account there. Connect it, and try again."), reverse("tool_accounts")
    elif isinstance(error, NoSuchPickError):
        message = _("This is no longer what %(server)s showed you, or a field is empty or too long. Open the list again.")
    elif isinstance(error, ResponseTooLongError):
        message = _("What %(server)s gave is too long for a message.")
    return {"ok": False, "message": message % {"server": server}, "connect": connect}
