"""Files below an answer: the same on a page that followed the answer and on one loaded later, and only for its owner."""

import asyncio
import json
from typing import Any

import pytest
from channels.db import database_sync_to_async

from chatui.backends.base import EndReason
from chatui.display import conversation, fragments, windows
from chatui.display.conversation import EndedTurn
from chatui.models.conversation import Conversation
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.store import files as store_files
from chatui.store.files import FileDestination, NewFile
from chatui.tools.tool import CallingTurn, Tool
from chatui.transfer import exports, shares
from chatui.turns import running
from renderer.events import FrameOpened, FrameText
from renderer.frames import Header
from renderer.gate import Audience
from tests.chatui.conftest import OPENING, signed_in
from tests.chatui.store.pictures import png
from tests.chatui.turns.calls.calling import call, calls
from tests.chatui.turns.test_continue import continued
from tests.support import environment
from tests.support.browser_socket import BrowserSocket
from tests.support.scripted import ScriptedBackend, answer, ended
from tests.support.turns import ask, run

pytestmark = pytest.mark.django_db(transaction=True)

FINAL = Header("assistant", channel="final")
HOSTILE = '"><img src=x onerror=alert(1)>\u202egnp.csv'


@pytest.fixture(autouse=True)
def _offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offer a tool that leaves files for the user, with names that the model chooses."""

    def begin(turn: CallingTurn) -> Any:
        from chatui.tools.file_access import CreatedFile

        async def makes(arguments: Any) -> str:
            assert turn.files is not None
            for name in arguments["names"].split("|"):
                await turn.files.store(CreatedFile(name, png(8, 6) if name.endswith("png") else b"a,b\n"))
            return "made"

        return makes

    schema = {"type": "object", "properties": {"names": {"type": "string"}}}
    tool = Tool("draw", "Draws.", schema, lambda arguments: "", is_async=True, begin=begin)
    monkeypatch.setattr("chatui.tools.catalogue.tools", lambda: {"draw": tool})
    environment.change(monkeypatch, {"backend_url": "http://127.0.0.1:9", "tools": {"draw": ()}, "tools_without_approval": ["draw"]})


async def turn_with_files(ada: User, backend: ScriptedBackend, names: str, *rest: Any) -> Turn:
    backend.script = calls(call("draw", "c1", names=names))
    backend.following = list(rest) or [answer("Done.")]
    turn = await run(ada, ask())
    return await Turn.objects.select_related("conversation", "question", "continued_message").aget(pk=turn.pk)


@database_sync_to_async
def loaded(turn: Turn) -> Any:
    found = conversation.shown_exchange(turn.conversation, turn).answer
    assert found is not None
    return found


@database_sync_to_async
def live(turn: Turn) -> str:
    below = fragments.answer_end(EndedTurn(turn, (), is_first=True), "en").html
    assert below is not None
    return below.html


@database_sync_to_async
def page(person: User, path: str) -> str:
    return signed_in(person).get(path).content.decode()


async def test_files_are_listed_below_the_answer_live_and_after_a_reload(ada: User, backend: ScriptedBackend) -> None:
    turn = await turn_with_files(ada, backend, "plot.png|a.csv")
    files = (await loaded(turn)).files
    assert [(file.name, file.is_picture, file.size) for file in files] == [("plot.png", True, len(png(8, 6))), ("a.csv", False, 4)]
    followed, reloaded = await live(turn), await page(ada, f"/c/{turn.conversation_id}/")
    section = followed[followed.index('<section class="files"') : followed.index("</section>")]
    assert section in reloaded
    assert section.count("<img") == 1 and 'loading="lazy"' in section and 'width="320" height="240"' in section
    assert (
        'alt="Picture “plot.png”"' in section
        and f'href="/files/{files[1].id}/?v={files[1].version}" download' in section
        and "4\xa0bytes" in section
    )


async def test_an_answer_without_files_has_no_list(ada: User, backend: ScriptedBackend) -> None:
    turn = await run(ada, ask())
    assert (await loaded(turn)).files == () and 'class="files"' not in await page(ada, f"/c/{turn.conversation_id}/")


async def test_a_file_name_is_escaped(ada: User, backend: ScriptedBackend) -> None:
    turn = await turn_with_files(ada, backend, HOSTILE)
    for html in (await live(turn), await page(ada, f"/c/{turn.conversation_id}/")):
        assert "<img src=x" not in html and "\u202e" not in html and "_img src=x onerror=alert(1)_gnp.csv" in html


async def test_each_answer_to_a_question_has_its_own_files(ada: User, backend: ScriptedBackend) -> None:
    first = await turn_with_files(ada, backend, "one.csv")
    backend.script, backend.following = calls(call("draw", "c2", names="two.csv")), [answer("Again.")]
    again = await run(ada, ask(text="Once more", conversation=first.conversation_id))
    shown = await database_sync_to_async(lambda: [each.answer for each in exchanges(first.conversation)])()
    assert [[file.name for file in each.files] for each in shown if each] == [["one.csv"], ["two.csv"]] and again.state == "completed"


async def test_an_answer_that_was_cut_and_continued_keeps_its_files(ada: User, backend: ScriptedBackend) -> None:
    cut = [FrameOpened(FINAL), FrameText("Half "), ended(EndReason.LENGTH)]
    first = await turn_with_files(ada, backend, "one.csv", cut)
    assert (await loaded(first)).continuation == "continue", "the premise"
    backend.script = answer("of it.")
    second = await run(ada, continued(first))
    turn = await Turn.objects.select_related("conversation", "question", "continued_message").aget(pk=second.pk)
    assert [file.name for file in (await loaded(turn)).files] == ["one.csv"] and "one.csv" in await live(turn)


async def test_share_links_and_transcripts_have_no_files(ada: User, backend: ScriptedBackend) -> None:
    turn = await turn_with_files(ada, backend, "plot.png")
    for file_format in exports.DownloadFormat:
        text = await database_sync_to_async(exports.transcript)(turn.conversation, ada, Audience.END_USER, file_format)
        assert "Done." in text and "plot" not in text
    shared = (await database_sync_to_async(shares.preview)(ada, turn.conversation_id)).shared.messages
    assert "Done." in shared[-1].blocks[0].html and "plot" not in repr(shared)


async def test_events_announce_files_without_their_content(ada: User, bela: User, backend: ScriptedBackend) -> None:
    gate = asyncio.Event()
    backend.script, backend.following = calls(call("draw", "c1", names="one.csv|plot.png")), [[gate, *answer("Done.")]]
    async with BrowserSocket(ada) as socket:
        await socket.send_message("Hello")
        events = await socket.until("chatui:files")
        while events[-1]["count"] < 2:
            events += await socket.until("chatui:files")
        turn = await Turn.objects.aget()
        path = f"/c/{turn.conversation_id}/turns/{turn.pk}/files/"
        async with BrowserSocket(ada) as late:
            await late.send("subscribe", conversation=str(turn.conversation_id))
            assert (await late.until("chatui:snapshot"))[-1]["files"] == 2, "for a page that connects late"
        fetched = await page(ada, path)
        assert "one.csv" in fetched and "plot.png" in fetched
        assert "one.csv" not in json.dumps([events, socket.raw])
        assert "one.csv" not in await page(bela, path)
        gate.set()
        ended = (await socket.until("response.completed"))[-1]
    assert "one.csv" in ended["html"], "the HTML below the answer comes with its end"
    await running.settle()


async def test_the_debug_view_links_the_files_of_a_turn(ada: User, grace: User, backend: ScriptedBackend) -> None:
    turn = await turn_with_files(ada, backend, "plot.png")
    (file,) = (await loaded(turn)).files
    path = f"/c/{turn.conversation_id}/debug/"
    await database_sync_to_async(lambda: signed_in(grace).post(f"{path}open/", OPENING))()
    assert f'<a href="{path}files/{file.id}/" download><bdi>plot.png</bdi></a>' in await page(grace, path)


async def test_an_uploaded_file_is_below_no_answer(ada: User, backend: ScriptedBackend) -> None:
    turn = await turn_with_files(ada, backend, "plot.png")
    await database_sync_to_async(store_files.save)(FileDestination(ada.pk, turn.conversation_id), NewFile.of("mine.txt", b"x"))
    assert [file.name for file in (await loaded(turn)).files] == ["plot.png"]


def exchanges(row: Conversation) -> list[Any]:
    return list(windows.latest(row).exchanges)
