"""More chats start in a second than a process may run: all are stored, as many run as allowed, and the others see their queue position."""

import asyncio
import contextlib
import json
from itertools import pairwise
from pathlib import Path

import pytest

from tests.processes.counting import counts_until
from tests.processes.crowd import gathered
from tests.support import stub
from tests.support.cases import ROUNDS
from tests.support.served import Deployment

pytestmark = [pytest.mark.asyncio, pytest.mark.served, pytest.mark.faults]

CHATS = 2000 if ROUNDS > 1 else 200
AT_ONCE = 200 if ROUNDS > 1 else 40
ANSWER_SECONDS = 0.8
"""Each answer takes at least this long, so that waiting pages receive their queue position more than once."""
TIMEOUT_SECONDS = 250.0
STATES = """
import json
from collections import Counter
from chatui.models import Message, Turn
asked = Message.objects.filter(author="person").count()
print(json.dumps([Counter(Turn.objects.values_list("state", flat=True)), asked, Message.objects.filter(channel="final").count()]))
"""


async def test_all_are_kept_as_many_run_as_may_and_the_others_read_a_place_that_moves(tmp_path: Path) -> None:
    end = asyncio.Event()
    running = most = 0
    count = counts_until(end, 0.5)

    async def answer(writer: asyncio.StreamWriter) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            await asyncio.sleep(ANSWER_SECONDS)
            await count(writer)
        finally:
            running -= 1

    async with stub.running(answer) as model:
        deployment = Deployment(
            tmp_path,
            CHATUI_BACKEND_URL=model.url,
            CHATUI_BACKEND_MODEL="stub",
            CHATUI_MAX_ANSWERS_AT_ONCE=str(AT_ONCE),
            CHATUI_MAX_RUNNING_ANSWERS="10000",
        )
        try:
            server = await asyncio.to_thread(deployment.start)
            async with asyncio.timeout(TIMEOUT_SECONDS), gathered(deployment, server, CHATS) as crowd:
                await crowd.ask()
                assert (len(crowd.accepted), crowd.refused) == (CHATS, {})
                reading = asyncio.create_task(crowd.read())
                while running < AT_ONCE or sum(any(page.places) for page in crowd.pages) < len(crowd.pages) // 2:
                    await asyncio.sleep(0.05)
                end.set()
                await reading
                while running or len([request for request in model.requests if request.method == "POST"]) < CHATS:
                    await asyncio.sleep(0.05)
            states, questions, answers = json.loads(await settled(deployment))
        finally:
            end.set()
            await asyncio.to_thread(deployment.stop)
    assert most == AT_ONCE, "as many as allowed, and never more"
    assert (states, questions, answers) == ({"completed": CHATS}, CHATS, CHATS)
    waited = [page.places for page in crowd.pages if any(page.places)]
    assert len(waited) >= len(crowd.pages) // 2, "the premise"
    assert all(after <= before for places in waited for before, after in pairwise(places)), "nobody is overtaken"
    assert all(places[-1] == 0 for places in waited)
    assert any(len(set(places)) > 2 for places in waited), "a place is sent more than once, and changes"


async def settled(deployment: Deployment) -> str:
    """The output of STATES once no turn is running."""
    found = ""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(60):
            while '"running"' in (found := await asyncio.to_thread(deployment.manage, "shell", "--no-imports", "-c", STATES)) or not found:
                await asyncio.sleep(0.2)
    return found
