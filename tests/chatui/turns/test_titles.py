"""Model-written titles of new conversations: when the model is asked, with what input, and whose title wins."""

import asyncio
import logging

import pytest
from django.utils import timezone

from chatui.codes import Cause, ProductCode
from chatui.models.conversation import Conversation
from chatui.models.message import SearchEntry
from chatui.models.turn import Turn
from chatui.models.usage import UsageEntry
from chatui.models.user import User
from tests.support import constants
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.database import Database
from tests.support.database import database as database
from tests.support.environment import change
from tests.support.html_text import text_of
from tests.support.page import Page, answered, opened, posted, settled
from tests.support.scripted import (
    ANALYSIS,
    FINAL,
    ScriptedBackend,
    Step,
    TitlingBackend,
    answer,
    connect,
    cut,
    ended,
    failure,
    frame,
    open_frame,
    withdrawn,
)

pytestmark = pytest.mark.django_db(transaction=True)

QUESTION = "How do I get to work fastest when it rains, and should I take the bicycle or the bus?"
BEGINNING = "How do I get to work fastest when it rains, and should I…"
TITLE = "Cycling to work in the rain"


@pytest.fixture
def model(backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> TitlingBackend:
    """The model server, with titles switched on."""
    titled = TitlingBackend(TITLE)
    connect(monkeypatch, titled)
    change(monkeypatch, {"titles": True})
    return titled


async def title() -> str:
    return (await Conversation.objects.aget()).title


async def found(person: User, word: str) -> str:
    """What the person's search finds."""
    return text_of(await opened(person, f"/search/?q={word}"))


async def test_the_first_answer_brings_a_title_that_tabs_and_search_get(ada: User, bela: User, model: TitlingBackend) -> None:
    async with Page(ada) as page, BrowserSocket(ada) as other_tab, BrowserSocket(bela) as stranger:
        assert (await page.tried(QUESTION))["title"] == BEGINNING
        for tab in (page, other_tab):
            assert (await tab.until("chatui:title"))[-1]["title"] == TITLE
        assert await stranger.silence() == []
        assert "HIDDEN" not in "".join([*page.raw, *other_tab.raw])
    await settled()
    row = await Conversation.objects.aget()
    assert (row.title, row.title_is_custom) == (TITLE, False)
    assert TITLE in await found(ada, "cycling")


async def test_the_title_request_contains_only_visible_text(ada: User, model: TitlingBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"instructions": "HIDDEN-ORDER"})
    model.script = [*frame(ANALYSIS, "HIDDEN-THOUGHT"), *answer("Take the bicycle.", "HIDDEN-AGAIN")]
    await answered(ada, QUESTION)
    [request] = model.titles.requests
    sent = "".join(each.body for each in request.frames)
    assert QUESTION in sent and "Take the bicycle." in " ".join(sent.split())
    assert "HIDDEN" not in sent and "HIDDEN-ORDER" in model.requests[0].frames[0].body
    assert (request.effort, request.max_tokens) == ("low", 400)


async def test_only_the_first_answer_brings_a_title(ada: User, model: TitlingBackend) -> None:
    async with Page(ada) as page:
        first = await page.answered(QUESTION)
        model.titles.script = answer("Another title")
        await page.answered("And by train?", conversation=first.conversation_id)
        for kind, text in (("regenerate", ""), ("edit", "And on foot?")):
            await page.answered(text, type=kind, conversation=first.conversation_id, question=first.question_id)
    assert len(model.titles.requests) == 1 and await title() == TITLE


async def test_after_a_failure_a_later_answer_counts_as_the_first(ada: User, model: TitlingBackend) -> None:
    model.script = [failure(ProductCode.BACKEND)]
    async with Page(ada) as page:
        failed = await page.answered(QUESTION)
        assert model.titles.requests == [] and await title() == BEGINNING
        model.script = answer("Take the bicycle.")
        await page.answered("", type="regenerate", conversation=failed.conversation_id, question=failed.question_id)
    assert await title() == TITLE


async def test_a_stopped_answer_counts(ada: User, model: TitlingBackend) -> None:
    model.script = [*open_frame(FINAL, "Take the"), asyncio.Event()]
    async with Page(ada) as page:
        await page.ask(QUESTION)
        await asyncio.wait_for(model.waiting.wait(), 20)
        await page.tell("stop")
        assert (await page.ended()).state == "stopped"
    assert await title() == TITLE


@pytest.mark.parametrize("when", ["before", "while", "after"])
async def test_a_title_written_by_a_person_wins(when: str, ada: User, model: TitlingBackend) -> None:
    gate, requested = asyncio.Event(), asyncio.Event()
    model.script = [gate, *answer("Take the bicycle.")]
    model.titles.script = [requested, *answer(TITLE)]
    async with Page(ada) as page:
        rename = f"/c/{(await page.ask(QUESTION)).conversation_id}/rename/"
        if when == "before":
            await posted(ada, rename, title="My way")
        gate.set()
        await page.until(*ENDS)
        await asyncio.wait_for(model.titles.waiting.wait(), 20)
        if when == "while":
            await posted(ada, rename, title="My way")
        requested.set()
        await settled()
    assert await title() == (TITLE if when == "after" else "My way"), "the premise: a title was written"
    if when == "after":
        await posted(ada, rename, title="My way")
    assert await title() == "My way"
    assert await SearchEntry.objects.filter(message=None).acount() == 1
    assert "My way" in await found(ada, "way") and "My way" not in await found(ada, "cycling")


@pytest.mark.parametrize("is_erased", [False, True])
async def test_a_conversation_that_was_deleted_meanwhile_is_left_alone(is_erased: bool, ada: User, model: TitlingBackend) -> None:
    gate = asyncio.Event()
    model.titles.script = [gate, *answer(TITLE)]
    async with Page(ada) as page:
        await page.ask(QUESTION)
        await asyncio.wait_for(model.titles.waiting.wait(), 20)
        await page.until(*ENDS)
        rows = Conversation.objects.all()
        await (rows.adelete() if is_erased else rows.aupdate(deleted_at=timezone.now()))
        gate.set()
        await settled()
        assert "chatui:title" not in [event["type"] for event in await page.silence()]
    assert [row.title async for row in Conversation.objects.all()] == ([] if is_erased else [BEGINNING])
    assert not await SearchEntry.objects.filter(message=None).aexists()


async def test_an_import_keeps_its_title(ada: User, model: TitlingBackend) -> None:
    row = await Conversation.objects.acreate(owner=ada, title=BEGINNING, imported_at=timezone.now())
    await answered(ada, QUESTION, conversation=row.pk)
    assert model.titles.requests == [] and await title() == BEGINNING


async def test_a_partly_withheld_answer_is_not_sent_for_a_title(ada: User, model: TitlingBackend) -> None:
    model.script = [*withdrawn(FINAL, "The user wants", ProductCode.WITHHELD), *answer("Take the bicycle.")]
    turn = await answered(ada, QUESTION)
    assert turn.error_code == ProductCode.WITHHELD, "the premise"
    assert model.titles.requests == [] and await title() == BEGINNING


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ([failure(ProductCode.BACKEND, "SECRET-DETAIL").with_cause(Cause.FAILED, "HTTP 500")], "failed: HTTP 500"),
        ([ValueError("SECRET-WORDS")], "ValueError"),
        (answer("The user asks for SECRET-WORDS"), "the model gave none"),
        (answer("", "SECRET-THOUGHT"), "the model gave none"),
        (cut(frame(ANALYSIS, "SECRET-THOUGHT")), "the model gave none"),
        (cut(frame(FINAL, TITLE)), "the model gave none"),
        ([*withdrawn(FINAL, TITLE), ended()], "the model gave none"),
        ([asyncio.Event()], "the model took too long"),
    ],
    ids=["refused", "broken", "reasoning", "nothing", "only thinking", "cut", "withdrawn", "hangs"],
)
async def test_a_failed_title_keeps_the_old_one_and_logs_one_line(
    script: list[Step], why: str, ada: User, model: TitlingBackend, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants.change(monkeypatch, title_seconds=0.2)
    model.titles.script = script
    with caplog.at_level(logging.INFO):
        turn = await answered(ada, QUESTION)
    lines = [line for line in map(logging.LogRecord.getMessage, caplog.records) if "title" in line]
    assert lines == [f"conversation {turn.conversation_id} keeps its first title: {why}"]
    assert "SECRET" not in caplog.text and len(model.titles.requests) == 1
    assert (turn.state, await title()) == ("completed", BEGINNING)


async def test_titles_can_be_switched_off_and_the_demo_gives_none(
    ada: User, model: TitlingBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Page(ada) as page:
        for is_demo, titles in ((True, True), (False, False)):
            model.is_demo = is_demo
            change(monkeypatch, {"titles": titles})
            await page.answered(QUESTION)
        assert model.titles.requests == []
        change(monkeypatch, {"titles": True})
        await page.answered(QUESTION)
    assert len(model.titles.requests) == 1, "the premise"


async def test_another_model_can_be_asked(ada: User, model: TitlingBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    small = TitlingBackend(TITLE)
    connect(monkeypatch, model, small=small)
    change(monkeypatch, {"title_model": "small/tiny"})
    await answered(ada, QUESTION)
    assert len(model.requests) == 1 and model.titles.requests == []
    assert [request.model for request in small.titles.requests] == ["tiny"] and await title() == TITLE


async def test_titles_wait_for_free_slots_and_give_way_to_answers(
    ada: User, bela: User, model: TitlingBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, {"max_answers_at_once": 1})
    model.titles.script = [asyncio.Event()]
    async with Page(ada) as page:
        await page.ask(QUESTION)
        await page.until(*ENDS)
        await asyncio.wait_for(model.titles.waiting.wait(), 20)
    assert len(model.titles.requests) == 1 and model.titles.closed == 0, "the premise: a title is being written"
    model.titles.script = answer(TITLE)
    await answered(bela, "Why is the sky blue?")
    assert model.titles.closed == 1, "the answer did not wait for the title"
    assert await Turn.objects.filter(state="completed").acount() == 2
    assert sorted([row.title async for row in Conversation.objects.all()]) == [TITLE, BEGINNING]


async def test_titles_are_requested_one_at_a_time_from_a_bounded_queue(
    ada: User, model: TitlingBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants.change(monkeypatch, titles_waiting=1)
    gate = asyncio.Event()
    model.titles.script = [gate, *answer(TITLE)]
    async with Page(ada) as page:
        for _ in range(3):
            await page.ask(QUESTION)
            await page.until(*ENDS)
    await asyncio.wait_for(model.titles.waiting.wait(), 20)
    assert len(model.titles.requests) == 1
    gate.set()
    await settled()
    assert sorted([row.title async for row in Conversation.objects.all()]) == [TITLE, TITLE, BEGINNING]


async def test_a_title_whose_commit_was_not_confirmed_is_still_announced(ada: User, model: TitlingBackend, database: Database) -> None:
    database.lose_confirmation("UPDATE chatui_conversation SET title")
    async with Page(ada) as page:
        await page.ask(QUESTION)
        assert (await page.until("chatui:title"))[-1]["title"] == TITLE
    await settled()
    assert len(database.met) == 1, "the premise"
    assert await title() == TITLE and await SearchEntry.objects.filter(message=None).acount() == 1


async def test_title_usage_is_booked_to_the_owner_but_is_no_answer(ada: User, model: TitlingBackend) -> None:
    await answered(ada, QUESTION)
    rows = UsageEntry.objects.order_by("kind").values_list("kind", "person", "turns", "input_tokens", "output_tokens", "is_estimate")
    assert [row async for row in rows] == [("answer", ada.pk, 1, 10, 20, False), ("title", ada.pk, 0, 10, 20, False)]


async def test_usage_of_a_failed_title_is_booked(ada: User, model: TitlingBackend) -> None:
    model.titles.script = [*open_frame(FINAL, "Cycling to work"), failure(ProductCode.BACKEND)]
    await answered(ada, QUESTION)
    assert await title() == BEGINNING
    [entry] = [row async for row in UsageEntry.objects.filter(kind="title")]
    assert entry.is_estimate and entry.output_tokens > 2
