"""Text that was shown and then recognized as reasoning: from that moment no end user can reach it."""

import asyncio
import io
import json
import logging
import zipfile
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from django.test import Client

from chatui.codes import ProductCode
from chatui.models.conversation import ActiveLeaf, Conversation
from chatui.models.message import Message, SearchEntry
from chatui.models.shares import ShareLink
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.transfer.exports import DownloadFormat
from chatui.turns import running
from chatui.turns.leases import frames_in_pieces
from chatui.turns.streams.debug import DebugStream
from chatui.turns.streams.end_user import EndUserStream
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn
from renderer.frames import Terminator
from tests.canary.asking import client_for, whole
from tests.canary.leaks.test_streaming import begin, everything_of, reached
from tests.canary.listening import BusRecorder, assert_allowed
from tests.chatui.store import pieces
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.canary import Canary
from tests.support.scripted import FINAL, ScriptedBackend, Step, ended

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def layer(monkeypatch: pytest.MonkeyPatch) -> BusRecorder:
    return BusRecorder(monkeypatch)


@database_sync_to_async
def leaves(person: User, conversation: str) -> list[bytes]:
    """All ways in which text leaves: downloads of each kind, the archive, copies, search, and a share link with its preview."""
    client: Client = client_for(person)
    at = f"/c/{conversation}/"
    got = [whole(client.get(f"{at}download/?format={file_format.value}")) for file_format in DownloadFormat]
    with zipfile.ZipFile(io.BytesIO(b"".join(client.get("/download/").streaming_content))) as archive:  # type: ignore[attr-defined]
        got += [archive.read(name) for name in archive.namelist()]
    got += [whole(client.get(path)) for path in ("/search/?q=think", f"{at}share/")]
    got += [whole(client.get(f"{at}messages/{key}/text/")) for key in Message.objects.values_list("pk", flat=True)]
    leaf = ActiveLeaf.objects.get(person=person).message
    got.append(whole(client.post(f"{at}share/", {"leaf": str(leaf.pk), "days": "7"})))
    got += [whole(client_for(None).get(f"/s/{link.token}/")) for link in ShareLink.objects.all()]
    return got


async def until_saved(header: str, text: str) -> None:
    """Wait until the last piece with a header has this one, and some piece has this text."""
    turn = await Turn.objects.aget()
    async with asyncio.timeout(10):
        while True:
            found = await database_sync_to_async(pieces.saved)(turn.pk)
            headers = [written for written, _ in found if written]
            if headers and header in headers[-1] and any(text in part for _, part in found):
                return
            await asyncio.sleep(0.02)


@database_sync_to_async
def frames_of_turn() -> list[tuple[object, str | None]]:
    """The frames that a sweep would build from the pieces, each with its channel."""
    return [(key, frame.header.channel) for key, frame in frames_in_pieces(Turn.objects.get())]


@pytest.mark.parametrize("last", ["answer", "nothing", "stop"])
@pytest.mark.asyncio
async def test_withdrawn_text_is_in_no_stream_page_export_search_or_copy(
    last: str, canary: Canary, layer: BusRecorder, ada: User, backend: ScriptedBackend, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    word = canary.plant("text that is withdrawn")
    later = canary.plant("text behind the sign")
    shown, stored = asyncio.Event(), asyncio.Event()
    script: list[Step] = [FrameOpened(FINAL), FrameText(f"We think {word} of it. "), shown, FrameWithdrawn(), FrameText(later), stored]
    script += [FrameClosed(Terminator.END, ProductCode.WITHHELD)] if last != "stop" else []
    script += [FrameOpened(FINAL), FrameText("Forty two."), FrameClosed(Terminator.RETURN)] if last == "answer" else []
    backend.script = [*script, ended()] if last != "stop" else [*script, asyncio.Event()]
    async with BrowserSocket(ada) as tab, BrowserSocket(ada) as late:
        accepted = await begin(tab)
        await reached(backend)
        while not canary.found(*tab.raw):
            await tab.next()  # the premise: it was shown before the sign came
        await until_saved("<|channel|>final", word)
        shown.set()
        await reached(backend)
        await until_saved("<|channel|>analysis", "")
        assert [header for _, header in await frames_of_turn()] == ["analysis"], (
            "a process that dies now stores nothing that people may see"
        )
        await late.send("subscribe", conversation=accepted["conversation"])
        await late.until("chatui:snapshot")
        stored.set()
        if last == "stop":
            await tab.send("stop", conversation=accepted["conversation"], turn=accepted["turn"])
        await tab.until(*ENDS)
        await running.settle()
        pages = await everything_of(ada, accepted) + await leaves(ada, accepted["conversation"])
        events = [event for raw in tab.raw for event in json.loads(raw)]
    types = [event["type"] for event in events]
    assert types.count("chatui:withdrawn") == 1
    after = json.dumps(events[types.index("chatui:withdrawn") :])
    assert_allowed([*tab.raw, *late.raw])
    assert not canary.found(after, *late.raw, *pages, caplog.text)
    assert not await SearchEntry.objects.filter(terms__contains=word.lower()).aexists()
    assert not await Message.objects.filter(is_visible=True, text__contains=word).aexists()
    assert await Message.objects.filter(is_visible=False, text__contains=word).aexists(), "the premise: it is stored for staff"
    turn = await Turn.objects.aget()
    if last != "stop":
        assert (turn.state, turn.error_code) == ("completed" if last == "answer" else "failed", "E-X-WITHHELD")
        assert any(ProductCode.WITHHELD.sentence.encode().replace(b"'", b"&#x27;") in page for page in pages), "the page says so"
    assert any(b"Forty two." in page for page in pages) == (last == "answer")
    assert await Conversation.objects.acount() == 1


def test_text_withdrawn_before_it_was_sent_is_never_sent() -> None:
    stream, key = EndUserStream(uuid4()), uuid4()
    for event in (FrameOpened(FINAL), FrameText("SECRET\n\nSECRET"), FrameWithdrawn(), FrameText("SECRET"), FrameClosed(Terminator.END)):
        stream.take(event, key, 0)
    sent = [numbered.as_json() for numbered in stream.flush()]
    assert [event["type"] for event in sent] == ["chatui:withdrawn"]
    assert "SECRET" not in json.dumps([*sent, stream.snapshot(0).as_json()])


def test_staff_who_watch_see_the_withdrawn_frame_with_all_of_its_text() -> None:
    stream, key = DebugStream(uuid4()), uuid4()
    for event in (
        FrameOpened(FINAL),
        FrameText("one "),
        FrameWithdrawn(),
        FrameText("two"),
        FrameClosed(Terminator.END, ProductCode.WITHHELD),
    ):
        stream.take(event, key)
    sent = [numbered.as_json() for numbered in stream.flush()]
    assert [event["type"] for event in sent] == [
        "chatui:frame.opened",
        "chatui:frame.delta",
        "chatui:frame.withdrawn",
        "chatui:frame.delta",
        "chatui:frame.closed",
    ]
    assert sent[2]["header"] == {"role": "assistant", "channel": "analysis", "intent": "debug"} and sent[2]["why_hidden"]
    [frame] = stream.snapshot().frames
    assert (frame.text, bool(frame.why_hidden)) == ("one two", True)
