"""A continuation shows that the cut answer was reasoning: then that is hidden too, in storage, search and copies, and on every page. Behind
reasoning of its own it is an answer, and stays."""

import asyncio
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async

from chatui import wire
from chatui.backends.base import EndReason
from chatui.codes import ProductCode
from chatui.models.conversation import ActiveLeaf
from chatui.models.message import Message, SearchEntry
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.turns import running, sweep
from chatui.turns.streams.end_user import EndUserStream
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frames import Frame, Terminator
from renderer.gate import Audience, show
from renderer.markup import html
from tests.chatui.conftest import signed_in, stored
from tests.chatui.store import pieces
from tests.chatui.turns.test_continue import ask_and_continue, continuation_steps, continued, cut, cut_answer
from tests.chatui.turns.test_turns import begin
from tests.support.environment import change
from tests.support.scripted import FINAL, ScriptedBackend, Step, ended

pytestmark = pytest.mark.django_db(transaction=True)

CANARY = "perhaps they mean marmalade and"
"""Reasoning without its opening tag: it is shown until its closing tag comes."""
CUT: list[Step] = [*cut(FINAL, CANARY), ended(EndReason.LENGTH)]
WITHDRAWN: list[Step] = [FrameOpened(FINAL), FrameText(" not jam"), FrameWithdrawn(), FrameClosed(Terminator.END, ProductCode.WITHHELD)]
BROKEN_OFF: list[Step] = [FrameOpened(FINAL), FrameText(" not jam"), FrameWithdrawn(), FrameClosed(None, ProductCode.WITHHELD), ended()]


def read(person: User, *turns: Turn) -> str:
    """What a person can read of a conversation, on every page and in every copy."""
    client, conversation = signed_in(person), f"/c/{turns[0].conversation_id}/"
    own = [f"{conversation}turns/{turn.pk}/" for turn in turns] + [f"{conversation}messages/{turns[0].question_id}/answers/"]
    copies = [f"{conversation}{path}" for path in ("", "download/", "download/?format=markdown", "share/", "find/?q=marmalade")]
    return "".join(client.get(path).content.decode() for path in (*own, *copies, "/search/?q=marmalade"))


def hidden(turn: Turn) -> tuple[bool, str, int]:
    message = Message.objects.get(turn=turn, text__contains=CANARY)
    return message.is_visible, message.error_code, SearchEntry.objects.filter(message=message).count()


HIDDEN = (False, "E-X-WITHHELD", 0)


@pytest.mark.parametrize("then", [[*WITHDRAWN, *continuation_steps("Jam.")], [*WITHDRAWN, ended()], BROKEN_OFF])
async def test_the_cut_answer_is_hidden_everywhere(then: list[Step], ada: User, backend: ScriptedBackend) -> None:
    [first] = await ask_and_continue(ada, backend, CUT)
    assert CANARY in await database_sync_to_async(read)(ada, first), "the premise: it looked like an answer"
    backend.script = then
    second = (await begin(ada, continued(first))).turn
    await running.settle()
    text = await database_sync_to_async(read)(ada, first, second)
    assert "they mean" not in text and "not jam" not in text
    assert ("Jam." in text) is (len(then) > len(WITHDRAWN) + 1)
    assert await database_sync_to_async(hidden)(first) == HIDDEN


APART: list[Step] = cut_answer(CANARY, thought="hm")
"""The same words, behind reasoning of their own: they are the answer."""
SHOWN = (True, "E-X-LENGTH", 1)


@pytest.mark.parametrize("then", [[*WITHDRAWN, *continuation_steps(" Jam.")], [*WITHDRAWN, ended()], BROKEN_OFF])
@pytest.mark.parametrize("more", [[], [[*cut(FINAL, " plums"), ended(EndReason.LENGTH)]]])
async def test_an_answer_behind_reasoning_of_its_own_stays(
    more: list[list[Step]], then: list[Step], ada: User, backend: ScriptedBackend
) -> None:
    """Also if it was continued before; only what the continuation wrote itself is withdrawn."""
    turns = await ask_and_continue(ada, backend, APART, *more)
    backend.script = then
    turns.append((await begin(ada, continued(turns[-1]))).turn)
    await running.settle()
    text = await database_sync_to_async(read)(ada, *turns)
    assert CANARY in text and "not jam" not in text and ("Jam." in text) is (len(then) > len(WITHDRAWN) + 1)
    assert [await database_sync_to_async(hidden)(turn) for turn in turns[:-1]] == [SHOWN] * (1 + len(more))
    answers = Message.objects.filter(turn=turns[-1], is_visible=True).values_list("text", flat=True)
    whole = f"{CANARY}{' plums' if more else ''} Jam."
    assert [whole in answer async for answer in answers] == [True] * ("Jam." in text)
    page = await database_sync_to_async(lambda: signed_in(ada).get(f"/c/{turns[0].conversation_id}/").content.decode())()
    assert CANARY in page, "on the open branch"


async def test_it_is_hidden_while_the_turn_still_runs(ada: User, backend: ScriptedBackend) -> None:
    gate = asyncio.Event()
    [first] = await ask_and_continue(ada, backend, CUT)
    backend.script = [*WITHDRAWN[:-1], gate, WITHDRAWN[-1], *continuation_steps("Jam.")]
    second = (await begin(ada, continued(first))).turn
    await asyncio.wait_for(backend.waiting.wait(), 5)
    async with asyncio.timeout(10):
        while await database_sync_to_async(hidden)(first) != HIDDEN:
            await asyncio.sleep(0.01)
    assert "they mean" not in await database_sync_to_async(read)(ada, first, second)
    gate.set()
    await running.settle()


async def test_so_are_the_answers_that_it_continued_itself(ada: User, backend: ScriptedBackend) -> None:
    turns = await ask_and_continue(
        ada, backend, CUT, [*cut(FINAL, " plums"), ended(EndReason.LENGTH)], [*WITHDRAWN, *continuation_steps("Jam.")]
    )
    assert "they mean" not in await database_sync_to_async(read)(ada, *turns)
    assert [await database_sync_to_async(hidden)(turn) for turn in turns[:2]] == [HIDDEN, HIDDEN]


async def test_an_answer_after_the_sign_stays(ada: User, backend: ScriptedBackend) -> None:
    """Its own turn had reasoning without an opening tag, which was withdrawn: what followed was the answer."""
    signed: list[Step] = [FrameOpened(FINAL), FrameText("hm"), FrameWithdrawn(), FrameClosed(Terminator.END, ProductCode.WITHHELD), *CUT]
    turns = await ask_and_continue(ada, backend, signed, [*WITHDRAWN, *continuation_steps("Jam.")])
    assert (await database_sync_to_async(hidden)(turns[0]))[0]


async def test_a_continuation_that_is_no_reasoning_hides_nothing(ada: User, backend: ScriptedBackend) -> None:
    leak: list[Step] = [*WITHDRAWN[:1], FrameText("x"), FrameClosed(Terminator.END), *WITHDRAWN, *continuation_steps("Jam.")]
    turns = await ask_and_continue(ada, backend, CUT, leak)
    assert (await database_sync_to_async(hidden)(turns[0]))[0], "another message was withdrawn"


async def test_without_stored_reasoning_its_text_is_removed(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"hidden_days": 0})
    await ask_and_continue(ada, backend, CUT, [*WITHDRAWN, *continuation_steps("Jam.")])
    assert not await Message.objects.filter(text__contains="marmalade").aexists()


async def test_the_sweep_hides_it_if_the_process_died_after_the_withdrawal(ada: User, backend: ScriptedBackend) -> None:
    [first] = await ask_and_continue(ada, backend, CUT)
    second = (await stored(ada, continued(first), "a process that died")).turn
    await database_sync_to_async(pieces.leave)(second.pk, f"{CANARY} not jam", "assistant intent=debug<|channel|>analysis")
    assert len(await database_sync_to_async(sweep.interrupt_abandoned)()) == 1
    assert await database_sync_to_async(hidden)(first) == HIDDEN
    assert "they mean" not in await database_sync_to_async(read)(ada, first, second)
    assert (await ActiveLeaf.objects.select_related("message").aget(person=ada)).message.turn_id == second.pk


async def test_the_sweep_lets_an_answer_behind_reasoning_of_its_own_stay(ada: User, backend: ScriptedBackend) -> None:
    [first] = await ask_and_continue(ada, backend, APART)
    second = (await stored(ada, continued(first), "a process that died")).turn
    await database_sync_to_async(pieces.leave)(second.pk, f"{CANARY} not jam", "assistant intent=debug<|channel|>analysis")
    assert len(await database_sync_to_async(sweep.interrupt_abandoned)()) == 1
    assert await database_sync_to_async(hidden)(first) == SHOWN
    text = await database_sync_to_async(read)(ada, first, second)
    assert CANARY in text and "not jam" not in text


KEY, CUT_KEY = uuid4(), uuid4()
JOINED: list[RawEvent] = [FrameOpened(FINAL), FrameText("One.\n\nTwo and"), FrameText(" three.\n\n"), FrameWithdrawn()]


@pytest.mark.parametrize("flushed", range(4))
@pytest.mark.parametrize("is_watched", [True, False])
def test_pages_remove_the_cut_text_and_show_the_whole_new_answer(flushed: int, is_watched: bool) -> None:
    stream = EndUserStream(uuid4())
    blocks = html.render_blocks(show(Frame(FINAL, "One.\n\nTwo and"), Audience.END_USER))
    stream.show_before([wire.MessageSoFar(str(CUT_KEY), "final", tuple(blocks))], CUT_KEY)
    for number, event in enumerate(JOINED):
        stream.take(event, KEY, 0)
        if number < flushed:
            stream.flush(is_watched=is_watched)
    gone = {each.event.message_id for each in stream.flush() if isinstance(each.event, wire.MessageWithdrawn)}
    assert str(CUT_KEY) in gone and stream.snapshot(0).messages == ()
    answer = uuid4()
    for event in (FrameClosed(Terminator.END), FrameOpened(FINAL), FrameText("Four.\n\nFive."), FrameClosed(Terminator.RETURN)):
        stream.take(event, answer, 0)
    events = [each.event for each in stream.flush()]
    [began] = [event for event in events if isinstance(event, wire.MessageBegan)]
    assert (began.message_id, began.continued_message) == (str(answer), None)
    assert [word in str(block) for word, block in zip(("Four", "Five"), stream.snapshot(0).messages[0].blocks, strict=True)] == [True] * 2


def show_on(page: dict[str, list[str]], events: list[wire.Numbered]) -> None:
    """What a page does with events about messages."""
    for numbered in events:
        match numbered.event:
            case wire.MessageBegan(message_id=key, continued_message=cut, blocks=kept):
                page[key] = page.pop(cut)[:kept] if cut else page.get(key, [])
            case wire.MessageWithdrawn(message_id=key):
                page.pop(key, None)
            case wire.BlockFlushed(message_id=key, block=block, html=text) | wire.BlockReplaced(message_id=key, block=block, html=text):
                page[key][block:] = [str(text)]


@pytest.mark.parametrize("flushed", range(4))
@pytest.mark.parametrize("is_watched", [True, False])
def test_pages_show_a_cut_text_that_stays_again_until_a_new_answer_replaces_it(flushed: int, is_watched: bool) -> None:
    stream, page = EndUserStream(uuid4()), dict[str, list[str]]()
    blocks = html.render_blocks(show(Frame(FINAL, "One.\n\nTwo and"), Audience.END_USER))
    before = wire.MessageSoFar(str(CUT_KEY), "final", tuple(blocks))
    page[str(CUT_KEY)] = list(map(str, blocks))
    stream.show_before([before], CUT_KEY, stays=True)
    for number, event in enumerate(JOINED):
        stream.take(event, KEY, 0)
        if number < flushed:
            show_on(page, stream.flush(is_watched=is_watched))
    show_on(page, stream.flush())
    assert page == {str(CUT_KEY): list(map(str, blocks))} and stream.snapshot(0).messages == (before,)
    answer = uuid4()
    for event in (FrameClosed(Terminator.END), FrameOpened(FINAL), FrameText("One.\n\nTwo and"), FrameText(" four.")):
        stream.take(event, answer, 0)
    stream.take(FrameClosed(Terminator.RETURN), answer, 0)
    show_on(page, stream.flush())
    shown = list(map(str, html.render_blocks(show(Frame(FINAL, "One.\n\nTwo and four."), Audience.END_USER))))
    assert page == {str(answer): shown}
    assert [(each.message_id, list(map(str, each.blocks))) for each in stream.snapshot(0).messages] == [(str(answer), shown)]
