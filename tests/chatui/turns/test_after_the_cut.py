"""After Answer now: no later request contains the reasoning that was cut, and no tool runs any more."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from chatui.backends.base import BackendError, EndReason, SampleRequest
from chatui.codes import ProductCode
from chatui.models.user import User
from chatui.turns.asks import AskKind
from chatui.turns.runner import Runner
from chatui.turns.sampling import Sampling
from renderer.events import FrameClosed, FrameOpened, FrameText
from renderer.frames import Frame, Terminator
from tests.chatui.conftest import stored
from tests.chatui.tools import offering
from tests.chatui.turns.test_answer_now import THINKS, ThinkingTurn, thinking
from tests.chatui.turns.test_turns import ask, begin, shape
from tests.support.scripted import ANALYSIS, CALL, FINAL, PREAMBLE, ScriptedBackend, Step, answer, ended, frame

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]

CUT_AGAIN: list[Step] = [
    FrameOpened(FINAL),
    FrameText("Half an ans"),
    FrameClosed(None, ProductCode.LENGTH),
    ended(EndReason.LENGTH),
]


def texts(request: SampleRequest) -> list[str]:
    return [each.body for each in request.frames]


@pytest.mark.parametrize(
    ("then", "opened"),
    [(CUT_AGAIN, "Half an ans"), ([*frame(PREAMBLE, "I will look."), *frame(ANALYSIS, "second"), ended()], "")],
    ids=["continue", "finish"],
)
async def test_a_continued_answer_is_not_prefilled_after_a_cut_thought(
    then: Sequence[Step], opened: str, ada: User, backend: ScriptedBackend
) -> None:
    turn = await thinking(ada, backend, then=then)
    turn.press()
    done = await turn.ended()
    backend.waiting.clear()
    backend.script = answer("wer")
    again = ThinkingTurn(backend, await begin(ada, ask(AskKind.CONTINUE, "", conversation=done.conversation_id, continued_turn=done.pk)))
    await again.ended()
    continued = backend.requests[-1]
    assert continued.cut_answer == Frame(FINAL, opened)
    assert "a long thought" not in texts(continued)


async def test_a_call_written_before_the_cut_does_not_run(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[bool] = []

    def lookup() -> None:
        """Counts the available items."""
        ran.append(True)

    offering.offer(monkeypatch, lookup)
    turn = await thinking(ada, backend, *frame(CALL, "{}", Terminator.CALL), *THINKS)
    turn.press()
    done = await turn.ended()
    assert (done.state, done.error_code, ran) == ("completed", "", [])
    rows = await turn.rows()
    assert [kind[0] for kind in shape(rows)] == ["assistant", "assistant", "tool", "assistant", "assistant"]
    assert "asked for at once" in rows[2].text and not rows[2].is_visible


async def test_a_call_after_the_cut_is_refused_and_the_cut_thought_stays_out(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[bool] = []

    def lookup() -> None:
        """Counts the available items."""
        ran.append(True)

    offering.offer(monkeypatch, lookup)
    turn = await thinking(ada, backend, then=[*frame(CALL, "{}", Terminator.CALL), ended(EndReason.TOOL_CALLS)])
    backend.following = [answer("Four.")]
    turn.press()
    done = await turn.ended()
    assert (done.state, ran, len(backend.requests)) == ("completed", [], 3)
    assert all("a long thought" not in texts(request) and not request.tools for request in backend.requests[1:])


@pytest.mark.parametrize("failing", [False, True])
async def test_pressed_as_the_thinking_ends_the_model_is_asked_again(
    failing: bool, ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend.script = [*frame(ANALYSIS, "hm"), ended()]
    backend.following = [answer("Four.")]
    runner, sound = Runner(await stored(ada, ask())), Sampling.run

    async def pressed_at_its_end(sampling: Sampling) -> None:
        await sound(sampling)
        if len(backend.requests) == 1:
            assert runner.press_answer_now()
            if failing:
                raise BackendError(ProductCode.BACKEND)

    monkeypatch.setattr(Sampling, "run", pressed_at_its_end)
    runner.listen()
    await runner.run()
    assert len(backend.requests) == 2 and backend.requests[1].cut_answer == Frame(FINAL, "")


async def test_pressed_while_a_tool_runs_the_next_sampling_is_asked_for_the_answer(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    pressed: list[bool] = []

    def lookup() -> dict[str, int]:
        """Counts the available items."""
        pressed.extend(runner.press_answer_now() for _ in range(2))
        return {"found": 4}

    offering.offer(monkeypatch, lookup)
    calls = [*frame(ANALYSIS, "look"), *frame(CALL, "{}", Terminator.CALL), ended(EndReason.TOOL_CALLS)]
    backend.script, backend.following = calls, [answer("There are four.")]
    runner = Runner(await stored(ada, ask()))
    runner.listen()
    await runner.run()
    first, second = backend.requests
    assert pressed == [True, False] and backend.closed == 0
    assert second.cut_answer == Frame(FINAL, "") and second.frames[-1].header.role == "tool"
    assert first.tools and not second.tools
