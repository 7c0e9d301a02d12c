"""The doctor's test questions to a model server, and each answer: its frames as the real backend parsed them, and its raw bytes.

From the bytes it is read what backends do not report: the server's word for the end, its pace, summaries and token ids. The questions have
fresh random marker words, so that reports quote nothing else.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from chatui.backends.base import Backend, BackendError, EndReason, SampleEnded, SampleRequest, Taker, Usage
from chatui.backends.joining import Repetitions, text_of_chunk
from chatui.backends.recording import RecordedExchange, Recorder
from chatui.backends.responses.backend import text_of_event
from chatui.backends.separation import Separation
from chatui.backends.speaker import REASONING_FIELDS
from chatui.backends.sse import Decoder, ServerSentEvent, choice_of
from chatui.codes import ProductCode
from renderer.events import Assembler, RawEvent
from renderer.frames import Channel, Frame, Header, Intent, Role
from renderer.gate import Audience, may_see, show
from renderer.strict_json import list_of, object_of, text_of

_REASONING = ("response.reasoning.delta", "response.reasoning_text.delta")
_SUMMARY = ("response.reasoning_summary_text.delta", "response.reasoning_summary.delta")
_TEXT_FIELDS = ("content", *REASONING_FIELDS)


@dataclass(slots=True)
class Observed:
    """Facts from the raw bytes of an answer."""

    end: str = ""
    """The server's word for how it ended."""
    pieces: int = 0
    """The number of events with text."""
    reads: int = 0
    """In how many reads they arrived."""
    chars: int = 0
    """The length of their text."""
    began: float | None = None
    """When the first of them came, in seconds since the question."""
    ended: float | None = None
    """When the last of them came, likewise."""
    is_stream: bool = False
    ids: int | None = None
    """The number of token ids, if any arrived."""
    text: str = field(default="", repr=False)
    thought: str = field(default="", repr=False)
    summary: str = field(default="", repr=False)
    sealed: str = field(default="", repr=False)
    """``encrypted_content``. Like ``thought`` and ``summary`` it is hidden text, and not in the repr."""
    repeats: bool = False
    """Whether each text of the answer holds those before it."""


def observe(exchange: RecordedExchange) -> Observed:
    """Reads all three wire formats at once: no field has different meanings in two of them."""
    observed = Observed(is_stream=exchange.suffix != ".json")
    repetitions = [Repetitions(text_of_chunk), Repetitions(text_of_event)]
    for seconds, chunk in _chunks(exchange, is_stream=observed.is_stream):
        before = observed.pieces
        _chat(observed, chunk)
        _tokens(observed, chunk)
        _responses(observed, chunk)
        for each in repetitions:
            each.feed((ServerSentEvent("", ""), chunk))
        if observed.pieces > before:
            observed.began = seconds if observed.began is None else observed.began
            observed.reads += seconds != observed.ended
            observed.ended = seconds
    observed.repeats = any(each.are_certain for each in repetitions)
    return observed


def _chunks(exchange: RecordedExchange, *, is_stream: bool) -> Iterator[tuple[float, Mapping[str, Any]]]:
    whole = exchange.chunks[-1][0] if exchange.chunks else 0.0, exchange.raw.decode("utf-8", "replace")
    for seconds, text in _texts_of(exchange) if is_stream else [whole]:
        try:
            chunk = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(chunk, dict):
            yield seconds, chunk


def _texts_of(exchange: RecordedExchange) -> Iterator[tuple[float, str]]:
    """The data of each event, and its time."""
    decoder, raw, at, seconds = Decoder(max(len(exchange.raw), 1)), bytes(exchange.raw), 0, 0.0
    for seconds, size in exchange.chunks:
        for event in decoder.feed(raw[at : at + size]):
            yield seconds, event.data
        at += size
    for event in decoder.finish():
        yield seconds, event.data


def _chat(observed: Observed, chunk: Mapping[str, Any]) -> None:
    choice = choice_of(chunk) or {}
    delta = object_of(choice.get("delta")) or object_of(choice.get("message"))
    texts = [delta[name] for name in _TEXT_FIELDS if delta.get(name)]
    observed.pieces += bool(texts)
    observed.chars += max((len(str(text)) for text in texts), default=0)
    for part in map(object_of, list_of(delta.get("reasoning_details"))):
        observed.summary += text_of(part.get("summary")) if part.get("type") == "reasoning.summary" else ""
        observed.thought += text_of(part.get("text")) if part.get("type") == "reasoning.text" else ""
    observed.end = text_of(choice.get("finish_reason")) or observed.end
    if isinstance(choice.get("text"), str):
        _ids(observed, choice["text"], choice.get("token_ids"))


def _tokens(observed: Observed, chunk: Mapping[str, Any]) -> None:
    """llama.cpp's and SGLang's own forms. SGLang's events may repeat all ids so far, so they are not counted."""
    if isinstance(chunk.get("content"), str) and "stop" in chunk:
        _ids(observed, chunk["content"], chunk.get("tokens"))
        observed.end = text_of(chunk.get("stop_type")) or observed.end
    elif isinstance(chunk.get("text"), str) and "meta_info" in chunk:
        observed.pieces += 1
        observed.text = chunk["text"]
        observed.chars = max(observed.chars, len(observed.text))
        observed.ids = 1 if chunk.get("output_ids") else observed.ids


def _ids(observed: Observed, text: str, ids: object) -> None:
    observed.pieces += bool(text or ids)
    observed.chars += len(text)
    observed.text += text
    if isinstance(ids, list) and ids:
        observed.ids = (observed.ids or 0) + len(ids)


def _responses(observed: Observed, chunk: Mapping[str, Any]) -> None:
    kind, delta = chunk.get("type"), chunk.get("delta")
    if isinstance(kind, str) and isinstance(delta, str) and kind.startswith("response.") and delta:
        observed.pieces += 1
        observed.chars += len(delta)
        observed.thought += delta if kind in _REASONING else ""
        observed.summary += delta if kind in _SUMMARY else ""
    if kind == "response.output_item.done":
        _item(observed, object_of(chunk.get("item")))
    response = chunk if chunk.get("object") == "response" and kind is None else object_of(chunk.get("response"))
    if "output" in response or "status" in response:
        observed.end = text_of(response.get("status")) or observed.end
        for item in list_of(response.get("output")):
            _item(observed, object_of(item))


def _item(observed: Observed, item: Mapping[str, Any]) -> None:
    """A finished reasoning item; it repeats what was streamed, if anything was."""
    if item.get("type") != "reasoning":
        return
    observed.summary = observed.summary or _texts(item.get("summary"))
    observed.thought = observed.thought or _texts(item.get("content"))
    observed.sealed = text_of(item.get("encrypted_content")) or observed.sealed


def _texts(parts: object) -> str:
    texts = [object_of(part).get("text") for part in list_of(parts)]
    return "\n\n".join(text for text in texts if isinstance(text, str))


MAX_BYTES = 4 << 20
"""How much of an answer is stored. The rest is read and discarded."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of one question. Its texts are not in the repr."""

    frames: tuple[Frame, ...] = field(repr=False)
    observed: Observed
    ended: SampleEnded | None = None
    error: BackendError | None = None
    status: int = 0
    """0 if there was no response."""
    separation: Separation | None = None
    """How the next answer would be read if this one were all that is known; None if nothing was learned."""

    @property
    def answers(self) -> list[Frame]:
        return [frame for frame in self.frames if may_see(frame.header, Audience.END_USER)]

    @property
    def visible(self) -> str:
        return "".join(show(frame, Audience.END_USER) for frame in self.answers)

    @property
    def caught(self) -> list[Frame]:
        """The text that the leak guard removed from the answer."""
        return [frame for frame in self.frames if frame.header.intent == Intent.DEBUG]

    @property
    def thought(self) -> str:
        """The reasoning that arrived separately from the answer, in any field."""
        frames = (frame for frame in self.frames if frame.header.channel == Channel.ANALYSIS and frame.header.intent is None)
        return "\n\n".join([*(frame.body for frame in frames), self.observed.summary])

    @property
    def usage(self) -> Usage:
        """The server's counts; none of them without an answer."""
        return (self.ended and self.ended.usage) or Usage()

    @property
    def was_cut(self) -> bool:
        """Whether the backend treated it as cut by the length limit."""
        return self.ended is not None and self.ended.reason is EndReason.LENGTH


async def attempt(backend: Backend, request: SampleRequest, seconds: float) -> Trial:
    """Ask once, for at most ``seconds``. Never raises for what a server does; the connection is closed in any case."""
    recorder = Recorder(backend, max_bytes=MAX_BYTES)
    assembler, finished = Assembler(), []
    ended: SampleEnded | None = None
    error: BackendError | None = None

    def take(event: RawEvent) -> None:
        if done := assembler.feed(event):
            finished.append(done)

    try:
        async with asyncio.timeout(seconds):
            ended = await backend.sample(request, Taker(take))
    except BackendError as raised:
        error = raised
    except TimeoutError:
        error = BackendError(ProductCode.TIMEOUT, "the time for this question was up")
    if left := assembler.finish():
        finished.append(left)
    exchange = recorder.exchange or RecordedExchange("POST", "", None)
    return Trial(
        tuple(done.frame for done in finished),
        observe(exchange),
        ended,
        error,
        exchange.status,
        separation=next((known.separation for known in backend.known_separations().values()), None),
    )


CUT_AT = 24
"""In tokens: far fewer than two hundred numbers need, and more than servers count before the first word."""
MAX_TOKENS = 400
"""The most tokens of the other answers, including reasoning."""
_ANIMALS = ("badger", "cormorant", "dormouse", "heron", "ibex", "jackdaw", "lynx", "marten", "otter", "plover", "stoat", "vole")


@dataclass(frozen=True, slots=True)
class Questions:
    """The marker words and the questions. ``thought`` belongs in the reasoning only, ``first`` ends the announcement, ``last``
    begins the answer."""

    thought: str
    first: str
    last: str

    @classmethod
    def new(cls) -> Questions:
        """Questions with new words that no answer contains by chance."""
        chosen = secrets.SystemRandom().sample(_ANIMALS, 3)
        return cls(*(f"{animal}-{secrets.randbelow(9000) + 1000}" for animal in chosen))

    def sum(self) -> SampleRequest:
        """A short answer, some reasoning, and a word that must stay in the reasoning."""
        return _request(f"While you reason, write the word {self.thought} once. Never write it in an answer.", "What is 2 + 2?")

    def cut(self) -> SampleRequest:
        return _request(None, "Count from 1 to 200.", CUT_AT)

    def plan(self) -> SampleRequest:
        """An announcement and an answer: two visible messages."""
        return _request(
            "Before you answer, send the user one short message on the commentary channel that says what you are about to do and ends with "
            f"the word {self.first}. Begin your final answer with the word {self.last}, and keep it under fifteen words.",
            "Plan a weekend trip to Paris.",
        )


def _request(instructions: str | None, question: str, max_tokens: int = MAX_TOKENS) -> SampleRequest:
    before = (Frame(Header(Role.DEVELOPER), instructions),) if instructions else ()
    return SampleRequest((*before, Frame(Header(Role.USER), question)), effort="medium", max_tokens=max_tokens)
