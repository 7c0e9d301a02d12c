"""What a tool server keeps belongs to one conversation: over both transports, in every process, and in none that has ended."""

import asyncio
import logging
import sys
import tempfile
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from channels.db import database_sync_to_async

from chatui.audit_log.record import SHELL
from chatui.lifecycle.erasure import erase
from chatui.models.conversation import Conversation
from chatui.models.tools import ToolSession
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.store import erasure
from chatui.tools.mcp import stdio
from chatui.tools.mcp.server import STATE_IS_GONE
from chatui.turns import running, temporary
from tests.chatui.api.asking import Program, key_of
from tests.chatui.turns.calls.calling import call, calls, replies
from tests.support import constants
from tests.support import peer as peers
from tests.support.mcp_sessions import IN_A_FILE, offered, programs
from tests.support.new_process import forget
from tests.support.scripted import ScriptedBackend, answer
from tests.support.turns import ask, run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.served]
TRANSPORTS = pytest.mark.parametrize("transport", ["http", "stdio"])


class Talk:
    """Questions whose answers call the tool, and what it replied."""

    def __init__(self, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
        self.backend, self._monkeypatch, self._directory = backend, monkeypatch, directory
        self.last: Turn | None = None

    def offered(self, transport: str, **spec: Any) -> Any:
        """The tool of this server is offered meanwhile."""
        return offered(transport, self._monkeypatch, self._directory, **spec)

    async def envelope(self, person: User, word: str, **where: Any) -> dict[str, Any]:
        return (await self.envelopes(person, [word], **where))[0]

    async def envelopes(self, person: User, words: list[str], **where: Any) -> list[dict[str, Any]]:
        self.script(*words)
        self.last = await run(person, ask(**where))
        return list((await replies(self.last)).values())  # an id that was used before is replaced

    def script(self, *words: str) -> None:
        self.backend.script = calls(*(call("notes_keep", f"c{number}", word=word) for number, word in enumerate(words)))
        self.backend.following = [answer("Done.")]

    async def said(self, person: User, word: str, conversation: UUID | None = None) -> tuple[str, bool]:
        """What the tool returned, and whether the model is told that state is gone."""
        found = await self.envelope(person, word, conversation=conversation)
        note = found.get("note", "")
        assert note in ("", STATE_IS_GONE) and found["ok"], found
        return found["content"], bool(note)

    @property
    def conversation(self) -> UUID:
        assert self.last is not None
        return self.last.conversation_id


@pytest.fixture
def talk(backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Talk:
    return Talk(backend, monkeypatch, tmp_path)


@pytest.fixture
def bela(ada: User) -> User:
    return User.objects.create_user("bela")


@TRANSPORTS
async def test_a_conversation_keeps_its_state_and_nobody_else_sees_it(transport: str, ada: User, bela: User, talk: Talk) -> None:
    with talk.offered(transport):
        assert await talk.said(ada, "salary") == ("salary", False)
        first = talk.conversation
        assert await talk.said(bela, "of-bela") == ("of-bela", False)
        assert await talk.said(ada, "elsewhere") == ("elsewhere", False), "another conversation of the same person"
        assert await talk.said(ada, "5000", first) == ("salary 5000", False), "over turns"


async def test_calls_of_one_answer_share_one_session(ada: User, talk: Talk) -> None:
    with talk.offered("http") as (_, sessions):
        found = await talk.envelopes(ada, ["a", "b", "c", "d"])
        assert max(len(each["content"].split()) for each in found) == 4 and not any("note" in each for each in found)
    assert len(set(sessions.calls)) == 1


async def test_with_sessions_of_a_person_all_of_their_conversations_share_one(ada: User, bela: User, talk: Talk) -> None:
    with talk.offered("http", sessions="person"):
        assert await talk.said(ada, "one") == ("one", False)
        assert await talk.said(bela, "of-bela") == ("of-bela", False)
        assert await talk.said(ada, "two") == ("one two", False)
        await database_sync_to_async(running.stop_all_from_thread)(talk.conversation)
        assert await talk.said(ada, "three") == ("one two three", False), "a deleted conversation takes nothing away"


@TRANSPORTS
async def test_only_where_the_operator_says_so_all_share_one(transport: str, ada: User, bela: User, talk: Talk) -> None:
    with talk.offered(transport, sessions="shared") as (offers, _):
        assert await talk.said(ada, "one") == ("one", False)
        first = talk.conversation
        assert await talk.said(bela, "two") == ("one two", False)
        await database_sync_to_async(running.stop_all_from_thread)(talk.conversation)
        assert await talk.said(ada, "three", first) == ("one two three", False), "a deleted conversation does not end it"
        await asyncio.to_thread(offers.end_process)
        assert await talk.said(ada, "four", first) == ("four", True)


async def test_every_process_uses_the_same_session_over_http(ada: User, talk: Talk) -> None:
    with talk.offered("http") as (offers, sessions):
        assert await talk.said(ada, "a") == ("a", False)
        offers.in_process(1)
        assert await talk.said(ada, "b", talk.conversation) == ("a b", False)
    assert len(set(sessions.calls)) == 1


async def test_the_state_of_a_program_ends_when_another_process_answers_and_never_comes_back(ada: User, talk: Talk) -> None:
    with talk.offered("stdio") as (offers, _):
        assert await talk.said(ada, "a") == ("a", False)
        offers.in_process(1)
        assert await talk.said(ada, "b", talk.conversation) == ("b", True)
        assert await talk.said(ada, "c", talk.conversation) == ("b c", False), "the model is told once"
        offers.in_process(0)
        assert await talk.said(ada, "d", talk.conversation) == ("d", True), "the program of the first process is out of date"


async def test_the_model_is_told_when_the_program_has_ended(ada: User, bela: User, talk: Talk) -> None:
    with talk.offered("stdio") as (offers, _):
        await talk.said(ada, "a")
        conversation = talk.conversation
        await talk.said(bela, "of-bela")
        of_bela = talk.conversation
        assert not (await talk.envelope(ada, "die", conversation=conversation))["ok"]
        assert await talk.said(ada, "b", conversation) == ("b", True)
        assert await talk.said(bela, "more", of_bela) == ("of-bela more", False), "only the program of the one who made it end has ended"
        await asyncio.to_thread(offers.end_process)
        failed = await talk.envelope(ada, "fail", conversation=conversation)
        assert failed["error"]["message"] == f"{STATE_IS_GONE} The tool failed: no"


async def test_a_session_that_the_server_has_forgotten_is_replaced_and_the_model_is_told(ada: User, talk: Talk) -> None:
    with talk.offered("http") as (_, sessions):
        await talk.said(ada, "a")
        sessions.words.clear()
        assert await talk.said(ada, "b", talk.conversation) == ("b", True)
        assert await talk.said(ada, "c", talk.conversation) == ("b c", False)


async def test_a_server_that_answers_400_to_a_forgotten_session_is_used_again(ada: User, talk: Talk) -> None:
    with talk.offered("http") as (_, sessions):
        sessions.unknown = 400
        await talk.said(ada, "a")
        sessions.words.clear()
        assert not (await talk.envelope(ada, "b", conversation=talk.conversation))["ok"]
        assert await talk.said(ada, "c", talk.conversation) == ("c", True)


async def test_a_failure_of_the_server_does_not_cost_the_session(ada: User, talk: Talk) -> None:
    with talk.offered("http") as (_, sessions):
        await talk.said(ada, "a")
        for status in (400, 429, 500, 503):
            sessions.on["tools/call"] = peers.saying({"error": {"code": -1, "message": "no"}, "id": None}, status)
            assert not (await talk.envelope(ada, "lost", conversation=talk.conversation))["ok"]
            sessions.on.clear()
            found, is_told = await talk.said(ada, str(status), talk.conversation)
            assert found.startswith("a ") and not is_told


@TRANSPORTS
async def test_a_deleted_conversation_ends_its_session_and_a_restored_one_is_told(transport: str, ada: User, talk: Talk) -> None:
    with talk.offered(transport) as (_, sessions):
        await talk.said(ada, "a")
        before = programs()
        await database_sync_to_async(running.stop_all_from_thread)(talk.conversation)
        await _until(lambda: sessions.ended if transport == "http" else before - programs())
        assert await talk.said(ada, "b", talk.conversation) == ("b", True)
        await database_sync_to_async(erasure.erase_conversation)(talk.conversation)
        assert not await ToolSession.objects.aexists()


@TRANSPORTS
async def test_a_temporary_chat_ends_its_session_when_it_ends(transport: str, ada: User, talk: Talk) -> None:
    with talk.offered(transport) as (_, sessions):
        found = await talk.envelope(ada, "a", temporary=True)
        assert found["content"] == "a"
        before = programs()
        row = await Conversation.objects.aget(pk=talk.conversation)
        await database_sync_to_async(temporary.close)(row)
        await _until(lambda: sessions.ended if transport == "http" else before - programs())
        assert not await ToolSession.objects.aexists()


@TRANSPORTS
async def test_a_program_keeps_its_state_along_a_chain_of_responses_and_else_for_one_request(transport: str, ada: User, talk: Talk) -> None:
    with talk.offered(transport) as (_, sessions):
        program = Program(await database_sync_to_async(key_of)(ada, tools=("notes_keep",)))

        async def said(word: str, **fields: Any) -> tuple[str, str]:
            talk.script(word)
            found = await program.ask({"input": "Keep it.", **fields})
            turn = await Turn.objects.order_by("-started_at").afirst()
            return found["id"], "".join(each["content"] for each in (await replies(turn)).values()) if turn else ""

        first, kept = await said("a")
        _, other = await said("x")
        _, more = await said("b", previous_response_id=first)
        assert (kept, other, more) == ("a", "x", "a b")
        talk.script("once")
        await program.ask({"input": "Keep it.", "store": False})
        await running.settle()
        await _until(lambda: len(programs()) == 2 if transport == "stdio" else len(sessions.ended) == 1)
        while await ToolSession.objects.acount() > 2:
            await asyncio.sleep(0.02)


async def test_an_idle_program_ends_and_the_model_is_told(ada: User, talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    with talk.offered("stdio"):
        constants.change(monkeypatch, idle_program_seconds=0.1)
        await talk.said(ada, "a")
        await _until(lambda: not programs())
        assert await talk.said(ada, "b", talk.conversation) == ("b", True)


async def test_a_person_with_many_conversations_loses_their_own_longest_idle_program(ada: User, bela: User, talk: Talk) -> None:
    with talk.offered("stdio", programs=6):
        await talk.said(bela, "of-bela")
        of_bela = talk.conversation
        places = []
        for word in ("a", "b", "c"):
            await talk.said(ada, word)
            places.append(talk.conversation)
        await _until(lambda: len(programs()) == 3)
        assert await talk.said(ada, "more", places[2]) == ("c more", False)
        assert await talk.said(bela, "more", of_bela) == ("of-bela more", False), "nobody else's"
        assert await talk.said(ada, "again", places[0]) == ("again", True), "two of six are one person's share"


@pytest.mark.parametrize("bound", ["of the server", "in all"])
async def test_a_call_beyond_the_bound_is_refused_and_the_server_does_not_count_as_down(
    bound: str, ada: User, bela: User, talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with talk.offered("stdio", programs=1 if bound == "of the server" else 20):
        if bound == "in all":
            constants.change(monkeypatch, most_programs=1)
        await talk.said(ada, "a")
        of_ada = talk.conversation
        for _ in range(4):
            refused = await talk.envelope(bela, "b")
            assert "Too many programs" in refused["error"]["message"]
        assert await talk.said(ada, "c", of_ada) == ("a c", False)
        await database_sync_to_async(running.stop_all_from_thread)(of_ada)
        await _until(lambda: not programs())
        assert await talk.said(bela, "b") == ("b", False)


async def test_a_program_can_keep_files_of_its_session_alone(
    ada: User, talk: Talk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment = {"WORDS": {"value": "{session}/words"}}
    with talk.offered("stdio", command=[sys.executable, "-c", IN_A_FILE], environment=environment):
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        forget(stdio)
        assert await talk.said(ada, "salary") == ("salary", False)
        first = talk.conversation
        assert await talk.said(ada, "other") == ("other", False)
        assert await talk.said(ada, "5000", first) == ("salary 5000", False)
        places = list(tmp_path.glob("chatui-tool-*/*"))
        assert len(places) == 2 and all(place.stat().st_mode & 0o077 == 0 for place in places)
        await database_sync_to_async(running.stop_all_from_thread)(first)
        await _until(lambda: sum(place.exists() for place in places) == 1)
    assert not any(place.exists() for place in places)
    forget(stdio)


async def test_another_person_never_gets_the_session_of_a_conversation(ada: User, bela: User, talk: Talk) -> None:
    """As after a conversation was handed over."""
    with talk.offered("http"):
        await talk.said(ada, "a")
        await Conversation.objects.filter(pk=talk.conversation).aupdate(owner=bela)
        assert await talk.said(bela, "b", talk.conversation) == ("b", True)


@pytest.mark.parametrize("sessions_of", ["conversation", "person"])
async def test_erasing_a_person_ends_their_sessions(sessions_of: str, ada: User, bela: User, talk: Talk) -> None:
    with talk.offered("http", sessions=sessions_of) as (_, sessions):
        await talk.said(bela, "of-bela")
        await talk.said(ada, "a")
        await database_sync_to_async(erase)(SHELL, ada)
        assert sessions.ended == [sessions.calls[-1]] and sessions.calls[0] in sessions.words
        assert [row.person_id async for row in ToolSession.objects.all()] == [bela.pk]


async def test_the_id_of_a_session_is_neither_logged_nor_in_a_row_that_is_shown(
    ada: User, talk: Talk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with talk.offered("http") as (_, sessions):
        await talk.said(ada, "a")
        row = await ToolSession.objects.aget()
        assert sessions.calls[0] in row.session and sessions.calls[0] not in f"{row}{row!r}{caplog.text}"


async def _until(is_true: Any) -> None:
    async with asyncio.timeout(60):
        while not is_true():
            await asyncio.sleep(0.02)
