"""Answer now: the thinking ends, the model answers in the same turn, and nobody sees a byte of what it thought."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Sequence
from uuid import UUID

import pytest

from chatui import prompts
from chatui.backends.base import BackendError, EndReason, SampleEnded, SampleRequest, Taker
from chatui.codes import ProductCode
from chatui.models.message import Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.turns import leases, running
from chatui.turns.asks import AskKind
from chatui.turns.running import TurnPlace
from chatui.turns.running_turn import RunningTurn
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn
from renderer.frames import Frame, Terminator
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.formats import SECRET, WORDS, format_of
from tests.chatui.backends.wire import posts
from tests.chatui.turns.test_turns import shape
from tests.support import constants, offering
from tests.support.browser_socket import ENDS, BrowserSocket, shown_text
from tests.support.other_processes import as_another, leave, reap
from tests.support.scripted import ANALYSIS, CALL, FINAL, PREAMBLE, ScriptedBackend, Step, answer, connect, ended, frame
from tests.support.stub import SSE_HEAD
from tests.support.turns import ask, begin
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary

pytestmark = pytest.mark.django_db(transaction=True)

THINKS: list[Step] = [FrameOpened(ANALYSIS), FrameText("a long thought")]


class ThinkingTurn:
    """A turn that is still thinking, and the events that its page gets."""

    def __init__(self, backend: ScriptedBackend, started: RunningTurn) -> None:
        self.backend = backend
        self.started = started
        self._place = TurnPlace(started.turn.pk, leases.OWNER)

    def press(self) -> None:
        running.answer_now(self._place)

    async def stop(self) -> None:
        await running.stop(self._place)

    async def ended(self) -> Turn:
        await asyncio.wait_for(running.settle(), 20)
        return await Turn.objects.select_related("conversation").aget(pk=self.started.turn.pk)

    async def rows(self) -> list[Message]:
        return [row async for row in Message.objects.filter(turn=self.started.turn).order_by("position")]


async def thinking(person: User, backend: ScriptedBackend, *script: Step, then: Sequence[Step] = ()) -> ThinkingTurn:
    """Start a turn that plays ``script`` and then waits for ever; ``then`` is what the next sampling plays."""
    backend.script = [*(script or THINKS), asyncio.Event()]
    started = await begin(person, ask())
    await asyncio.wait_for(backend.waiting.wait(), 10)
    backend.script = then or answer("Four.", "in short")
    return ThinkingTurn(backend, started)


async def test_the_thinking_ends_and_the_answer_comes_in_the_same_turn(ada: User, backend: ScriptedBackend) -> None:
    turn = await thinking(ada, backend)
    turn.press()
    done = await turn.ended()
    assert (done.state, done.error_code, backend.closed, len(backend.requests)) == ("completed", "", 1, 2)
    rows = await turn.rows()
    assert shape(rows) == [("assistant", "analysis"), ("assistant", "analysis"), ("assistant", "final")]
    assert [row.is_visible for row in rows] == [False, False, True]
    cut = rows[0]
    assert (cut.is_complete, cut.error_code) == (False, ProductCode.ANSWER_NOW), "the record says why the thought ends here"
    assert await Turn.objects.filter(conversation=done.conversation).acount() == 1


async def test_the_model_is_asked_without_its_thought_and_without_a_prefilled_answer(ada: User, backend: ScriptedBackend) -> None:
    """After a cut thought, a prefilled answer would continue that thought in public."""
    turn = await thinking(ada, backend, *frame(PREAMBLE, "I will count."), *THINKS)
    turn.press()
    await turn.ended()
    second = backend.requests[1]
    assert [(each.header.role, each.header.channel) for each in second.frames] == [("user", None), ("assistant", "commentary")]
    assert second.cut_answer == Frame(FINAL, "") and second.effort == "low"
    assert "".join(second.thoughts).strip() == "a long thought", "so that it is known if it comes again"


async def test_what_was_thought_in_earlier_rounds_is_still_known(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lookup() -> None:
        """Counts the available items."""

    offering.offer(monkeypatch, lookup)
    backend.script = [*frame(ANALYSIS, "look it up"), *frame(CALL, "{}", Terminator.CALL), ended(EndReason.TOOL_CALLS)]
    backend.following = [[*THINKS, asyncio.Event()], answer()]
    turn = ThinkingTurn(backend, await begin(ada, ask()))
    await asyncio.wait_for(backend.waiting.wait(), 10)
    turn.press()
    assert (await turn.ended()).state == "completed"
    assert [each.strip() for each in backend.requests[-1].thoughts] == ["look it up", "a long thought"]


async def test_a_cut_call_is_not_shown_to_the_model_again(ada: User, backend: ScriptedBackend) -> None:
    turn = await thinking(ada, backend, *frame(ANALYSIS, "look it up"), FrameOpened(CALL), FrameText('{"half":'))
    turn.press()
    assert (await turn.ended()).state == "completed"
    assert [each.header.role for each in backend.requests[1].frames] == ["user"]
    assert [row.terminator for row in await turn.rows()][:2] == ["<|end|>", "<|end|>"]


async def test_pressing_again_or_from_another_tab_changes_nothing(ada: User, backend: ScriptedBackend) -> None:
    turn = await thinking(ada, backend, then=[*THINKS, asyncio.Event()])
    turn.press()
    turn.press()
    while len(backend.requests) < 2:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    turn.press()
    await asyncio.sleep(0.05)
    assert len(backend.requests) == 2
    await turn.stop()
    assert (await turn.ended()).state == "stopped"


async def test_pressing_after_the_answer_began_does_not_touch_it(ada: User, backend: ScriptedBackend) -> None:
    may_continue = asyncio.Event()
    backend.script = [
        *frame(ANALYSIS, "hm"),
        FrameOpened(FINAL),
        FrameText("Fo"),
        may_continue,
        FrameText("ur."),
        FrameClosed(Terminator.RETURN),
    ]
    turn = ThinkingTurn(backend, await begin(ada, ask()))
    await asyncio.wait_for(backend.waiting.wait(), 10)
    turn.press()
    await asyncio.sleep(0.05)
    may_continue.set()
    assert (await turn.ended()).state == "completed"
    assert len(backend.requests) == 1 and (await turn.rows())[-1].text.endswith("Four.<|return|>")


async def test_pressing_before_any_thought_or_after_the_end_changes_nothing(ada: User, backend: ScriptedBackend) -> None:
    may_continue = asyncio.Event()
    backend.script = [may_continue, *answer()]
    turn = ThinkingTurn(backend, await begin(ada, ask()))
    await asyncio.wait_for(backend.waiting.wait(), 10)
    turn.press()
    may_continue.set()
    assert (await turn.ended()).state == "completed"
    turn.press()
    await running.settle()
    assert len(backend.requests) == 1


async def test_an_answer_that_was_buffered_until_the_cut_stays_hidden(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """A guard releases its buffer when the sampling is cancelled: it belongs to an answer that nobody gets any more."""

    class Holding(ScriptedBackend):
        async def sample(self, request: SampleRequest, take: Taker) -> SampleEnded:
            try:
                return await super().sample(request, take)
            except asyncio.CancelledError:
                for late in (FrameClosed(Terminator.END), FrameOpened(FINAL), FrameText("HELD BACK")):
                    take(late)
                take(FrameClosed(None, ProductCode.LENGTH))
                raise

    backend = Holding()
    connect(monkeypatch, backend)
    turn = await thinking(ada, backend)
    turn.press()
    assert (await turn.ended()).state == "completed"
    rows = await turn.rows()
    assert [row.is_visible for row in rows if "HELD BACK" in row.text] == [False]
    assert [row.text.rpartition("|>")[0] for row in rows if row.is_visible] != []
    assert sum(row.is_visible for row in rows) == 1 and "Four." in rows[-1].text


async def test_a_second_sampling_without_an_answer_is_reported_as_only_thinking(ada: User, backend: ScriptedBackend) -> None:
    turn = await thinking(ada, backend, then=[*frame(ANALYSIS, "still"), ended()])
    turn.press()
    done = await turn.ended()
    assert (done.state, done.error_code) == ("failed", ProductCode.ONLY_THINKING)


async def test_a_server_failure_in_the_second_sampling_fails_the_turn(ada: User, backend: ScriptedBackend) -> None:
    turn = await thinking(ada, backend, then=[BackendError(ProductCode.TIMEOUT)])
    turn.press()
    done = await turn.ended()
    assert (done.state, done.error_code) == ("failed", ProductCode.TIMEOUT)
    assert [row.error_code for row in await turn.rows()] == [ProductCode.ANSWER_NOW]


@pytest.mark.parametrize("is_first", [True, False], ids=["at once", "while it is asked again"])
async def test_stop_always_wins(is_first: bool, ada: User, backend: ScriptedBackend) -> None:
    turn = await thinking(ada, backend, then=[*THINKS, asyncio.Event()])
    turn.press()
    while not is_first and len(backend.requests) < 2:
        await asyncio.sleep(0.01)
    await turn.stop()
    done = await turn.ended()
    assert (done.state, done.error_code) == ("stopped", "")
    assert not any(row.is_visible for row in await turn.rows()) and len(backend.requests) == (1 if is_first else 2)


async def test_a_process_that_dies_in_the_second_sampling_leaves_the_first_thought_marked(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants.change(monkeypatch, lease_tick_seconds=3600.0)  # nothing takes its lease again
    gate = asyncio.Event()
    turn = await thinking(ada, backend, then=[FrameOpened(ANALYSIS), FrameText("second"), gate])
    turn.press()
    while len(backend.requests) < 2 or not await turn.rows():
        await asyncio.sleep(0.01)
    await leave()
    with as_another():
        await reap()
    rows = await turn.rows()
    assert [(row.is_visible, row.is_complete, row.error_code) for row in rows] == [
        (False, False, "E-X-ANSWER-NOW"),
        (False, False, "E-STREAM-TRUNCATED"),
    ]
    gate.set()
    done = await turn.ended()
    assert (done.state, done.error_code) == ("interrupted", "E-STREAM-TRUNCATED")


async def test_a_finished_or_continued_answer_cannot_be_hurried(ada: User, backend: ScriptedBackend) -> None:
    backend.script = [*frame(ANALYSIS, "hm"), ended()]
    first = ThinkingTurn(backend, await begin(ada, ask()))
    cut = await first.ended()
    backend.waiting.clear()
    backend.script = [*THINKS, asyncio.Event()]
    again = ask(AskKind.CONTINUE, "", conversation=cut.conversation_id, continued_turn=cut.pk)
    turn = ThinkingTurn(backend, await begin(ada, again))
    await asyncio.wait_for(backend.waiting.wait(), 10)
    turn.press()
    await asyncio.sleep(0.05)
    assert len(backend.requests) == 2
    await turn.stop()
    await turn.ended()


# Over the socket


@contextlib.asynccontextmanager
async def page(person: User) -> AsyncIterator[tuple[BrowserSocket, dict[str, str]]]:
    async with BrowserSocket(person) as socket:
        await socket.send_message()
        accepted = (await socket.until("chatui:accepted"))[-1]
        yield socket, {"conversation": accepted["conversation"], "turn": accepted["turn"]}


async def test_every_page_offers_it_until_somebody_pressed_it(ada: User, backend: ScriptedBackend) -> None:
    backend.script = [*THINKS, asyncio.Event()]
    async with page(ada) as (socket, about), BrowserSocket(ada) as other:
        assert (await socket.until("chatui:working"))[-1]["can_answer_now"] is True
        await other.send("subscribe", conversation=about["conversation"])
        assert (await other.until("chatui:snapshot"))[-1]["can_answer_now"] is True
        await asyncio.wait_for(backend.waiting.wait(), 10)
        backend.script = [*THINKS, asyncio.Event()]
        await socket.send("answer_now", **about)
        for each in (socket, other):
            assert (await each.until("chatui:working"))[-1]["can_answer_now"] is False
        await other.send("subscribe", conversation=about["conversation"])
        assert (await other.until("chatui:snapshot"))[-1]["can_answer_now"] is False
        await socket.send("stop", **about)
        await socket.until(*ENDS)


async def test_one_line_covers_all_the_thinking(ada: User, backend: ScriptedBackend) -> None:
    backend.script = [*THINKS, asyncio.Event()]
    async with page(ada) as (socket, about):
        await asyncio.wait_for(backend.waiting.wait(), 10)
        backend.script = answer()
        await socket.send("answer_now", **about)
        events = await socket.until(*ENDS)
    assert [event["type"] for event in events].count("chatui:thought") == 1 and events[-1]["type"] == "response.completed"


async def test_somebody_elses_turn_looks_like_a_missing_one(ada: User, bela: User, backend: ScriptedBackend) -> None:
    backend.script = [*THINKS, asyncio.Event()]
    unknown = "00000000-0000-4000-8000-000000000000"
    async with page(ada) as (socket, about), BrowserSocket(bela) as stranger:
        await asyncio.wait_for(backend.waiting.wait(), 10)
        refusals = []
        for fields in (about, about | {"conversation": unknown}, {"conversation": "", "turn": ""}):
            await stranger.send("answer_now", **fields)
            refusals.append((await stranger.until("chatui:refused"))[-1])
        assert refusals[0] == refusals[1] == refusals[2] and refusals[0]["code"] == "E-X-NOT-FOUND"
        assert len(backend.requests) == 1, "and nothing was cut"
        await socket.send("answer_now", **about | {"turn": unknown})
        assert (await socket.until("chatui:refused"))[-1]["code"] == "E-X-NOT-FOUND"
        await socket.send("stop", **about)
        await socket.until(*ENDS)


# Over each wire format


@pytest.mark.served
@pytest.mark.parametrize("echoes", [False, True], ids=["answers", "continues its thought"])
@pytest.mark.parametrize("kind", ["chat", "responses", "harmony-vllm"])
async def test_no_byte_of_the_thought_leaks_over_any_wire_format(
    kind: str, echoes: bool, ada: User, monkeypatch: pytest.MonkeyPatch, vocabulary: Vocabulary
) -> None:
    """The peer thinks without end. Asked again, it answers, or continues its thought in its format and then answers."""
    of, posted = format_of(vocabulary, kind), 0
    is_text = "harmony" not in kind

    async def play(writer: asyncio.StreamWriter) -> None:
        nonlocal posted
        posted += 1
        if posted == 1:
            writer.write(SSE_HEAD + of.thought)
            await writer.drain()
            await asyncio.Event().wait()
        writer.write(SSE_HEAD + (of.half if echoes or not is_text else of.half.replace(SECRET.encode(), b"in short")))
        await writer.drain()

    async with of.playing(play, model="stub", separates="proved") as (server, backend):
        connect(monkeypatch, backend)
        async with page(ada) as (socket, about):
            await socket.until("chatui:working")
            await socket.send("answer_now", **about)
            events = await socket.until(*ENDS)
            await running.settle()
            raw = "".join(socket.raw)
    bodies = [str(body) for body in posts(server)]
    assert WORDS in shown_text(events), "the premise: asked again, it answered"
    assert SECRET not in raw
    assert len(bodies) == 2 and SECRET not in bodies[1]
    if is_text:
        assert prompts.read("finish").strip()[:30] in bodies[1] and "low" in bodies[1]
    rows = [row async for row in Message.objects.filter(turn=UUID(about["turn"]))]
    assert not any(SECRET in row.text for row in rows if row.is_visible)
    assert any(SECRET in row.text and row.error_code == ProductCode.ANSWER_NOW for row in rows)


@pytest.mark.parametrize(
    "events",
    [
        (FrameClosed(Terminator.END, header=PREAMBLE),),
        (WITHDRAWN := (FrameWithdrawn(), FrameClosed(Terminator.END))),
        (FrameClosed(Terminator.END), FrameOpened(FINAL), FrameText("More."), *WITHDRAWN),
    ],
    ids=["a preamble", "withdrawn", "withdrawn behind another"],
)
async def test_it_works_again_if_the_answer_was_none(events: Sequence[Step], ada: User, backend: ScriptedBackend) -> None:
    turn = await thinking(ada, backend, *frame(FINAL, "I will look.")[:-1], *events, *THINKS)
    turn.press()
    assert (await turn.ended()).state == "completed"
    assert len(backend.requests) == 2 and (await turn.rows())[-1].text.endswith("Four. <|return|>")


# After Answer now: no later request contains the reasoning that was cut, and no tool runs any more.


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
async def test_pressed_as_the_thinking_ends_the_model_is_asked_again(failing: bool, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    class Ending(ScriptedBackend):
        async def sample(self, request: SampleRequest, take: Taker) -> SampleEnded:
            done = await super().sample(request, take)
            if len(self.requests) == 1:
                turn.press()
                if failing:
                    raise BackendError(ProductCode.BACKEND)
            return done

    backend, gate = Ending(), asyncio.Event()
    connect(monkeypatch, backend)
    backend.script, backend.following = [gate, *frame(ANALYSIS, "hm"), ended()], [answer("Four.")]
    turn = ThinkingTurn(backend, await begin(ada, ask()))
    gate.set()
    await turn.ended()
    assert len(backend.requests) == 2 and backend.requests[1].cut_answer == Frame(FINAL, "")


async def test_pressed_while_a_tool_runs_the_next_sampling_is_asked_for_the_answer(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, runs, is_pressed = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def lookup() -> dict[str, int]:
        """Counts the available items."""
        loop.call_soon_threadsafe(runs.set)
        assert is_pressed.wait(20)
        return {"found": 4}

    offering.offer(monkeypatch, lookup)
    calls = [*frame(ANALYSIS, "look"), *frame(CALL, "{}", Terminator.CALL), ended(EndReason.TOOL_CALLS)]
    backend.script, backend.following = calls, [answer("There are four.")]
    turn = ThinkingTurn(backend, await begin(ada, ask()))
    await asyncio.wait_for(runs.wait(), 20)
    for _ in range(2):
        turn.press()
    is_pressed.set()
    await turn.ended()
    first, second = backend.requests
    assert backend.closed == 0
    assert second.cut_answer == Frame(FINAL, "") and second.frames[-1].header.role == "tool"
    assert first.tools and not second.tools
