"""Tools that the model server runs by itself: when they are allowed, what is stored, and what users see."""

import asyncio
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from django.utils import timezone

from chatui.backends.base import SampleEnded, SampleRequest, Taker
from chatui.backends.hosted_tools import HostedTools
from chatui.backends.spec import BackendSpec
from chatui.database.faults import DatabaseBusyError
from chatui.database.writer import writer
from chatui.models.conversation import Conversation
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.permissions.tools import tools_in
from chatui.tools.functions import tool
from chatui.turns import hosted_tools, leases, running
from chatui.turns.asks import QuestionFile
from chatui.turns.running import TurnPlace
from chatui.turns.running_turn import RunningTurn
from renderer.events import FrameClosed, FrameOpened, FrameText, RawEvent
from renderer.frame_kinds import ANSWER, TOOL_LINE
from renderer.frames import Frame, Terminator
from tests.chatui.conftest import signed_in
from tests.chatui.store.uploads import uploaded
from tests.chatui.turns.calls.calling import call, calls
from tests.support import environment
from tests.support.offering import install, made, offer
from tests.support.scripted import ScriptedBackend, answer, connect
from tests.support.turns import ask, begin, run, store

pytestmark = pytest.mark.django_db(transaction=True)

SEARCH = {"type": "web_search"}
LINE: list[RawEvent] = [FrameOpened(TOOL_LINE), FrameText("Searching the web"), FrameClosed(Terminator.END)]


class Searching(ScriptedBackend):
    """A model server that searches the web when allowed, and cites a page."""

    searches = True
    """Whether it does so, or plays its script instead."""
    searches_first = False
    """Whether it does so only in its first answer, and plays its script, too."""

    async def sample(self, request: SampleRequest, take: Taker) -> SampleEnded:
        if request.hosted is not None and self.searches and not (self.searches_first and self.requests):
            self.script = self.script if self.searches_first else [*LINE, *answer("It rains.")]
            request.hosted.used("web_search_call")
            request.hosted.cite([{"type": "url_citation", "url": "https://weather.test/today", "title": "Today's <b>weather</b>"}])
        return await super().sample(request, take)


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Searching:
    file = tmp_path / "backends.toml"
    file.write_text('[[backend]]\nname = "one"\nkind = "responses"\nurl = "http://127.0.0.1:9"\nserver_tools = [{ type = "web_search" }]\n')
    environment.change(monkeypatch, {"backends_file": file})
    searching = Searching()
    connect(monkeypatch, searching)
    return searching


def asked_for(backend: Searching) -> list[Any]:
    return [request.hosted and list(request.hosted.definitions) for request in backend.requests]


async def test_server_tool_use_and_citations_are_stored_and_shown_below_the_answer(ada: User, backend: Searching) -> None:
    turn = await run(ada, ask())
    assert asked_for(backend) == [[SEARCH]]
    assert turn.by_server == {"tools": ["web_search_call"], "sources": [["https://weather.test/today", "Today's <b>weather</b>"]]}
    html = await database_sync_to_async(lambda: signed_in(ada).get(f"/c/{turn.conversation_id}/").content.decode())()
    assert "Searching the web" in html
    assert 'href="https://weather.test/today"' in html and "Today&#x27;s &lt;b&gt;weather&lt;/b&gt;" in html


async def test_a_turn_without_server_tools_stores_nothing_of_them(ada: User, backend: Searching) -> None:
    backend.searches = False
    turn = await run(ada, ask())
    assert asked_for(backend) == [[SEARCH]] and turn.by_server is None
    assert not await Turn.objects.filter(by_server__isnull=False).aexists()


async def test_a_withheld_or_stopped_answer_has_no_sources(ada: User, backend: Searching) -> None:
    turn = await run(ada, ask())
    await turn.conversation.messages.filter(channel="final").aupdate(is_visible=False)
    html = await database_sync_to_async(lambda: signed_in(ada).get(f"/c/{turn.conversation_id}/").content.decode())()
    assert "weather.test" not in html


async def test_not_together_with_a_document(ada: User, backend: Searching) -> None:
    file = await database_sync_to_async(uploaded)(ada)
    turn = await run(ada, ask(files=(QuestionFile(file.pk),)))
    await run(ada, ask(text="And now?", conversation=turn.conversation_id))
    assert asked_for(backend) == [None, None]


async def test_not_in_an_imported_conversation(ada: User, backend: Searching) -> None:
    turn = await run(ada, ask())
    await Conversation.objects.filter(pk=turn.conversation_id).aupdate(imported_at=timezone.now())
    await run(ada, ask(text="And now?", conversation=turn.conversation_id))
    assert asked_for(backend) == [[SEARCH], None]


async def lookup(word: str) -> str:
    """Looks up a word."""
    return word


@pytest.mark.parametrize(("fact", "is_accepted"), [("reads", False), ("sends", False), ("both", False), ("neither", True)])
async def test_not_together_with_a_tool_that_reads_or_sends(
    fact: str, is_accepted: bool, ada: User, backend: Searching, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered = tool(label="Looking", reads_private_data=fact in ("reads", "both"), sends_outside=fact in ("sends", "both"))(lookup)
    install(monkeypatch, found_tool(offered))
    environment.change(monkeypatch, {"tools": {"lookup": ()}})
    await run(ada, ask())
    assert asked_for(backend) == [[SEARCH] if is_accepted else None]


def found_tool(function: Any) -> Any:
    return made(function, "lookup")


async def test_the_operator_can_allow_it_anyway(ada: User, backend: Searching, monkeypatch: pytest.MonkeyPatch) -> None:
    environment.change(monkeypatch, {"tool_combinations": "any"})
    file = await database_sync_to_async(uploaded)(ada)
    await run(ada, ask(files=(QuestionFile(file.pk),)))
    assert asked_for(backend) == [[SEARCH]]


async def test_an_outbound_tool_is_withdrawn_once_the_server_has_read_something(
    ada: User, backend: Searching, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = await run(ada, ask())
    other = await run(ada, ask(text="Another conversation"))
    await Turn.objects.filter(pk=other.pk).aupdate(by_server=None)
    offer(monkeypatch, lookup, tool_facts={"lookup": ("outside",)})
    offered = [
        await database_sync_to_async(lambda row: list(tools_in(ada, row, is_demo=False).offered))(each.conversation)
        for each in (turn, other)
    ]
    assert offered == [[], ["lookup"]]


async def test_not_after_a_tool_of_ours_ran(ada: User, backend: Searching, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, lookup)
    backend.searches = False
    backend.script, backend.following = calls(call("lookup", "c1", word="x")), [answer("Done.")]
    turn = await run(ada, ask())
    await run(ada, ask(text="And now?", conversation=turn.conversation_id))
    assert asked_for(backend) == [[SEARCH], [SEARCH], None]


async def test_citations_before_a_second_request_are_no_sources(ada: User, backend: Searching, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, lookup)
    backend.searches_first = True
    backend.script, backend.following = calls(call("lookup", "c1", word="x")), [answer("Done.")]
    turn = await run(ada, ask())
    assert turn.by_server == {"tools": ["web_search_call"], "sources": []}


async def test_a_running_turn_counts_as_one_that_used_server_tools(ada: User, backend: Searching, monkeypatch: pytest.MonkeyPatch) -> None:
    backend.searches = False
    backend.script = [*LINE, asyncio.Event()]
    started = await begin(ada, ask())
    await asyncio.wait_for(backend.waiting.wait(), 10)
    offer(monkeypatch, lookup, tool_facts={"lookup": ("outside",)})

    def offered() -> list[str]:
        return list(tools_in(ada, started.turn.conversation, is_demo=False).offered)

    # The state that a process leaves if it dies here, before it reports what the server has read.
    assert await database_sync_to_async(offered)() == []
    await running.stop(TurnPlace(started.turn.pk, leases.OWNER))
    await asyncio.wait_for(running.settle(), 20)
    assert await database_sync_to_async(offered)() == ["lookup"]


def test_a_call_or_a_source_alone_counts_as_use() -> None:
    assert hosted_tools.used(HostedTools((SEARCH,), ["search"], {})) == {"tools": ["search"], "sources": []}
    assert hosted_tools.used(HostedTools((SEARCH,), [], {"https://a.test/": "A"})) == {"tools": [], "sources": [["https://a.test/", "A"]]}
    assert hosted_tools.used(HostedTools((SEARCH,), [], {})) is hosted_tools.used(None) is None


WITH_SEARCH = BackendSpec(name="one", url="http://127.0.0.1:9", kind="responses", server_tools=(SEARCH,))


async def test_only_the_turn_that_offers_the_tools_is_marked(ada: User, backend: Searching) -> None:
    started, other = await database_sync_to_async(lambda: (store(ada, ask()), store(ada, ask(text="Another"))))()
    assert await hosted_tools.offered(WITH_SEARCH, started) is not None
    assert [turn.pk async for turn in Turn.objects.filter(by_server__isnull=False)] == [started.turn.pk]
    assert await Turn.objects.filter(pk=other.turn.pk, state="running").aexists()


async def test_a_turn_is_marked_before_tools_are_offered_and_not_after_its_end(ada: User, backend: Searching) -> None:
    turn = await run(ada, ask())
    for state, marked in (("completed", None), ("running", {"tools": []})):
        await Turn.objects.filter(pk=turn.pk).aupdate(state=state, by_server=None)
        await hosted_tools.offered(WITH_SEARCH, RunningTurn(turn, None, ask()))
        assert (await Turn.objects.aget(pk=turn.pk)).by_server == marked
    await Turn.objects.filter(pk=turn.pk).aupdate(state="completed")


async def test_no_tools_are_offered_to_programs_or_for_a_cut_answer_or_without_any(ada: User, backend: Searching) -> None:
    turn = await run(ada, ask())
    without = WITH_SEARCH.model_copy(update={"server_tools": ()})
    assert await hosted_tools.offered(WITH_SEARCH, RunningTurn(turn, None, ask())) is not None, "the premise"
    assert await hosted_tools.offered(without, RunningTurn(turn, None, ask())) is None
    cut = SampleRequest((), cut_answer=Frame(ANSWER, "It"))
    assert await hosted_tools.offered(WITH_SEARCH, RunningTurn(turn, None, ask(), request=cut)) is None
    turn.key_id = uuid4()
    assert await hosted_tools.offered(WITH_SEARCH, RunningTurn(turn, None, ask())) is None


async def test_no_tools_are_offered_while_the_database_is_busy(ada: User, backend: Searching, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = await run(ada, ask())
    offered = await hosted_tools.offered(WITH_SEARCH, RunningTurn(turn, None, ask()))
    assert offered is not None and list(offered.definitions) == [SEARCH]

    async def busy(*arguments: object, **settings: object) -> None:
        raise DatabaseBusyError

    monkeypatch.setattr(writer, "run", busy)
    assert await hosted_tools.offered(WITH_SEARCH, RunningTurn(turn, None, ask())) is None
