"""The outbox of a page that reads slowly or not at all is bounded; once the page has caught up, it gets the current state."""

from __future__ import annotations

import asyncio
import json

import pytest

from chatui.live.page_socket import MAX_EVER, MAX_JOINED, MAX_UNREAD, Outbox

pytestmark = pytest.mark.asyncio


class Page:
    """Records what was sent to the page, and how often it was notified that it has caught up."""

    def __init__(self) -> None:
        self.frames: list[str] = []
        self.caught_up = 0
        self.given_up = 0
        self.outbox = Outbox(self._take, self._note, self._give_up)

    async def _take(self, frame: str) -> None:
        self.frames.append(frame)

    def _note(self) -> None:
        self.caught_up += 1

    def _give_up(self) -> None:
        self.given_up += 1

    @property
    def pings(self) -> list[int]:
        return [event["number"] for frame in self.frames if frame.startswith('[{"type":"chatui:ping"') for event in json.loads(frame)]


async def test_events_keep_their_order_and_waiting_ones_share_a_frame() -> None:
    page = Page()
    pump = asyncio.create_task(page.outbox.pump())
    for number in range(5):
        page.outbox.put(json.dumps([number, "x"]))
    await asyncio.sleep(0.01)
    page.outbox.put(json.dumps([5]))
    await asyncio.sleep(0.01)
    pump.cancel()
    assert [json.loads(frame) for frame in page.frames] == [[0, "x", 1, "x", 2, "x", 3, "x", 4, "x"], [5]]


async def test_long_frames_are_not_joined_with_others() -> None:
    page = Page()
    frames = [json.dumps([text]) for text in ("x" * MAX_JOINED, "short", "also", "y" * MAX_JOINED, "z" * (MAX_JOINED - 20), "w" * 20)]
    for frame in frames:
        page.outbox.put(frame)
    await page.outbox.flush()
    assert [json.loads(frame) for frame in page.frames] == [
        json.loads(frames[0]),
        ["short", "also"],
        *(json.loads(frame) for frame in frames[3:]),
    ]


async def test_a_page_that_confirms_nothing_is_sent_a_bounded_amount() -> None:
    page = Page()
    for _ in range(200):
        page.outbox.put_events("x" * 10_000)
        await page.outbox.flush()
    assert sum(map(len, page.frames)) <= MAX_UNREAD // 2 + 11_000
    assert page.pings, "else it could never report that it has caught up"


async def test_nothing_piles_up_if_the_connection_accepts_nothing() -> None:
    page = Page()
    for _ in range(200):
        page.outbox.put_events("x" * 10_000)
    assert page.outbox._waiting_chars <= MAX_UNREAD


async def test_a_page_that_keeps_up_also_gets_large_events_and_confirms_them() -> None:
    page = Page()
    page.outbox.put_events("x" * 3 * MAX_UNREAD)
    page.outbox.put_events("left out")
    await page.outbox.flush()
    assert len(page.frames[0]) == 3 * MAX_UNREAD and "left out" not in page.frames
    page.outbox.confirmed(page.pings[-1])
    assert page.caught_up == 1


async def test_a_page_that_asks_but_never_reads_is_dropped() -> None:
    page = Page()
    for _ in range(MAX_EVER // 100_000 + 2):
        page.outbox.put("x" * 100_000)
    assert page.given_up > 0


async def test_a_page_that_has_caught_up_is_told_once_and_gets_events_again() -> None:
    page = Page()
    for _ in range(200):
        page.outbox.put_events("x" * 10_000)
    await page.outbox.flush()
    page.outbox.confirmed(10)
    assert page.caught_up == 0, "nearly all of it is still unread"
    page.outbox.confirmed(page.pings[-1])
    page.outbox.confirmed(page.pings[-1])
    assert page.caught_up == 1
    page.outbox.put_events("new")
    await page.outbox.flush()
    assert page.frames[-1] == "new"


@pytest.mark.parametrize("number", [-5, 10**30])
async def test_an_unsent_number_confirms_no_more_than_was_sent(number: int) -> None:
    page = Page()
    page.outbox.put("x" * 100)
    await page.outbox.flush()
    page.outbox.confirmed(number)
    assert 0 <= page.outbox._unread <= 100


async def test_a_reply_is_sent_even_if_the_page_is_behind() -> None:
    page = Page()
    for _ in range(200):
        page.outbox.put_events("x" * 10_000)
    page.outbox.put('["reply"]')
    await page.outbox.flush()
    assert json.loads(page.frames[-1])[-1] == "reply"
