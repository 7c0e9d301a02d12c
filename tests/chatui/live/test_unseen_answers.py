"""Unseen answers: those that ended while no page showed them are marked in every page of their owner and after a reload."""

import asyncio
from datetime import timedelta

import pytest
from channels.db import database_sync_to_async
from django.utils import timezone

from chatui.display.conversation_list import shown_list
from chatui.models.conversation import Conversation
from chatui.models.turn import Turn
from chatui.models.user import User
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.other_processes import reap
from tests.support.scripted import ScriptedBackend, answer
from tests.support.turns import ask, stored

pytestmark = pytest.mark.django_db(transaction=True)


@database_sync_to_async
def marks(person: User) -> list[tuple[bool, bool]]:
    """The conversation list: for each conversation whether it is running and whether it has news."""
    return [(link.is_running, link.has_news) for link in shown_list(person).conversations]


async def test_an_answer_is_running_then_new_then_seen(ada: User, bela: User, backend: ScriptedBackend) -> None:
    gate = asyncio.Event()
    backend.script = [gate, *answer()]
    async with BrowserSocket(ada) as socket, BrowserSocket(ada) as aside, BrowserSocket(bela) as stranger:
        await socket.send_message()
        listed = (await aside.until("chatui:listed"))[-1]
        assert (listed["is_running"], listed["has_news"]) == (True, False)
        assert await marks(ada) == [(True, False)]
        gate.set()
        answered = (await aside.until("chatui:answered"))[-1]
        assert (answered["conversation"], answered["has_news"]) == (listed["conversation"], True)
        await socket.until(*ENDS)
        assert await marks(ada) == [(False, True)]

        await stranger.send("see", conversation=listed["conversation"])
        assert (await stranger.next())["code"] == "E-X-NOT-FOUND"
        assert await marks(ada) == [(False, True)], "what others claim to see is ignored"
        await socket.send("see", conversation=listed["conversation"])
        for page in (socket, aside):
            assert (await page.until("chatui:seen"))[-1]["conversation"] == listed["conversation"]
        assert await marks(ada) == [(False, False)]
        await socket.send("see", conversation=listed["conversation"])
        await socket.send("probe")
        assert (await socket.next())["type"] == "chatui:alive", "nothing was new, so no event is sent"
    assert listed["conversation"] not in "".join(stranger.raw)


async def test_a_stopped_answer_is_not_new_and_asking_marks_earlier_ones_seen(ada: User, backend: ScriptedBackend) -> None:
    async with BrowserSocket(ada) as socket:
        await socket.send_message()
        accepted = (await socket.until("chatui:accepted"))[-1]
        await socket.until(*ENDS)
        assert await marks(ada) == [(False, True)]
        backend.script = [asyncio.Event()]
        backend.waiting.clear()
        await socket.send_message(conversation=accepted["conversation"])
        turn = (await socket.until("chatui:accepted"))[-1]["turn"]
        await asyncio.wait_for(backend.waiting.wait(), 20)
        assert await marks(ada) == [(True, False)]
        await socket.send("stop", conversation=accepted["conversation"], turn=turn)
        answered = (await socket.until("chatui:answered"))[-1]
    assert not answered["has_news"]
    assert await marks(ada) == [(False, False)]


async def test_an_answer_of_a_dead_process_is_new_and_no_longer_running(ada: User, backend: ScriptedBackend) -> None:
    turn = (await stored(ada, ask(), "a process that died")).turn
    async with BrowserSocket(ada) as socket:
        assert await marks(ada) == [(True, False)]
        await Turn.objects.filter(pk=turn.pk).aupdate(lease_until=timezone.now() - timedelta(seconds=1))
        await reap()
        answered = (await socket.until("chatui:answered"))[-1]
    assert (answered["conversation"], answered["has_news"]) == (str(turn.conversation_id), True)
    assert await marks(ada) == [(False, True)]


async def test_a_conversation_in_the_bin_is_not_seen(ada: User, backend: ScriptedBackend) -> None:
    conversation = await Conversation.objects.acreate(owner=ada, title="Sums", has_news=True)
    async with BrowserSocket(ada) as socket:
        await Conversation.objects.filter(pk=conversation.pk).aupdate(deleted_at=conversation.created_at)
        await socket.send("see", conversation=str(conversation.pk))
        assert (await socket.next())["code"] == "E-X-NOT-FOUND", "nobody sees what is in the bin"
    assert (await Conversation.objects.aget(pk=conversation.pk)).has_news
