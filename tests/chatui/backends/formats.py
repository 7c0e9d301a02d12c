"""The same moments of an answer in each wire format: thinking, half an answer, a call, and every kind of end."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from chatui.backends import registry
from chatui.backends.base import Backend, Endpoint
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.wire import BEGUN, LLAMA, THOUGHT, VLLM, ended, event, ids_of, llama, message_event, sse, text_of, vllm
from tests.support import stub
from tests.support.sampling import PATIENT
from tests.support.stub import DONE, SSE_HEAD, chunk

KINDS = ("chat", "responses", "harmony-llamacpp", "harmony-vllm")
SECRET = "SECRET-OF-THE-SERVER"
WORDS = "Half an answer"


@dataclass(frozen=True)
class Format:
    """Each part is sent after the head of a stream. ``thought`` holds the secret; after it comes ``between``, and then ``opens``, which
    begins an answer."""

    kind: str
    path: str
    thought: bytes
    opens: bytes
    more: Callable[[str], bytes]
    """Text of the open answer."""
    call: Callable[[str, str, str], bytes]
    """A call of the function of this name, with arguments and an id, and the end."""
    stops: bytes
    cut: bytes
    """The answer ends at its length limit."""
    filtered: bytes
    """The server's content filter ends the answer; empty for formats without one."""
    error: Callable[[Mapping[str, object]], bytes]
    of_its_own: bytes = b""
    """The server ends the answer for a reason that nobody knows; empty for the formats of ids."""
    between: bytes = b""
    closes: bytes = b""
    """The thinking ends."""
    server: dict[str, Any] = field(default_factory=dict)
    vocabulary: Vocabulary | None = None

    @property
    def words(self) -> bytes:
        return self.between + self.opens + self.more(WORDS)

    @property
    def half(self) -> bytes:
        return self.thought + self.words

    def says(self, *pieces: str) -> bytes:
        """An answer without a thought, with its head and its end."""
        return SSE_HEAD + self.opens + b"".join(map(self.more, pieces)) + self.stops

    def thinks_and_says(self, text: str) -> bytes:
        return SSE_HEAD + self.thought + self.between + self.opens + self.more(text) + self.stops

    def called(self, name: str, arguments: object = None, *, call_id: str = "c0", of_ids: str = "", thought: str = "") -> bytes:
        """A call, after a thought. ``of_ids``: the recipient of a built-in tool, which is called so over token ids."""
        body = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        before = self.thought.replace(SECRET.encode(), thought.encode()) if thought and not self.vocabulary else b""
        if self.vocabulary and (thought or of_ids):
            before = self.more(f"<|channel|>analysis<|message|>{thought}<|end|><|start|>assistant") if thought else b""
            if of_ids:
                written = self.more(f"<|channel|>analysis to={of_ids} code<|message|>{body}")
                return SSE_HEAD + before + written + self.call("", "", "")
        return SSE_HEAD + before + self.call(name, body, call_id)

    def sent(self, body: Mapping[str, Any]) -> str:
        """What the server was sent of the conversation, as text."""
        if self.vocabulary:
            return text_of(self.vocabulary, body["prompt"])
        return json.dumps([body.get("instructions"), *self.inputs(body)], ensure_ascii=False)

    def inputs(self, body: Mapping[str, Any]) -> list[Any]:
        """The messages, items or ids."""
        found: list[Any] = body.get("messages") or body.get("input") or body["prompt"]
        return found

    def replies(self, body: Mapping[str, Any]) -> list[str]:
        """The replies of tools among them; not over token ids."""
        kept = [each for each in self.inputs(body) if each.get("role") == "tool" or each.get("type") == "function_call_output"]
        return [each["output"] if "output" in each else each["content"] for each in kept]

    def offered(self, body: Mapping[str, Any]) -> list[str]:
        """The names of the functions that are offered; not over token ids."""
        return sorted(each.get("name") or each["function"]["name"] for each in body["tools"])

    def backend(self, url: str, **options: Any) -> Backend:
        endpoint = Endpoint(url, **{"limits": PATIENT, "separates": "always", **options})
        if self.vocabulary is None:
            return registry.build(endpoint, kind=self.kind)
        loaded: Vocabulary = self.vocabulary
        return registry.build(endpoint, kind=self.kind, vocabulary=lambda: loaded)

    @asynccontextmanager
    async def playing(
        self, answer: Any, server: Mapping[str, Any] | None = None, **options: Any
    ) -> AsyncIterator[tuple[stub.Stub, Backend]]:
        """A server that answers so, and a backend that speaks with it."""
        async with stub.running(answer, **(self.server | dict(server or {}))) as running:
            backend = self.backend(running.url, **options)
            yield running, backend
            await backend.aclose()


def _in_band(error: Mapping[str, object]) -> bytes:
    return sse({"error": error})


def _chat() -> Format:
    def call(name: str, arguments: str, call_id: str) -> bytes:
        return chunk("tool_calls", tool_calls=[{"index": 0, "id": call_id, "function": {"name": name, "arguments": arguments}}]) + DONE

    stops, cut, filtered, of_its_own = (chunk(reason) + DONE for reason in ("stop", "length", "content_filter", "error"))
    return Format(
        "chat",
        "/v1/chat/completions",
        thought=chunk(reasoning_content=SECRET),
        opens=b"",
        more=lambda text: chunk(content=text),
        call=call,
        stops=stops,
        cut=cut,
        filtered=filtered,
        error=_in_band,
        of_its_own=of_its_own,
    )


def _responses() -> Format:
    cut, filtered = (ended("incomplete", incomplete_details={"reason": reason}) for reason in ("max_output_tokens", "content_filter"))

    def call(name: str, arguments: str, call_id: str) -> bytes:
        item = {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}
        return event("response.output_item.done", item=item) + ended()

    return Format(
        "responses",
        "/v1/responses",
        thought=THOUGHT.replace(b"SECRET", SECRET.encode()).removeprefix(SSE_HEAD),
        opens=BEGUN.removeprefix(SSE_HEAD),
        more=message_event,
        call=call,
        stops=ended(),
        cut=cut,
        filtered=filtered,
        error=lambda fields: ended("failed", error=fields),
        of_its_own=ended("exploded"),
    )


HIDDEN = ("<|channel|>", "analysis", "<|message|>")
BETWEEN = ("<|end|>", "<|start|>", "assistant")
OPENS = ("<|channel|>", "final", "<|message|>")


def _ids(vocabulary: Vocabulary, kind: str, path: str, stream: Callable[..., bytes], cut: bytes, server: dict[str, Any]) -> Format:
    def end(name: str) -> bytes:
        [last] = ids_of(vocabulary, name)
        if kind.endswith("vllm"):
            return sse(vllm(last, finish="stop", stop=last)) + DONE
        return sse(llama("", last), llama("", stop_type="eos") | {"stop": True})

    def call(name: str, arguments: str, call_id: str) -> bytes:
        """The end of a call alone where its text was sent before."""
        header = ("<|channel|>", f"commentary to=functions.{name} ", "<|constrain|>", "json", "<|message|>")
        return (stream(*header, arguments) if name else b"") + end("<|call|>")

    return Format(
        kind,
        path,
        thought=stream(*HIDDEN, SECRET),
        opens=stream(*OPENS),
        more=stream,
        call=call,
        stops=end("<|return|>"),
        cut=cut,
        filtered=b"",
        error=_in_band,
        between=stream(*BETWEEN),
        closes=stream("<|end|>"),
        server=server,
        vocabulary=vocabulary,
    )


def every_format(vocabulary: Vocabulary) -> list[Format]:
    def of_llama(*pieces: str) -> bytes:
        """Text comes with its last id; a marker is one."""
        return sse(*(llama(piece, *ids_of(vocabulary, piece)[-1:]) for piece in pieces))

    def of_vllm(*pieces: str) -> bytes:
        return sse(vllm(*ids_of(vocabulary, "".join(pieces))))

    full = sse(llama("", stop_type="limit") | {"stop": True}), sse(vllm(finish="length")) + DONE
    return [
        _chat(),
        _responses(),
        _ids(vocabulary, "harmony-llamacpp", "/completion", of_llama, full[0], LLAMA),
        _ids(vocabulary, "harmony-vllm", "/v1/completions", of_vllm, full[1], VLLM),
    ]


def format_of(vocabulary: Vocabulary, kind: str) -> Format:
    [found] = [each for each in every_format(vocabulary) if each.kind == kind]
    return found
