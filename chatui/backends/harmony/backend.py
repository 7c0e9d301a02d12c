"""The back end that samples a gpt-oss model by token ids, so that a quoted marker is never mistaken for a real one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import partial

from chatui.backends.base import BackendError, Endpoint, SampleEnded, SampleEvent, SampleRequest, broken_off_with
from chatui.backends.context.fitting import Fit, hidden_weight
from chatui.backends.context.sampling import Attempt, sample_attempts, too_long
from chatui.backends.context.window import Windows
from chatui.backends.continuation import continue_in_words, has_text
from chatui.backends.discovery import Discovered, own_name
from chatui.backends.harmony.answer import Answer, Pause
from chatui.backends.harmony.dialect import CompletionRequest
from chatui.backends.harmony.dialects import DIALECTS
from chatui.backends.harmony.forced_call import Forced, force_call
from chatui.backends.harmony.prompt import PromptInput, answer_tokens, fitted, opened
from chatui.backends.harmony.schema_continuation import continued_request
from chatui.backends.harmony.server import TokenServer, ask_token_server
from chatui.backends.harmony.wire import OnSent, Wire
from chatui.backends.http import Upstream, Watcher
from chatui.codes import ProductCode
from renderer.events import RawEvent
from renderer.frame_kinds import is_answer
from renderer.frames import Frame
from renderer.harmony.vocabulary import Vocabulary, VocabularyError

_KEEP_FOUND = 60.0


def _today() -> date:
    return datetime.now(UTC).date()


class HarmonyCompletionsBackend:
    """A Backend. One connection pool, shared by all samples; belongs to the event loop that it was first used on."""

    kind = "harmony"
    is_demo = False

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        vocabulary: Callable[[], Vocabulary],
        dialect: str | None = None,
        today: Callable[[], date] = _today,
    ) -> None:
        """``vocabulary`` loads the vocabulary on first use, which takes half a second. ``dialect``: a key of ``DIALECTS``; None to detect
        it.

        Raises:
            ValueError: the endpoint's ``url`` is not an http address.
        """
        self._limits = endpoint.limits
        self._upstream = Upstream(endpoint.url, endpoint.key, endpoint.limits, endpoint.route)
        self._load_vocabulary = vocabulary
        self._vocabulary: Vocabulary | None = None
        self._model = endpoint.model
        self._dialect = dialect
        self._today = today
        self._found: tuple[float, TokenServer] | None = None
        self._windows = Windows(endpoint.context)

    @property
    def name(self) -> str:
        """The product, if known, and the address."""
        dialect = self._found[1].dialect if self._found else self._dialect
        return f"{dialect or 'Model server'} at {self._upstream.place}"

    def known_context(self, model: str | None) -> int | None:
        """See ``context.window.HasContextWindow``."""
        found = self._found[1] if self._found else None
        named = model or self._model or (next(iter(found.models), None) if found else None)
        return self._windows.window_of(named).size or (found.context(named) if found else None)

    async def sample(self, request: SampleRequest) -> AsyncGenerator[SampleEvent, None]:
        """See ``base.Backend``."""
        in_words = request.cut_answer is not None and not has_text(request.cut_answer)
        # The request to finish the answer is a turn of its own, so the turn before it must stay as well.
        sample = partial(self._sample, min_turns=2 if in_words else 1)
        async with aclosing(continue_in_words(request, sample) if in_words else sample(request)) as events:
            async for event in events:
                yield event

    async def _sample(self, request: SampleRequest, *, min_turns: int) -> AsyncGenerator[SampleEvent, None]:
        vocabulary = await self._loaded()
        server = await self._server()
        model = request.model or self._model or next(iter(server.models), None)
        window = self._windows.window_of(model)
        window.ask(server.context(model))

        async def plan(max_weight: float | None) -> Attempt:
            wanted = PromptInput(request, window.limit, None if max_weight is None else int(max_weight), min_turns)
            prompt = await asyncio.to_thread(fitted, wanted, vocabulary, request.today or self._today())
            schema = request.answer_format.checked_schema if request.answer_format and not request.cut_answer else None
            asked = CompletionRequest(prompt.ids, answer_tokens(request, len(prompt.ids), wanted.context), model, request.sampling, schema)
            fit = Fit(request, len(prompt.ids), hidden_weight(request), prompt.turns_left_out, prompt.is_minimal)
            if wanted.context is not None and len(prompt.ids) >= wanted.context:
                raise too_long(window, fit, f"{len(prompt.ids)} tokens, and the server takes {wanted.context}")
            forced = Forced(request.tools) if request.must_call and request.tools and not request.cut_answer else None
            opening = opened(request.cut_answer)
            return _IdAttempt(fit, partial(self.complete, asked, cut_answer=opening, forced=forced, on_sent=request.on_sent))

        async with aclosing(sample_attempts(window, plan)) as events:
            async for event in events:
                yield event

    async def complete(
        self, asked: CompletionRequest, *, cut_answer: Frame | None = None, forced: Forced | None = None, on_sent: OnSent | None = None
    ) -> AsyncGenerator[SampleEvent, None]:
        """As ``sample``, for a finished prompt, which ends in ``<|start|>assistant``, or in ``cut_answer``. Raises as ``sample``.

        With a schema, it first samples up to the answer, then continues under the schema: the grammar must not apply to the reasoning.
        ``forced``: only reasoning, preambles and a call are read.
        """
        vocabulary = await self._loaded()
        wire = Wire(self._upstream, DIALECTS[(await self._server()).dialect], vocabulary, on_sent)
        pause = Pause(forced.misses, drops=True) if forced else Pause(is_answer) if asked.schema is not None else None
        answer = Answer(wire.chunks(), self._limits.max_output_chars, pause)
        if cut_answer:
            answer.continue_with(cut_answer)
        try:
            async with aclosing(_raw_events(wire, answer, asked, forced)) as raws:
                async for raw in raws:
                    yield raw
            answer.check_end()
        except (BackendError, asyncio.CancelledError) as error:
            for raw in answer.break_off(broken_off_with(error)):
                yield raw
            raise
        rest, reason = answer.finish()
        for raw in rest:
            yield raw
        model = own_name(answer.chunks.model, asked.model, (await self._server()).models)
        yield SampleEnded(reason, answer.usage, model)

    async def models(self) -> tuple[str, ...]:
        """See ``base.Backend``. The server is asked at most once a minute."""
        return (await self._server()).models

    def use_discovery(self, found: Discovered) -> None:
        """Use another's discovery, see ``auto.backend.AcceptsDiscovery``."""
        if self._dialect is not None:
            self._found = (asyncio.get_running_loop().time() + _KEEP_FOUND, TokenServer(self._dialect, found))

    def watch(self, watcher: Watcher) -> None:
        """See ``http.Watchable``."""
        self._upstream.watcher = watcher

    async def aclose(self) -> None:
        """See ``base.Backend``."""
        await self._upstream.aclose()

    async def _server(self) -> TokenServer:
        now = asyncio.get_running_loop().time()
        if self._found is None or now > self._found[0]:
            self._found = (now + _KEEP_FOUND, await ask_token_server(self._upstream, self._dialect))
        return self._found[1]

    async def _loaded(self) -> Vocabulary:
        """The vocabulary. Failure to load it is not cached, so that it is found as soon as it has been fetched."""
        if self._vocabulary is None:
            try:
                self._vocabulary = await asyncio.to_thread(self._load_vocabulary)
            except VocabularyError as error:
                raise BackendError(ProductCode.BACKEND, str(error)) from error
        return self._vocabulary


@dataclass(frozen=True, slots=True)
class _IdAttempt:
    fit: Fit
    events: Callable[[], AsyncGenerator[SampleEvent, None]]


async def _raw_events(wire: Wire, answer: Answer, asked: CompletionRequest, forced: Forced | None) -> AsyncGenerator[RawEvent, None]:
    """The raw events of all requests that the answer needs."""
    async with aclosing(wire.written(answer, replace(asked, schema=None))) as raws:
        async for raw in raws:
            yield raw
    if forced is not None:
        rest = force_call(wire, answer, asked, forced)
    elif answer.needs_second_request:
        following = await asyncio.to_thread(continued_request, asked, answer.pieces, wire.vocabulary)
        answer.resume(wire.chunks(), len(following.ids) - len(asked.ids))
        rest = wire.in_schema(answer, following)
    else:
        return
    async with aclosing(rest) as raws:
        async for raw in raws:
            yield raw
