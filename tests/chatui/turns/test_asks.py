"""Asks (requests for a turn): each belongs to one person and is stored once; a socket that asks is one of this site's own pages."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError

from chatui.models.conversation import Conversation
from chatui.models.turn import Turn
from chatui.models.user import User
from tests.support.browser_socket import BrowserSocket
from tests.support.database import Database
from tests.support.database import database as database
from tests.support.environment import change
from tests.support.page import Page, answered, settled
from tests.support.scripted import ScriptedBackend

pytestmark = pytest.mark.django_db(transaction=True)


async def test_the_same_client_id_of_two_people_is_two_turns(ada: User, bela: User, backend: ScriptedBackend) -> None:
    client_id = uuid4()
    async with Page(ada) as adas, Page(bela) as belas:
        hers, his = await adas.ask("What is mine?", client_id=client_id), await belas.ask("What is his?", client_id=client_id)
        await settled()
        assert his.pk != hers.pk
        assert (await Turn.objects.filter(pk=his.pk, asked_by=bela, conversation__owner=bela).acount()) == 1
        assert (await belas.tried("What is his?", client_id=client_id))["turn"] == str(his.pk), "twice, it is his own turn and never hers"


async def test_a_repeated_ask_is_one_turn_in_any_conversation(ada: User, backend: ScriptedBackend) -> None:
    first: dict[str, Any] = {"client_id": uuid4()}
    async with Page(ada) as page:
        replies = [await page.tried(**first) for _ in range(3)]
        await settled()
        other = await answered(ada, "And something else?")
        replies.append(await page.tried(conversation=other.conversation_id, **first))
    assert {event["turn"] for event in replies} == {replies[0]["turn"]} and len(backend.requests) == 2
    assert await Conversation.objects.acount() == await Turn.objects.acount() == 2


@pytest.mark.parametrize("kind", ["edit", "regenerate"])
async def test_a_repeated_ask_keeps_its_kind_and_its_question(kind: str, ada: User, backend: ScriptedBackend) -> None:
    turn = await answered(ada)
    text = "What is 3 + 3?" if kind == "edit" else ""
    asked = {"type": kind, "conversation": turn.conversation_id, "question": turn.question_id, "client_id": uuid4()}
    async with Page(ada) as page:
        first, again = await page.tried(text, **asked), await page.tried(text, **asked)
        await settled()
    assert (first["turn"], first["question"]) == (again["turn"], again["question"])
    assert (first["question"] == str(turn.question_id)) is (kind == "regenerate") and len(backend.requests) == 2


async def test_the_database_itself_refuses_a_second_turn_for_an_ask(ada: User, backend: ScriptedBackend) -> None:
    first, second = await answered(ada), await answered(ada)
    with pytest.raises(IntegrityError):
        await Turn.objects.filter(pk=second.pk).aupdate(client_id=first.client_id)


async def test_an_ask_in_a_conversation_erased_meanwhile_is_refused(ada: User, conversation: Conversation, database: Database) -> None:
    database.before("UPDATE chatui_conversation SET active_at", Conversation.objects.all().delete)
    async with Page(ada) as page:
        refused = await page.tried(conversation=conversation.pk)
    assert (refused["type"], refused["code"], len(database.met)) == ("chatui:refused", "E-X-NOT-FOUND", 1)
    assert not await Turn.objects.aexists()


OWN = "http://localhost:8000"


@pytest.mark.parametrize(
    ("origin", "more"),
    [
        (OWN, [("origin", OWN)]),
        (OWN, [("origin", "https://evil.example")]),
        ("https://evil.example", []),
        (None, []),
        (OWN, [("host", "localhost:8000")]),
    ],
    ids=["twice", "another as well", "a foreign one", "none", "two hosts"],
)
async def test_a_socket_needs_exactly_one_origin_and_one_host(origin: str | None, more: list[tuple[str, str]], ada: User) -> None:
    async with BrowserSocket(ada, origin=origin, more=[(name.encode(), value.encode()) for name, value in more]) as socket:
        assert not socket.accepted
    async with BrowserSocket(ada, origin=OWN) as socket:
        assert socket.accepted, "the twin"


async def test_an_origin_with_our_host_as_prefix_is_foreign(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    own, accepted = "https://chat.example", []
    change(monkeypatch, {"origins": [own]})
    for origin in (own, f"{own}.attacker.example", f"{own}:8443"):
        async with BrowserSocket(ada, origin=origin, host="chat.example") as socket:
            accepted.append(socket.accepted)
    assert accepted == [True, False, False]
