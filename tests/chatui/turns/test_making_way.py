"""A message is added to a running answer: the turn makes way for it before its next sampling, and its own turn goes on from there."""

import asyncio
import threading
from uuid import UUID, uuid4

import pytest

from chatui.models.message import Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.store import transcripts
from chatui.turns import running, titles
from chatui.turns.running import TurnPlace
from chatui.wire.bus import PROCESS
from renderer.ocml import document
from tests.chatui.tools import offering
from tests.chatui.turns.calls.calling import call, calls
from tests.chatui.turns.test_turns import ask, begin
from tests.support import environment
from tests.support.browser_socket import BrowserSocket
from tests.support.scripted import ANALYSIS, ScriptedBackend, answer, frame

pytestmark = pytest.mark.django_db(transaction=True)

GATE = threading.Event()


def lookup() -> dict[str, int]:
    """Counts the available items."""
    GATE.wait(20)
    return {"found": 4}


@pytest.fixture(autouse=True)
def _offered(monkeypatch: pytest.MonkeyPatch, backend: ScriptedBackend) -> None:
    GATE.clear()
    offering.offer(monkeypatch, lookup)
    backend.script = [*frame(ANALYSIS, "I look it up"), *calls(call("lookup", "c1"))]
    backend.following = [answer("There are four."), answer("And more.")]


async def at_the_tool(socket: BrowserSocket) -> str:
    """A turn whose tool is at work."""
    await socket.send_message("How many?")
    turn = (await socket.until("response.created"))[-1]["turn"]
    async with asyncio.timeout(10):
        while not await Message.objects.filter(turn=turn, name="tool_activity").aexists():
            await asyncio.sleep(0.02)
    return str(turn)


def make_way(turn_id: str, *, is_wanted: bool = True) -> None:
    running.make_way(TurnPlace(UUID(turn_id), PROCESS), "a page", is_wanted=is_wanted)


async def test_the_message_stands_behind_the_reply_and_the_model_goes_on_with_all_that_it_had(ada: User, backend: ScriptedBackend) -> None:
    async with BrowserSocket(ada) as socket:
        turn_id = await at_the_tool(socket)
        make_way(turn_id)
        GATE.set()
        assert (await socket.until("response.completed"))[-1]["turn"] == turn_id
        assert len(backend.requests) == 1, "the model was not asked again"
        turn = await Turn.objects.aget(pk=turn_id)
        assert (turn.state, turn.error_code) == ("completed", "")
        await socket.send_message("Only the red ones.", conversation=str(turn.conversation_id))
        await socket.until("response.completed")
    await running.settle()
    asked = [(each.header.role, each.header.channel, each.body) for each in backend.requests[-1].frames]
    assert [(role, channel) for role, channel, _ in asked if role != "system"] == [
        ("user", None),
        ("assistant", "analysis"),
        ("assistant", "commentary"),
        ("tool", "commentary"),
        ("user", None),
    ]
    assert asked[-1][2] == "Only the red ones." and "I look it up" in {body.strip() for *_, body in asked}
    rows = [row async for row in Message.objects.filter(conversation=turn.conversation_id).order_by("position")]
    assert [row.parent_id for row in rows[1:]] == [row.pk for row in rows[:-1]], "one branch, in this order"
    text = "\n".join(row.text for row in rows)
    document.parse(f"version: 2.2\n\n{text}\n")
    assert transcripts.frame_of(rows[-1]).body.strip() == "There are four."


async def test_the_message_is_answered_anew_and_edited_as_any_question(ada: User, backend: ScriptedBackend) -> None:
    async with BrowserSocket(ada) as socket:
        turn_id = await at_the_tool(socket)
        make_way(turn_id)
        GATE.set()
        await socket.until("response.completed")
        conversation = str((await Turn.objects.aget(pk=turn_id)).conversation_id)
        await socket.send_message("Only the red ones.", conversation=conversation)
        added = (await socket.until("chatui:accepted"))[-1]
        await socket.until("response.completed")
        first = [(each.header.role, each.body) for each in backend.requests[-1].frames]
        ids = {"conversation": conversation, "question": added["question"], "effort": "medium"}
        await socket.send("regenerate", client_id=str(uuid4()), **ids)
        assert (await socket.until("response.completed", "chatui:refused"))[-1]["type"] == "response.completed"
        assert [(each.header.role, each.body) for each in backend.requests[-1].frames] == first, "with all that the model had, once more"
        await socket.send("edit", client_id=str(uuid4()), text="Only the blue ones.", **ids)
        assert (await socket.until("response.completed", "chatui:refused"))[-1]["type"] == "response.completed"
        assert [(each.header.role, each.body) for each in backend.requests[-1].frames] == [*first[:-1], ("user", "Only the blue ones.")]
    await running.settle()


async def test_what_was_taken_back_changes_nothing(ada: User, backend: ScriptedBackend) -> None:
    async with BrowserSocket(ada) as socket:
        turn_id = await at_the_tool(socket)
        make_way(turn_id)
        make_way(turn_id, is_wanted=False)
        GATE.set()
        assert (await socket.until("response.completed"))[-1]["turn"] == turn_id
    assert len(backend.requests) == 2


async def test_a_new_conversation_gets_a_title_though_its_first_answer_made_way(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.change(monkeypatch, {"titles": True})
    backend.following = [answer("Counting the red ones")]
    async with BrowserSocket(ada) as socket:
        turn_id = await at_the_tool(socket)
        make_way(turn_id)
        GATE.set()
        await socket.until("response.completed")
    await running.settle()
    await titles.settle()
    turn = await Turn.objects.select_related("conversation").aget(pk=turn_id)
    assert turn.conversation.title == "Counting the red ones"
    asked = backend.requests[-1].frames[-1].body
    assert "How many?" in asked and asked.endswith("## Answer\n\n") and "I look it up" not in asked


async def test_a_page_that_is_gone_wants_nothing_any_more_and_another_page_does(ada: User, backend: ScriptedBackend) -> None:
    for stays in (True, False):
        GATE.clear()
        backend.requests.clear()
        backend.script = [*frame(ANALYSIS, "I look it up"), *calls(call("lookup", "c1"))]
        backend.following = [answer("There are four.")]
        async with BrowserSocket(ada) as watching:
            turn_id = await at_the_tool(watching)
            of_turn = {"conversation": str((await Turn.objects.aget(pk=turn_id)).conversation_id), "turn": turn_id, "is_wanted": True}
            async with BrowserSocket(ada) as leaving:
                await leaving.send("make_way", **of_turn)
                if stays:
                    await watching.send("make_way", **of_turn)
                await asyncio.gather(leaving.silence(0.2), watching.silence(0.2))
            GATE.set()
            await watching.until("response.completed")
        await running.settle()
        assert len(backend.requests) == (1 if stays else 2)


async def test_an_answer_without_another_step_ends_as_ever(ada: User, backend: ScriptedBackend) -> None:
    backend.script = answer("At once.")
    async with BrowserSocket(ada) as socket:
        await socket.send_message("How many?")
        turn_id = (await socket.until("response.created"))[-1]["turn"]
        make_way(turn_id)
        await socket.until("response.completed")
    last = await Message.objects.filter(turn=turn_id).order_by("position").alast()
    assert last is not None and transcripts.frame_of(last).body.strip() == "At once."


async def test_stop_is_stop(ada: User, backend: ScriptedBackend) -> None:
    async with BrowserSocket(ada) as socket:
        turn_id = await at_the_tool(socket)
        make_way(turn_id)
        await running.stop(TurnPlace(UUID(turn_id), PROCESS))
        await socket.until("response.cancel")
    GATE.set()
    await running.settle()
    assert (await Turn.objects.aget(pk=turn_id)).state == "stopped" and len(backend.requests) == 1


async def test_an_answer_goes_on_if_no_page_is_there_to_send_the_message(ada: User, backend: ScriptedBackend) -> None:
    started = await begin(ada, ask())
    running.make_way(TurnPlace(started.turn.pk, PROCESS), "a page", is_wanted=True)
    GATE.set()
    await running.settle()
    assert (await Turn.objects.aget(pk=started.turn.pk)).state == "completed" and len(backend.requests) == 2
