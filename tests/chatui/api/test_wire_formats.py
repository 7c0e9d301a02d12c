"""API clients get nothing of a model's reasoning in any wire format: recorded streams, read by the real backends."""

import json

import pytest

from chatui.backends import registry
from chatui.backends.base import Endpoint
from chatui.model_servers import connected
from chatui.models.message import Message
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.api.asking import Program, whole
from tests.support import stub
from tests.support.places import RECORDINGS
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.served]

STREAMS = {
    "chat": ["llamacpp/x-chat-greet.sse", "vllm/v-chat-greet.sse"],
    "responses": ["responses-llamacpp-greet.sse", "responses-gptoss-reference-greet.sse"],
    "harmony": ["llamacpp/x-raw-completion-greet.sse"],
}


def runs_of(text: str, words: int = 4) -> list[str]:
    """Every sequence of a few consecutive words in a text."""
    found = text.split()
    return [" ".join(found[at : at + words]) for at in range(len(found) - words + 1)]


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in STREAMS.items() for name in names])
async def test_no_words_of_reasoning_reach_a_client(
    kind: str, name: str, key: str, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program(key)
    server = {"server_header": "llama.cpp", "models": {"data": [{"id": "tiny"}]}}
    body = {"input": "Hello!", "messages": [{"role": "user", "content": "Hello!"}], "reasoning": {"summary": "auto"}}
    replies = []
    async with stub.running(stub.plays((RECORDINGS / name).read_bytes(), seed=1), **server) as running:  # type: ignore[arg-type]
        backend = registry.build(Endpoint(running.url), kind=kind, vocabulary=lambda: vocabulary)
        monkeypatch.setattr(connected, "backend", lambda choice="": backend)
        for path in ("/v1/responses", "/v1/chat/completions"):
            for is_streamed in (False, True):
                response = await program.post(path, body | {"stream": is_streamed})
                assert response.status_code == 200, json.loads(await whole(response))
                replies.append((await whole(response)).decode())
        await backend.aclose()
    thought = [row.text async for row in Message.objects.filter(channel="analysis")]
    assert len(thought) == 4 and all(len(text) > 60 for text in thought), "the premise: there was reasoning, and it is stored for staff"
    for reply in replies:
        plain = " ".join(reply.split())
        assert not [run for text in thought for run in runs_of(text.partition("<|message|>")[2].partition("<|end|>")[0]) if run in plain]
        assert "analysis" not in reply and "reasoning_text" not in reply and "encrypted_content" not in reply
