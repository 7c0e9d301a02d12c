"""The bytes sent to a model server when a document does not fit: its beginning, or the search results, in each wire format."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from channels.db import database_sync_to_async

from chatui.backends.base import Backend, Endpoint
from chatui.backends.chat.backend import ChatCompletionsBackend
from chatui.backends.harmony.backend import HarmonyCompletionsBackend
from chatui.backends.responses.backend import ResponsesBackend
from chatui.documents.reading import TextPart
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.store.documents import SEARCH_NAME
from chatui.tools.document_search import NAME
from chatui.turns.asks import QuestionFile
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.wire import VLLM, event, ids_of, posts, sse, vllm
from tests.chatui.store.uploads import uploaded_with
from tests.chatui.turns.calls.test_wire_formats import model
from tests.chatui.turns.test_document_bytes import text_of
from tests.chatui.turns.test_turns import ask, run
from tests.support import environment
from tests.support.stub import DONE, Stub, chunk

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]

FOUND, ELSEWHERE = "The price of tea fell by 7%.", "An introduction to trade. " * 400
QUERY = json.dumps({"query": "tea price"})
ANSWER = "It fell."


@pytest.fixture(autouse=True)
def _no_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave room for the beginning of the document only."""
    environment.change(monkeypatch, {"backend_url": "http://127.0.0.1:9", "backend_context_tokens": 3000})


async def two_turns(person: User, use: str) -> None:
    """A question with a document that does not fit, and a following question."""
    parts = (TextPart("page 1", ELSEWHERE), TextPart("page 2", FOUND))
    file = await database_sync_to_async(uploaded_with)(person, "report.pdf", *parts, kind="pdf")
    first = await run(person, ask(text="Did it fall?", files=(QuestionFile(file.pk, use),)))
    last = await run(person, ask(text="And then?", conversation=first.conversation_id))
    assert (first.state, last.state) == ("completed", "completed")
    assert await Turn.objects.acount() == 2


def searches(sent: list[str], tools: list[str]) -> None:
    """A request that searches, one with the results, and one of a later turn, each as text."""
    first, found, later = sent
    assert all("search in it" in text and "An introduction to trade." not in text for text in sent)
    assert FOUND not in first and all(FOUND in text and "report.pdf, page 2" in text for text in (found, later))
    assert all(NAME in text for text in tools)


def begins(sent: list[str]) -> None:
    """Both requests of the two turns, each as text."""
    first, again = sent
    given = first.partition("[page 1]")[2].partition("Did it fall?")[0]
    assert "Only its beginning is here" in first and given.count("trade") > 100 and FOUND not in first
    assert given.strip("[]{}\\n\"', ")[:2000] in again, "the later prompt has the very same beginning"


async def chat(monkeypatch: pytest.MonkeyPatch, person: User, use: str) -> Stub:
    call = {"index": 0, "id": "c", "function": {"name": NAME, "arguments": QUERY}}
    answers = [chunk("stop", content=ANSWER) + DONE] * 2
    first = [chunk("tool_calls", tool_calls=[call]) + DONE] if use == "search" else []
    async with model(monkeypatch, ChatCompletionsBackend, *first, *answers) as server:
        await two_turns(person, use)
    return server


async def responses(monkeypatch: pytest.MonkeyPatch, person: User, use: str) -> Stub:
    def answer(item: dict[str, Any]) -> bytes:
        done = event("response.output_item.done", output_index=0, item=item)
        return done + event("response.completed", response={"status": "completed", "model": "stub"})

    call = answer({"type": "function_call", "id": "f", "call_id": "c", "name": NAME, "arguments": QUERY})
    message = answer({"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]})
    async with model(monkeypatch, ResponsesBackend, *([call] if use == "search" else []), message, message) as server:
        await two_turns(person, use)
    return server


@pytest.mark.parametrize(("peer", "field"), [(chat, "messages"), (responses, "input")])
async def test_only_the_search_results_are_sent(peer: Callable[..., Any], field: str, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = posts(await peer(monkeypatch, ada, "search"))
    searches([json.dumps(post[field]) for post in sent], [json.dumps(post["tools"]) for post in sent])


@pytest.mark.parametrize(("peer", "field"), [(chat, "messages"), (responses, "input")])
async def test_the_beginning_is_sent_and_stays_the_same(
    peer: Callable[..., Any], field: str, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    begins([json.dumps(post[field]) for post in posts(await peer(monkeypatch, ada, "first"))])


@pytest.mark.parametrize("use", ["search", "first"])
async def test_token_ids(use: str, ada: User, monkeypatch: pytest.MonkeyPatch, vocabulary: Vocabulary) -> None:
    def token_stream(text: str, stop: int) -> bytes:
        return sse(vllm(*ids_of(vocabulary, text), finish="stop", stop=stop)) + DONE

    def make_backend(endpoint: Endpoint) -> Backend:
        return HarmonyCompletionsBackend(endpoint, vocabulary=lambda: vocabulary)

    call = token_stream(f"<|channel|>commentary to={SEARCH_NAME} <|constrain|>json<|message|>{QUERY}<|call|>", 200012)
    final = token_stream(f"<|channel|>final<|message|>{ANSWER}<|return|>", 200002)
    async with model(monkeypatch, make_backend, *([call] if use == "search" else []), final, final, **VLLM) as server:
        await two_turns(ada, use)
    sent = [text_of(vocabulary, post["prompt"]) for post in posts(server)]
    if use == "search":
        searches(sent, sent)
    else:
        begins(sent)
