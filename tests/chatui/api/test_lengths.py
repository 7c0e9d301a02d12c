"""How long the messages of a program may be: as long as the model can read, whatever a person may type, and a refusal says how long."""

import pytest

from chatui.backends.base import BackendError, ContextUse
from chatui.codes import ProductCode
from chatui.env import environment
from chatui.models.message import Message
from tests.chatui.api.asking import Program, json_of
from tests.support.limits import limit
from tests.support.scripted import ScriptedBackend

MAX_CHARS = limit("chatui.api", "MAX_CHARS")

pytestmark = pytest.mark.django_db(transaction=True)

CHAT = "/v1/chat/completions"


async def test_a_message_may_be_longer_than_a_person_may_type(program: Program, backend: ScriptedBackend) -> None:
    text = "word " * 14_000
    assert len(text) > environment().max_message_chars, "the premise"
    await program.ask({"input": text, "store": False})
    await program.ask({"messages": [{"role": "user", "content": text}], "store": False}, CHAT)
    assert [request.frames[-1].body for request in backend.requests] == [text, text]


@pytest.mark.parametrize(("path", "field"), [("/v1/responses", "input"), (CHAT, "messages")])
async def test_what_no_model_reads_is_refused_with_numbers_and_not_stored(program: Program, path: str, field: str) -> None:
    half = {"role": "user", "content": "x" * (MAX_CHARS // 2 + 1)}
    refused = await program.post(path, {field: [half, half]})
    error = json_of(refused)["error"]
    assert (refused.status_code, error["code"], error["param"]) == (400, "context_length_exceeded", field)
    assert f"{MAX_CHARS + 2} characters" in error["message"] and await Message.objects.acount() == 0


@pytest.mark.parametrize("body", [{}, {"stream": True}, {"truncation": "auto"}])
async def test_instructions_may_be_no_longer_than_messages(program: Program, body: dict[str, object]) -> None:
    refused = await program.post("/v1/responses", {"input": "Hi", "instructions": "x" * (MAX_CHARS + 1)} | body)
    error = json_of(refused)["error"]
    assert (refused.status_code, error["code"], error["param"]) == (400, "context_length_exceeded", "instructions")
    assert await Message.objects.acount() == 0


@pytest.mark.parametrize(
    ("code", "context", "words"),
    [
        (
            ProductCode.QUESTION_TOO_LONG,
            ContextUse(3000, 5000),
            "About 3000 tokens of input fit, and the last message alone has about 5000.",
        ),
        (ProductCode.CONVERSATION_TOO_LONG, ContextUse(3000, 0), "About 3000 tokens of input fit."),
        (ProductCode.CONVERSATION_TOO_LONG, None, "(E-X-CONVERSATION-TOO-LONG)"),
    ],
)
async def test_a_refusal_of_the_model_has_the_code_that_clients_know_and_its_numbers(
    program: Program, backend: ScriptedBackend, code: ProductCode, context: ContextUse | None, words: str
) -> None:
    backend.script = [BackendError(code, "", context=context)]
    refused = await program.post("/v1/responses", {"input": "Hi"})
    error = json_of(refused)["error"]
    assert (refused.status_code, error["code"], error["param"]) == (400, "context_length_exceeded", "input") and error["message"].endswith(
        words
    )
    events = await program.stream({"input": "Hi"})
    assert events[-2]["error"]["code"] == events[-1]["response"]["error"]["code"] == "context_length_exceeded"
    (*_, failed) = await program.stream({"messages": [{"role": "user", "content": "Hi"}]}, CHAT)
    assert (failed["error"]["code"], failed["error"]["param"]) == ("context_length_exceeded", "messages")
