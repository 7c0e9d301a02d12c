"""An answer that several turns wrote has one line with the total thinking time."""

from __future__ import annotations

import pytest
from channels.db import database_sync_to_async

from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.turns import opening
from chatui.turns.asks import AskKind
from chatui.turns.running_turn import RunningTurn
from tests.chatui.turns.test_continue import ask_and_continue, continuation_steps, cut_answer, shown_answer
from tests.support.scripted import ANALYSIS, ScriptedBackend, frame

pytestmark = pytest.mark.django_db(transaction=True)


@database_sync_to_async
def took(turn: Turn, seconds: int) -> None:
    Turn.objects.filter(pk=turn.pk).update(thought_seconds=seconds)


@database_sync_to_async
def loaded(turn: Turn) -> RunningTurn:
    row = Turn.objects.select_related("conversation", "question", "continued_message").get(pk=turn.pk)
    running = RunningTurn(row, None, AskKind.CONTINUE)
    opening.load_branch(running)
    return running


async def test_the_thinking_time_of_all_turns_of_an_answer_is_added_up(ada: User, backend: ScriptedBackend) -> None:
    first, second = await ask_and_continue(ada, backend, cut_answer(), [*frame(ANALYSIS, "More thought."), *continuation_steps()])
    await took(first, 40)
    await took(second, 25)

    thought = (await shown_answer(ada, second)).thought
    assert thought is not None and thought.sentence == "Thought for 1 min 5 s"
    assert (await loaded(second)).thought_before == 40
    assert (await loaded(first)).thought_before is None


async def test_a_turn_without_thinking_adds_nothing(ada: User, backend: ScriptedBackend) -> None:
    first, second = await ask_and_continue(ada, backend, cut_answer(), continuation_steps())
    await took(first, 3)

    thought = (await shown_answer(ada, second)).thought
    assert thought is not None and thought.sentence == "Thought for 3 s"
