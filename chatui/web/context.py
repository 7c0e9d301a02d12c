"""What every page gets: who is looking, the operator's announcement, and whether answers come from the demo."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from chatui import __version__, access, conf
from chatui.operator_pages import announcement

SIDEBAR_LENGTH = 200


def page(request: HttpRequest) -> dict[str, Any]:
    """The context processor."""
    person = access.as_person(getattr(request, "user", None))
    return {
        "announcement": announcement(),
        "is_demo": conf.is_demo(),
        # Not its address: where a team's model server stands is no business of everybody who chats.
        "backend_name": "Demo" if conf.is_demo() else "Model server",
        "can_see_hidden": access.can_see_hidden(person),
        "can_use_office": person is not None and person.is_staff,
        "version": __version__,
    }
