"""Compacted conversations: only the model can read the notes, not the client, a page or a title; and later requests keep them."""

import asyncio
import json

import pytest

from chatui.backends.base import EndReason
from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.turns import running
from tests.chatui.api.asking import Program, json_of, whole
from tests.chatui.api.functions import WEATHER, calling, first_call, weather
from tests.support.recorded_frames import unstored
from tests.support.scripted import FINAL, ScriptedBackend, answer, ended, frame

pytestmark = pytest.mark.django_db(transaction=True)

COMPACT = "/v1/responses/compact"
QUESTION = {"role": "user", "content": "Go on."}


async def test_notes_passed_back_by_a_client_reach_only_the_model(program: Program, backend: ScriptedBackend) -> None:
    backend.script = answer("They added marmalade.", "hidden")
    compacted = await program.ask({"model": "", "input": "Long."}, COMPACT)
    backend.script = answer("It is four.", "hidden")
    stored = await program.ask({"input": [*compacted["output"], QUESTION]})
    sent = backend.requests[-1].frames
    assert [frame.header.role for frame in sent] == ["user", "user"] and "They added marmalade." in sent[0].body
    path = f"/v1/responses/{stored['id']}"
    for address in (path, f"{path}/input_items"):
        assert b"marmalade" not in await whole(await program.get(address))
    conversation = await Conversation.objects.exclude(title__startswith="Long").aget()
    assert conversation.title == "Go on."
    assert not await Message.objects.filter(conversation=conversation, text__contains="marmalade", is_visible=True).aexists()
    assert unstored(frames=tuple(sent)).own_questions == ("Go on.",), "a model composes no address that a browser may open"
    await program.ask({"model": "", "previous_response_id": stored["id"]}, COMPACT)
    again = [frame.body for frame in backend.requests[-1].frames]
    assert again[0].count("[Notes") == 1 and "They added marmalade." in again[0] and again[1:3] == ["Go on.", "It is four. "]


async def test_calls_and_function_replies_are_compacted_too(program: Program, backend: ScriptedBackend) -> None:
    backend.script = calling(weather())
    first = await first_call(program)
    output = {"type": "function_call_output", "call_id": first["output"][-1]["call_id"], "output": "20 °C"}
    backend.script = answer("Sunny.", "hidden")
    second = await program.ask({"input": [output], "previous_response_id": first["id"], "tools": [WEATHER]})
    response = await program.post(COMPACT, {"model": "", "previous_response_id": second["id"]})
    assert response.status_code == 200, json_of(response)
    sent = [(frame.header.role, frame.body) for frame in backend.requests[-1].frames]
    assert [role for role, _ in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert json.loads(sent[1][1]) == {"city": "Tokyo"} and sent[2][1] == "20 °C"
    await program.delete(f"/v1/responses/{first['id']}")
    assert (await program.post(COMPACT, {"model": "", "previous_response_id": second["id"]})).status_code == 200


async def test_truncated_notes_are_discarded(program: Program, backend: ScriptedBackend) -> None:
    backend.script = [*frame(FINAL, "They added")[:-1], ended(EndReason.LENGTH)]
    response = await program.post(COMPACT, {"model": "", "input": "Long."})
    assert response.status_code >= 400 and b"They added" not in await whole(response)


async def test_a_running_response_is_compacted_only_after_its_end(program: Program, backend: ScriptedBackend) -> None:
    may_continue = asyncio.Event()
    backend.script = [may_continue, *answer("It is four.")]
    created = await program.ask({"input": "Two and two?", "background": True})
    response = await program.post(COMPACT, {"model": "", "previous_response_id": created["id"]})
    assert response.status_code == 409
    may_continue.set()
    await running.settle()
