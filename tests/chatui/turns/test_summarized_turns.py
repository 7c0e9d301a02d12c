"""Whole turns with a summary: what a page is sent, what is stored, and a turn of several rounds as one."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import Group
from django.utils import timezone

from chatui.backends import registry
from chatui.backends.base import BackendError, Endpoint
from chatui.codes import ProductCode
from chatui.models.message import Author, Message
from chatui.models.turn import Turn
from chatui.models.usage import UsageCount, UsageEntry, UsageLimit
from chatui.models.user import User
from chatui.permissions import shares
from chatui.turns import running, summarizing, sweep
from chatui.turns.leases import Pieces, leases, lines_in
from chatui.usage import counting, limits
from renderer.activities.activity import Activity
from renderer.events import FrameClosed, FrameOpened, FrameText
from renderer.frame_kinds import ASIDE, PREAMBLE, SUMMARY, SUMMARY_NAME
from renderer.frames import Frame, Terminator
from tests.chatui.api.asking import Program, new_key
from tests.chatui.conftest import signed_in
from tests.chatui.store import pieces
from tests.support import constants, offering, stub
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.environment import change
from tests.support.sampling import PATIENT
from tests.support.scripted import FINAL, ScriptedBackend, Step, answer, connect, frame
from tests.support.stub import DONE, SSE_HEAD, chunk
from tests.support.summarizer import COMPARING, QUESTION, THOUGHT, Says, Summarizer, install, quick, thinks

pytestmark = pytest.mark.django_db(transaction=True)


VALUES = [["compare", "trains", "bicycles"]]


class Followed:
    """A turn that a page follows."""

    def __init__(self, socket: BrowserSocket, accepted: dict[str, Any]) -> None:
        self.socket, self.accepted = socket, accepted
        self.lines: list[str] = []
        self.types: list[str] = []
        self.snapshot: dict[str, Any] = {}

    async def until(self, *types: str) -> dict[str, Any]:
        for event in await self.socket.until(*types, timeout=20):
            self.types.append(event["type"])
            self.lines += [in_english(event["line"])] if event["type"] == "chatui:summary" else []
        return event

    async def until_line(self) -> None:
        if not self.lines:
            await self.until("chatui:summary")

    async def press(self, command: str) -> None:
        await self.socket.send(command, conversation=self.accepted["conversation"], turn=self.accepted["turn"])

    async def turn(self) -> Turn:
        await running.settle()
        return await Turn.objects.aget(pk=self.accepted["turn"])


def in_english(line: dict[str, Any]) -> str:
    return str(line["sentences"]["en"]).format(*line["about"])


async def follow(socket: BrowserSocket, accepted: dict[str, Any] | None = None) -> Followed:
    """Ask, or join the turn that was ``accepted``."""
    if accepted is None:
        await socket.send_message(QUESTION)
        accepted = (await socket.until("chatui:accepted"))[-1]
    followed = Followed(socket, accepted)
    await socket.send("subscribe", conversation=accepted["conversation"])
    followed.snapshot = await followed.until("chatui:snapshot")
    followed.lines = [*map(in_english, followed.snapshot["steps"]), *followed.lines]
    return followed


async def summaries() -> list[Message]:
    return [message async for message in Message.objects.filter(name=SUMMARY_NAME).order_by("position")]


async def test_a_line_is_shown_while_the_model_thinks_and_stored_before_the_answer(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = asyncio.Event()
    install(monkeypatch, backend)
    backend.script = thinks(gate)
    async with BrowserSocket(ada) as socket, BrowserSocket(ada) as late:
        page = await follow(socket)
        await page.until_line()
        joined = await follow(late, page.accepted)
        assert (joined.lines, joined.snapshot["working"], joined.snapshot.get("thought")) == ([COMPARING], True, None)
        gate.set()
        await page.until(*ENDS)
        assert page.lines == [COMPARING] and page.types.index("chatui:thought") < page.types.index("chatui:message")
        assert "On one hand" not in "".join(socket.raw)
    turn = await page.turn()
    [summary] = await summaries()
    final = await Message.objects.aget(turn=turn, channel="final")
    assert (summary.author, summary.is_visible, final.parent_id) == (Author.PRODUCT, True, summary.pk)
    assert summary.text == f"<|start|>assistant name=reasoning_summary intent=preamble<|channel|>commentary<|message|>- {COMPARING}<|end|>"
    assert summary.activities == VALUES and final.activities is None

    backend.script = answer()
    async with BrowserSocket(ada) as socket:
        await socket.send_message("And by car?", conversation=page.accepted["conversation"])
        await socket.until("chatui:accepted")
        await running.settle()
    assert COMPARING not in "".join(frame.body for frame in backend.requests[-1].frames), "never sent to a model"


async def test_a_stopped_turn_keeps_its_lines(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, backend)
    backend.script = thinks(asyncio.Event())
    async with BrowserSocket(ada) as socket:
        page = await follow(socket)
        await page.until_line()
        await page.press("stop")
        await page.until(*ENDS)
    assert (await page.turn()).state == "stopped"
    assert [message.activities for message in await summaries()] == [VALUES]


@pytest.mark.faults
@pytest.mark.parametrize("begins", ["", "Take the"])
async def test_lines_stay_when_their_process_is_killed(
    begins: str, ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process ends the turn; with the beginning of an answer, too."""
    install(monkeypatch, backend)
    gate = asyncio.Event()
    opened: list[Step] = [FrameClosed(Terminator.END), FrameOpened(FINAL), FrameText(begins)] if begins else []
    backend.script = [*thinks(gate)[:3], *opened, asyncio.Event()]
    async with BrowserSocket(ada) as socket:
        page = await follow(socket)
        await page.until_line()
        gate.set()
        await until_in_pieces(begins or '["compare", "trains", "bicycles"]')
        await die(page.accepted["turn"])
        charge = await database_sync_to_async(lambda: counting.charge_of(Turn.objects.get()).spent)()
        turn = (await database_sync_to_async(sweep.interrupt_abandoned)())[0]
    rows = [(row.channel, row.name, row.is_complete, row.author) async for row in Message.objects.filter(turn=turn).order_by("position")]
    thought, summary = ("analysis", "", bool(begins), Author.MODEL), ("commentary", SUMMARY_NAME, True, Author.PRODUCT)
    assert rows == [thought, summary, *([("final", "", False, Author.MODEL)] if begins else [])]
    assert [message.activities for message in await summaries()] == [VALUES]
    assert charge.output == counting._tokens(len(THOUGHT) + len(begins)), "no line is charged"
    address = f"/c/{page.accepted['conversation']}/"
    shown = await database_sync_to_async(lambda: signed_in(ada).get(address).content.decode())()
    assert COMPARING in re.sub("<[^>]*>", "", shown) and "On one hand" not in shown


def test_lines_in_pieces_keep_the_places_where_a_program_saw_them() -> None:
    pieces, lines = Pieces(uuid4()), [Activity("compare", ("trains", "bicycles")), Activity("calc"), Activity("steps")]
    first, second = uuid4(), uuid4()
    places = [first, first, second]
    for line, place in zip(lines, places, strict=True):
        pieces.note_line(line, place)
    written = "".join(row.text for row in pieces.rows())
    pieces.drop(pieces.summary)
    assert lines_in(Frame(SUMMARY, written)) == (lines, places) and pieces.rows() == []
    assert lines_in(Frame(SUMMARY, "- Comparing trains and bicycles")) == ([], [])
    assert lines_in(Frame(ASIDE, written)) is None, "a model's frame"


async def until_in_pieces(text: str) -> None:
    async with asyncio.timeout(20):
        while not any(text in part for _, part in await database_sync_to_async(pieces.saved)((await Turn.objects.aget()).pk)):
            await asyncio.sleep(0.02)


async def die(turn: str) -> None:
    """As if the process were killed: it stores nothing more, and its lease expires."""
    leases.release(UUID(turn))
    await Turn.objects.filter(pk=turn).aupdate(lease_owner="a process that died", lease_until=timezone.now() - timedelta(seconds=1))


# One turn, several rounds

CALL = {"index": 0, "id": "c", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}


async def get_weather(city: str) -> dict[str, object]:
    """Gets the current weather in a city."""
    return {"city": city, "celsius": 20}


Round = Callable[[asyncio.StreamWriter], Awaitable[None]]


def round_of(gate: asyncio.Event, *parts: bytes, said: str = "") -> Round:
    """A round that thinks, waits, and goes on; ``said``: a sentence before that, after which it waits, too."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(SSE_HEAD + chunk(reasoning=THOUGHT) + (chunk(content=said) if said else b""))
        await writer.drain()
        await gate.wait()
        writer.write(b"".join(parts))
        await writer.drain()

    return answer


@pytest.mark.served
async def test_lines_clock_and_answer_now_go_on_through_all_rounds(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over Chat Completions, a sentence before a call is the answer until the call comes."""
    sentence_gate, second_gate, third_gate = asyncio.Event(), asyncio.Event(), asyncio.Event()
    calls = chunk("tool_calls", tool_calls=[CALL]) + DONE
    rounds = [
        round_of(sentence_gate, calls, said="I will check the weather first."),
        round_of(second_gate, calls),
        round_of(third_gate, chunk("stop", content="Take the train.") + DONE),
    ]

    async def one_after_the_other(writer: asyncio.StreamWriter) -> None:
        await rounds.pop(0)(writer)

    offering.offer(monkeypatch, get_weather)
    quick(monkeypatch, (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 20.0))
    async with stub.running(one_after_the_other) as server, BrowserSocket(ada) as socket, BrowserSocket(ada) as late:
        backend = registry.build(Endpoint(server.url, limits=PATIENT))
        connect(monkeypatch, backend)
        page = await follow(socket)
        while "chatui:thought" not in page.types and page.snapshot.get("thought") is None:
            await page.until("chatui:thought")
        before = (await follow(late, page.accepted)).snapshot
        assert before["thought"] is not None and not before["working"] and not before["can_answer_now"], "it looks like the answer"
        sentence_gate.set()
        await page.until_line()
        assert page.types.index("chatui:relabelled") < page.types.index("chatui:summary")
        async with BrowserSocket(ada) as third:
            joined = await follow(third, page.accepted)
            assert (joined.lines, joined.snapshot.get("thought")) == ([COMPARING], None)
            assert joined.snapshot["working"] and joined.snapshot["can_answer_now"]
        await asyncio.sleep(1.2)
        second_gate.set()
        await asyncio.sleep(0.3)
        third_gate.set()
        await page.until(*ENDS)
        await running.settle()
        await backend.aclose()
    turn = await page.turn()
    assert turn.state == "completed" and (turn.thought_seconds or 0) >= 2, "one number for the whole turn"
    assert turn.first_token_ms is not None, "the overview shows how long its server took to begin"
    assert page.types.count("chatui:thought") == 2 and page.lines == [COMPARING]
    [summary] = await summaries()
    final = await Message.objects.aget(turn=turn, channel="final")
    assert final.parent_id == summary.pk, "one frame, before the answer"


async def test_a_program_gets_the_lines_after_a_preamble(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = asyncio.Event()
    install(monkeypatch, backend)
    backend.script = [
        *frame(PREAMBLE, "A plan."),
        *frame(FINAL, "I will look.")[:-1],
        FrameClosed(Terminator.END, header=PREAMBLE),
        *thinks(gate),
    ]
    asked = {"input": QUESTION, "reasoning": {"summary": "auto"}}
    program = asyncio.create_task(Program(await new_key(ada)).ask(asked))
    await asyncio.wait_for(backend.waiting.wait(), 20)
    await asyncio.sleep(0.8)
    gate.set()
    response = await program
    texts = [part["text"] for item in response["output"] if item["type"] == "reasoning" for part in item["summary"]]
    assert texts == [COMPARING]


# A summarizer

BROKEN: dict[str, Says] = {"it hangs": 60.0, "it fails": BackendError(ProductCode.BACKEND, "HIDDEN-WORDS"), "garbage": "Comparing secrets"}


@pytest.mark.parametrize("name", list(BROKEN))
async def test_a_broken_summarizer_delays_no_answer_and_its_usage_is_booked(
    name: str, ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await UsageLimit.objects.acreate(month_turns=100_000)
    limits.clear_cache()
    gate, summarizer = asyncio.Event(), Summarizer(BROKEN[name])
    install(monkeypatch, backend, summarizer)
    backend.script = thinks(gate)
    async with BrowserSocket(ada) as socket:
        page = await follow(socket)
        await page.until_line()
        gate.set()
        async with asyncio.timeout(40):
            await page.until(*ENDS)
    assert (await page.turn()).state == "completed" and page.lines == [COMPARING], "it is read here instead"
    assert "HIDDEN-WORDS" not in caplog.text + "".join(socket.raw) and "secrets" not in "".join(socket.raw)
    assert summarizer.running == 0 and 0 < len(summarizer.requests) <= summarizing.MAX_FAILURES
    rows = [row async for row in UsageEntry.objects.filter(kind="summary")]
    assert {(row.backend, row.person_id, row.turns) for row in rows} <= {("Summarizer", ada.pk, 0)}
    assert bool(rows) == (name != "it fails"), "a refused request costs nothing"
    count = await UsageCount.objects.aget(person=ada)
    assert count.day_tokens == sum([row.input_tokens + row.output_tokens async for row in UsageEntry.objects.all()])
    assert count.reserved_tokens == 0


async def test_only_a_few_summarizers_are_asked_at_the_same_time(
    ada: User, bela: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, summarizer = asyncio.Event(), Summarizer(60.0)
    install(monkeypatch, backend, summarizer)
    quick(monkeypatch, (2.0,))
    constants.change(monkeypatch, summarizer_ahead_seconds=1.5)
    backend.script = thinks(gate)
    async with BrowserSocket(ada) as ada_socket, BrowserSocket(bela) as bela_socket:
        for socket in (ada_socket, ada_socket, bela_socket, bela_socket):
            await socket.send_message(QUESTION)
            await socket.until("chatui:accepted")
        async with asyncio.timeout(20):
            while summarizer.running < summarizing.AT_ONCE:
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)
        gate.set()
        await running.settle()
    assert summarizer.max_running == summarizing.AT_ONCE == 2


# CHATUI_SUMMARY_GROUPS: who gets reasoning summaries. For others no model is asked, nothing is stored, and pages show the time alone.


@database_sync_to_async
def join(person: User, name: str) -> None:
    person.groups.add(Group.objects.get_or_create(name=name)[0])


async def test_an_outsider_gets_the_time_alone_and_no_model_is_asked(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, {"summary_groups": ["readers"]})
    gate, summarizer = asyncio.Event(), Summarizer("Counting")
    install(monkeypatch, backend, summarizer)
    backend.script = thinks(gate)
    async with BrowserSocket(ada) as socket:
        page = await follow(socket)
        await asyncio.sleep(0.5)
        gate.set()
        await page.until(*ENDS)
    assert (await page.turn()).state == "completed"
    assert page.lines == [] and summarizer.requests == [] and await summaries() == []


async def test_a_member_of_another_group_is_an_outsider(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    await join(ada, "writers")
    for groups, is_member in ((["readers"], False), (["readers", "writers"], True)):
        change(monkeypatch, {"summary_groups": groups})
        assert await database_sync_to_async(shares.may_have_summaries)(ada) is is_member


async def test_an_outsiders_api_program_gets_an_empty_summary(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"summary_groups": ["readers"]})
    gate, summarizer = asyncio.Event(), Summarizer("Counting")
    install(monkeypatch, backend, summarizer)
    backend.script = thinks(gate)
    asyncio.get_running_loop().call_later(0.8, gate.set)
    response = await Program(await new_key(ada)).ask({"input": "How?", "reasoning": {"summary": "auto"}})
    assert [item["summary"] for item in response["output"] if item["type"] == "reasoning"] == [[]]
    assert summarizer.requests == [] and not backend.requests[0].wants_summary
