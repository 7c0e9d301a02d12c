"""Who gets what over the socket, and that two turns that differ only in hidden text look the same from outside."""

import asyncio
import json
import re
from collections.abc import Sequence
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async

from chatui.audit_log.record import FIRST_HASH
from chatui.live import consumer
from chatui.models.audit import AuditEvent, CountedLine
from chatui.models.user import User
from chatui.turns import running
from tests.canary.asking import client_for, filled
from tests.canary.listening import BusRecorder, assert_allowed, hidden_steps, open_debug_view
from tests.canary.planting import plant
from tests.canary.reviewed import ATTEMPT, COMMANDS, COUNTED, GRANT, Command
from tests.chatui.conftest import PASSWORD, refuse_log
from tests.support.audit_lines import digest
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.canary import Canary
from tests.support.scripted import ANALYSIS, CALL, FINAL, PREAMBLE, REPLY, ScriptedBackend, Step, ended, frame

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

NAMES = {
    "owner": "ada",
    "other": "bela",
    "staff": "sam",
    "hidden only": "hank",
    "any only": "vera",
    "admin": "olga",
    "both": "grace",
    "opened": "grace",
}


@database_sync_to_async
def settle_rows(canary: Canary, owner: User) -> dict[str, str]:
    planted = plant(owner, canary)
    ids = {"conversation": planted.conversation.pk, "question": planted.question.pk, "turn": planted.turn.pk, "failed": planted.failed.pk}
    return {name: str(value) for name, value in ids.items()} | {"client_id": str(uuid4())}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.type)
@pytest.mark.asyncio
async def test_each_person_gets_the_reviewed_replies_and_audit_lines(
    command: Command,
    canary: Canary,
    ada: User,
    bela: User,
    sam: User,
    hank: User,
    vera: User,
    olga: User,
    grace: User,
    backend: ScriptedBackend,
) -> None:
    values = await settle_rows(canary, ada)
    wrong: list[str] = []
    for name, expected in command.answers.items():
        if name == "opened":
            await open_debug_view(grace, values["conversation"])
        person = await User.objects.aget(username=NAMES[name])
        before, looked = await AuditEvent.objects.acount(), await counted()
        async with BrowserSocket(person) as socket:
            await socket.send(command.type, **filled(command.fields, values | {"client_id": str(uuid4())}))
            first = (await socket.silence(0.25) if not expected else [await socket.next()]) or [{}]
            assert expected or not socket.raw
            assert_allowed(socket.raw)
            assert not canary.found(*socket.raw)
        await running.settle()
        lines = [line async for line in AuditEvent.objects.order_by("number")][before:]
        mark = _mark(lines, command, person, values) or (COUNTED if await counted() == looked + 1 else "")
        got = f"{first[0].get('code') or first[0].get('type', '')}{mark}"
        if got != expected:
            wrong.append(f"{name}: expected {expected!r}, got {got!r}")
    assert not wrong, "\n".join(wrong)


async def counted() -> int:
    """How many streams were counted in debug views."""
    return sum([row.counts.get("debug stream", 0) async for row in CountedLine.objects.filter(key__startswith="look:")])


def _mark(lines: list[AuditEvent], command: Command, person: User, values: dict[str, str]) -> str:
    if not lines:
        return ""
    seen = (len(lines), lines[0].action, lines[0].actor_id, lines[0].actor_name, lines[0].way, str(lines[0].conversation_id))
    if seen != (1, command.action, person.pk, person.get_username(), "socket", values["conversation"]):
        return f" with {seen}"
    return ATTEMPT if lines[0].code == "E-PERM-VISIBILITY" else GRANT


@pytest.mark.asyncio
async def test_not_found_and_not_yours_are_the_same_bytes_on_the_socket(
    canary: Canary, ada: User, bela: User, hank: User, grace: User
) -> None:
    values = await settle_rows(canary, ada)
    nothing = {name: str(uuid4()) for name in values}
    for person in (bela, hank, grace):
        async with BrowserSocket(person) as socket:
            for command in COMMANDS:
                if command.type == "watch" and person == grace:
                    continue  # people who may open any conversation may know that it does not exist
                for ids in (values, nothing):
                    await socket.send(command.type, **filled(command.fields, ids | {"client_id": values["client_id"]}))
                    await socket.next()
                assert socket.raw[-1] == socket.raw[-2], command.type


@pytest.mark.asyncio
async def test_an_anonymous_socket_is_only_closed(db: None) -> None:
    async with BrowserSocket(None) as socket:
        for command in COMMANDS:
            await socket.send(command.type, conversation=str(uuid4()), client_id=str(uuid4()), effort="low", text="x")
        events = await socket.until("closed")
        assert {event.get("code") for event in events} <= {"E-X-SIGNED-OUT", consumer.CLOSE_SIGNED_OUT}


@pytest.mark.parametrize("way", ["sign-out", "password", "password set by the operator", "deactivated"])
@pytest.mark.asyncio
async def test_ending_a_session_closes_its_sockets(
    way: str, canary: Canary, ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way in ("deactivated", "password set by the operator"):
        monkeypatch.setattr(consumer, "CHECK_SECONDS", 0.05)  # these are noticed by the regular check
    ada.is_staff = True
    await database_sync_to_async(ada.save)()

    @database_sync_to_async
    def leave(cookie: str) -> None:
        client = client_for(None)
        client.cookies.load(cookie)
        assert client.get("/").status_code == 200, "the premise: it is a session"
        new = {"old_password": PASSWORD, "new_password1": "another good one", "new_password2": "another good one"}
        match way:
            case "sign-out":
                client.post("/sign-out/")
            case "password":
                assert client_for(ada).post("/password/", new).status_code == 302
            case "password set by the operator":
                ada.set_password("another good one")
                ada.save()
            case _:
                User.objects.filter(pk=ada.pk).update(is_active=False)

    async with BrowserSocket(ada) as socket:
        await leave(dict(socket._communicator.scope["headers"] or ())[b"cookie"].decode())
        assert (await socket.until("closed", timeout=3))[-1]["code"] == consumer.CLOSE_SIGNED_OUT


_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

SHAPES: dict[str, list[Sequence[Step]]] = {
    "one short thought": [frame(ANALYSIS, "hm"), []],
    "one long thought": [frame(ANALYSIS, "word " * 800), []],
    "many thoughts": [frame(ANALYSIS, "a b") * 60, frame(ANALYSIS, "c") * 20],
    "calls and replies": [[*frame(ANALYSIS, "x"), *frame(CALL, "{}"), *frame(REPLY, "y " * 500)], frame(CALL, '{"a": 1}') * 3],
    "one empty thought": [frame(ANALYSIS, ""), frame(ANALYSIS, "")],
}


async def _frames(person: User, backend: ScriptedBackend, before: Sequence[Step], between: Sequence[Step]) -> list[str]:
    """The events of one turn at a fixed pace, without ids and elapsed times."""
    start, middle, last = asyncio.Event(), asyncio.Event(), asyncio.Event()
    backend.script = [
        start,
        *before,
        *frame(PREAMBLE, "I look."),
        middle,
        *frame(ANALYSIS, "x"),
        *between,
        FINAL_OPEN,
        *frame(FINAL, "The answer.")[1:],
        last,
        ended(),
    ]
    async with BrowserSocket(person) as socket:
        await socket.send_message("A question?")
        accepted = (await socket.until("chatui:accepted"))[-1]
        for gate in (start, middle, last):
            await asyncio.wait_for(backend.waiting.wait(), 5)
            backend.waiting.clear()
            await asyncio.sleep(0.1)
            await socket.send("subscribe", conversation=accepted["conversation"])
            await socket.until("chatui:snapshot")
            gate.set()
        await socket.until(*ENDS)
        assert_allowed(socket.raw)
        events = [event for text in socket.raw for event in json.loads(text)]
    for event in events:
        for clock in ("elapsed", "seconds", "thought"):  # visible to anybody with a watch
            assert isinstance(event.pop(clock, 0), int)
        event.pop("url", None)
    return [_ID.sub("ID", json.dumps(event, sort_keys=True)) for event in events if event["type"] != "chatui:working"] + [
        str(sum(event["type"] == "chatui:working" for event in events))
    ]


FINAL_OPEN = frame(FINAL, "x")[0]


@pytest.mark.asyncio
async def test_turns_that_differ_only_in_hidden_text_look_the_same(ada: User, backend: ScriptedBackend) -> None:
    seen = {name: await _frames(ada, backend, *shape) for name, shape in SHAPES.items()}
    reference = seen.pop("one short thought")
    assert any("The answer." in event for event in reference) and reference[-1] == "2", "the premise: both stretches of work were announced"
    for name, events in seen.items():
        assert _last_of_each(events) == _last_of_each(reference), name


def _last_of_each(events: list[str]) -> list[str]:
    """Events without those whose number depends on the timing of the 50 ms frames: growing blocks, and their counters.

    When a question was asked, and when its answer was ready, is not secret.
    """
    remaining = [event for event in events if '"type": "response.delta"' not in event and '"type": "chatui:preamble.delta"' not in event]
    return [re.sub(r'"sequence_number": \d+|"updated_at": "[^"]*"|"at": "[^"]*"', "", event) for event in remaining]


@pytest.mark.asyncio
async def test_sequence_numbers_count_only_events_of_their_audience(canary: Canary, ada: User, backend: ScriptedBackend) -> None:
    gate = asyncio.Event()
    backend.script = [gate, *hidden_steps(canary), *frame(FINAL, "Shown."), *hidden_steps(canary), ended()]
    async with BrowserSocket(ada) as socket:
        await socket.send_message()
        accepted = (await socket.until("chatui:accepted"))[-1]
        await socket.send("subscribe", conversation=accepted["conversation"])
        first = (await socket.until("chatui:snapshot"))[-1]["sequence_number"]
        gate.set()
        numbers = [event["sequence_number"] for event in await socket.until(*ENDS) if "sequence_number" in event]
    assert numbers == list(range(first + 1, first + 1 + len(numbers)))


@pytest.mark.asyncio
async def test_without_an_audit_line_the_socket_sends_nothing_hidden(
    canary: Canary, layer: BusRecorder, ada: User, sam: User, grace: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = await settle_rows(canary, ada)
    await open_debug_view(grace, values["conversation"])

    refuse_log(monkeypatch)
    for person in (ada, sam, grace):
        async with BrowserSocket(person) as socket:
            await socket.send("watch", conversation=values["conversation"])
            assert (await socket.next())["code"] == "E-X-INTERNAL"
            await socket.silence(0.1)
            assert not canary.found(*socket.raw)


@pytest.fixture
def layer(monkeypatch: pytest.MonkeyPatch) -> BusRecorder:
    return BusRecorder(monkeypatch)


@pytest.mark.asyncio
async def test_the_audit_log_chain_holds_under_concurrent_requests(ada: User, bela: User, sam: User, hank: User) -> None:
    async def knock(person: User) -> None:
        async with BrowserSocket(person) as socket:
            for _ in range(5):
                code = "E-X-SERVER-BUSY"
                while code == "E-X-SERVER-BUSY":  # then nothing was shown, and nothing is in the log
                    await socket.send("watch", conversation=str(uuid4()))
                    code = (await socket.next(20))["code"]
                assert code == "E-PERM-VISIBILITY"

    await asyncio.gather(*(knock(person) for person in (ada, bela, sam, hank)))
    lines = [line async for line in AuditEvent.objects.order_by("number")]
    assert [line.number for line in lines] == list(range(1, 21))
    assert all(line.hash == digest(line) for line in lines)
    assert [line.previous_hash for line in lines] == [FIRST_HASH, *(line.hash for line in lines[:-1])]
