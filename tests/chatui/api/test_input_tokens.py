"""The estimate of a request's tokens: of what the program sent and was shown, and of nothing hidden."""

from typing import Any

import pytest

from chatui.models.turn import Turn
from chatui.models.user import User
from tests.chatui.api.asking import Program, json_of, new_key
from tests.chatui.api.functions import SECRET, WEATHER
from tests.support.scripted import ScriptedBackend, answer

pytestmark = pytest.mark.django_db(transaction=True)

PATH = "/v1/responses/input_tokens"


async def counted(program: Program, **body: Any) -> int:
    response = await program.post(PATH, body)
    found = json_of(response)
    assert response.status_code == 200 and found.keys() == {"object", "input_tokens"} and found["object"] == "response.input_tokens", found
    return int(found["input_tokens"])


async def test_what_is_sent_counts_and_no_model_is_asked(program: Program, backend: ScriptedBackend) -> None:
    short, long = await counted(program, input="Hello."), await counted(program, input="Hello. " * 100)
    assert 0 < short < 30 and 100 < long < 400
    assert await counted(program, input="Hello.", instructions="Be brief. " * 50) > short + 50
    assert await counted(program, input="Hello.", tools=[WEATHER]) > short + 10
    assert await counted(program, input=[{"role": "user", "content": "Hello."}]) == short
    assert not backend.requests and not await Turn.objects.aexists()


async def test_what_it_continues_counts_as_far_as_the_program_may_see_it(program: Program, backend: ScriptedBackend) -> None:
    alone = await counted(program, input="And?")
    numbers = []
    for secret in (SECRET, SECRET * 2000):
        backend.script = answer("It is four, as everybody knows. " * 5, secret)
        first = await program.ask({"input": "What is two and two?"})
        numbers.append(await counted(program, input="And?", previous_response_id=first["id"]))
    assert alone + 30 < numbers[0] == numbers[1] < alone + 150, "reasoning changes nothing"
    conversation = json_of(await program.post("/v1/conversations", {"items": [{"role": "user", "content": "My name is Ada. " * 20}]}))["id"]
    before = await counted(program, input="And?", conversation=conversation)
    assert before > alone + 50
    backend.script = answer("It is four, as everybody knows. " * 5, SECRET * 2000)
    await program.ask({"input": "What is two and two?", "conversation": conversation})
    assert before + 30 < await counted(program, input="And?", conversation=conversation) < before + 150


async def test_what_a_key_may_not_read_is_not_counted(program: Program, ada: User) -> None:
    first = await program.ask({"input": "Hello."})
    conversation = json_of(await program.post("/v1/conversations", {}))["id"]
    other, chat = Program(await new_key(ada)), Program(await new_key(ada, for_responses=False))
    for body in ({"previous_response_id": first["id"]}, {"conversation": conversation}):
        assert (await other.post(PATH, {"input": "?"} | body)).status_code == 404
    assert (await chat.post(PATH, {"input": "?"})).status_code == 403
    assert (await program.post(PATH, {"input": "?", "model": "none"})).status_code == 404
    assert (await program.post(PATH, {"input": 5})).status_code == 400
