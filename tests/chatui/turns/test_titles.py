"""Model-written titles of new conversations: when the model is asked, with what input, and whose title wins."""

import asyncio
import logging
from typing import Any
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from django.utils import timezone

from chatui.backends.base import BackendError, EndReason, SampleEnded, SampleRequest, Taker
from chatui.codes import Cause, ProductCode
from chatui.display import conversation_actions
from chatui.display.search import search
from chatui.models.conversation import Conversation
from chatui.models.message import SearchEntry
from chatui.models.turn import Turn
from chatui.models.usage import UsageEntry
from chatui.models.user import User
from chatui.turns import running, titles
from chatui.turns.asks import Ask, AskKind
from chatui.turns.slots import Slots
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn
from tests.chatui.turns.test_statements import statements as statements
from tests.support.browser_socket import BrowserSocket
from tests.support.environment import change
from tests.support.scripted import ANALYSIS, FINAL, ScriptedBackend, Step, answer, ended, frame

pytestmark = pytest.mark.django_db(transaction=True)

QUESTION = "How do I get to work fastest when it rains, and should I take the bicycle or the bus?"
BEGINNING = "How do I get to work fastest when it rains, and should I…"
TITLE = "Cycling to work in the rain"


class TitleBackend(ScriptedBackend):
    """A backend that answers, and plays ``titles`` when a title is requested."""

    def __init__(self) -> None:
        super().__init__()
        self.titles = ScriptedBackend()
        self.titles.script = answer(TITLE, "HIDDEN-THOUGHT of a title")

    async def sample(self, request: SampleRequest, take: Taker) -> SampleEnded:
        is_for_title = request.frames[0].body.startswith("You name a conversation")
        return await (self.titles.sample(request, take) if is_for_title else super().sample(request, take))


@pytest.fixture
def model(backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> TitleBackend:
    """The model server, with titles switched on."""
    titled = TitleBackend()
    monkeypatch.setattr("chatui.model_servers.connected.backend", lambda choice="": titled)
    change(monkeypatch, {"titles": True})
    return titled


async def run(person: User, kind: AskKind = AskKind.SEND, text: str = QUESTION, **fields: Any) -> Turn:
    """Run one turn and the title request after it."""
    started = await running.ask(person, Ask(kind, uuid4(), "medium", text=text, **fields))
    await running.settle()
    await titles.settle()
    return await Turn.objects.select_related("conversation").aget(pk=started.turn.pk)


async def title() -> str:
    return (await Conversation.objects.aget()).title


async def test_the_first_answer_brings_a_title_that_tabs_and_search_get(ada: User, bela: User, model: TitleBackend) -> None:
    async with BrowserSocket(ada) as socket, BrowserSocket(ada) as other_tab, BrowserSocket(bela) as stranger:
        await socket.send_message(QUESTION)
        assert (await socket.until("chatui:accepted"))[-1]["title"] == BEGINNING
        for tab in (socket, other_tab):
            assert (await tab.until("chatui:title"))[-1]["title"] == TITLE
        assert await stranger.silence() == []
        assert "HIDDEN" not in "".join([*socket.raw, *other_tab.raw])
    row = await Conversation.objects.aget()
    assert (row.title, row.title_is_custom) == (TITLE, False)
    found = await database_sync_to_async(search)(ada, "cycling")
    assert ["".join(piece.text for piece in hit.title) for hit in found.hits] == [TITLE]


async def test_the_title_request_contains_only_visible_text(ada: User, model: TitleBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"instructions": "HIDDEN-ORDER", "titles": True})
    model.script = [*frame(ANALYSIS, "HIDDEN-THOUGHT"), *answer("Take the bicycle.", "HIDDEN-AGAIN")]
    await run(ada)
    [request] = model.titles.requests
    sent = "".join(each.body for each in request.frames)
    assert QUESTION in sent and "Take the bicycle." in " ".join(sent.split())
    assert "HIDDEN" not in sent and "HIDDEN-ORDER" in model.requests[0].frames[0].body
    assert (request.effort, request.max_tokens) == ("low", 400)


async def test_only_the_first_answer_brings_a_title(ada: User, model: TitleBackend) -> None:
    first = await run(ada)
    model.titles.script = answer("Another title")
    where: dict[str, Any] = {"conversation": first.conversation_id}
    await run(ada, text="And by train?", **where)
    await run(ada, AskKind.REGENERATE, "", question=first.question_id, **where)
    await run(ada, AskKind.EDIT, "And on foot?", question=first.question_id, **where)
    assert len(model.titles.requests) == 1 and await title() == TITLE


async def test_after_a_failure_a_later_answer_counts_as_the_first(ada: User, model: TitleBackend) -> None:
    model.script = [BackendError(ProductCode.BACKEND)]
    failed = await run(ada)
    assert model.titles.requests == [] and await title() == BEGINNING
    model.script = answer("Take the bicycle.")
    await run(ada, AskKind.REGENERATE, "", conversation=failed.conversation_id, question=failed.question_id)
    assert await title() == TITLE


async def test_a_stopped_answer_counts(ada: User, model: TitleBackend) -> None:
    model.script = [*frame(FINAL, "Take the")[:-1], asyncio.Event()]
    started = await running.ask(ada, Ask(AskKind.SEND, uuid4(), "medium", text=QUESTION))
    await asyncio.wait_for(model.waiting.wait(), 20)
    await running.stop(running.TurnPlace(started.turn.pk, started.turn.lease_owner))
    await running.settle()
    await titles.settle()
    assert await title() == TITLE


@pytest.mark.parametrize("when", ["before", "while", "after"])
async def test_a_title_written_by_a_person_wins(when: str, ada: User, model: TitleBackend) -> None:
    gate, requested = asyncio.Event(), asyncio.Event()
    rename = database_sync_to_async(conversation_actions.rename)
    model.script = [gate, *answer("Take the bicycle.")]
    started = await running.ask(ada, Ask(AskKind.SEND, uuid4(), "medium", text=QUESTION))
    if when == "before":
        await rename(ada, started.turn.conversation_id, "My way")
    model.titles.script = [requested, *answer(TITLE)]
    gate.set()
    await running.settle()
    await asyncio.wait_for(model.titles.waiting.wait(), 20)
    if when == "while":
        await rename(ada, started.turn.conversation_id, "My way")
    requested.set()
    await titles.settle()
    assert await title() == (TITLE if when == "after" else "My way"), "the premise: a title was written"
    if when == "after":
        await rename(ada, started.turn.conversation_id, "My way")
    assert await title() == "My way"
    assert await SearchEntry.objects.filter(message=None).acount() == 1
    found = await database_sync_to_async(search)(ada, "way")
    assert len(found.hits) == 1 and not (await database_sync_to_async(search)(ada, "cycling")).hits


async def test_a_conversation_that_was_deleted_meanwhile_is_left_alone(ada: User, model: TitleBackend) -> None:
    gate = asyncio.Event()
    model.titles.script = [gate, *answer(TITLE)]
    async with BrowserSocket(ada) as socket:
        await socket.send_message(QUESTION)
        await asyncio.wait_for(model.titles.waiting.wait(), 20)
        await running.settle()
        await Conversation.objects.aupdate(deleted_at=timezone.now())
        gate.set()
        await titles.settle()
        assert "chatui:title" not in [event["type"] for event in await socket.silence()]
    assert await title() == BEGINNING and not await SearchEntry.objects.filter(message=None).aexists()


async def test_an_import_keeps_its_title(ada: User, model: TitleBackend) -> None:
    row = await Conversation.objects.acreate(owner=ada, title=BEGINNING, imported_at=timezone.now())
    await run(ada, conversation=row.pk)
    assert model.titles.requests == [] and await title() == BEGINNING


async def test_a_partly_withheld_answer_is_not_sent_for_a_title(ada: User, model: TitleBackend) -> None:
    withdrawn: list[Step] = [FrameOpened(FINAL), FrameText("The user wants"), FrameWithdrawn(), FrameClosed(None, ProductCode.WITHHELD)]
    model.script = [*withdrawn, *answer("Take the bicycle.")]
    turn = await run(ada)
    assert turn.error_code == ProductCode.WITHHELD, "the premise"
    assert model.titles.requests == [] and await title() == BEGINNING


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ([BackendError(ProductCode.BACKEND, "SECRET-DETAIL").with_cause(Cause.FAILED, "HTTP 500")], "failed: HTTP 500"),
        ([ValueError("SECRET-WORDS")], "ValueError"),
        (answer("The user asks for SECRET-WORDS"), "the model gave none"),
        (answer("", "SECRET-THOUGHT"), "the model gave none"),
        ([*frame(ANALYSIS, "SECRET-THOUGHT"), ended(EndReason.LENGTH)], "the model gave none"),
        ([*frame(FINAL, TITLE), ended(EndReason.LENGTH)], "the model gave none"),
        ([FrameOpened(FINAL), FrameText(TITLE), FrameWithdrawn(), FrameClosed(None), ended()], "the model gave none"),
        ([asyncio.Event()], "the model took too long"),
    ],
    ids=["refused", "broken", "reasoning", "nothing", "only thinking", "cut", "withdrawn", "hangs"],
)
async def test_a_failed_title_keeps_the_old_one_and_logs_one_line(
    script: list[Step], why: str, ada: User, model: TitleBackend, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(titles, "ASK_SECONDS", 0.2)
    model.titles.script = script
    with caplog.at_level(logging.INFO):
        turn = await run(ada)
    lines = [record.getMessage() for record in caplog.records if record.name == titles.__name__]
    assert lines == [f"conversation {turn.conversation_id} keeps its first title: {why}"]
    assert "SECRET" not in caplog.text and len(model.titles.requests) == 1
    assert (turn.state, await title()) == ("completed", BEGINNING)


async def test_titles_can_be_switched_off_and_the_demo_gives_none(
    ada: User, bela: User, model: TitleBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TitleBackend, "is_demo", True)
    await run(ada)
    monkeypatch.setattr(TitleBackend, "is_demo", False)
    change(monkeypatch, {"titles": False})
    await run(ada)
    assert model.titles.requests == []
    change(monkeypatch, {"titles": True})
    await run(ada)
    assert len(model.titles.requests) == 1, "the premise"


async def test_another_model_can_be_asked(ada: User, model: TitleBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    small, chosen = TitleBackend(), []

    def backend(choice: str = "") -> TitleBackend:
        chosen.append(choice)
        return small if choice.startswith("small") else model

    monkeypatch.setattr("chatui.model_servers.connected.backend", backend)
    change(monkeypatch, {"titles": True, "title_model": "small/tiny"})
    await run(ada)
    assert chosen[-1] == "small/tiny" and model.titles.requests == []
    assert [request.model for request in small.titles.requests] == ["tiny"] and await title() == TITLE


async def test_titles_wait_for_free_slots_and_give_way_to_answers(
    ada: User, bela: User, model: TitleBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    only = Slots(1)
    monkeypatch.setattr(titles, "slots", lambda: only)
    monkeypatch.setattr("chatui.turns.runner.slots", lambda: only)
    model.titles.script = [asyncio.Event()]
    await running.ask(ada, Ask(AskKind.SEND, uuid4(), "medium", text=QUESTION))
    await running.settle()
    await asyncio.wait_for(model.titles.waiting.wait(), 20)
    assert len(model.titles.requests) == 1 and model.titles.closed == 0, "the premise: a title is being written"
    model.titles.script = answer(TITLE)
    await run(bela, text="Why is the sky blue?")
    assert model.titles.closed == 1, "the answer did not wait for the title"
    assert await Turn.objects.filter(state="completed").acount() == 2
    assert sorted([row.title async for row in Conversation.objects.all()]) == [TITLE, BEGINNING]


async def test_titles_are_requested_one_at_a_time_from_a_bounded_queue(
    ada: User, model: TitleBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(titles, "MAX_WAITING", 1)
    gate = asyncio.Event()
    model.titles.script = [gate, *answer(TITLE)]
    for _ in range(3):
        await running.ask(ada, Ask(AskKind.SEND, uuid4(), "medium", text=QUESTION))
    await running.settle()
    await asyncio.wait_for(model.titles.waiting.wait(), 20)
    assert len(model.titles.requests) == 1
    gate.set()
    await titles.settle()
    assert sorted([row.title async for row in Conversation.objects.all()]) == [TITLE, TITLE, BEGINNING]


async def test_a_title_whose_commit_was_not_confirmed_is_still_announced(ada: User) -> None:
    row = await Conversation.objects.acreate(owner=ada, title=BEGINNING)
    keep = database_sync_to_async(titles.keep)
    assert await keep(row, TITLE) and await keep(row, TITLE)
    assert await SearchEntry.objects.acount() == 1
    assert not await keep(Conversation(pk=uuid4(), owner=ada, title=BEGINNING), TITLE), "erased meanwhile"


async def test_title_usage_is_booked_to_the_owner_but_is_no_answer(ada: User, model: TitleBackend) -> None:
    await run(ada)
    rows = UsageEntry.objects.order_by("kind").values_list("kind", "person", "turns", "input_tokens", "output_tokens", "is_estimate")
    assert [row async for row in rows] == [("answer", ada.pk, 1, 10, 20, False), ("title", ada.pk, 0, 10, 20, False)]


async def test_usage_of_a_failed_title_is_booked(ada: User, model: TitleBackend) -> None:
    model.titles.script = [*frame(FINAL, "Cycling to work")[:-1], BackendError(ProductCode.BACKEND)]
    await run(ada)
    assert await title() == BEGINNING
    [entry] = [row async for row in UsageEntry.objects.filter(kind="title")]
    assert entry.is_estimate and entry.output_tokens > 2
