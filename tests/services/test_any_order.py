"""A stateful property test of people and faults in any order, with two real processes: no accepted question is lost, and every turn ends
once."""

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import httpx
import hypothesis.strategies as st
import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from renderer.ocml.document import parse, parse_frame
from tests.processes.counting import counts, last_word
from tests.services.databases import own_database
from tests.services.redis_server import Redis
from tests.support import stub
from tests.support.browser_socket import ENDS, shown_text
from tests.support.cases import ROUNDS
from tests.support.served import Deployment, LiveSocket, Server

pytestmark = [pytest.mark.services, pytest.mark.faults]

RUNS, STEPS = (5, 30) if ROUNDS > 1 else (1, 15)
WORDS, PAUSE = 20, 0.1
TIMEOUT_SECONDS = 60.0
"""The time limit of a step on a busy machine. A turn whose process was killed is closed within half a minute."""

T = TypeVar("T")
PROCESSES = st.sampled_from([0, 1])


@dataclass
class Known:
    """An accepted question and its client id. ``shown``: the last word of its answer that somebody read."""

    client_id: str
    conversation: str
    turn: str
    question: str
    shown: int = 0
    is_deleted: bool = False


class Model:
    """Two processes, a Redis and a model server, with a separate event loop."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.stack = contextlib.ExitStack()
        directory = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.database = self.stack.enter_context(own_database())
        self.redis = Redis(directory)
        self._playing = stub.running(counts(WORDS, PAUSE))
        model = self.do(self._playing.__aenter__())
        self.deployment = Deployment(
            directory / "data",
            CHATUI_DATABASE_URL=self.database,
            CHATUI_REDIS_URL=self.redis.url,
            CHATUI_BACKEND_URL=model.url,
            CHATUI_BACKEND_MODEL="stub",
            CHATUI_MAX_RUNNING_ANSWERS="1000",
            CHATUI_DRAIN_SECONDS="0",
        )
        for _ in range(2):
            self.deployment.start()
        self.deployment.make_people(ada=(False, []))
        self.client = self.server(0).sign_in("ada")

    def server(self, number: int) -> Server:
        return self.deployment.servers[number]

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine, with a time limit that only a hang reaches."""
        return self.loop.run_until_complete(asyncio.wait_for(work, 2 * TIMEOUT_SECONDS))

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database) as connection:
            return connection.execute(statement).fetchall()

    def close(self) -> None:
        self.redis.wake()
        self.deployment.stop()
        self.redis.stop()
        with contextlib.suppress(AssertionError):  # a killed process may leave connections that the stub still waits for
            self.do(self._playing.__aexit__(None, None, None))
        self.stack.close()
        self.loop.close()


class AnyOrder(RuleBasedStateMachine):
    """The actions of one person with two processes, and faults that happen to these."""

    model: Model

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.known: list[Known] = []
        self.redis_is = "there"

    # What people do

    @rule(number=PROCESSES, is_doubled=st.booleans())
    def ask(self, number: int, is_doubled: bool) -> None:
        self._ask(number, is_doubled, type="send", conversation=None, text="Count!", effort="low")

    @precondition(lambda self: self.alive)
    @rule(number=PROCESSES, chooser=st.randoms(use_true_random=False), kind=st.sampled_from(["edit", "regenerate", "send"]))
    def ask_again(self, number: int, chooser: Any, kind: str) -> None:
        before = chooser.choice(self.alive)
        fields = {} if kind == "send" else {"question": before.question}
        fields |= {} if kind == "regenerate" else {"text": "Count once more!"}
        self._ask(number, False, type=kind, conversation=before.conversation, effort="low", **fields)

    @precondition(lambda self: self.alive)
    @rule(number=PROCESSES, chooser=st.randoms(use_true_random=False))
    def stop(self, number: int, chooser: Any) -> None:
        known = chooser.choice(self.alive[-3:])

        async def stop() -> None:
            async with LiveSocket(self.model.server(number), self.model.client) as socket:
                await socket.send("stop", conversation=known.conversation, turn=known.turn)
                await socket.send("subscribe", conversation=known.conversation)
                await socket.until(*ENDS, "chatui:idle")

        self.model.do(stop())

    @precondition(lambda self: self.alive)
    @rule(number=PROCESSES, chooser=st.randoms(use_true_random=False), events=st.integers(1, 12))
    def load_and_read(self, number: int, chooser: Any, events: int) -> None:
        known = chooser.choice(self.alive[-3:])
        assert self._get(number, f"/c/{known.conversation}/").status_code == 200

        async def read() -> list[dict[str, Any]]:
            seen: list[dict[str, Any]] = []
            async with LiveSocket(self.model.server(number), self.model.client) as socket:
                await socket.send("subscribe", conversation=known.conversation)
                while len(seen) < events and not (seen and seen[-1]["type"] in (*ENDS, "chatui:idle")):
                    seen.append(await socket.next())
            return seen

        seen = self.model.do(read())
        about = {event.get("turn") for event in seen} - {None}
        for each in self.known:
            if about == {each.turn} and any(event["type"] == "chatui:snapshot" for event in seen):
                each.shown = max(each.shown, last_word(shown_text(seen)))

    @precondition(lambda self: self.alive)
    @rule(number=PROCESSES, chooser=st.randoms(use_true_random=False))
    def delete(self, number: int, chooser: Any) -> None:
        conversation = chooser.choice(self.alive).conversation
        page = self._get(number, "/").text
        token = page.split('name="csrf-token" content="')[1].split('"')[0]
        headers = {"X-CSRFToken": token, "Origin": self.model.server(number).url}
        url = f"{self.model.server(number).url}/c/{conversation}/delete/"
        answer = httpx.post(url, cookies=dict(self.model.client.cookies), headers=headers, trust_env=False, timeout=TIMEOUT_SECONDS)
        assert answer.status_code < 400, answer.status_code
        for known in self.known:
            known.is_deleted |= known.conversation == conversation
        assert self._get(number, f"/c/{conversation}/").status_code == 404

    # What happens to the processes

    @rule(what=st.sampled_from(["there", "silent", "away"]))
    def redis(self, what: str) -> None:
        if self.redis_is == "silent":
            self.model.redis.wake()
        if self.redis_is == "away" and what != "away":
            self.model.redis.start()
        if what == "silent":
            self.model.redis.silence()
        if what == "away" and self.redis_is != "away":
            self.model.redis.stop()
        self.redis_is = what

    @rule(number=PROCESSES, how=st.sampled_from([signal.SIGKILL, signal.SIGTERM]))
    def replace_a_process(self, number: int, how: signal.Signals) -> None:
        server = self.model.server(number)
        server.stop(how)
        self.model.deployment.start_again(server)

    # What must hold

    def teardown(self) -> None:
        try:
            self.redis("there")
            self.model.do(self._ended())
            self._check()
        finally:
            self.model.close()

    async def _ended(self) -> None:
        """I7: without further requests, no turn stays running."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while self.model.rows("SELECT 1 FROM chatui_turn WHERE state = 'running'"):
                await asyncio.sleep(0.2)

    def _check(self) -> None:
        rows = self.model.rows
        turns = {str(key): str(client_id) for key, client_id in rows("SELECT id, client_id FROM chatui_turn")}
        assert {known.turn: known.client_id for known in self.known}.items() <= turns.items(), "I1: what was accepted is stored"
        assert len(set(turns.values())) == len(turns), "I2: an ask is one turn"
        states = {state for (state,) in rows("SELECT DISTINCT state FROM chatui_turn")}
        assert states <= {"completed", "stopped", "interrupted"}, "I3: each in one terminal state, and no fault of ours fails a turn"
        assert rows("SELECT id FROM chatui_turn WHERE finished_at IS NULL") == [], "I3"
        assert rows("SELECT conversation_id, position FROM chatui_message GROUP BY 1, 2 HAVING COUNT(*) > 1") == [], "I4"
        for (text,) in rows("SELECT text FROM chatui_message"):
            parse_frame(text)  # I9
        finals = dict(rows("SELECT turn_id::text, text FROM chatui_message WHERE channel = 'final'"))
        completed = {str(key) for (key,) in rows("SELECT id FROM chatui_turn WHERE state = 'completed'")}
        for key in completed:
            assert last_word(finals[key].split("<|message|>")[1]) == WORDS, "no word is missing or there twice"
        for known in self.alive:
            if known.shown > 1 / PAUSE:
                assert last_word(finals.get(known.turn, "")) >= known.shown - 1.5 / PAUSE, "I5: all but the last second is stored"
            transcript = self._get(0, f"/c/{known.conversation}/download/").text
            assert parse(transcript).frames, "I9"

    @property
    def alive(self) -> list[Known]:
        return [known for known in self.known if not known.is_deleted]

    def _get(self, number: int, path: str) -> httpx.Response:
        url = self.model.server(number).url + path
        return httpx.get(url, cookies=dict(self.model.client.cookies), trust_env=False, timeout=TIMEOUT_SECONDS)

    def _ask(self, number: int, is_doubled: bool, **fields: Any) -> None:
        client_id = str(uuid4())

        async def ask() -> list[dict[str, Any]]:
            async with LiveSocket(self.model.server(number), self.model.client) as socket:
                for _ in range(1 + is_doubled):
                    await socket.send(client_id=client_id, **fields)
                return [(await socket.until("chatui:accepted", "chatui:refused"))[-1] for _ in range(1 + is_doubled)]

        replies = self.model.do(ask())
        if replies[0]["type"] == "chatui:refused":
            assert replies[0]["code"] == "E-X-BUSY", replies
            return
        assert len({(reply["conversation"], reply["turn"]) for reply in replies}) == 1, "I2"
        accepted = replies[0]
        self.known.append(Known(client_id, accepted["conversation"], accepted["turn"], accepted["question"]))


def test_in_any_order_what_is_accepted_is_kept_and_every_turn_ends_once() -> None:
    run_state_machine_as_test(
        AnyOrder,
        settings=settings(
            max_examples=RUNS,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=ROUNDS == 1 and not os.environ.get("CHATUI_TEST_NEW_EXAMPLES"),
            phases=[Phase.generate],  # a failure is reported as found, because shrinking it would take hours
            suppress_health_check=list(HealthCheck),
        ),
    )
