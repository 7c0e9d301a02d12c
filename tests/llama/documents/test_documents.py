"""Whole turns with documents against a real llama.cpp server, over each wire format: what is sent, and what the server has cached."""

import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import httpx
import pytest
from channels.db import database_sync_to_async

from chatui.backends import registry
from chatui.backends.base import Endpoint
from chatui.codes import ProductCode
from chatui.model_servers import connected
from chatui.models.message import Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.store import documents
from chatui.turns import running
from chatui.turns.asks import Ask, AskKind, AskRefusedError, QuestionFile
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.store.uploads import uploaded
from tests.llama.asked import LIMITS
from tests.llama.documents.recording_proxy import RecordingProxy, recording_proxy
from tests.llama.fixture import CONTEXT
from tests.support import environment
from tests.support.turns import ask, run

pytestmark = [pytest.mark.llama, pytest.mark.django_db(transaction=True)]

CONTROL_TOKENS = 199_998
"""The id of the first control token; ordinary text has lower ids."""
LONG = "\n".join(f"Line {number} of a report that nobody can read at once." for number in range(2000))
TRIES = 100
"""How often an answer is regenerated: on an unknown document, some of the tiny model's output cannot be parsed."""
ANSWERED = {"", ProductCode.ONLY_THINKING, ProductCode.LENGTH}
"""The codes of turns whose request the server has read and answered. These tests are about the request: on an unknown document, the tiny
model mostly writes only reasoning, and whether it ever writes more is left to chance."""
ANSWER_TOKENS = 40
bring = database_sync_to_async(uploaded)


@pytest.fixture(params=["chat", "responses", "harmony-llamacpp"])
async def server(
    request: pytest.FixtureRequest, llama_server: str, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[RecordingProxy]:
    async with recording_proxy(llama_server) as proxy:
        endpoint = Endpoint(proxy.url, model="gpt-oss-tiny", limits=LIMITS)
        backend = registry.build(endpoint, kind=request.param, vocabulary=lambda: vocabulary)
        environment.change(monkeypatch, {"backend_url": proxy.url, "backend_context_tokens": CONTEXT, "max_answer_tokens": ANSWER_TOKENS})
        monkeypatch.setattr(connected, "backend", lambda choice="": backend)
        monkeypatch.setattr(connected, "gpt_oss_vocabulary", lambda: vocabulary)
        yield proxy
        await running.settle()
        await backend.aclose()


async def answered(person: User, question: Ask) -> Turn:
    """The first turn to whose request the model has written something that can be parsed, at least reasoning."""
    turn = await run(person, question)
    for _ in range(TRIES):
        if turn.error_code in ANSWERED:
            break
        place = {"conversation": turn.conversation_id, "question": turn.question_id}
        turn = await run(person, ask(AskKind.REGENERATE, "", **place))
    written = [message async for message in Message.objects.filter(turn=turn, role="assistant")]
    assert turn.error_code in ANSWERED and written, turn.error_code
    return turn


def texts_of(body: dict[str, Any], vocabulary: Vocabulary) -> str:
    """All text of a request. From token ids, the ordinary ones are decoded."""
    if "prompt" in body:
        return vocabulary.decode([each for each in body["prompt"] if each < CONTROL_TOKENS]).decode()
    return "\n".join(str(message["content"]) for message in body.get("messages") or body["input"])


async def prompt_tokens_read(llama_server: str) -> int:
    """How many prompt tokens the server has processed since it started, not counting cached ones."""
    async with httpx.AsyncClient() as client:
        metrics = (await client.get(f"{llama_server}/metrics")).text
    return int(next(line for line in metrics.splitlines() if line.startswith("llamacpp:prompt_tokens_total ")).split()[1])


async def test_the_second_turn_hits_the_prefix_and_a_deleted_document_is_in_no_later_request(
    ada: User, server: RecordingProxy, llama_server: str, vocabulary: Vocabulary
) -> None:
    texts = [f"{uuid4().hex} " + "What this document says of the meeting. " * 80 for _ in range(2)]
    files = [await bring(ada, f"{number}.txt", text) for number, text in enumerate(texts)]
    before = await prompt_tokens_read(llama_server)
    first = await answered(ada, ask(text="ping", files=tuple(QuestionFile(file.pk) for file in files)))
    [body, *_] = server.requests()
    assert all(text in texts_of(body, vocabulary) for text in texts)
    of_first = await prompt_tokens_read(llama_server) - before
    assert of_first > 1000, "it had none of it"

    server.forget()
    before = await prompt_tokens_read(llama_server)
    await answered(ada, ask(text="Hello!", conversation=first.conversation_id))
    [body, *_] = server.requests()
    assert all(text in texts_of(body, vocabulary) for text in texts)
    of_second = await prompt_tokens_read(llama_server) - before
    assert of_second < of_first / 4, "it had the documents already"
    assert all(count > 1000 for count in server.cached()), "servers that report cached tokens report them"

    server.forget()
    await database_sync_to_async(documents.delete)(files[1])
    await answered(ada, ask(text="ping", conversation=first.conversation_id))
    bodies = server.requests()
    assert bodies and all(texts[0] in texts_of(body, vocabulary) for body in bodies)
    assert not any(texts[1][:32] in texts_of(body, vocabulary) for body in bodies)


async def test_the_beginning_of_a_document_longer_than_the_context_is_sent(
    ada: User, server: RecordingProxy, vocabulary: Vocabulary
) -> None:
    file = await bring(ada, "long.txt", LONG)
    with pytest.raises(AskRefusedError) as refused:
        await run(ada, ask(text="ping", files=(QuestionFile(file.pk),)))
    assert refused.value.code is ProductCode.TOO_LARGE and server.requests() == []
    turn = await answered(ada, ask(text="ping", files=(QuestionFile(file.pk, "first"),)))
    assert turn.turns_left_out == 0 and CONTEXT / 2 < (turn.input_tokens or 0) < CONTEXT
    for body in server.requests():
        sent = texts_of(body, vocabulary)
        given = sent.partition("\n\nLine 0 of")[2].rpartition("Line ")[0]
        assert "Only its beginning is here" in sent and LONG.startswith(f"Line 0 of{given}") and len(given) > 4000
        assert "ping" in sent and "Line 1999 " not in sent


async def test_a_document_longer_than_the_context_can_be_searched(ada: User, server: RecordingProxy, vocabulary: Vocabulary) -> None:
    file = await bring(ada, "long.txt", LONG)
    await answered(ada, ask(text="ping", files=(QuestionFile(file.pk, "search"),)))
    bodies = server.requests()
    assert bodies
    for body in bodies:
        sent = texts_of(body, vocabulary)
        assert "search in it" in sent and "Line 0 of" not in sent and "ping" in sent
        assert "find_in_documents" in (sent if "prompt" in body else json.dumps(body["tools"]))
