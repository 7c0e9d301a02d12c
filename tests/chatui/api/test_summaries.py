"""Lines of a reasoning summary for programs: the same ones in the same order, whichever way a response is read."""

from collections.abc import Iterable
from typing import Any

import pytest
from channels.db import database_sync_to_async

from chatui.models.message import Author, Message
from chatui.models.programs import ProgramAnswer
from renderer.activities.activity import Activity
from renderer.activities.frame import frame_of
from renderer.events import FrameClosed, FrameOpened, FrameText, RawEvent
from renderer.frame_kinds import ANALYSIS, ANSWER, PREAMBLE, SUMMARY
from renderer.frames import Frame, Header, Terminator
from tests.chatui.api.asking import Program, json_of
from tests.support.messages import add_message
from tests.support.program_events import over_messages, over_responses

pytestmark = pytest.mark.django_db(transaction=True)

FIRST, SECOND, THIRD = Activity("compare", ("trains", "buses")), Activity("calc"), Activity("table")
LINES = ["Comparing trains and buses", "Doing the calculation", "Laying out a table"]
CALL = Header("assistant", "commentary", "functions.clock", call_id="c1")


def written(header: Header, *texts: str | Activity, is_preamble_after_all: bool = False, end: Terminator = Terminator.END) -> list[Any]:
    """The events of one frame, with the lines that appear while it is written."""
    inside = [FrameText(text) if isinstance(text, str) else text for text in texts]
    return [FrameOpened(header), *inside, FrameClosed(end, header=PREAMBLE if is_preamble_after_all else None)]


THOUGHT, SAID, ANSWERED = written(ANALYSIS, "Hm."), written(PREAMBLE, "I look."), written(ANSWER, "By train.")
CALLED = written(CALL, "{}", end=Terminator.CALL)

TURNS: dict[str, list[Any]] = {
    "no preamble": [*THOUGHT, FIRST, SECOND, THIRD, *ANSWERED],
    "a preamble before them": [*SAID, FIRST, SECOND, THIRD, *ANSWERED],
    "a preamble and reasoning before them": [*SAID, *THOUGHT, FIRST, SECOND, THIRD, *ANSWERED],
    "a preamble between them": [*THOUGHT, FIRST, *SAID, SECOND, *THOUGHT, THIRD, *ANSWERED],
    "lines during a preamble": [*THOUGHT, FIRST, *written(PREAMBLE, "I ", SECOND, THIRD, "look."), *ANSWERED],
    "a line before the first word of a preamble": [*written(PREAMBLE, FIRST, "I look."), SECOND, THIRD, *ANSWERED],
    "a sentence that turned out to be a preamble": [
        *THOUGHT,
        FIRST,
        *written(ANSWER, "I look.", is_preamble_after_all=True),
        SECOND,
        *THOUGHT,
        THIRD,
        *ANSWERED,
    ],
    "a tool round between them": [*THOUGHT, FIRST, *SAID, *CALLED, SECOND, *THOUGHT, *CALLED, THIRD, *ANSWERED],
    "no answer": [*THOUGHT, FIRST, *SAID, SECOND, THIRD],
}


def lines_of(output: Iterable[dict[str, Any]]) -> list[str]:
    return [part["text"] for item in output if item["type"] == "reasoning" for part in item["summary"]]


@pytest.mark.parametrize(
    ("turn", "is_background"),
    [*((turn, False) for turn in TURNS.values()), (TURNS["a tool round between them"], True)],
)
async def test_a_response_has_the_lines_in_order_and_so_has_its_stream(
    turn: list[RawEvent | Activity], is_background: bool, program: Program
) -> None:
    await program.ask({"input": "x"})
    row = await ProgramAnswer.objects.select_related("turn").aget()
    sent, whole = await over_responses(turn, row, is_background=is_background)
    assert lines_of(whole["output"]) == LINES
    assert [event["text"] for event in sent if event["type"] == "response.reasoning_summary_text.done"] == LINES
    added = [event for event in sent if event["type"] == "response.output_item.added"]
    ended = [event for event in sent if event["type"] == "response.output_item.done"]
    assert [event["output_index"] for event in added] == [event["output_index"] for event in ended] == list(range(len(ended)))
    assert [event["item"]["id"] for event in added] == [item["id"] for item in whole["output"]]
    kinds = [item["type"] for item in whole["output"]]
    assert kinds[-1] == "message" or turn[-1] is THIRD, "no reasoning comes after the answer"
    _, without = await over_responses(turn, row, wants_summary=False)
    assert not lines_of(without["output"])


@database_sync_to_async
def store(lines: tuple[Activity, ...] | None) -> str:
    """Store what a turn writes: what came before, the summary and the answer."""
    row = ProgramAnswer.objects.select_related("turn__question__conversation").get()
    turn = row.turn
    turn.messages.all().delete()
    summary = frame_of(lines) if lines is not None else Frame(SUMMARY, "- Weighed MARMALADE")
    looking = add_message(turn.conversation, turn.question, Frame(PREAMBLE, "I look."), Author.MODEL, turn_id=turn.pk)
    stored = add_message(turn.conversation, looking, summary, Author.PRODUCT, turn_id=turn.pk, activities=lines)
    add_message(turn.conversation, stored, Frame(ANSWER, "By train.", Terminator.RETURN), Author.MODEL, turn_id=turn.pk)
    return f"/v1/responses/resp_{row.pk.hex}"


@pytest.mark.parametrize("wished", ["auto", None])
async def test_a_stored_response_has_the_lines_that_its_program_asked_for(wished: str | None, program: Program) -> None:
    await program.ask({"input": "x", "reasoning": {"summary": wished}})
    path = await store((FIRST, SECOND, THIRD))
    output = json_of(await program.get(path))["output"]
    assert lines_of(output) == (LINES if wished else [])
    assert [item["type"] for item in output] == ["message", *(["reasoning"] if wished else []), "message"]


async def test_the_lines_of_an_earlier_version_are_in_no_response(program: Program) -> None:
    await program.ask({"input": "x", "reasoning": {"summary": "auto"}})
    path = await store(None)
    assert await Message.objects.filter(text__contains="MARMALADE", is_visible=True).aexists(), "the premise"
    for each in (path, f"{path}/input_items"):
        assert "MARMALADE" not in str(json_of(await program.get(each)))


@pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS)
@pytest.mark.parametrize("wants_lines", [True, False])
async def test_a_message_has_the_lines_before_what_follows_them(
    turn: list[RawEvent | Activity], wants_lines: bool, program: Program
) -> None:
    """In Anthropic's format they stand in blocks about thinking. Blocks do not overlap."""
    await program.ask({"input": "x"})
    row = await ProgramAnswer.objects.select_related("turn").aget()
    sent, whole = await over_messages(turn, row, wants_lines=wants_lines)
    content = whole["content"]
    lines = [line for block in content if block["type"] == "thinking" for line in block["thinking"].split("\n")]
    assert lines == (LINES if wants_lines else [])
    started = [event for event in sent if event["type"] == "content_block_start"]
    ended = [event for event in sent if event["type"] == "content_block_stop"]
    assert [event["index"] for event in started] == [event["index"] for event in ended] == list(range(len(content)))
    assert sent[-1]["type"] == "message_stop" and "Hm." not in str(content)
    assert content[-1]["type"] == "text" or turn is TURNS["no answer"]
