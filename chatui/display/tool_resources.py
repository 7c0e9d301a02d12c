"""The resources of tool servers for the message box: what a person may pick, as inert text, and why something cannot be attached."""

from __future__ import annotations

from typing import Any

from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chatui.model_servers import connected
from chatui.models.user import User
from chatui.permissions.access import NotFoundError
from chatui.permissions.tools import resource_servers
from chatui.tools import resources
from chatui.tools.mcp.resources import Resource, Template
from chatui.tools.picks import NoSuchPickError
from chatui.tools.remote.offers import ResponseTooLongError, ServerError
from chatui.tools.sign_in.tokens import SignInNeededError


def servers(person: User) -> list[str]:
    """The names of the servers whose resources this person may attach."""
    return resource_servers(person, is_demo=connected.is_demo())


def page(person: User, server: str, token: str) -> dict[str, Any]:
    """A page of what a server lists, or why there is none. Raises as ``check``."""
    check(person, server)
    try:
        found = resources.page(server, person.pk, token)
    except (NoSuchPickError, ServerError) as error:
        return failure(server, error)
    left_out = found.left_out
    words = ngettext("%(count)d entry cannot be attached.", "%(count)d entries cannot be attached.", left_out) % {"count": left_out}
    return {
        "ok": True,
        "resources": [{**_words(each), "pick": pick} for each, pick in found.resources],
        "templates": [{**_words(each), "fields": list(each.fields), "pick": pick} for each, pick in found.templates],
        "more": found.more,
        "note": words if left_out else "",
    }


def _words(each: Resource | Template) -> dict[str, str]:
    size = each.size if isinstance(each, Resource) else None
    facts = [each.media_type, "" if size is None else filesizeformat(size), each.description]
    address = each.uri if isinstance(each, Resource) else each.pattern
    return {"name": each.name, "description": " · ".join(filter(None, facts)), "address": address}


def check(person: User, server: str) -> None:
    """Raises NotFoundError if this person may not attach the server's resources."""
    if server not in servers(person):
        raise NotFoundError


def failure(server: str, error: Exception) -> dict[str, Any]:
    """What the person is told: nothing that the server said."""
    connect = ""
    if isinstance(error, SignInNeededError):
        message, connect = _("%(server)s needs your own account there. Connect it, and try again."), reverse("tool_accounts")
    elif isinstance(error, NoSuchPickError):
        message = _("This is no longer what %(server)s showed you, or a field is empty or too long. Open the list again.")
    elif isinstance(error, ResponseTooLongError):
        message = _("What %(server)s gave is too large to be attached from there.")
    else:
        message = _("%(server)s did not give this: it could not be reached in time, refused it, or gave nothing that can be attached.")
    return {"ok": False, "message": message % {"server": server}, "connect": connect}
