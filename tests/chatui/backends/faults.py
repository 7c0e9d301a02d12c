"""Every known way in which a model server fails, with its code in each wire format."""

import asyncio
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from chatui.backends.base import SampleLimits
from chatui.codes import ProductCode
from renderer.errors import Code, ErrorCode
from tests.chatui.backends.formats import SECRET, Format
from tests.chatui.backends.wire import then
from tests.support.sampling import PATIENT
from tests.support.stub import SSE_HEAD, Answer, responds

SHORT = replace(PATIENT, first=0.4, idle=0.4, overall=0.8)
SILENT = replace(PATIENT, first=0.4, idle=0.4)
ODD = b"data: {oops\n\n"
SETUP, BUSY, BROKEN, REFUSED = (
    ProductCode.BACKEND_SETUP,
    ProductCode.BACKEND_BUSY,
    ProductCode.BACKEND,
    ProductCode.BACKEND_REFUSED,
)
CUT, LATE, CONTENT, LONG = Code.STREAM_TRUNCATED, ProductCode.TIMEOUT, ProductCode.CONTENT_REFUSED, ProductCode.QUESTION_TOO_LONG


@dataclass(frozen=True)
class Fault:
    """``of_request``: the request failed, not only its answer, so it is reported as a server failure. ``keeps_words``: the
    words that came before the fault stay."""

    name: str
    code: ErrorCode
    answer: Callable[[Format], Answer]
    limits: SampleLimits = PATIENT
    of_request: bool = True
    keeps_words: bool = False
    is_of_ids: bool = True
    """Whether the fault exists over token ids, too."""

    @property
    def is_asked_again(self) -> bool:
        """Only where that can help: not if the server says that it takes long, if words were shown, or if it answered in another way."""
        is_passing = self.code in (BUSY, BROKEN) and not self.keeps_words
        return is_passing and self.name not in ("429 with Retry-After of two minutes", "200, compressed", "200 of the wrong type")


def _refusal(name: str, status: str, gives: ErrorCode, headers: str = "", **error: object) -> Fault:
    body = json.dumps({"error": {"message": SECRET, **error}}).encode()
    return Fault(name, gives, lambda _: responds(status, body, headers))


def _page(name: str, status: str, code: ErrorCode, headers: str = "") -> Fault:
    return Fault(name, code, lambda _: responds(status, f"<html><h1>{SECRET}</h1></html>".encode(), headers, "text/html"))


def _too_long(server: str, words: str, status: str = "400 Bad Request", **error: object) -> Fault:
    body = json.dumps({"error": {"message": words, "code": 400, **error}}).encode()
    return Fault(f"context too long, in the words of {server}", LONG, lambda _: responds(status, body))


def _raw(name: str, code: ErrorCode, *sent: bytes | float | str, limits: SampleLimits = PATIENT) -> Fault:
    return Fault(name, code, lambda _: then(*sent), limits)


def _later(name: str, code: ErrorCode, *sent: bytes | float | str, limits: SampleLimits = PATIENT) -> Fault:
    return Fault(name, code, lambda each: then(SSE_HEAD + each.half, *sent), limits, keeps_words=True)


def _dripping(head: bytes, drop: bytes) -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(drop)
            await writer.drain()
            await asyncio.sleep(0.02)

    return answer


def _flood(head: bytes) -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        for _ in range(400):
            writer.write(b"x" * 65_536)
            await writer.drain()

    return answer


_SHORTER = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 999\r\n\r\n: a\n\n"

REFUSALS = [
    _refusal("400 that names the request", "400 Bad Request", REFUSED, type="invalid_request_error"),
    _refusal("400 for the content", "400 Bad Request", CONTENT, code="content_filter"),
    _refusal("401", "401 Unauthorized", SETUP, code="invalid_api_key"),
    _refusal("402", "402 Payment Required", SETUP),
    _page("403, as a page", "403 Forbidden", SETUP),
    _page("404, as a page", "404 Not Found", SETUP),
    _refusal("404: there is no such model", "404 Not Found", SETUP, code="model_not_found"),
    _page("405, as a page", "405 Method Not Allowed", SETUP),
    _page("407 of a proxy", "407 Proxy Authentication Required", SETUP),
    _page("413, as a page", "413 Content Too Large", REFUSED),
    _refusal("422", "422 Unprocessable Content", REFUSED, type="invalid_request_error"),
    _refusal("429 without Retry-After", "429 Too Many Requests", BUSY),
    _refusal("429 with Retry-After of a moment", "429 Too Many Requests", BUSY, "Retry-After: 0\r\n"),
    _refusal("429 with Retry-After of two minutes", "429 Too Many Requests", BUSY, "Retry-After: 120\r\n"),
    _refusal("429: the quota is used up", "429 Too Many Requests", SETUP, code="insufficient_quota"),
    _page("451", "451 Unavailable For Legal Reasons", CONTENT),
    _refusal("500", "500 Internal Server Error", BROKEN),
    _page("502, as a page", "502 Bad Gateway", BROKEN),
    _refusal("503", "503 Service Unavailable", BUSY),
    _page("504, as a page", "504 Gateway Timeout", BROKEN),
    _refusal("529: overloaded", "529 Overloaded", BUSY, type="overloaded_error"),
    _page("a redirect", "307 Temporary Redirect", SETUP, "Location: http://127.0.0.1:9/\r\n"),
    _too_long("OpenAI", f"This model's maximum context length is 3 tokens. {SECRET}", code="context_length_exceeded"),
    _too_long("vLLM", f"This model's maximum context length is 3 tokens. However, you requested 9. {SECRET}", type="BadRequestError"),
    _too_long("llama.cpp", f"request (9 tokens) exceeds the available context size (3 tokens) {SECRET}", type="exceed_context_size_error"),
    _too_long("SGLang", f"The input (9 tokens) is longer than the model's context length (3 tokens). {SECRET}"),
    _too_long("Ollama", f"prompt exceeds the model's context length {SECRET}"),
    _too_long("LM Studio", f"Trying to keep the first 9 tokens when context the overflows. {SECRET}"),
]

CONNECTIONS = [
    _raw("hangs", LATE, 30.0, limits=SHORT),
    _raw("hangs behind its head", LATE, SSE_HEAD, 30.0, limits=SHORT),
    _raw("resets", BROKEN, "reset"),
    _raw("closes without a word", BROKEN),
    _raw("resets behind its head", BROKEN, SSE_HEAD, 0.1, "reset"),
    _raw("is no HTTP", BROKEN, b"SSH-2.0-OpenSSH_9.9\r\n" + SECRET.encode() + b"\r\n\r\n"),
    _raw("sends headers without end", BROKEN, b"HTTP/1.1 200 OK\r\nX-A: " + b"x" * 2_000_000),
    Fault("drips comments", LATE, lambda _: _dripping(SSE_HEAD, b":"), SHORT),
    Fault("drips what cannot be read", LATE, lambda _: _dripping(SSE_HEAD, ODD), SILENT, is_of_ids=False),
    Fault("drips its head", LATE, lambda _: _dripping(b"HTTP/1.1 200 OK\r\nX-A: ", b"x"), SHORT),
]

ANSWERS = [
    _page("200, as a page", "200 OK", SETUP),
    Fault("200 without a body", BROKEN, lambda _: responds("200 OK", b"", "", "application/json")),
    Fault("200 with JSON that is cut", BROKEN, lambda _: responds("200 OK", b'{"choices":[{"message":', "", "application/json")),
    Fault("200 with JSON of another kind", BROKEN, lambda _: responds("200 OK", b'["' + SECRET.encode() + b'"]', "",
     "application/json")),
    Fault("200 with an error", BROKEN, lambda _: responds("200 OK", json.dumps({"error": {"message": SECRET, "code": 500}}).encode())),
    Fault("200, compressed", BROKEN, lambda _: responds("200 OK", gzip.compress(SECRET.encode()), "Content-Encoding: gzip\r\n")),
    Fault("200 of the wrong type", BROKEN, lambda _: responds("200 OK", b"\x89PNG\r\n" + bytes(range(256)), "", "image/png")),
    _raw("a body that is shorter than it says", BROKEN,
     b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 999\r\n\r\n: a\n\n"),
    _raw("junk", CUT, SSE_HEAD + bytes(range(256)) * 400),
    _raw("a stream without an event", CUT, SSE_HEAD + b": nothing\n\n"),
    Fault("a line without end", CUT, lambda _: _flood(SSE_HEAD + b"data: ")),
    Fault("an error as its first event", BROKEN, lambda each: then(SSE_HEAD + each.error({"message": SECRET, "code": 500}))),
    Fault("overloaded, as its first event", BUSY, lambda each: then(SSE_HEAD + each.error({"message": SECRET,
     "type": "overloaded_error"}))),
    Fault("thinks and breaks off", CUT, lambda each: then(SSE_HEAD + each.thought, 0.1, "reset")),
    Fault("thinks and hangs", LATE, lambda each: then(SSE_HEAD + each.thought, 30.0), SHORT),
]  # fmt: skip

LATER = [
    _later("hangs in its answer", LATE, 30.0, limits=SHORT),
    _later("resets in its answer", CUT, 0.2, "reset"),
    _later("stops without an end", CUT),
    _later("stops in the middle of an event", CUT, b'data: {"choi'),
    Fault("drips in its answer", LATE, lambda each: _dripping(SSE_HEAD + each.half, b":"), SHORT, keeps_words=True),
    Fault("drips what cannot be read in its answer", LATE, lambda each: _dripping(SSE_HEAD + each.half, ODD), SILENT, keeps_words=True,
     is_of_ids=False),
    Fault("a line without end in its answer", CUT, lambda each: _flood(SSE_HEAD + each.half + b"data: "), keeps_words=True),
    Fault("never ends", LATE, lambda each: _dripping(SSE_HEAD + each.half, each.words), SHORT, keeps_words=True),
    Fault("an error in its answer", BROKEN, lambda each: then(SSE_HEAD + each.half + each.error({"message": SECRET, "code": 500})),
     keeps_words=True),
    Fault("ends its answer for a reason of its own", CUT, lambda each: then(SSE_HEAD + each.half + each.of_its_own), keeps_words=True,
     is_of_ids=False),
]  # fmt: skip


def _ends(name: str, code: ErrorCode, sent: Callable[[Format], bytes], *, keeps_words: bool = False, is_of_ids: bool = True) -> Fault:
    return Fault(name, code, lambda each: then(SSE_HEAD + sent(each)), PATIENT, False, keeps_words, is_of_ids)


ENDS = [
    _ends("ends with nothing", ProductCode.NO_ANSWER, lambda each: each.stops),
    _ends("thinks, and ends", ProductCode.ONLY_THINKING, lambda each: each.thought + each.closes + each.stops),
    _ends("reaches its length", ProductCode.LENGTH, lambda each: each.half + each.cut, keeps_words=True),
    _ends("its content rules end the answer", CONTENT, lambda each: each.half + each.filtered, keeps_words=True, is_of_ids=False),
]

FAULTS = [*REFUSALS, *CONNECTIONS, *ANSWERS, *LATER, *ENDS]
