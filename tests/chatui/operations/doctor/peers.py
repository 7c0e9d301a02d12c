"""A model server on loopback that answers an examination as configured: well, unless one of its answers is replaced by a bad one."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from renderer.harmony.pieces import ids_of_pieces, pieces_of_text
from renderer.harmony.vocabulary import Vocabulary
from tests.support import examinations, stub
from tests.support.examinations import WORDS, Examined
from tests.support.limits import limit

CUT_AT = limit("chatui.operations.doctor", "CUT_AT")

THOUGHT = f"Two and two, says the {WORDS.thought}, and that is small enough to be done without any paper."
ANNOUNCED = f"I look for sights and then for trains {WORDS.first}"
PLANNED = f"{WORDS.last} Louvre on Saturday, Montmartre on Sunday."
MODELS = {"data": [{"id": "gpt-oss-20b"}]}
VLLM = {"data": [{"id": "gpt-oss-20b", "owned_by": "vllm", "max_model_len": 40_960}]}
PATHS = {
    "/v1/chat/completions": "chat",
    "/v1/responses": "responses",
    "/v1/completions": "ids",
    "/completion": "ids",
    "/tokenize": "tokenize",
}

Play = Callable[[asyncio.StreamWriter], Awaitable[None]]
Answer = bytes | Play


@asynccontextmanager
async def peer(answers: Mapping[str, Answer], models: object = MODELS, **options: Any) -> AsyncIterator[stub.Stub]:
    """``answers`` by format and question, such as ``chat sum``, or by format alone. What is not in it is not found."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        request = server.requests[-1]
        kind = PATHS.get(request.path, request.path)
        found = (
            answers.get(f"{kind} {question_of(request.body)}") or answers.get(kind) or stub.responds("404 Not Found", b'{"detail": "no"}')
        )
        await (stub.plays(found) if isinstance(found, bytes) else found)(writer)

    async with stub.running(answer, models=models, **options) as server:
        yield server


async def examined(answers: Mapping[str, Answer], *, models: object = MODELS, server: Any = None, **options: Any) -> Examined:
    """What the doctor finds of a peer with these answers. ``server``: as in ``Stub``; ``options``: as in ``examinations.examined``."""
    async with peer(answers, models, **(server or {})) as running:
        return await examinations.examined(running.url, **options)


MODEL = "a-model-by-its-own-name"


@contextmanager
def answering(answers: Mapping[str, Answer], models: object = None) -> Iterator[stub.Stub]:
    """A peer that runs alongside a test which is not asynchronous itself."""
    servers: list[stub.Stub] = []
    is_up, is_over = threading.Event(), threading.Event()

    async def serve() -> None:
        async with peer(answers, models=models or {"data": [{"id": MODEL, "owned_by": "vllm"}]}) as server:
            servers.append(server)
            is_up.set()
            await asyncio.to_thread(is_over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert is_up.wait(10)
    try:
        yield servers[0]
    finally:
        is_over.set()
        thread.join(10)


def question_of(body: Any) -> str:
    """Which of the questions a request asks. Prompts of token ids are distinguished by their length."""
    if CUT_AT in (body.get("max_tokens"), body.get("max_output_tokens"), body.get("n_predict")):
        return "cut"
    if isinstance(body.get("prompt"), list):
        return "plan" if len(body["prompt"]) > 120 else "sum"
    if "Paris" in json.dumps(body):
        return "plan"
    return "summary" if (body.get("reasoning") or {}).get("summary") else "sum"


def chat(*deltas: dict[str, Any], finish: str | None = "stop", tokens: int | None = 40, reasoned: int | None = None) -> bytes:
    """A Chat Completions stream."""
    details = {"completion_tokens_details": {"reasoning_tokens": reasoned}} if reasoned else {}
    usage = {"choices": [], "usage": {"completion_tokens": tokens, **details}}
    parts = [stub.chunk(**delta) for delta in deltas]
    parts += [stub.chunk(finish)] if finish else []
    parts += [sse(usage)] if tokens else []
    return b"".join([*parts, stub.DONE])


def chat_answers(**changes: Answer) -> dict[str, Answer]:
    """Good answers to ``sum``, ``cut`` and ``plan``, but for ``changes``."""
    good: dict[str, Answer] = {
        "sum": chat({"reasoning": THOUGHT}, {"content": "4"}),
        "cut": chat({"reasoning": "I count."}, {"content": "1, 2"}, finish="length", tokens=CUT_AT),
        "plan": chat({"reasoning": THOUGHT}, {"content": PLANNED}),
    }
    return {f"chat {name}": answer for name, answer in {**good, **changes}.items()}


def message(text: str, phase: str | None = None) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text}]
    return {"type": "message", "role": "assistant", "status": "completed", "phase": phase, "content": content}


def reasoning(text: str = THOUGHT, summary: str = "", sealed: str | None = None) -> dict[str, Any]:
    parts = [{"type": "summary_text", "text": summary}] if summary else []
    return {"type": "reasoning", "summary": parts, "content": [{"type": "reasoning_text", "text": text}], "encrypted_content": sealed}


def responses(*items: dict[str, Any], status: str = "completed", tokens: int = 40, event: str = "completed") -> bytes:
    """A Responses stream: the text of each item as deltas, then all of it again at the end."""
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {"id": "r", "status": "in_progress"}}]
    named = [{"id": f"item_{number}", **item} for number, item in enumerate(items)]
    for index, item in enumerate(named):
        place = {"item_id": item["id"], "output_index": index}
        events.append({"type": "response.output_item.added", "output_index": index, "item": {**item, "content": [], "summary": []}})
        summarized = {"type": "response.reasoning_summary_text.delta", **place, "summary_index": 0}
        events += [{**summarized, "delta": part["text"]} for part in item.get("summary", ())]
        for number, part in enumerate(item["content"]):
            name = "reasoning_text" if item["type"] == "reasoning" else "output_text"
            for word in part["text"].split(" "):
                delta = word if word == part["text"].split(" ")[-1] else f"{word} "
                events.append({"type": f"response.{name}.delta", **place, "content_index": number, "delta": delta})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    response = {"id": "r", "object": "response", "status": status, "output": named, "usage": {"output_tokens": tokens}}
    events.append({"type": f"response.{event}", "response": response})
    return b"".join(sse(one) for one in events)


def responses_answers(**changes: Answer) -> dict[str, Answer]:
    """Good answers to ``sum``, ``cut``, ``plan`` and ``summary``, but for ``changes``."""
    good: dict[str, Answer] = {
        "sum": responses(reasoning(), message("4")),
        "cut": responses(reasoning("I count."), message("1, 2"), status="incomplete", event="incomplete", tokens=CUT_AT),
        "plan": responses(reasoning(), message(ANNOUNCED, "commentary"), message(PLANNED, "final_answer")),
        "summary": responses(reasoning(), message("4")),
    }
    return {f"responses {name}": answer for name, answer in {**good, **changes}.items()}


HARMONY = {
    "sum": f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>4<|return|>",
    "cut": "<|channel|>analysis<|message|>I count.<|end|><|start|>assistant<|channel|>final<|message|>1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11",
    "plan": (
        f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>commentary<|message|>{ANNOUNCED}<|end|>"
        f"<|start|>assistant<|channel|>final<|message|>{PLANNED}<|return|>"
    ),
}
"""What a model writes behind ``<|start|>assistant``."""


def tokenize(ids: Sequence[int] = (200_005, 200_008)) -> Play:
    """The answer of vLLM and llama.cpp to what the markers are in ids."""
    return stub.responds("200 OK", json.dumps({"tokens": list(ids)}).encode(), "Connection: close\r\n")


def id_answers(vocabulary: Vocabulary, **changes: Answer) -> dict[str, Answer]:
    """vLLM's good answers by token ids, and to what the markers are."""
    good: dict[str, Answer] = {name: vllm_ids(vocabulary, text, cut=name == "cut") for name, text in HARMONY.items()}
    return {"tokenize": tokenize(), **{f"ids {name}": answer for name, answer in {**good, **changes}.items()}}


def vllm_ids(vocabulary: Vocabulary, text: str, *, cut: bool = False, lost: int = 0) -> bytes:
    """A stream of token ids; of the text in the middle ``lost`` ids are left out."""
    ids = ids_of_pieces(pieces_of_text(text), vocabulary)[: CUT_AT if cut else None]
    sent = [*ids[:5], *ids[5 + lost :]]
    events = [sse({"choices": [{"index": 0, "text": "x", "token_ids": [number], "finish_reason": None}]}) for number in sent]
    events.append(sse({"choices": [{"index": 0, "text": "", "token_ids": [], "finish_reason": "length" if cut else "stop"}]}))
    events.append(sse({"choices": [], "usage": {"completion_tokens": len(ids)}}))
    return b"".join([*events, stub.DONE])


def sse(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def later(seconds: float, answer: bytes) -> Play:
    """The same answer after a while, the head at once."""

    async def play(writer: asyncio.StreamWriter) -> None:
        writer.write(stub.SSE_HEAD)
        await writer.drain()
        await asyncio.sleep(seconds)
        writer.write(answer)
        await writer.drain()

    return play
