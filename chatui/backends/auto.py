"""The ``auto`` backend: detects which wire format fits its server, then acts as a backend of that kind.

Token ids are chosen if the server supports them and runs a gpt-oss model, else Chat Completions. gpt-oss is detected by its tokenizer: the
server is asked for the ids of Harmony's markers.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from chatui.backends.base import Backend, BackendError, Endpoint, SampleEnded, SampleRequest, Taker, Watcher
from chatui.backends.discovery import DetectedServer, Discovered, ask, knows_markers
from chatui.backends.harmony.dialects import DIALECTS, CompletionRequest
from chatui.backends.http import WHOLE, Upstream
from chatui.backends.separation import Known
from chatui.backends.sse import ServerSentEvent
from chatui.codes import ProductCode
from chatui.program import command
from renderer.harmony.vocabulary import MARKER_IDS, Vocabulary, VocabularyError
from renderer.strict_json import object_of
from renderer.tokens import Token

_log = logging.getLogger(__name__)

AUTO = "auto"
"""The kind of a backend whose wire format is chosen here."""
CHAT = "chat"
KIND_OF = {"llama.cpp": "harmony-llamacpp", "vLLM": "harmony-vllm", "SGLang": "harmony-sglang"}
"""The kind that uses token ids, by the name of the server."""

_NOT_NOW = (ProductCode.BACKEND_UNREACHABLE, ProductCode.BACKEND_BUSY)
_SAMPLE_WAITS = 5
"""How many times longer a token may take than a description: the model may have to be loaded first."""
_NOT_ALLOWED = ("401", "403")


@dataclass(frozen=True, slots=True)
class ChosenFormat:
    """The chosen wire format."""

    kind: str
    why: str
    """The reason in one sentence without its full stop; it never quotes the server."""
    lasts: bool = True
    """Whether the choice is kept until an error casts doubt on it; otherwise it is made again soon."""
    report: Discovered | None = None
    """What the server reported about itself."""
    lacks_vocabulary: bool = False
    """Nothing else stands in the way of token ids."""


async def choose(upstream: Upstream, endpoint: Endpoint, vocabulary: Callable[[], Vocabulary]) -> ChosenFormat:
    """Query the server at ``upstream``, sampling at most one token. ``vocabulary`` loads the vocabulary.

    Raises:
        BackendError: it cannot be reached, is busy, or refuses the key. Nothing is chosen then.
    """
    try:
        report = await ask(upstream)
    except BackendError as error:
        return _without_an_answer(error)
    product = report.server
    if product not in DIALECTS:
        return ChosenFormat(CHAT, f"{product or 'a server that does not say what it is'} is not known to give token ids", report=report)
    if endpoint.trusts_summaries:
        return ChosenFormat(CHAT, "the summaries that this server writes do not come with token ids", report=report)
    if not endpoint.wants_reasoning:
        return ChosenFormat(CHAT, "with token ids a server cannot keep its reasoning to itself, as is wanted here", report=report)
    if product == "llama.cpp" and len(report.models) + len(report.left_out) > 1:
        return ChosenFormat(CHAT, "this llama.cpp has several models, and token ids go to one that cannot be named", report=report)
    return await _by_ids(upstream, endpoint.model, product, report, vocabulary)


async def _by_ids(upstream: Upstream, named: str | None, product: str, report: Discovered, load: Callable[[], Vocabulary]) -> ChosenFormat:
    """Choose token ids if the model is certainly gpt-oss, the vocabulary is there, and the server really returns ids: one token is sampled.
    Otherwise Chat Completions, with the reason. ``named``: the configured model; ``load`` loads the vocabulary."""
    model = named or next(iter(report.models), None)
    is_gpt_oss = await knows_markers(upstream, product, model)
    report = replace(report, is_gpt_oss=is_gpt_oss)
    if is_gpt_oss is None:
        return ChosenFormat(
            CHAT, f"this {product} did not say how it tokenizes, so its model may not be gpt-oss", lasts=False, report=report
        )
    if not is_gpt_oss:
        return ChosenFormat(CHAT, f"the model of this {product} is not gpt-oss, by its tokenizer", report=report)
    try:
        vocabulary = await asyncio.to_thread(load)
    except VocabularyError:
        why = f"{product} gives token ids, which would be better, but the vocabulary is missing: run {command('fetch_vocabulary')}"
        return ChosenFormat(CHAT, why, lasts=False, report=report, lacks_vocabulary=True)
    gives_ids = await _gives_ids(upstream, product, model, vocabulary)
    if gives_ids is None:
        return ChosenFormat(CHAT, f"this {product} did not sample a token in time; it is asked again soon", lasts=False, report=report)
    if not gives_ids:
        return ChosenFormat(CHAT, f"this {product} does not return the ids of the tokens that it samples", report=report)
    why = f"{product} with gpt-oss gives token ids, so that preambles and hidden text are certainly apart from the answer"
    return ChosenFormat(KIND_OF[product], why, report=report)


def _without_an_answer(error: BackendError) -> ChosenFormat:
    if error.code in _NOT_NOW or error.status in _NOT_ALLOWED:
        raise error
    if error.code is ProductCode.TIMEOUT:
        # Some servers answer no other request while they write an answer. The waiting request uses the format that all servers support.
        return ChosenFormat(CHAT, "the server did not say in time what it is; it is asked again soon", lasts=False)
    return ChosenFormat(CHAT, f"the server does not say what it is ({error.evidence or 'no answer that can be read'})")


async def _gives_ids(upstream: Upstream, product: str, model: str | None, vocabulary: Vocabulary) -> bool | None:
    """Whether the server returns the id of one sampled token; None if it did not answer in time: everybody's requests wait for this.

    Raises BackendError if the server is busy or gone.
    """
    dialect = DIALECTS[product]
    prompt = [MARKER_IDS[Token.START], *vocabulary.encode("assistant")]
    chunks = dialect(vocabulary)

    def feed(events: list[ServerSentEvent]) -> bool:
        objects = (object_of(json.loads(event.data)) for event in events if event.name == WHOLE or event.data.startswith("{"))
        return any(chunks.feed(chunk) for chunk in objects if chunk)

    try:
        async with asyncio.timeout(_SAMPLE_WAITS * upstream.limits.discover):
            return await upstream.stream(dialect.path, dialect.payload(CompletionRequest(prompt, 1, model)), feed)
    except BackendError as error:
        if error.code in _NOT_NOW:
            raise
        return None if error.code is ProductCode.TIMEOUT else False
    except TimeoutError:
        return None
    except (ValueError, RecursionError):
        return False


RECHECK_SECONDS = 60.0
"""How long a provisional choice is used before the server is asked again."""
_RECHECK_AFTER = (ProductCode.BACKEND_UNREACHABLE, ProductCode.BACKEND_SETUP)
"""After these errors, there may be another server at the address, or the same one with other options."""


class AutoBackend(Backend):
    """A Backend that chooses its wire format. It queries the server on first use, and chooses nothing while the server is unreachable."""

    def __init__(self, endpoint: Endpoint, vocabulary: Callable[[], Vocabulary], build: Callable[[str], Backend]) -> None:
        """``vocabulary`` loads the vocabulary; ``build`` makes the backend of a kind. Raises ValueError if the endpoint's ``url`` is not an
        http address."""
        self._endpoint = endpoint
        self._vocabulary = vocabulary
        self._build = build
        self._host = Upstream(endpoint.url, None, endpoint.limits).host
        self._choosing = asyncio.Lock()
        self._chosen: tuple[ChosenFormat, Backend] | None = None
        self._until = float("-inf")
        self._watcher: Watcher | None = None
        self._is_closed = False

    @property
    def kind(self) -> str:
        """The chosen wire format; ``auto`` before."""
        return self._chosen[1].kind if self._chosen else AUTO

    @property
    def name(self) -> str:
        return self._chosen[1].name if self._chosen else f"Model server at {self._host}"

    async def sample(self, request: SampleRequest, take: Taker) -> SampleEnded:
        _, inner = await self._current()
        try:
            return await inner.sample(request, take)
        except BackendError as error:
            if error.code in _RECHECK_AFTER:  # then the next request detects the format again
                self._until = float("-inf")
            raise

    async def models(self) -> tuple[str, ...]:
        _, inner = await self._current()
        return await inner.models()

    async def can_continue(self) -> bool:
        _, inner = await self._current()
        return await inner.can_continue()

    async def choice(self) -> ChosenFormat:
        """The current choice, made now if necessary.

        Raises:
            BackendError: the server cannot be reached, is busy, or refuses the key.
        """
        return (await self._current())[0]

    def known_context(self, model: str | None) -> int | None:
        return self._chosen[1].known_context(model) if self._chosen else None

    def known_separations(self) -> dict[str, Known]:
        return self._chosen[1].known_separations() if self._chosen else {}

    def watch(self, watcher: Watcher) -> None:
        """See Backend. ``watcher`` does not see the requests that make the choice."""
        self._watcher = watcher
        if self._chosen:
            self._chosen[1].watch(watcher)

    async def aclose(self) -> None:
        self._is_closed = True
        if self._chosen:
            await self._chosen[1].aclose()

    async def _current(self) -> tuple[ChosenFormat, Backend]:
        now = asyncio.get_running_loop().time
        async with self._choosing:
            if self._chosen is not None and now() <= self._until:
                return self._chosen
            choice = await self._detect()
            self._chosen = chosen = (choice, await self._backend_for(choice))
            self._until = float("inf") if choice.lasts else now() + RECHECK_SECONDS
            return chosen

    async def _detect(self) -> ChosenFormat:
        endpoint = self._endpoint
        upstream = Upstream(endpoint.url, endpoint.key, endpoint.limits, endpoint.route)
        try:
            return await choose(upstream, endpoint, self._vocabulary)
        finally:
            await upstream.aclose()

    async def _backend_for(self, choice: ChosenFormat) -> Backend:
        before = self._chosen
        if before is None or before[0].kind != choice.kind:
            inner = self._build(choice.kind)
            if self._watcher is not None:
                inner.watch(self._watcher)
            if self._is_closed:
                await inner.aclose()  # it may be used once more: it then closes each connection after its request
            if before is not None:
                await before[1].aclose()  # a running sample keeps its connection to its end
        else:
            inner = before[1]
        if choice.report is not None and isinstance(inner, DetectedServer):
            inner.use_discovery(choice.report)
        if before is None or (before[0].kind, before[0].why) != (choice.kind, choice.why):
            _log.info("wire format %s chosen for the model server at %s: %s", choice.kind, self._host, choice.why)
        return inner
