"""A message is added to a running answer: the turn makes way for it before its next sampling, and its own turn goes on from there."""

import asyncio
import threading

import pytest

from chatui.models.message import Message
from chatui.models.turn import Turn
from chatui.models.user import User
from renderer.ocml import document
from tests.chatui.turns.calls.calling import call, calls
from tests.support import environment, offering
from tests.support.other_processes import wish_of_a_lost_page
from tests.support.page import Page, conversation_of, rows_of, settled
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


async def at_the_tool(page: Page) -> Turn:
    """A turn whose tool is at work."""
    turn = await page.ask("How many?")
    async with asyncio.timeout(20):
        while not await Message.objects.filter(turn=turn.pk, name="tool_activity").aexists():
            await asyncio.sleep(0.02)
    return turn


async def make_way(page: Page, *, is_wanted: bool = True) -> None:
    await page.tell("make_way", is_wanted=is_wanted)
    await page.heard()


async def made_way(page: Page) -> Turn:
    """A turn that has made way for a message."""
    await at_the_tool(page)
    await make_way(page)
    GATE.set()
    turn = await page.ended()
    assert (turn.state, turn.error_code) == ("completed", "")
    return turn


def body_of(row: Message) -> str:
    return document.parse_frame(row.text).body.strip()


async def test_the_message_stands_behind_the_reply_and_the_model_goes_on_with_all_that_it_had(ada: User, backend: ScriptedBackend) -> None:
    async with Page(ada) as page:
        turn = await made_way(page)
        assert len(backend.requests) == 1, "the model was not asked again"
        await page.answered("Only the red ones.", conversation=turn.conversation_id)
    asked = [(each.header.role, each.header.channel, each.body) for each in backend.requests[-1].frames]
    assert [(role, channel) for role, channel, _ in asked if role != "system"] == [
        ("user", None),
        ("assistant", "analysis"),
        ("assistant", "commentary"),
        ("tool", "commentary"),
        ("user", None),
    ]
    assert asked[-1][2] == "Only the red ones." and "I look it up" in {body.strip() for *_, body in asked}
    rows = await conversation_of(turn)
    assert [row.parent_id for row in rows[1:]] == [row.pk for row in rows[:-1]], "one branch, in this order"
    text = "\n".join(row.text for row in rows)
    document.parse(f"version: 2.2\n\n{text}\n")
    assert body_of(rows[-1]) == "There are four."


async def test_the_message_is_answered_anew_and_edited_as_any_question(ada: User, backend: ScriptedBackend) -> None:
    def asked() -> list[tuple[str, str]]:
        return [(each.header.role, each.body) for each in backend.requests[-1].frames]

    async with Page(ada) as page:
        conversation = (await made_way(page)).conversation_id
        added = await page.answered("Only the red ones.", conversation=conversation)
        first = asked()
        about = {"conversation": conversation, "question": added.question_id}
        assert (await page.answered("", type="regenerate", **about)).state == "completed"
        assert asked() == first, "with all that the model had, once more"
        assert (await page.answered("Only the blue ones.", type="edit", **about)).state == "completed"
        assert asked() == [*first[:-1], ("user", "Only the blue ones.")]


async def test_what_was_taken_back_changes_nothing(ada: User, backend: ScriptedBackend) -> None:
    async with Page(ada) as page:
        await at_the_tool(page)
        await make_way(page)
        await make_way(page, is_wanted=False)
        GATE.set()
        await page.ended()
    assert len(backend.requests) == 2


async def test_a_new_conversation_gets_a_title_though_its_first_answer_made_way(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.change(monkeypatch, {"titles": True})
    backend.following = [answer("Counting the red ones")]
    async with Page(ada) as page:
        turn = await made_way(page)
    assert turn.conversation.title == "Counting the red ones"
    asked = backend.requests[-1].frames[-1].body
    assert "How many?" in asked and asked.endswith("## Answer\n\n") and "I look it up" not in asked


async def test_a_page_that_is_gone_wants_nothing_any_more_and_another_page_does(ada: User, backend: ScriptedBackend) -> None:
    for stays in (True, False):
        GATE.clear()
        backend.requests.clear()
        backend.script = [*frame(ANALYSIS, "I look it up"), *calls(call("lookup", "c1"))]
        backend.following = [answer("There are four.")]
        async with Page(ada) as watching:
            turn = await at_the_tool(watching)
            async with Page(ada) as leaving:
                leaving.turn = turn
                await make_way(leaving)
                if stays:
                    await make_way(watching)
            GATE.set()
            await watching.ended()
        assert len(backend.requests) == (1 if stays else 2)


async def test_an_answer_without_another_step_ends_as_ever(ada: User, backend: ScriptedBackend) -> None:
    gate = asyncio.Event()
    backend.script = [gate, *answer("At once.")]
    async with Page(ada) as page:
        await page.ask("How many?")
        await make_way(page)
        gate.set()
        turn = await page.ended()
    assert body_of((await rows_of(turn))[-1]) == "At once."


async def test_stop_is_stop(ada: User, backend: ScriptedBackend) -> None:
    async with Page(ada) as page:
        await at_the_tool(page)
        await make_way(page)
        await page.tell("stop")
        await page.until("response.cancel")
        GATE.set()
        await settled()
    assert (await Turn.objects.aget(pk=page.turn.pk)).state == "stopped" and len(backend.requests) == 1


async def test_an_answer_goes_on_if_no_page_is_there_to_send_the_message(ada: User, backend: ScriptedBackend) -> None:
    async with Page(ada) as page:
        turn = await at_the_tool(page)
    await wish_of_a_lost_page(turn)
    GATE.set()
    await settled()
    assert (await Turn.objects.aget(pk=turn.pk)).state == "completed" and len(backend.requests) == 2
