"""What a turn costs in numbers that are the same on every machine: calls of Python functions, writes, and hand-overs between threads."""

from statistics import median

import pytest

from chatui.models.user import User
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.page import settled
from tests.support.scripted import ScriptedBackend, answer
from tests.support.turn_cost import Counted
from tests.support.turn_cost import counted as counted

pytestmark = pytest.mark.django_db(transaction=True)

OF_EVENT_LOOP, OF_WRITER = 4_481, 2_165
"""The calls of a new conversation's turn, without the model server's, which is scripted, and with those of a page of the test."""
WRITES, HAND_OVERS = 2, 2
TOLERANCE = 1.03


async def test_a_turn_calls_no_more_functions_and_wakes_no_more_threads_than_it_did(
    ada: User, backend: ScriptedBackend, counted: Counted
) -> None:
    backend.script = answer("Four.", thought="")[3:]
    turns = []
    async with BrowserSocket(ada) as socket:
        for _ in range(9):
            before = counted.values
            await socket.send_message()
            await socket.until(*ENDS)
            await settled()
            turns.append([after - then for after, then in zip(counted.values, before, strict=True)])
    # In the first two, what is read and compiled once in a process is.
    event_loop, of_writer, writes, hand_overs = map(median, zip(*turns[2:], strict=True))
    assert writes <= WRITES and hand_overs <= HAND_OVERS, turns
    assert event_loop <= OF_EVENT_LOOP * TOLERANCE and of_writer <= OF_WRITER * TOLERANCE, turns
