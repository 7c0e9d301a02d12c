"""Pieces of what model servers send, in each wire format. Those of Chat Completions are in ``tests.support.stub``."""

import asyncio
import json
import re
import socket
import struct
from collections.abc import Callable
from datetime import date
from typing import Any

from renderer.harmony.pieces import ids_of_pieces, pieces_of_text
from renderer.harmony.vocabulary import Vocabulary
from tests.support.places import RECORDINGS, ROOT
from tests.support.stub import SSE_HEAD, Stub

DAY = date(2026, 11, 20)
FIRST_MARKER = 199_998
LLAMA = {"server_header": "llama.cpp", "models": {"data": [{"id": "tiny"}]}}
VLLM = {"models": {"data": [{"id": "tiny", "owned_by": "vllm", "max_model_len": 4096}]}}
SGLANG = {"models": {"data": [{"id": "tiny", "owned_by": "sglang", "max_model_len": 4096}]}}


def then(*actions: bytes | float | str) -> Any:
    """Bytes are sent, numbers are pauses in seconds, ``reset`` aborts the connection."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        for action in actions:
            if isinstance(action, bytes):
                writer.write(action)
                await writer.drain()
            elif isinstance(action, float):
                await asyncio.sleep(action)
            else:
                transport_socket = writer.get_extra_info("socket")
                transport_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()

    return answer


def one_after_the_other(*answers: bytes) -> Callable[[asyncio.StreamWriter], Any]:
    """Each request gets the next of these answers, whole, with its head."""
    rest = list(answers)

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(rest.pop(0))
        await writer.drain()

    return answer


def posts(server: Stub) -> list[Any]:
    return [request.body for request in server.requests if request.method == "POST"]


def recorded(name: str) -> bytes:
    return (RECORDINGS / name).read_bytes()


def prompt(name: str) -> str:
    """The text of the product with this name, as a model gets it."""
    return (ROOT / "chatui/prompt_texts" / f"{name}.md").read_text("utf-8").strip()


def sse(*chunks: object) -> bytes:
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)


# Responses


def event(kind: str, **more: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


def message_event(text: str, **more: Any) -> bytes:
    return event("response.output_text.delta", item_id="m", delta=text, **more)


def ended(status: str = "completed", **more: Any) -> bytes:
    return event(f"response.{status}", response={"status": status, "model": "stub", **more})


BEGUN = SSE_HEAD + event("response.output_item.added", item={"id": "m", "type": "message", "role": "assistant", "content": []})
THOUGHT = SSE_HEAD + event("response.output_item.added", item={"id": "r", "type": "reasoning"})
THOUGHT += event("response.reasoning_text.delta", item_id="r", delta="SECRET")


# Token ids


def llama(content: str, *ids: int, **more: Any) -> dict[str, Any]:
    return {"content": content, "tokens": list(ids), "stop": False, **more}


def vllm(*ids: int, finish: str | None = None, stop: int | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "text": "x", "token_ids": list(ids), "finish_reason": finish, "stop_reason": stop, **more}]}


def ids_of(vocabulary: Vocabulary, text: str) -> list[int]:
    return ids_of_pieces(pieces_of_text(text), vocabulary)


def text_of(vocabulary: Vocabulary, ids: list[int]) -> str:
    """The text of the ordinary ids, without control tokens."""
    return vocabulary.decode([each for each in ids if each < FIRST_MARKER]).decode()


def day_in(vocabulary: Vocabulary, prompt: list[int]) -> str:
    """The date that a prompt states."""
    [day] = re.findall(r"Current date: (\S+)", text_of(vocabulary, prompt))
    return str(day)
