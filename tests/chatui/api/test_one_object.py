"""A response is one object: the same items with the same ids in the same order, whichever way a program reads it."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import pytest
from channels.db import database_sync_to_async
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chatui.accounts import api_keys
from chatui.backends.base import EndReason
from chatui.models.message import Message
from chatui.models.user import User
from chatui.turns import runner
from renderer.activities.activity import Activity
from renderer.events import FrameClosed, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import ANALYSIS, ANSWER, PREAMBLE
from renderer.frames import Header, Terminator
from tests.chatui.api.asking import Program, events_of, json_of, key_of, whole
from tests.chatui.api.functions import CLOCK, WEATHER, calling, ids_of, weather
from tests.chatui.api.test_socket import connected
from tests.chatui.api.test_summaries import FIRST, LINES, SECOND, THIRD, lines_of
from tests.chatui.turns.calls.calling import RAN, call, fails, fetch
from tests.support import offering
from tests.support.limits import limit
from tests.support.scripted import ScriptedBackend, Step, answer, ended, frame

MAX_UNSAVED = limit("chatui.turns", "MAX_UNSAVED")

pytestmark = pytest.mark.django_db(transaction=True)


class Marked:
    """A stage that shows the next line at each mark in the reasoning."""

    def __init__(self, show: Callable[[Activity], None]) -> None:
        self._show = show
        self._waiting, self._shown = [FIRST, SECOND, THIRD], list[Activity]()

    def note_taken(self, is_taken: bool, show: object) -> None:
        """No line is shown before the model has said something."""

    def feed(self, event: RawEvent) -> Sequence[RawEvent]:
        if isinstance(event, FrameText) and event.text.strip() == MARK:
            self._shown.append(self._waiting.pop(0))
            self._show(self._shown[-1])
        return [event]

    def finish(self) -> Sequence[RawEvent]:
        return ()

    def lines(self) -> Sequence[Activity]:
        shown, self._shown = self._shown, []
        return shown

    async def aclose(self) -> None:
        pass


MARK = "¶"
ONE, TWO, ALL = (frame(ANALYSIS, f"Hm {marks}") for marks in (MARK, f"{MARK} {MARK}", f"{MARK} {MARK} {MARK}"))
LOOK, DONE = frame(PREAMBLE, "I look."), answer("By train.")[-5:]
AFTER_ALL: list[Step] = [*frame(ANSWER, "I look.")[:-1], FrameClosed(Terminator.END, header=PREAMBLE)]
SAMPLINGS: dict[str, list[list[Step]]] = {
    "no preamble": [[*ALL, *DONE]],
    "a preamble before them": [[*LOOK, *ALL, *DONE]],
    "a preamble between them": [[*ONE, *LOOK, *TWO, *DONE]],
    "a preamble after all": [[*ONE, *AFTER_ALL, *TWO, *DONE]],
    "a tool round before them": [calling(call("fetch", "c1", key="a"), preamble=LOOK), [*ALL, *DONE]],
    "a tool round between them": [calling(call("fetch", "c1", key="a"), preamble=[*ONE, *AFTER_ALL]), [*TWO, *DONE]],
}


DONE_ALONE = frame(ANSWER, "By train.", Terminator.RETURN)
HIDDEN = Header("assistant", "commentary")
ROUNDS = [["fetch"], ["fails"], ["nothing"], ["nothing", "fetch"]]
"""Calls of one sampling: no two that run, whose replies come in any order."""


@st.composite
def samplings(draw: st.DrawFn) -> list[list[Step]]:
    """What a model may write in a turn, in one or more samplings: at most three lines of a summary appear in it."""
    marks, numbers = iter([MARK] * 3), count()
    pieces: dict[str, Callable[[], Sequence[Step]]] = {
        "thought": lambda: frame(ANALYSIS, "Hm"),
        "line": lambda: frame(ANALYSIS, f"Hm {next(marks, '')} so"),
        "preamble": lambda: frame(PREAMBLE, "I look."),
        "after all": lambda: AFTER_ALL,
        "blank": lambda: frame(PREAMBLE, " "),
        "withdrawn": lambda: [*frame(ANSWER, "I mean")[:1], FrameWithdrawn(), FrameText("hm"), FrameClosed(Terminator.END)],
        "hidden": lambda: frame(HIDDEN, "hm"),
    }

    def written() -> list[Step]:
        return [step for name in draw(st.lists(st.sampled_from(sorted(pieces)), max_size=4)) for step in pieces[name]()]

    def called(name: str) -> list[Step]:
        return call(name, f"c{next(numbers)}", **({} if name == "clock" else {"key": "a"}))

    rounds = draw(st.lists(st.sampled_from(ROUNDS), max_size=2))
    found = [[*written(), *(step for name in names for step in called(name)), ended(EndReason.TOOL_CALLS)] for names in rounds]
    last: dict[str, Callable[[], Sequence[Step]]] = {
        "answer": lambda: [*DONE_ALONE, ended()],
        "cut": lambda: [*DONE_ALONE[:2], FrameClosed(None), ended(EndReason.LENGTH)],
        "cut thought": lambda: [*frame(ANALYSIS, "Hm")[:-1], FrameClosed(None), ended(EndReason.LENGTH)],
        "calls": lambda: [*called("clock"), *called("clock"), ended(EndReason.TOOL_CALLS)],
        "both": lambda: [*called("clock"), *called("fetch"), ended(EndReason.TOOL_CALLS)],
    }
    return [*found, [*written(), *last[draw(st.sampled_from(sorted(last)))]()]]


async def in_background(program: Program, body: dict[str, Any]) -> str:
    """The path of a response that has ended."""
    path = f"/v1/responses/{(await program.ask(body | {'background': True}))['id']}"
    for _ in range(400):
        if json_of(await program.get(path))["status"] not in ("queued", "in_progress"):
            return path
        await asyncio.sleep(0.02)
    raise AssertionError("it does not end")


@pytest.fixture
def key(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> str:
    offering.offer(monkeypatch, fetch, fails)
    monkeypatch.setattr(runner, "summary_of", lambda *arguments: Marked(arguments[-1]))
    monkeypatch.setattr(api_keys, "MAX_PER_MINUTE", 1_000_000)
    return key_of(ada, tools=("fetch", "fails"), per_minute=1_000_000)


async def read_in_every_way(key: str, backend: ScriptedBackend, samplings: Sequence[Sequence[Step]]) -> dict[str, dict[str, Any]]:
    """The same turn, asked for in each way; every response is also read again, and must then be the same object."""
    program, found = Program(key), dict[str, dict[str, Any]]()
    body = {"input": "Trains or buses?", "reasoning": {"summary": "auto"}, "tools": [CLOCK]}

    def again() -> None:
        RAN.clear()
        backend.script, backend.following = list(samplings[0]), [list(each) for each in samplings[1:]]

    again()
    found["POST"] = await program.ask(body)
    again()
    found["stream"] = of_stream(await program.stream(body))
    again()
    async with connected(key) as socket:
        found["socket"] = of_stream(await socket.ask({"type": "response.create", **body}))
    again()
    path = await in_background(program, body)
    found["background"] = of_stream(events_of(await whole(await program.get(f"{path}?stream=true"))))
    for way, response in found.items():
        assert json_of(await program.get(f"/v1/responses/{response['id']}")) == response, way
    return found


def of_stream(events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The object at the end of a stream, whose items were announced under the same ids."""
    response: dict[str, Any] = events[-1]["response"]
    for kind in ("added", "done"):
        announced = [event["item"]["id"] for event in events if event["type"] == f"response.output_item.{kind}"]
        assert announced == [item["id"] for item in response["output"]]
    parts = {event["item_id"] for event in events if "item_id" in event}
    assert parts <= {item["id"] for item in response["output"]}
    return response


def without_ids(response: dict[str, Any]) -> tuple[Any, ...]:
    output = [{name: value for name, value in item.items() if name not in ("id", "call_id")} for item in response["output"]]
    return response["status"], response["usage"], output


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(samplings=samplings())
async def test_a_response_is_one_object(samplings: list[list[Step]], key: str, backend: ScriptedBackend) -> None:
    found = await read_in_every_way(key, backend, samplings)
    assert all(without_ids(response) == without_ids(found["POST"]) for response in found.values())
    ids = [item["id"] for item in found["POST"]["output"]]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("samplings", SAMPLINGS.values(), ids=SAMPLINGS)
async def test_every_way_to_read_a_response_has_the_same_lines(samplings: list[list[Step]], key: str, backend: ScriptedBackend) -> None:
    for response in (await read_in_every_way(key, backend, samplings)).values():
        assert lines_of(response["output"]) == LINES
        assert response["output"][-1]["type"] == "message" and response["output"][-1]["phase"] == "final_answer"


async def test_a_tool_of_the_product_leaves_a_receipt_without_its_arguments(key: str, backend: ScriptedBackend) -> None:
    rounds = [calling(call("fetch", "c1", key="marmalade")), calling(call("fails", "c2", key="marmalade")), answer("Done.")]
    for response in (await read_in_every_way(key, backend, rounds)).values():
        receipts = [item for item in response["output"] if item["type"] == "chatui:tool_call"]
        assert [(item["status"], set(item)) for item in receipts] == [
            (s, {"id", "type", "status", "label"}) for s in ("completed", "failed")
        ]
        assert "armalade" not in str(response["output"]) and receipts[0]["label"]


async def test_over_a_socket_a_tool_loop_keeps_its_reasoning_although_nothing_is_stored(key: str, backend: ScriptedBackend) -> None:
    async with connected(key) as socket:
        backend.script = [*frame(ANALYSIS, "the hidden marmalade"), *call("clock", "c1"), ended(EndReason.TOOL_CALLS)]
        events = await socket.ask({"type": "response.create", "input": "?", "store": False, "tools": [CLOCK]})
        assert "encrypted_content" not in str(events), "it was not asked for"
        call_id = events[-1]["response"]["output"][-1]["call_id"]
        backend.script = answer("Noon.")
        reply = [{"type": "function_call_output", "call_id": call_id, "output": "noon"}]
        previous = events[-1]["response"]["id"]
        await socket.ask({"type": "response.create", "input": reply, "previous_response_id": previous, "store": False, "tools": [CLOCK]})
    sent = [(each.header.channel, each.body.strip()) for each in backend.requests[-1].frames]
    assert ("analysis", "the hidden marmalade") in sent


async def test_a_cancelled_response_is_the_object_that_is_stored(key: str, backend: ScriptedBackend) -> None:
    never = asyncio.Event()
    backend.script = [*frame(ANALYSIS, "Hm"), *frame(PREAMBLE, "I look."), *frame(ANSWER, "By train.")[:2], never]
    program = Program(key)
    path = f"/v1/responses/{(await program.ask({'input': 'Trains?', 'background': True}))['id']}"
    await asyncio.wait_for(backend.waiting.wait(), 10)
    cancelled = json_of(await program.post(f"{path}/cancel", {}))
    streamed = of_stream(events_of(await whole(await program.get(f"{path}?stream=true"))))
    assert cancelled == json_of(await program.get(path)) == streamed
    assert cancelled["status"] == "cancelled" and backend.closed == 1
    assert [(item["type"], item["status"]) for item in cancelled["output"]] == [
        ("reasoning", "completed"), ("message", "completed"), ("message", "incomplete"),
    ]  # fmt: skip


async def test_stored_items_are_referred_to_by_their_ids(key: str, ada: User, bela: User, backend: ScriptedBackend) -> None:
    program = Program(key)
    backend.script = [*frame(ANALYSIS, "Hm"), *call("clock", "c1"), ended(EndReason.TOOL_CALLS)]
    first = await program.ask({"input": "What time is it?", "tools": [CLOCK]})
    (question,) = json_of(await program.get(f"/v1/responses/{first['id']}/input_items"))["data"]
    references = [{"type": "item_reference", "id": item["id"]} for item in (question, *first["output"])]
    items = [references[0], *({"id": item["id"]} for item in references[1:]), {"type": "acme:telemetry", "id": "tc_123"}]
    body = {"input": [*items, {"type": "function_call_output", "call_id": ids_of(first)[0], "output": "noon"}], "tools": [CLOCK]}
    backend.script = answer("Noon.")
    await program.ask(body)
    sent = [(each.header.role, each.header.recipient, each.body) for each in backend.requests[-1].frames]
    assert sent == [("user", None, "What time is it?"), ("assistant", "functions.clock", "{} "), ("tool", "assistant", "noon")]
    other_keys = [await database_sync_to_async(key_of)(person) for person in (ada, bela)]
    wrong = {"input": [{"type": "item_reference", "id": "msg_1"}, {"role": "user", "content": "?"}]}
    refused = [(program, wrong), *((Program(other), body) for other in other_keys)]
    for asking, refused_body in refused:
        response = await asking.post("/v1/responses", refused_body)
        assert (response.status_code, json_of(response)["error"]["code"]) == (404, "item_not_found")


async def test_arguments_that_were_not_checked_are_in_no_response_and_no_reference(key: str, backend: ScriptedBackend) -> None:
    """A summary line that appears in such a call tells its key."""
    program, (opened, *_) = Program(key), weather("c1")
    unchecked = [opened, FrameText('{"city": 5, "thought": "marmalade"}'), FrameText(MARK), FrameClosed(Terminator.CALL)]
    backend.script = [*frame(ANALYSIS, "Hm"), *LOOK, *unchecked, ended(EndReason.TOOL_CALLS)]
    backend.following = [answer("Done.")]
    body = {"input": "?", "tools": [WEATHER], "reasoning": {"summary": "auto"}}
    ids = [item["id"] for item in (await program.ask(body))["output"] if item["type"] == "reasoning"]
    assert ids
    for each in ids:
        backend.script = answer("Ok.")
        referring = {"input": [{"id": each.replace("rs_", "fc_")}, {"role": "user", "content": "?"}], "tools": [WEATHER]}
        assert (await program.post("/v1/responses", referring)).status_code == 404
    never = asyncio.Event()
    hidden = [step for _ in range(MAX_UNSAVED + 3) for step in frame(ANALYSIS, "Hm")]
    backend.script, backend.waiting = [*frame(ANALYSIS, "Hm"), *unchecked, *hidden, never], asyncio.Event()
    path = f"/v1/responses/{(await program.ask({**body, 'background': True}))['id']}"
    await asyncio.wait_for(backend.waiting.wait(), 10)
    async with asyncio.timeout(10):
        while not await Message.objects.filter(text__contains="marmalade", turn__state="running").aexists():
            await asyncio.sleep(0.05)
    assert b"marmalade" not in await whole(await program.get(path))
    await program.post(f"{path}/cancel", {})


async def test_references_do_not_multiply_a_text_without_limit(key: str, backend: ScriptedBackend) -> None:
    program = Program(key)
    backend.script = answer("Long. " * 20_000)
    first = await program.ask({"input": "?"})
    reference = {"type": "item_reference", "id": first["output"][-1]["id"]}
    for references, status in (([reference] * 2, 200), ([reference] * 20, 413), ([{"type": "item_reference", "id": ["x"]}], 404)):
        backend.script = answer("Ok.")
        assert (await program.post("/v1/responses", {"input": [*references, {"role": "user", "content": "?"}]})).status_code == status


@pytest.mark.parametrize(("tier", "status"), [("auto", 200), ("flex", 200), (None, 200), ("gold", 400), (3, 400)])
async def test_an_unknown_service_tier_is_refused(tier: object, status: int, key: str) -> None:
    for path, body in (("/v1/responses", {"input": "?"}), ("/v1/chat/completions", {"messages": [{"role": "user", "content": "?"}]})):
        response = await Program(key).post(path, {**body, "service_tier": tier})
        assert response.status_code == status
        assert status == 200 or json_of(response)["error"]["param"] == "service_tier"
