"""A temporary conversation is in no list and cannot be exported: every reviewed address is requested, by its owner and by staff."""

from datetime import timedelta

import pytest
from django.utils import timezone

from chatui.models.conversation import Conversation
from tests.canary.asking import client_of, filled, places, rolled_back, whole
from tests.canary.conftest import World
from tests.canary.reviewed import ROUTES, Ask
from tests.canary.surface.test_matrix import ask_for

pytestmark = pytest.mark.django_db

REFUSING = {
    "c/<uuid:conversation_id>/rename/",
    "c/<uuid:conversation_id>/delete/",
    "c/<uuid:conversation_id>/put/",
    "c/<uuid:conversation_id>/move/",
    "c/<uuid:conversation_id>/share/",
    "c/<uuid:conversation_id>/download/",
    "c/<uuid:conversation_id>/messages/<uuid:message_id>/rating/",
    "folders/new/",
}
"""Actions for conversations that stay."""

OPEN = {
    "c/<uuid:conversation_id>/",
    "c/<uuid:conversation_id>/find/",
    "c/<uuid:conversation_id>/exchanges/",
    "c/<uuid:conversation_id>/messages/<uuid:message_id>/answers/",
    "c/<uuid:conversation_id>/messages/<uuid:message_id>/text/",
    "c/<uuid:conversation_id>/turns/<uuid:turn_id>/",
    "c/<uuid:conversation_id>/turns/<uuid:turn_id>/calls/",
    "c/<uuid:conversation_id>/turns/<uuid:turn_id>/files/",
    "c/<uuid:conversation_id>/calls/<uuid:approval_id>/",
    "c/<uuid:conversation_id>/tools/",
    "c/<uuid:conversation_id>/documents/",
    "c/<uuid:conversation_id>/format/",
    "c/<uuid:conversation_id>/assistant/",
    "c/<uuid:conversation_id>/instructions/",
    "c/<uuid:conversation_id>/branch/",
    "c/<uuid:conversation_id>/at/<uuid:message_id>/",
    "c/<uuid:conversation_id>/share/revoke/",
    "c/<uuid:conversation_id>/access-notices/dismiss/",
}
"""Addresses that its page needs while it exists. A new address of a conversation belongs in one of the two sets."""


def make_temporary(world: World) -> None:
    Conversation.objects.filter(pk=world.planted.conversation.pk).update(temporary_until=timezone.now() + timedelta(hours=1))


def asks(world: World) -> list[tuple[str, Ask]]:
    """All that an owner can do with the conversation: every request that names it and succeeds."""
    found = [(route.pattern, ask) for route in ROUTES for ask in route.asks if ask.statuses()["owner"].rstrip("!+*#") in ("200", "302")]
    return [(pattern, ask) for pattern, ask in found if "{conversation}" in ask.path or "{conversation}" in ask.data.values()]


def test_every_conversation_address_is_classified(world: World) -> None:
    client, values = client_of("owner", world), places(world)
    found = asks(world)
    named = [(pattern, ask) for pattern, ask in found if pattern.startswith("c/") or pattern == "folders/new/"]
    assert {pattern for pattern, _ in named} == REFUSING | OPEN, "decide whether it is for temporary conversations"
    make_temporary(world)
    for pattern, ask in named:
        with rolled_back(client):
            expected = 404 if pattern in REFUSING else int(ask.statuses()["owner"].rstrip("!+*#"))
            assert ask_for(client, ask, values).status_code == expected, (pattern, ask.method)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["owner", "both"])
def test_it_is_on_no_page_that_lists_conversations(name: str, world: World) -> None:
    client, values = client_of(name, world), places(world)
    key = str(world.planted.conversation.pk)
    pages = [
        (route.pattern, ask.path)
        for route in ROUTES
        for ask in route.asks
        if ask.method == "GET" and "{conversation}" not in ask.path and ask.statuses()[name] == "200"
    ]

    def showing() -> set[str]:
        found = set()
        for pattern, path in pages:
            with rolled_back(client):
                if any(word in whole(client.get(filled(path, values))) for word in (key.encode(), world.planted.final.pk.hex.encode())):
                    found.add(pattern)
        return found

    before = showing()
    premise = {"", "conversations/", "search/"} if name == "owner" else set()
    assert premise <= before, "the premise: an ordinary one is listed"
    make_temporary(world)
    assert {page for page in showing() if page.partition("/")[0] not in ("c", "audit", "debug")} - {"audit/"} == set()
