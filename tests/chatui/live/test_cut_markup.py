"""An answer stopped in the middle of its markup looks the same when it stops, after a reload, and through a share link."""

import asyncio

import pytest
from channels.db import database_sync_to_async

from chatui.models.message import Message
from chatui.models.user import User
from chatui.store import transcripts
from chatui.transfer import shares
from chatui.turns import running
from renderer.events import FrameOpened, FrameText
from tests.chatui.conftest import signed_in
from tests.support.browser_socket import ENDS, BrowserSocket, shown_text
from tests.support.scripted import FINAL, ScriptedBackend

pytestmark = pytest.mark.django_db(transaction=True)

TEXT = "First.\n\nTake the **bicy"


async def test_open_markup_of_a_stopped_answer_is_closed_everywhere_and_stored_as_is(ada: User, backend: ScriptedBackend) -> None:
    backend.script = [FrameOpened(FINAL), FrameText(TEXT), asyncio.Event()]
    async with BrowserSocket(ada) as socket:
        await socket.send_message()
        accepted = (await socket.until("chatui:accepted"))[-1]
        events = await socket.until("response.delta.flush", "response.delta")
        while "bicy" not in shown_text(events):
            events += await socket.until("response.delta.flush", "response.delta")
        await socket.send("stop", conversation=accepted["conversation"], turn=accepted["turn"])
        events += await socket.until(*ENDS)
        await running.settle()
    assert "<strong>bicy</strong>" in shown_text(events)
    answer = await Message.objects.select_related("conversation").aget(role="assistant")
    assert transcripts.frame_of(answer).body == TEXT and not answer.is_complete
    page = await database_sync_to_async(lambda: signed_in(ada).get(accepted["url"]).content.decode())()
    assert "<strong>bicy</strong>" in page
    shared = await database_sync_to_async(shares.preview)(ada, accepted["conversation"])
    assert "<strong>bicy</strong>" in "".join(block.html for message in shared.shared.messages for block in message.blocks)
