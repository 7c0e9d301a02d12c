"""Which lines of a server's own summary are shown and stored, and when."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from chatui.codes import ProductCode
from chatui.observability import measures
from chatui.turns import summarizing
from renderer.errors import ErrorCode
from renderer.events import FrameOpened, RawEvent
from renderer.frame_kinds import ANALYSIS, ANSWER, SUMMARY, SUMMARY_NAME, TOOL_LINE_NAME
from renderer.frames import Channel, Frame, Header, Intent, Role
from renderer.summary import frame
from tests.chatui.turns.streams.summary import FIRST, HIDDEN, MANY, NUMBERS, SECOND, THIRD, Events, Summary, until, wait_a_little, written
from tests.chatui.turns.streams.summary import no_database as no_database
from tests.chatui.turns.streams.summary import pace as pace
from tests.support.cases import for_each


async def answered(*events: RawEvent) -> Summary:
    """A server's first line, these events, and the beginning of the answer."""
    summary = Summary()
    await summary.show_first()
    summary.take(*events, FrameOpened(ANSWER))
    return summary


def headings(lines: Sequence[str]) -> str:
    return "\n\n".join(f"**{line}**" for line in lines)


COPIED = f"Looked at the {HIDDEN}"
THOUGHT = "We need to weigh the rain."
SERVER_LINES: dict[str, tuple[Events, list[str]]] = {
    "nothing more": ((), []),
    "two more": ((*written(SECOND), *written(THIRD)), [SECOND, THIRD]),
    "two in one": (written(f"{SECOND}\n\n{THIRD}"), [SECOND, THIRD]),
    "the same again": ((*written(FIRST), *written(SECOND), *written(SECOND)), [SECOND]),
    "with our hidden header": (written(SECOND, frame.ASIDE), [SECOND]),
    "with another channel": (written(SECOND, Header(Role.ASSISTANT, Channel.FINAL, name=SUMMARY_NAME)), [SECOND]),
    "from a tool": (written(SECOND, Header(Role.TOOL, Channel.COMMENTARY, name=SUMMARY_NAME)), []),
    "incomplete": (written(SECOND)[:-1], []),
    "another frame begins within": ((*written(SECOND)[:-1], *written("Hm", ANALYSIS)), []),
    "other text behind": ((*written(SECOND), *written(THIRD, ANALYSIS)), [SECOND]),
    "reasoning labelled as summary": ((*written(SECOND), *written(THOUGHT)), []),
    "nothing behind it": ((*written(SECOND), *written("  \n ")), [SECOND]),
    "a copy of reasoning before it": ((*written(HIDDEN, ANALYSIS), *written(COPIED), *written(SECOND)), [SECOND]),
    "a copy of reasoning behind it": ((*written(COPIED), *written(HIDDEN, ANALYSIS)), []),
    "too late": ((FrameOpened(ANSWER), *written(SECOND)), []),
    "too many": ((*written(headings(MANY[:8])), *written(headings(MANY[8:]))), MANY[: summarizing.MAX_STEPS - 1]),
}


@for_each(list(SERVER_LINES))
def test_the_lines_of_a_trusted_server_are_shown_at_the_latest_as_the_answer_begins(name: str) -> None:
    events, lines = SERVER_LINES[name]

    async def shown() -> tuple[list[str], list[tuple[str, str, ErrorCode | None]]]:
        summary = await answered(*events)
        return summary.shown, [each for each in summary.stored() if each[0] == "steps"]

    steps = [FIRST, *lines]
    assert asyncio.run(shown()) == (steps, [("steps", "\n".join(f"- {step}" for step in steps), None)])


@pytest.mark.asyncio
async def test_the_next_line_waits_although_it_is_there() -> None:
    summary = Summary()
    await summary.show_first()
    summary.take(*written(SECOND))
    await wait_a_little()
    assert summary.shown == [FIRST], "the pace must not show how much the model thinks"
    await summary.summarizing.aclose()
    assert summary.shown == [FIRST, SECOND], "a turn without an answer shows what waits"
    summary.take(*written(THIRD), FrameOpened(ANSWER))
    assert summary.shown == [FIRST, SECOND]


@pytest.mark.asyncio
async def test_a_refused_line_delays_no_other() -> None:
    summary = Summary(Frame(ANALYSIS, HIDDEN))
    summary.take(*written(f"{COPIED}\n\n{FIRST}\n\n{SECOND}"))
    await until(lambda: bool(summary.shown))
    assert summary.shown == [FIRST]
    await summary.summarizing.aclose()


def dropped(reason: str) -> float:
    return float(measures.SUMMARY_LINES_DROPPED.labels(reason)._value.get())


@pytest.mark.asyncio
async def test_refused_lines_are_stored_for_staff_and_counted() -> None:
    before = dropped("copy"), dropped("empty")
    summary = await answered(*written(HIDDEN, ANALYSIS), *written(COPIED), *written("7"))
    assert summary.stored() == [
        ("blocked", f"It copies hidden text:\n\n{COPIED}", ProductCode.SUMMARY_BLOCKED),
        ("steps", f"- {FIRST}", None),
    ]
    assert summary.stored() == [], "they are stored once"
    assert (dropped("copy"), dropped("empty")) == (before[0] + 1, before[1]), "an empty line is no violation"


@pytest.mark.asyncio
async def test_a_dozen_refused_lines_are_enough_for_staff() -> None:
    lines = [headings([f"{COPIED} {word}" for word in NUMBERS[:8]])] * 2
    summary = await answered(*written(HIDDEN, ANALYSIS), *(event for line in lines for event in written(line)))
    assert [kind for kind, *_ in summary.stored()] == ["blocked"] * summarizing.MAX_STEPS + ["steps"]


@pytest.mark.asyncio
async def test_reasoning_that_is_labelled_as_summary_is_counted() -> None:
    before = dropped("reasoning")
    await answered(*written(THOUGHT), *written(SECOND), *written(" "))
    assert dropped("reasoning") == before + 2, "and after it nothing is trusted"


@pytest.mark.usefixtures("no_database")
@for_each(["none", "model"])
def test_the_summary_of_an_untrusted_server_is_not_shown(summaries: str) -> None:
    async def shown() -> list[str]:
        fields: dict[str, Any] = {"summarizer": "small/small-model"} if summaries == "model" else {}
        summary = Summary(summaries=summaries, **fields)
        before = dropped("reasoning")
        summary.take(*written(FIRST), *written(THOUGHT))
        for _ in range(3):
            await asyncio.sleep(0.005)
        summary.take(FrameOpened(ANSWER))
        await summary.summarizing.aclose()
        assert dropped("reasoning") == before
        return summary.shown + [text for _, text, _ in summary.stored()]

    assert asyncio.run(shown()) == []


NAMED = [
    (SUMMARY, frame.ASIDE),
    (Header(Role.ASSISTANT, name=SUMMARY_NAME), frame.ASIDE),
    (Header(Role.ASSISTANT, Channel.COMMENTARY, name=TOOL_LINE_NAME), Header(Role.ASSISTANT, Channel.COMMENTARY)),
    (Header(Role.TOOL, name=SUMMARY_NAME), Header(Role.TOOL, name=SUMMARY_NAME)),
    (Header(Role.USER, name=TOOL_LINE_NAME), Header(Role.USER, name=TOOL_LINE_NAME)),
    (Header(Role.ASSISTANT, name="ada"), Header(Role.ASSISTANT, name="ada")),
    (ANSWER, ANSWER),
    (Header(Role.ASSISTANT, intent=Intent.PREAMBLE), Header(Role.ASSISTANT, intent=Intent.PREAMBLE)),
]


@for_each([(summaries, *headers) for headers in NAMED for summaries in ("none", "server")])
def test_a_name_that_is_reserved_for_the_product_is_removed(summaries: str, header: Header, passed_on: Header) -> None:
    async def taken() -> list[RawEvent]:
        summary = Summary(summaries=summaries)
        events = [summary.summarizing.take(event) for event in written("text", header)]
        await summary.summarizing.aclose()
        return events

    assert asyncio.run(taken()) == [FrameOpened(passed_on), *written("text")[1:]]


@pytest.mark.asyncio
async def test_a_line_that_comes_before_the_branch_was_read_is_not_shown() -> None:
    summary = Summary(Frame(Header(Role.DEVELOPER), FIRST))
    summary.take(*written(FIRST), FrameOpened(ANSWER))
    await summary.summarizing.aclose()
    assert summary.shown == [] and summary.stored() == [], "it might quote the instructions"


@pytest.mark.asyncio
async def test_after_a_fault_the_lines_that_wait_are_not_shown(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    quoted = "-".join(["hidden", "words"])

    def broken(*_: object) -> None:
        raise RuntimeError(quoted)

    summary = Summary()
    task = summary.summarizing._task
    assert task is not None
    with monkeypatch.context() as patch:
        patch.setattr(summarizing.Notes, "judge", broken)
        summary.take(*written(f"{FIRST}\n\n{SECOND}"))
        await until(task.done)
    await summary.summarizing.aclose()
    assert summary.shown == [] and summary.stored() == []
    assert "a summary failed: RuntimeError" in caplog.text and quoted not in caplog.text


@pytest.mark.asyncio
async def test_a_line_may_come_after_a_long_silence() -> None:
    summary = Summary()
    await until(lambda: summary.summarizing._is_ready)
    await wait_a_little()
    await summary.show_first()
    await summary.summarizing.aclose()


@pytest.mark.asyncio
async def test_a_line_that_waits_when_a_turn_ends_without_an_answer_is_shown_and_stored_and_no_later_one_is() -> None:
    summary = Summary()
    await summary.show_first()
    summary.take(*written(SECOND))
    assert [text for _, text, _ in summary.stored()] == [f"- {FIRST}\n- {SECOND}"] and summary.shown == [FIRST, SECOND]
    summary.take(*written(THIRD))
    await wait_a_little()
    await summary.summarizing.aclose()
    assert summary.shown == [FIRST, SECOND]
