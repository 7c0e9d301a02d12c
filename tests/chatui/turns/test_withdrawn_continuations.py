"""A continuation shows that the cut answer was reasoning: then that is hidden too, in storage, search and copies, and on every page. Behind
reasoning of its own it is an answer, and stays."""

import asyncio
from typing import Any

import pytest
from channels.db import database_sync_to_async

from chatui.backends.base import EndReason
from chatui.codes import ProductCode
from chatui.models.conversation import ActiveLeaf
from chatui.models.message import Message, SearchEntry
from chatui.models.turn import Turn
from chatui.models.user import User
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn
from renderer.frames import Terminator
from tests.chatui.conftest import signed_in
from tests.chatui.store import pieces
from tests.chatui.turns.test_continue import ask_and_continue, continuation_steps, cut, cut_answer
from tests.support.environment import change
from tests.support.other_processes import reap, stored_by_another
from tests.support.page import Page, answered, settled
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


def of(turn: Turn) -> dict[str, Any]:
    """The fields of a request to continue it."""
    return {"type": "continue", "conversation": turn.conversation_id, "turn": turn.pk, "effort": None}


def hidden(turn: Turn) -> tuple[bool, str, int]:
    message = Message.objects.get(turn=turn, text__contains=CANARY)
    return message.is_visible, message.error_code, SearchEntry.objects.filter(message=message).count()


HIDDEN = (False, "E-X-WITHHELD", 0)


@pytest.mark.parametrize("then", [[*WITHDRAWN, *continuation_steps("Jam.")], [*WITHDRAWN, ended()], BROKEN_OFF])
async def test_the_cut_answer_is_hidden_everywhere(then: list[Step], ada: User, backend: ScriptedBackend) -> None:
    [first] = await ask_and_continue(ada, backend, CUT)
    assert CANARY in await database_sync_to_async(read)(ada, first), "the premise: it looked like an answer"
    backend.script = then
    second = await answered(ada, "", **of(first))
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
    turns.append(await answered(ada, "", **of(turns[-1])))
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
    async with Page(ada) as page:
        second = await page.ask("", **of(first))
        await asyncio.wait_for(backend.waiting.wait(), 20)
        async with asyncio.timeout(20):
            while await database_sync_to_async(hidden)(first) != HIDDEN:
                await asyncio.sleep(0.01)
        assert "they mean" not in await database_sync_to_async(read)(ada, first, second)
        gate.set()
        await settled()


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
    second = await stored_by_another(ada, "continue", conversation=first.conversation_id, continued_turn=first.pk)
    await database_sync_to_async(pieces.leave)(second.pk, f"{CANARY} not jam", "assistant intent=debug<|channel|>analysis")
    await reap()
    assert (await Turn.objects.aget(pk=second.pk)).state == "interrupted"
    assert await database_sync_to_async(hidden)(first) == HIDDEN
    assert "they mean" not in await database_sync_to_async(read)(ada, first, second)
    assert (await ActiveLeaf.objects.select_related("message").aget(person=ada)).message.turn_id == second.pk


async def test_the_sweep_lets_an_answer_behind_reasoning_of_its_own_stay(ada: User, backend: ScriptedBackend) -> None:
    [first] = await ask_and_continue(ada, backend, APART)
    second = await stored_by_another(ada, "continue", conversation=first.conversation_id, continued_turn=first.pk)
    await database_sync_to_async(pieces.leave)(second.pk, f"{CANARY} not jam", "assistant intent=debug<|channel|>analysis")
    await reap()
    assert (await Turn.objects.aget(pk=second.pk)).state == "interrupted"
    assert await database_sync_to_async(hidden)(first) == SHOWN
    text = await database_sync_to_async(read)(ada, first, second)
    assert CANARY in text and "not jam" not in text
