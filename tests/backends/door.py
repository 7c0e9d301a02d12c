"""The one way into the backends that the table uses: a server on loopback, the registry, one sample, and what came out in plain lines."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chatui.backends import registry
from chatui.backends.base import BackendError, Endpoint, SampleRequest, Taker, Usage
from renderer.events import Assembler, Finished, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import ANALYSIS, ANSWER, BROKEN, PREAMBLE, SUMMARY_NAME
from renderer.frames import Header, Terminator
from renderer.gate import Audience, may_see, show
from renderer.harmony.prompt import FunctionTool
from renderer.harmony.vocabulary import Vocabulary
from tests.backends.said import Ends, Moment, Says, Thinks, chat, ids, responses
from tests.chatui.backends.wire import LLAMA, SGLANG, VLLM, posts, then
from tests.support import stub
from tests.support.sampling import PATIENT, sample_request
from tests.support.stub import SSE_HEAD, Answer

SECRET = "SECRETzzq"
"""Stands for what nobody may see: no row shows it, whatever else it says."""
TEXT = ("chat", "responses")
IDS: dict[str, dict[str, Any]] = {"harmony-llamacpp": LLAMA, "harmony-vllm": VLLM, "harmony-sglang": SGLANG}
"""The columns of token ids, with what a server of each says about itself."""
COLUMNS = (*TEXT, *IDS)
PROVED: Mapping[str, Any] = {"separates": "proved"}
"""An operator says nothing of the server: it has to prove that it keeps reasoning apart."""
PLAIN: Mapping[str, Any] = {"separates": "never reasons"}
TRUSTED: Mapping[str, Any] = {"trusts_summaries": True}
_PROOF = (Thinks(("hm",)), Says(("Hi",)), Ends())


@dataclass(frozen=True)
class Row:
    """What a server says, and what becomes of it.

    ``said``: in words that every column puts into its own bytes, if it can; or the bytes behind the head of a stream, in ``columns`` alone.
    ``told``: a line for each frame, in the order in which they close, and at last the end: its reason, or the code of the error.
    ``of_ids``: the same over token ids, if it is not the same there. ``shows``: what people see in the end, in the place of ``told``; white
    space does not count.
    ``gives``: the reasoning that goes back to the server with the replies to its calls. ``knows``: how the next answer will be read.
    ``tools``: the functions that are offered. ``asks``: changes of the request; ``limits``: of the limits; ``server``: of the endpoint.
    ``about``: what the server says about itself, if something else than ``IDS`` has.
    ``then``: what the server says to each further request for the same answer. ``lacks``: how many bytes are missing at its end.
    ``is_json``: it is the whole body, and no stream.
    ``is_after_proof``: an answer before this one has proved that the server keeps reasoning apart.
    """

    name: str
    said: tuple[Moment, ...] | bytes
    told: tuple[str, ...] = ()
    of_ids: tuple[str, ...] = ()
    columns: tuple[str, ...] = COLUMNS
    shows: str | None = None
    gives: str | None = None
    knows: str | None = None
    tools: tuple[str, ...] = ()
    asks: Mapping[str, Any] = field(default_factory=dict)
    limits: Mapping[str, Any] = field(default_factory=dict)
    server: Mapping[str, Any] = field(default_factory=dict)
    about: Mapping[str, Any] | None = None
    then: tuple[tuple[Moment, ...] | bytes, ...] = ()
    lacks: int = 0
    is_json: bool = False
    is_after_proof: bool = False

    def told_in(self, column: str) -> list[str]:
        """Over token ids, a call has no id of the server's."""
        if column in TEXT:
            return list(self.told)
        return list(self.of_ids) or [re.sub(r"^((?:no )?call \S+) c\d", r"\1 new", line) for line in self.told]

    def problems(self, column: str, found: Told) -> list[str]:
        """What is otherwise than the row says, in words."""
        wrong = []
        if self.told and found.lines != self.told_in(column):
            wrong.append(f"told {found.lines}, not {self.told_in(column)}")
        if self.shows is not None and "".join(found.visible.split()) != "".join(self.shows.split()):
            wrong.append(f"shows {found.visible!r}, not {self.shows!r}")
        if self.gives is not None and found.gives != self.gives:
            wrong.append(f"gives back {found.gives}, not {self.gives}")
        if self.knows is not None and found.knows != self.knows:
            wrong.append(f"the next answer is read as {found.knows}, not {self.knows}")
        if SECRET in found.visible:
            wrong.append(f"shows the secret: {found.visible!r}")
        if SECRET in found.shown and not any("[withdrawn]" in line for line in found.lines):
            wrong.append("showed the secret for a moment")
        return wrong


@dataclass
class Told:
    """What came out. ``lines``: as in a row. ``visible``: what people see in the end; ``shown``: all that they saw at any time.

    ``reads``: how often bytes of the answer were read. ``texts``: in how many pieces its text came out. ``bodies``: those of the
    requests."""

    lines: list[str]
    visible: str = ""
    shown: str = ""
    gives: str = ""
    knows: str = ""
    reads: int = 0
    texts: int = 0
    bodies: list[Any] = field(default_factory=list)
    call_ids: list[str | None] = field(default_factory=list)


def at_random(name: str) -> Callable[[bytes], Iterator[bytes]]:
    """Cut in up to twelve places."""

    def pieces(raw: bytes) -> Iterator[bytes]:
        chosen = random.Random(name)
        places = sorted(chosen.sample(range(1, len(raw)), min(12, len(raw) - 1))) if len(raw) > 1 else []
        for begin, end in zip([0, *places], [*places, len(raw)], strict=True):
            yield raw[begin:end]

    return pieces


def numbered(rows: Iterable[Row]) -> list[Row]:
    """Rows of one name are told apart by a number."""
    count: Counter[str] = Counter()
    found = []
    for row in rows:
        count[row.name] += 1
        found.append(replace(row, name=f"{row.name} ({count[row.name]})") if count[row.name] > 1 else row)
    return found


Speak = Callable[[Sequence[Moment]], bytes | None]
Cuts = Callable[[bytes], Iterable[bytes]]


class Door:
    """The columns; those of token ids only with the vocabulary of gpt-oss."""

    def __init__(self, vocabulary: Vocabulary | None = None) -> None:
        self._speak: dict[str, Speak] = {"chat": chat, "responses": responses}
        if vocabulary:
            self._speak |= {column: ids(vocabulary, column.removeprefix("harmony-")) for column in IDS}
        self._vocabulary = vocabulary

    def cell(self, row: Row, column: str) -> bytes | None:
        """What is sent; None for a column that cannot say it."""
        if column not in row.columns or (said := self._bytes(row.said, column)) is None:
            return None
        return said[: len(said) - row.lacks]

    def _bytes(self, said: tuple[Moment, ...] | bytes, column: str) -> bytes | None:
        found = said if isinstance(said, bytes) else self._speak[column](said)
        return None if found is None else _as_it_is(found)

    async def told(self, row: Row, column: str, cuts: Cuts | None = None, **server: Any) -> Told:
        """Let a server say it. ``cuts``: how the bytes are cut; each piece is sent when the one before it was read. ``server``: changes of
        the endpoint."""
        said, reads = self.cell(row, column), Reads()
        assert said is not None, "this column cannot say it"
        answers = [reads.piecewise(cuts(said)) if cuts else then(SSE_HEAD + said)]
        if row.is_json:
            answers = [stub.responds("200 OK", said)]
        answers += [then(SSE_HEAD + (self._bytes(each, column) or b"")) for each in row.then]
        if row.is_after_proof and column in TEXT:
            answers.insert(0, then(SSE_HEAD + (self._speak[column](_PROOF) or b"")))
        return await self.asked(row, column, answers, reads, **server)

    async def asked(self, row: Row, column: str, answers: Sequence[Answer], reads: Reads | None = None, **server: Any) -> Told:
        """Ask for each of these answers, but for those of ``then``; what became of the last."""
        rest, reads = iter(answers), reads or Reads()

        async def answer(writer: asyncio.StreamWriter) -> None:
            await next(rest)(writer)

        async with stub.running(answer, **(IDS.get(column, {}) if row.about is None else row.about)) as running:
            limits = replace(PATIENT, **{"read_interval": 0, **row.limits})
            endpoint: dict[str, Any] = {"model": "tiny", "limits": limits, "separates": "always", **row.server, **server}
            backend = registry.build(Endpoint(running.url, **endpoint), kind=column, vocabulary=self._loaded)
            backend.watch(lambda method, *_: reads if method == "POST" else None)
            request = replace(sample_request("Hello!"), tools=tuple(map(FunctionTool, row.tools)), **row.asks)
            try:
                for _ in range(len(answers) - len(row.then)):
                    reads.count = 0
                    found = await _sampled(backend.sample, request)
            finally:
                await backend.aclose()
            known = backend.known_separations()
        found.bodies = posts(running)
        assert len(found.bodies) == len(answers), "each answer is asked for once"
        found.reads, found.knows = reads.count, known["tiny"].separation.value if "tiny" in known else ""
        return found

    def _loaded(self) -> Vocabulary:
        assert self._vocabulary is not None, "the column of a text format reads no ids"
        return self._vocabulary


def _as_it_is(sent: bytes) -> bytes:
    """Characters as many servers send them, not escaped, so that a cut may go through one."""

    def character(found: re.Match[bytes]) -> bytes:
        text: str = json.loads(f'"{found[0].decode()}"')
        return found[0] if any(each < "\x80" or "\ud800" <= each <= "\udfff" for each in text) else text.encode()

    return re.sub(rb"(?<!\\)(?:\\u[0-9a-f]{4})+", character, sent)


class Reads:
    """Counts what is read of an answer, and lets the next piece of it be sent only then."""

    def __init__(self) -> None:
        self.count = 0
        self._has_read = asyncio.Event()

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        self._has_read.set()

    def read(self, piece: bytes) -> None:
        self.count += 1
        self._has_read.set()

    def piecewise(self, pieces: Iterable[bytes]) -> Answer:
        async def answer(writer: asyncio.StreamWriter) -> None:
            writer.write(SSE_HEAD)
            for piece in pieces:
                await self._has_read.wait()
                self._has_read.clear()
                writer.write(piece)

        return answer


async def _sampled(sample: Callable[[SampleRequest, Taker], Any], asked: SampleRequest) -> Told:
    assembler, found = Assembler(), Told([])
    is_seen = was_withdrawn = False

    def take(event: RawEvent) -> None:
        nonlocal is_seen, was_withdrawn
        if isinstance(event, FrameOpened):
            is_seen, was_withdrawn = may_see(event.header, Audience.END_USER), False
        elif isinstance(event, FrameWithdrawn):
            is_seen, was_withdrawn = False, True
        elif isinstance(event, FrameText):
            found.texts += bool(event.text)
            found.shown += event.text if is_seen else ""
        if done := assembler.feed(event):
            if done.frame.terminator == Terminator.CALL:
                found.call_ids.append(done.frame.header.call_id)
            found.lines.append(_line(done) + (" [withdrawn]" if was_withdrawn else ""))
            found.visible += show(done.frame, Audience.END_USER) if may_see(done.frame.header, Audience.END_USER) else ""

    try:
        ended = await sample(asked, Taker(take))
        found.lines.append(ended.reason.value + _counts(ended.usage) + (f", named {ended.model}" if ended.model != "tiny" else ""))
        found.gives = json.dumps(ended.reasoning.fields or ended.reasoning.items, sort_keys=True) if ended.reasoning else ""
    except BackendError as error:
        found.lines.append(error.code.value + (", may be asked again" if error.retryable else ""))
        assert SECRET not in str(error) + repr(error) + error.log_text, "the error quotes the server"
    assert assembler.finish() is None, "a frame was left open"
    assert len(set(found.call_ids)) == len(found.call_ids), "two calls have one id"
    return found


_KINDS = {ANALYSIS: "thought", ANSWER: "answer", PREAMBLE: "preamble", BROKEN: "hidden"}


def _line(done: Finished) -> str:
    """``answer so far`` is one that did not end by itself."""
    frame, header = done.frame, done.frame.header
    kind = _KINDS.get(header) or _other(header)
    if frame.terminator == Terminator.CALL:
        kind = f"call {header.recipient} {_named(header)}"
    elif header.recipient:
        kind = f"no call {header.recipient} {_named(header)}"
    elif header == ANSWER and frame.terminator != Terminator.RETURN:
        kind += " so far"
    return f"{kind}: {frame.body}" + (f" [{done.error.value}]" if done.error else "") + ("" if done.complete else " [cut]")


def _named(header: Header) -> str:
    """A call of ours has a random id."""
    name = re.sub("^call_[0-9a-f]{32}$", "new", header.call_id or "-")
    return name if header.constrain else f"{name}, no JSON"


def _other(header: Header) -> str:
    if header.name == SUMMARY_NAME:
        return "summary" if may_see(header, Audience.END_USER) else "hidden summary"
    return " ".join(part for part in ("hidden", header.channel, header.intent and f"({header.intent})") if part)


def _counts(usage: Usage | None) -> str:
    if usage is None or usage.prompt_tokens is None:
        return ""
    found = f", {usage.prompt_tokens} read"
    found += f" ({usage.cached_tokens} cached)" if usage.cached_tokens is not None else ""
    found += f", {usage.completion_tokens} written"
    return found + (f" ({usage.reasoning_tokens} reasoning)" if usage.reasoning_tokens is not None else "")
