"""The tool by which a model asks the person: up to four short questions, as plain text, in a form, with the answers as its reply."""

import asyncio
import html
from typing import Any
from uuid import UUID

import pytest
from channels.db import database_sync_to_async
from django.test import Client

from chatui.display import tool_forms
from chatui.display.tools import tools_for_keys
from chatui.json_schemas import check_schema, fault
from chatui.models.message import Message
from chatui.models.shares import ShareLink
from chatui.models.tools import ToolApproval
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.tools import ask_person, catalogue
from chatui.tools.ask_person import ASK, form_of
from chatui.tools.forms import FormError
from chatui.tools.tool import ToolError, as_plain_markdown
from chatui.turns import running
from chatui.turns.running import TurnPlace
from chatui.wire.bus import PROCESS
from renderer.frames import Channel, Header
from renderer.ocml import document
from tests.chatui.turns.calls.calling import World, call, calls, replies, rows_of
from tests.chatui.turns.calls.test_approval import audit_lines, decide, start_turn
from tests.chatui.turns.calls.test_person import page, waiting_form
from tests.support import environment
from tests.support.scripted import answer, frame
from tests.support.turns import ask, begin

SIZE = {"question": "Which size?", "choices": ["S", "M", "L"]}
COLOURS = {"question": "Which colours?", "choices": ["red", "blue"], "several": True}
NAME = {"question": "Whose name goes on it?"}


def asking(*questions: Any) -> dict[str, Any]:
    return {"questions": list(questions)}


def offer(monkeypatch: pytest.MonkeyPatch, **values: Any) -> None:
    settings = {"backend_url": "http://127.0.0.1:9", "tools": {"ask_person": ()}, "tools_without_approval": [], **values}
    environment.change(monkeypatch, settings)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        asking(),
        asking(*[NAME] * 5),
        asking({"question": ""}),
        asking({"question": "x" * 301}),
        asking({"question": "?", "choices": ["one"]}),
        asking({"question": "?", "choices": ["x"] * 9}),
        asking({"question": "?", "choices": ["x" * 101, "y"]}),
        asking({"question": "?", "thought": "The user wants"}),
        {**asking(NAME), "why": "The user wants"},
    ],
)
def test_only_a_bounded_number_of_short_questions_can_be_asked(arguments: Any) -> None:
    check_schema(ASK.parameters)
    assert fault(ASK.parameters, arguments) and not fault(ASK.parameters, asking(SIZE, COLOURS, NAME, NAME))


@pytest.mark.parametrize("words", ["What is your password?", "Your PIN?", "비밀번호가 무엇입니까?", " \u200b", "\u0301"])
def test_nobody_is_asked_for_a_secret_or_for_nothing(words: str) -> None:
    with pytest.raises(ToolError, match="Nobody was asked"):
        form_of(asking({"question": words}))


def test_beside_choices_about_a_secret_there_is_no_place_to_write_it() -> None:
    way = {"question": "How do users sign in?", "choices": ["With a password", "With a passkey"]}
    assert [each.kind for each in form_of(asking(way, SIZE)).fields] == ["choice", "choice"]
    assert [each.kind for each in form_of(asking(SIZE)).fields] == ["choice", "text"], "there is one otherwise"
    with pytest.raises(ToolError, match="secret"):
        form_of(asking(way, NAME))


def test_a_form_has_a_place_for_own_words_beside_choices_and_nothing_must_be_filled_in() -> None:
    form = form_of(asking(SIZE, COLOURS, NAME))
    assert [each.kind for each in form.fields] == ["choice", "choices", "text", "text"]
    assert not any(each.is_required for each in form.fields) and form.fields[-1].name == ask_person.IN_OWN_WORDS
    assert [each.kind for each in form_of(asking(NAME)).fields] == ["text"]


def test_words_are_shown_as_they_are_written_and_an_answer_that_is_too_long_is_told_by_how_much() -> None:
    form = form_of(asking({"question": "Which \u26a0\ufe0f?", "choices": ["\U0001f469\u200d\U0001f4bb", "b\u202e"]}, NAME))
    row = ToolApproval(title="", arguments=form.model_dump_json())
    first = tool_forms.shown(row, "", 60).fields[0]
    assert [each.mark for each in tool_forms.shown(row, "", 60).fields] == ["1. ", "2. ", "3. "], "the numbers below name them"
    assert (first.label, [each.label for each in first.choices]) == ("Which \u26a0\ufe0f?", ["\U0001f469\u200d\U0001f4bb", "b"])
    with pytest.raises(FormError) as error:
        tool_forms.answer(row, lambda number: ["x" * 1001] if number else ["c"])
    assert tool_forms.faults_in_words(error.value) == (
        "What is in field 1 does not fit. What is in field 2 is too long: it may have at most 1,000 characters. "
        "What is in field 3 is too long: it may have at most 1,000 characters."
    )


def test_it_is_off_by_default_and_for_whom_the_operator_says(monkeypatch: pytest.MonkeyPatch) -> None:
    environment.change(monkeypatch, {"backend_url": "http://127.0.0.1:9", "tools": {}})
    assert catalogue.offered_to({"staff"}, is_demo=False) == {}
    offer(monkeypatch, tools={"ask_person": ("staff",)})
    assert catalogue.offered_to((), is_demo=False) == {}
    (offered,) = catalogue.offered_to({"staff"}, is_demo=False).values()
    assert offered.name == "ask_person" and not catalogue.needs_approval(offered), "to ask whether one may ask would be in vain"
    assert not catalogue.is_for_programs(offered)


@database_sync_to_async
def fill_in(person: User, row: ToolApproval, decision: str = "send", **fields: Any) -> int:
    client = Client()
    client.force_login(person)
    at = f"/c/{Turn.objects.get(pk=row.turn_id).conversation_id}/calls/{row.pk}/"
    filled = {f"field-{name[1:]}": value for name, value in fields.items()}
    return client.post(at, {"decision": decision, **filled}, headers={"accept": "application/json"}).status_code


async def asked(world: World, *questions: Any) -> tuple[UUID, ToolApproval]:
    offer(world.monkeypatch)
    turn_id = await start_turn(world, call("ask_person", "c1", **asking(*questions)))
    return turn_id, await waiting_form(turn_id)


async def told(turn_id: UUID) -> dict[str, Any]:
    await running.settle()
    found: dict[str, Any] = (await replies(await Turn.objects.aget(pk=turn_id)))["c1"]
    return found


def lines(rows: list[Message]) -> list[str]:
    frames = [document.parse_frame(row.text) for row in rows]
    return [each.body for each in frames if each.header.name == "tool_activity"]


@pytest.mark.django_db(transaction=True)
async def test_the_answers_are_the_reply_and_both_are_a_part_of_the_conversation(world: World, bela: User) -> None:
    turn_id, row = await asked(world, SIZE, COLOURS, NAME)
    turn = await Turn.objects.aget(pk=turn_id)
    cards, here = f"/c/{turn.conversation_id}/turns/{turn_id}/calls/", f"/c/{turn.conversation_id}/"
    for path in (cards, here):
        shown = html.unescape((await page(world.ada, path))[1])
        assert "The model asks you" in shown and "Whose name goes on it?" in shown and "Close without an answer" not in shown
    assert "“Which size?” · “Which colours?” · “Whose name goes on it?”" in (await page(world.ada, here))[1], "as a reload has it"
    assert (await page(bela, cards))[0] == 404 and await decide(bela, row, "send") == 404
    assert await fill_in(world.ada, row, f0="XXL") == 200 and (await ToolApproval.objects.aget()).decision == "waiting", "no such choice"
    assert await fill_in(world.ada, row, f0="M", f1=["red", "blue"], f2="", f3="and a *gift* bag") == 200
    assert await fill_in(world.ada, row, f0="S") == 409, "the first answer counts"
    found = await told(turn_id)
    assert found["content"] == {
        "answered": True,
        "answers": [
            {"question": "Which size?", "answer": "M"},
            {"question": "Which colours?", "answer": ["red", "blue"]},
            {"question": "Whose name goes on it?", "answer": None},
        ],
        "in_own_words": "and a *gift* bag",
    }
    rows = await rows_of(turn)
    assert lines(rows) == [
        "“Which size?” · “Which colours?” · “Whose name goes on it?”",
        "→ M · red, blue · – · ` and a *gift* bag `",
    ]
    sampled = world.backend.requests[-1]
    assert all(each.header.name != "tool_activity" for each in sampled.frames), "a model reads the call and its reply, once"
    assert await audit_lines() == [("ada", "ask_person: answered")]
    shared, downloads = await taken_along(world.ada, turn)
    assert "Which size?" not in shared, "a link has no line of a tool"
    for each in downloads:
        assert "Which size?" in each and "red, blue" in each, f"what people said is what they said: {each}"


@database_sync_to_async
def taken_along(person: User, turn: Turn) -> tuple[str, list[str]]:
    client = Client()
    client.force_login(person)
    at = f"/c/{turn.conversation_id}/"
    leaf = Message.objects.filter(turn=turn, is_visible=True).order_by("position").last()
    assert leaf is not None
    client.post(f"{at}share/", {"leaf": str(leaf.pk), "days": "7"})
    shared = Client().get(f"/s/{ShareLink.objects.get().token}/").content.decode()
    return shared, [client.get(at + way).content.decode() for way in ("download/", "download/?format=markdown", "download/?format=json")]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("decision", "note"), [("decline", "declined to answer"), ("", "No answer came")])
async def test_a_question_may_be_declined_or_left_alone(decision: str, note: str, world: World) -> None:
    environment.change(world.monkeypatch, {"tool_approval_seconds": 600 if decision else 1})
    turn_id, row = await asked(world, NAME)
    if decision:
        assert await fill_in(world.ada, row, decision) == 200
    found = await told(turn_id)
    assert found["content"]["answered"] is False and note in found["content"]["note"]
    turn = await Turn.objects.aget(pk=turn_id)
    assert turn.state == "completed" and lines(await rows_of(turn))[-1] == "→ –"


@pytest.mark.django_db(transaction=True)
async def test_stop_ends_it_and_leaves_a_word(world: World) -> None:
    turn_id, row = await asked(world, NAME)
    await running.stop(TurnPlace(turn_id, PROCESS))
    assert (await told(turn_id))["error"]["code"] == "E-TOOL-CANCELLED"
    assert await fill_in(world.ada, row) == 409 and (await ToolApproval.objects.aget(pk=row.pk)).decision == "lapsed"
    turn = await Turn.objects.aget(pk=turn_id)
    assert turn.state == "stopped" and lines(await rows_of(turn)) == ["“Whose name goes on it?”"]
    shown = (await page(world.ada, f"/c/{turn.conversation_id}/turns/{turn_id}/calls/"))[1]
    assert "The answer ended before you answered" in shown and "The model asks you" not in shown


THOUGHT = "The user wants a shirt, so I will look at what they bought in the past and decide."


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "question",
    [
        {"question": THOUGHT},
        {"question": THOUGHT[:40], "choices": [THOUGHT[40:], "blue"]},
        {"question": "<think>They want a shirt.</think>Which size?"},
        {"question": "analysis The user wants a shirt.assistantfinal Which size?"},
        {"question": "Which?", "choices": ["<|channel|>analysis<|message|>secret", "b"]},
    ],
)
async def test_reasoning_is_not_asked(question: Any, world: World) -> None:
    offer(world.monkeypatch)
    thought = [*frame(Header("assistant", Channel.ANALYSIS), THOUGHT)]
    world.backend.script = [*thought, *calls(call("ask_person", "c1", **asking(question)))]
    world.backend.following = [answer("Done.")]
    turn_id = (await begin(world.ada, ask())).turn.pk
    found = await told(turn_id)
    assert found["error"]["code"] == "E-X-TOOL-FAILED" and "Nobody was asked" in found["error"]["message"]
    turn = await Turn.objects.aget(pk=turn_id)
    assert not await ToolApproval.objects.aexists() and lines(await rows_of(turn)) == []


@pytest.mark.django_db(transaction=True)
async def test_a_turn_that_waits_for_its_person_holds_no_slot(world: World) -> None:
    environment.change(world.monkeypatch, {"max_answers_at_once": 1})
    turn_id, row = await asked(world, NAME)
    world.backend.script = answer("Meanwhile.")
    other = await begin(world.ada, ask())
    async with asyncio.timeout(10):
        while (await Turn.objects.aget(pk=other.turn.pk)).state == "running":
            await asyncio.sleep(0.02)
    assert (await Turn.objects.aget(pk=turn_id)).state == "running"
    assert await fill_in(world.ada, row, f0="Ada") == 200
    assert (await told(turn_id))["content"]["answers"][0]["answer"] == "Ada"
    assert (await Turn.objects.aget(pk=turn_id)).state == "completed"


@pytest.mark.django_db
def test_programs_are_never_offered_it(monkeypatch: pytest.MonkeyPatch, ada: User) -> None:
    offer(monkeypatch, tools={"ask_person": (), "current_time": ()}, tools_without_approval=["current_time"])
    assert [name for name, _ in tools_for_keys(ada)] == ["current_time"]


def test_the_line_means_nothing_in_markdown() -> None:
    for words in ("Which size (S, M)? 어느 색? 哪种？", "\u2764\ufe0f \U0001f469\u200d\U0001f4bb \u2705", "\u0645\u06cc\u200c\u062e"):
        assert as_plain_markdown(words) == words
    marked = ["[a](https://evil.example)", "https://evil.example", "www.evil.example", "<b>x</b>"]
    marked += ["_a_", "`a`", "【1†L0】", "$x$", "a\u202eb", "a\u200db", "*\ufe0f\u20e3"]
    for text in marked:
        assert as_plain_markdown(text).startswith("`"), text
