"""The backend that samples a gpt-oss model by token ids, so that a quoted marker is never mistaken for a real one.

Where a tool call is required, the model reasons freely, but any other message that it opens is replaced by a call: no token-id server can
be told to require one. So the header of the call is written here, after the reasoning and the preambles; the model chooses the function,
among those that it may call, and writes the arguments. Where the rest of a sample must fit a schema, another request continues it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import groupby

from chatui.backends.answer_format import FUNCTIONS, PYTHON, refuses_format
from chatui.backends.base import BackendError, Endpoint, SampleEnded, SampleRequest, Taker, broken_off_with
from chatui.backends.context_fitting import Attempt, Fit, sample_attempts, too_long
from chatui.backends.continuation import continue_in_words, has_text
from chatui.backends.discovery import DetectedServer, Discovered
from chatui.backends.harmony.answer import HarmonyAnswer, ReadingPause, Wire
from chatui.backends.harmony.dialects import DIALECTS, CompletionRequest, ask_token_server
from chatui.backends.harmony.prompt import answer_tokens, fitted, opened, room_of
from chatui.backends.separation import IDS, Known
from chatui.codes import ProductCode
from renderer.events import RawEvent
from renderer.frame_kinds import is_answer, is_preamble, is_reasoning
from renderer.frames import Channel, Frame, Header, Intent, Role
from renderer.harmony.hip1 import pieces_of_frame
from renderer.harmony.pieces import Marker, Piece, ids_of_pieces
from renderer.harmony.prompt import FunctionTool
from renderer.harmony.vocabulary import MARKER_IDS, Vocabulary, VocabularyError
from renderer.tokens import Token

TRIES = 2
"""How often choosing a function is tried, and how often beginning a call."""
_ADDRESS = " to"
_WORD = re.compile(r"=([A-Za-z0-9_.-]+)(?:\s.*)?", re.DOTALL)
_WORD_TOKENS = 80
"""Enough for any name: at most 64 characters, each of which may be a token, after ``=functions.``."""


Tools = Sequence[FunctionTool]


def recipients_of(tools: Tools) -> dict[str, FunctionTool]:
    return {tool.recipient or f"{FUNCTIONS}{tool.name}": tool for tool in tools}


def is_no_call(tools: Tools, header: Header) -> bool:
    """Whether a message with this header is neither a call of one of the tools nor allowed before one (reasoning, a preamble).

    Messages with a broken header are hidden in any case, so they do not count.
    """
    if is_reasoning(header) or is_preamble(header) or header.intent == Intent.DEBUG:
        return False
    recipient = header.recipient or ""
    allowed = {*recipients_of(tools), *(f"{FUNCTIONS}{tool.name}" for tool in tools)}
    channels = (Channel.COMMENTARY,) if recipient.startswith(FUNCTIONS) else (Channel.ANALYSIS, Channel.COMMENTARY)
    return recipient not in allowed or header.channel not in channels


async def force_call(wire: Wire, answer: HarmonyAnswer, asked: CompletionRequest, take: Callable[[RawEvent], None], tools: Tools) -> None:
    """Pass on a call after what ``answer`` has read of ``asked``; none if there is a call already, or if the model names no tool."""
    answer.check_end()
    offered = recipients_of(tools)
    for _ in range(TRIES):
        recipient = await _choose_recipient(wire, asked, answer.before, list(offered)) if answer.lacks_call else None
        if recipient is None:
            return
        header = _header(recipient)
        following = await _extended(wire, asked, [*_pieces(answer.before), *pieces_of_frame(Frame(header, ""))[:-1]])
        answer.begin_call(header, wire.chunks(), len(following.ids) - len(asked.ids))
        # Only the arguments of Python are no JSON.
        schema = None if recipient == PYTHON else offered[recipient].parameters or {"type": "object"}
        await wire.write_in_schema(answer, replace(following, schema=schema), take)
        answer.check_end()


async def _choose_recipient(wire: Wire, asked: CompletionRequest, before: Sequence[Frame], recipients: list[str]) -> str | None:
    """The recipient of the call: the only one, or the one that the model names after the beginning of a header.

    None if it names no valid one.
    """
    if len(recipients) == 1:
        return recipients[0]
    extended = await _extended(wire, asked, [*_pieces(before), *_opening()])
    naming = replace(extended, max_tokens=min(extended.max_tokens, _WORD_TOKENS), words=_words(recipients))
    for _ in range(TRIES):
        try:
            word = await wire.word(naming)
        except BackendError as error:
            if not naming.words or not refuses_format(error):
                raise
            naming = replace(naming, words=())
            word = await wire.word(naming)
        named = _WORD.fullmatch(word)
        if named and named[1] in recipients:
            return named[1]
    return None


def _words(recipients: Sequence[str]) -> tuple[str, ...]:
    """The allowed continuations. Unconstrained if one name begins with another: a grammar could not tell where the shorter one ends."""
    is_clear = not any(one != other and other.startswith(one) for one in recipients for other in recipients)
    return tuple(f"={recipient}" for recipient in recipients) if is_clear else ()


def _header(recipient: str) -> Header:
    """The header that this product writes into prompts: functions on commentary, with JSON; built-in tools as the model was trained."""
    if recipient.startswith(FUNCTIONS):
        return Header(Role.ASSISTANT, Channel.COMMENTARY, recipient=recipient, constrain="json")
    return Header(Role.ASSISTANT, Channel.ANALYSIS, recipient=recipient, content_type="code")


def _pieces(frames: Sequence[Frame]) -> list[Piece]:
    return [piece for frame in frames for piece in pieces_of_frame(frame)]


def _opening() -> list[Piece]:
    return [Marker(Token.START), Role.ASSISTANT.value, _ADDRESS]


async def _extended(wire: Wire, asked: CompletionRequest, pieces: Sequence[Piece]) -> CompletionRequest:
    """The same request with these pieces added to its prompt, which already ends in their beginning: the start of an assistant message."""
    ids = await asyncio.to_thread(ids_of_pieces, pieces[2:], wire.vocabulary)
    return replace(asked, ids=[*asked.ids, *ids], max_tokens=max(asked.max_tokens - len(ids), 1), schema=None)


_MARKERS = frozenset(token.value for token in MARKER_IDS)


def continued_request(asked: CompletionRequest, pieces: Iterable[Piece], vocabulary: Vocabulary) -> CompletionRequest:
    """The same request with ``pieces``, which end where the answer begins, added to its prompt.

    It also announces JSON as gpt-oss was trained to: otherwise a model that was about to write something else fills the grammar with white
    space. Slow for a long text.
    """
    ids = ids_of_pieces(_announced([*_merge_texts(pieces)]), vocabulary)
    return replace(asked, ids=[*asked.ids, *ids], max_tokens=max(asked.max_tokens - len(ids), 1))


def _announced(pieces: list[Piece]) -> list[Piece]:
    begin = max((place for place, piece in enumerate(pieces) if piece == Marker(Token.CHANNEL)), default=0)
    if Marker(Token.CONSTRAIN) in pieces[begin:]:
        return pieces
    return [*pieces[:-1], " ", Marker(Token.CONSTRAIN), "json", *pieces[-1:]]


def _merge_texts(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Joins neighbouring texts, because they are encoded together. Markers without an id are left out."""
    for is_marker, group in groupby(pieces, key=lambda piece: isinstance(piece, Marker)):
        if is_marker:
            yield from (piece for piece in group if isinstance(piece, Marker) and piece.token in _MARKERS)
        else:
            yield "".join(piece for piece in group if isinstance(piece, str))


class HarmonyCompletionsBackend(DetectedServer):
    """A Backend for token ids."""

    kind = "harmony"

    def __init__(self, endpoint: Endpoint, *, vocabulary: Callable[[], Vocabulary], dialect: str | None = None) -> None:
        """``vocabulary`` loads the vocabulary on first use, which takes half a second. ``dialect``: a key of ``DIALECTS``; None to detect
        it.

        Raises:
            ValueError: the endpoint's ``url`` is not an http address.
        """
        super().__init__(endpoint)
        self._load_vocabulary = vocabulary
        self._vocabulary: Vocabulary | None = None
        self._dialect = dialect

    def known_separations(self) -> dict[str, Known]:
        return {"": IDS}

    async def can_continue(self) -> bool:
        return True

    def sample(self, request: SampleRequest, take: Taker) -> Awaitable[SampleEnded]:
        in_words = request.cut_answer is not None and not has_text(request.cut_answer)
        # The request to finish the answer is a turn of its own, so the turn before it must stay as well.
        sample = partial(self._sample, min_turns=2 if in_words else 1)
        return continue_in_words(request, take, sample) if in_words else sample(request, take)

    def _sample(self, request: SampleRequest, take: Taker, *, min_turns: int) -> Awaitable[SampleEnded]:
        async def plan(max_weight: float | None) -> Attempt:
            vocabulary = await self._loaded()
            model = request.model or self._model or next(iter(await self.models()), None)
            window = await self._window(model)
            context, today = window.limit, request.today or datetime.now(UTC).date()
            room = room_of(request, context, None if max_weight is None else int(max_weight))
            prompt = await asyncio.to_thread(fitted, request, vocabulary, today, room, min_turns=min_turns)
            schema = request.answer_format.checked_schema if request.answer_format and not request.cut_answer else None
            asked = CompletionRequest(prompt.ids, answer_tokens(request, len(prompt.ids), context), model, request.sampling, schema)
            fit = Fit(request, len(prompt.ids), prompt.turns_left_out, prompt.is_minimal)
            if context is not None and len(prompt.ids) >= context:
                raise too_long(window, fit, f"{len(prompt.ids)} tokens, and the server takes {context}")
            return Attempt(window, fit, partial(self._complete, request, asked))

        return sample_attempts(plan, take)

    async def _complete(self, request: SampleRequest, asked: CompletionRequest, take: Taker) -> SampleEnded:
        """As ``sample``, for the finished prompt of ``request``, which ends in ``<|start|>assistant``, or in the cut answer.

        With a schema, it first samples up to the answer, then continues under the schema: the grammar must not apply to the reasoning.
        If a call is required, only reasoning, preambles and a call of one of the tools are read.
        """
        forced = request.tools if request.must_call and not request.cut_answer else ()
        vocabulary = await self._loaded()
        await self.models()
        wire = Wire(self._upstream, DIALECTS[await self._product() or ""], vocabulary, request)
        pause = ReadingPause(is_answer) if asked.schema is not None else None
        if forced:
            pause = ReadingPause(partial(is_no_call, forced), drops=True)
        answer = HarmonyAnswer(wire.chunks(), self._limits.max_output_chars, pause)
        if cut_answer := opened(request.cut_answer):
            answer.continue_with(cut_answer)
        try:
            await _write(wire, answer, asked, take, forced)
            answer.check_end()
        except (BackendError, asyncio.CancelledError) as error:
            for raw in answer.break_off(broken_off_with(error)):
                take(raw)
            raise
        rest, reason = answer.finish()
        for raw in rest:
            take(raw)
        return SampleEnded(reason, answer.usage, self._own_name(answer.chunks.model, asked.model))

    async def _discover(self) -> Discovered:
        return await ask_token_server(self._upstream, self._dialect)

    async def _loaded(self) -> Vocabulary:
        """The vocabulary. Failure to load it is not cached, so that it is found as soon as it has been fetched."""
        if self._vocabulary is None:
            try:
                self._vocabulary = await asyncio.to_thread(self._load_vocabulary)
            except VocabularyError as error:
                raise BackendError(ProductCode.BACKEND, str(error)) from error
        return self._vocabulary


async def _write(wire: Wire, answer: HarmonyAnswer, asked: CompletionRequest, take: Taker, forced: Tools) -> None:
    await wire.write(answer, replace(asked, schema=None), take)
    if forced:
        await force_call(wire, answer, asked, take, forced)
    elif answer.needs_second_request:
        following = await asyncio.to_thread(continued_request, asked, answer.pieces, wire.vocabulary)
        answer.resume(wire.chunks(), len(following.ids) - len(asked.ids))
        await wire.write_in_schema(answer, following, take)
