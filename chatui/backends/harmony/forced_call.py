"""Forces a tool call where one is required: the model reasons freely, but any other message that it opens is replaced by a call.

No token-id server can be told to require a call. So the header of the call is written here, after the reasoning and the preambles; the
model chooses the function, among those that it may call, and writes the arguments.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from chatui.backends.base import BackendError
from chatui.backends.harmony.answer import Answer
from chatui.backends.harmony.dialect import CompletionRequest
from chatui.backends.harmony.wire import Wire
from chatui.backends.structured.format_fallback import refuses_format
from renderer.events import RawEvent
from renderer.frame_kinds import is_preamble, is_reasoning
from renderer.frames import Channel, Frame, Header, Intent, Role
from renderer.harmony.hip1 import pieces_of_frame
from renderer.harmony.pieces import Marker, Piece, ids_of_pieces
from renderer.harmony.system_messages import FunctionTool
from renderer.tokens import Token

TRIES = 2
"""How often choosing a function is tried, and how often beginning a call."""
_FUNCTIONS = "functions."
_PYTHON = "python"
"""The only tool whose arguments are not JSON."""
_ADDRESS = " to"
_WORD = re.compile(r"=([A-Za-z0-9_.-]+)(?:\s.*)?", re.DOTALL)
_WORD_TOKENS = 80
"""Enough for any name: at most 64 characters, each of which may be a token, after ``=functions.``."""


@dataclass(frozen=True, slots=True)
class Forced:
    """A required call: one of these tools must be called."""

    tools: Sequence[FunctionTool]

    @property
    def recipients(self) -> dict[str, FunctionTool]:
        """The tools, by the recipient of their calls."""
        return {tool.recipient or f"{_FUNCTIONS}{tool.name}": tool for tool in self.tools}

    def misses(self, header: Header) -> bool:
        """Whether a message with this header is neither a call of one of the tools nor allowed before one (reasoning, a preamble).

        Messages with a broken header are hidden in any case, so they do not count.
        """
        if is_reasoning(header) or is_preamble(header) or header.intent == Intent.DEBUG:
            return False
        recipient = header.recipient or ""
        allowed = {*self.recipients, *(f"{_FUNCTIONS}{tool.name}" for tool in self.tools)}
        channels = (Channel.COMMENTARY,) if recipient.startswith(_FUNCTIONS) else (Channel.ANALYSIS, Channel.COMMENTARY)
        return recipient not in allowed or header.channel not in channels


async def force_call(wire: Wire, answer: Answer, asked: CompletionRequest, forced: Forced) -> AsyncGenerator[RawEvent, None]:
    """The events of a call after what ``answer`` has read of ``asked``; none if there is a call already, or if the model names no tool."""
    answer.check_end()
    for _ in range(TRIES):
        recipient = await _choose_recipient(wire, asked, answer.before, forced) if answer.lacks_call else None
        if recipient is None:
            return
        header = _header(recipient)
        following = await _extended(wire, asked, [*_pieces(answer.before), *pieces_of_frame(Frame(header, ""))[:-1]])
        answer.begin_call(header, wire.chunks(), len(following.ids) - len(asked.ids))
        schema = None if recipient == _PYTHON else forced.recipients[recipient].parameters or {"type": "object"}
        async with aclosing(wire.in_schema(answer, replace(following, schema=schema))) as raws:
            async for raw in raws:
                yield raw
        answer.check_end()


async def _choose_recipient(wire: Wire, asked: CompletionRequest, before: Sequence[Frame], forced: Forced) -> str | None:
    """The recipient of the call: the only one, or the one that the model names after the beginning of a header.

    None if it names no valid one.
    """
    recipients = list(forced.recipients)
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
    if recipient.startswith(_FUNCTIONS):
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
