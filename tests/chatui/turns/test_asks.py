"""Asks (requests for a turn): each belongs to one person and is stored once; nobody can edit or regenerate what they cannot see."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from django.db import IntegrityError

from chatui.live import routing
from chatui.live.routing import is_allowed
from chatui.models.conversation import Conversation
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.permissions.access import NotFoundError
from chatui.turns import running, start
from chatui.turns.asks import Ask, AskKind, ProgramAsk
from chatui.turns.streams.program import ProgramStream
from tests.chatui.turns.test_turns import ask, begin, run
from tests.support.scripted import ScriptedBackend

pytestmark = pytest.mark.django_db(transaction=True)


async def test_the_same_client_id_of_two_people_is_two_turns(ada: User, bela: User, backend: ScriptedBackend) -> None:
    question = ask(text="What is mine?")
    adas, belas = await begin(ada, question), await begin(bela, replace(question, text="What is his?"))
    await running.settle()
    assert belas.is_new and adas.turn.pk != belas.turn.pk
    assert (belas.turn.conversation.owner, belas.turn.asked_by) == (bela, bela)
    again = await begin(bela, question)
    assert not again.is_new and again.turn.pk == belas.turn.pk, "twice, it is his own turn and never hers"


async def test_a_program_with_another_persons_client_id_gets_its_own_turn(ada: User, bela: User, backend: ScriptedBackend) -> None:
    belas = await begin(bela, ask(text="What is his?"))
    adas = await running.ask(ada, Ask(AskKind.SEND, belas.turn.client_id, "low", text="What is mine?", program=ProgramAsk(ProgramStream())))
    await running.settle()
    assert adas.is_new and adas.turn.pk != belas.turn.pk
    assert (adas.turn.conversation.owner, adas.turn.asked_by, adas.turn.client_id) == (ada, ada, belas.turn.client_id)


async def test_a_repeated_ask_is_one_turn_in_any_conversation(ada: User, backend: ScriptedBackend) -> None:
    first = ask()
    started = [await begin(ada, first) for _ in range(3)]
    await running.settle()
    assert [each.is_new for each in started] == [True, False, False] and len({each.turn.pk for each in started}) == 1
    other = await run(ada, ask(text="And something else?"))
    elsewhere = await begin(ada, replace(first, conversation=other.conversation_id))
    assert not elsewhere.is_new and elsewhere.turn.pk == started[0].turn.pk
    assert await Conversation.objects.acount() == 2


@pytest.mark.parametrize("kind", [AskKind.EDIT, AskKind.REGENERATE])
async def test_a_repeated_ask_keeps_its_kind_and_its_question(ada: User, backend: ScriptedBackend, kind: AskKind) -> None:
    turn = await run(ada, ask())
    text = "What is 3 + 3?" if kind is AskKind.EDIT else ""
    question = ask(kind, text, conversation=turn.conversation_id, question=turn.question_id, language="de")
    first, again = await begin(ada, question), await begin(ada, question)
    await running.settle()
    assert (first.ask.kind, first.is_new, first.has_new_question, first.ask.language) == (kind, True, kind is AskKind.EDIT, "de")
    assert (again.ask.kind, again.is_new, again.has_new_question, again.turn) == (kind, False, False, first.turn)


async def test_the_database_itself_refuses_a_second_turn_for_an_ask(ada: User, backend: ScriptedBackend) -> None:
    first, second = await run(ada, ask()), await run(ada, ask())
    with pytest.raises(IntegrityError):
        await Turn.objects.filter(pk=second.pk).aupdate(client_id=first.client_id)


def test_an_ask_in_a_conversation_erased_meanwhile_is_refused(conversation: Conversation) -> None:
    start.touch(conversation)
    Conversation.objects.filter(pk=conversation.pk).delete()
    with pytest.raises(NotFoundError):
        start.touch(conversation)


@pytest.mark.parametrize(
    "origins",
    [
        [b"http://localhost:8000", b"http://localhost:8000"],
        [b"http://localhost:8000", b"https://evil.example"],
        [b"https://evil.example"],
        [],
    ],
)
def test_a_socket_needs_at_most_one_origin_header(origins: list[bytes]) -> None:
    scope = {"headers": [(b"host", b"localhost:8000"), *((b"origin", each) for each in origins)], "client": ("127.0.0.1", 1)}
    assert not is_allowed(scope)
    assert is_allowed(scope | {"headers": [(b"host", b"localhost:8000"), (b"origin", b"http://localhost:8000")]}), "the premise"


def test_two_host_headers_are_refused() -> None:
    headers = [(b"host", b"localhost:8000"), (b"host", b"localhost:8000"), (b"origin", b"http://localhost:8000")]
    assert not is_allowed({"headers": headers, "client": ("127.0.0.1", 1)})


def test_an_origin_with_our_host_as_prefix_is_foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    own_origin = "https://chat.example"
    monkeypatch.setattr(routing, "environment", lambda: SimpleNamespace(origins=[own_origin]))
    allowed = [
        is_allowed({"headers": [(b"origin", value.encode()), (b"host", b"chat.example")]})
        for value in (own_origin, f"{own_origin}.attacker.example", f"{own_origin}:8443")
    ]
    assert allowed == [True, False, False]
