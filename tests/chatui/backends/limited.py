"""A model server with a small context: it refuses prompts that are too long with the error of a given product, and answers others."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from chatui.backends import registry
from chatui.backends.base import Backend, Endpoint
from tests.chatui.backends.wire import BEGUN, ended, message_event
from tests.support import stub
from tests.support.sampling import PATIENT
from tests.support.stub import DONE, SSE_HEAD, chunk

Refusal = Callable[[int, int], bytes]
"""Makes the error body for a limit and a prompt length, both in tokens."""


def error(message: str, **fields: object) -> Refusal:
    """``message`` may contain ``{limit}`` and ``{prompt}``."""

    def body(limit: int, prompt: int) -> bytes:
        details = {"message": message.format(limit=limit, prompt=prompt), "type": "invalid_request_error", "code": 400, **fields}
        return json.dumps({"error": details}).encode()

    return body


REFUSALS: dict[str, Refusal] = {
    "vLLM": error("This model's maximum context length is {limit} tokens. However, your request has {prompt} input tokens."),
    "Ollama": error("the input length exceeds the context length"),
}  # fmt: skip


def texts(body: Any) -> list[str]:
    """The texts of a request, in either format."""
    found = [body["instructions"]] if body.get("instructions") else []
    for message in body.get("messages") or body["input"]:
        content = message.get("content") or message.get("output") or message.get("arguments") or ""
        found.append(content if isinstance(content, str) else "".join(part["text"] for part in content))
    return found


def tokens(body: Any) -> int:
    """A simple tokenizer: one token for every three letters, and ten for each message."""
    return sum(len(text) // 3 + 10 for text in texts(body))


class Limited:
    """``limit`` may be changed. ``refused`` counts refusals; ``server`` has the requests."""

    def __init__(self, kind: str, limit: int, refusal: Refusal, *, counts: bool = True, status: str = "400 Bad Request") -> None:
        self.kind, self.limit, self.refusal, self.counts, self.status = kind, limit, refusal, counts, status
        self.refused = 0
        self.says = "It is."
        self.server: stub.Stub

    async def answer(self, writer: asyncio.StreamWriter) -> None:
        prompt = tokens(self.server.posted)
        if prompt >= self.limit:
            self.refused += 1
            await stub.responds(self.status, self.refusal(self.limit, prompt), "Connection: close\r\n")(writer)
            return
        written = min(len(self.says), self.limit - prompt)
        is_cut = written < len(self.says)
        writer.write(self._chat(prompt, written, is_cut) if self.kind == "chat" else self._responses(prompt, written, is_cut))
        await writer.drain()

    def _chat(self, prompt: int, written: int, is_cut: bool) -> bytes:
        usage = {"usage": {"prompt_tokens": prompt, "completion_tokens": written}, "choices": []} if self.counts else {}
        counted = b"data: " + json.dumps(usage).encode() + b"\n\n"
        return SSE_HEAD + chunk(content=self.says[:written]) + chunk("length" if is_cut else "stop") + counted + DONE

    def _responses(self, prompt: int, written: int, is_cut: bool) -> bytes:
        usage = {"usage": {"input_tokens": prompt, "output_tokens": written}} if self.counts else {}
        cut = {"incomplete_details": {"reason": "max_output_tokens"}} if is_cut else {}
        return BEGUN + message_event(self.says[:written]) + ended("incomplete" if is_cut else "completed", **usage, **cut)


@asynccontextmanager
async def served(limited: Limited, *, context: int | None = None, **options: Any) -> AsyncIterator[Backend]:
    async with stub.running(limited.answer, **options) as limited.server:
        endpoint = Endpoint(limited.server.url, model="m", limits=PATIENT, context=context, separates="always")
        backend = registry.build(endpoint, kind=limited.kind)
        yield backend
        await backend.aclose()
