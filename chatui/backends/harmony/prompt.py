"""Builds the prompt in token ids: the instructions, as much history as fits, and the start of the model's turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from chatui.backends.base import BackendError, SampleRequest
from chatui.codes import ProductCode
from renderer.errors import Code, ParseHeaderError
from renderer.frames import HEADER_VALUE, Frame, Header, Role
from renderer.harmony.prompt import Fitted, Prompt, build_within
from renderer.harmony.system_messages import DeveloperMessage, SystemMessage
from renderer.harmony.vocabulary import Vocabulary

ANSWER_TOKENS = 4096
"""How long an answer may be where nobody says, and how much of a context is kept free for one; never more than a quarter of it."""


def fitted(request: SampleRequest, vocabulary: Vocabulary, context: int | None, today: date) -> Fitted:
    """The ids, and how many of the oldest turns were left out to make room for an answer. ``context``: tokens of both together.

    Raises:
        BackendError: the last question alone is longer than the context.
    """
    room = None if context is None else context - _kept_free(request.max_tokens, context)
    try:
        found = build_within(_prompt(request, today), vocabulary, room)
    except ParseHeaderError as error:
        raise BackendError(Code.PARSE_HEADER, str(error)) from error
    if context is not None and len(found.ids) >= context:
        raise BackendError(ProductCode.TOO_LARGE, f"the last question alone has {len(found.ids)} tokens, and the server takes {context}")
    return found


def answer_tokens(request: SampleRequest, prompt_tokens: int, context: int | None) -> int:
    """The token limit for the answer. Always sent: servers' own defaults are as low as 16. One less than fits, as some require."""
    if context is None:
        return request.max_tokens or ANSWER_TOKENS
    return min(request.max_tokens or context, max(context - prompt_tokens - 1, 1))


def _kept_free(max_tokens: int | None, context: int) -> int:
    return min(max_tokens or ANSWER_TOKENS, context // 4)


def _prompt(request: SampleRequest, today: date) -> Prompt:
    """System and developer frames become one developer message: the system message says what the model was trained to expect in it."""
    orders = [frame.body for frame in request.frames if frame.header.role in (Role.SYSTEM, Role.DEVELOPER)]
    talk = [frame for frame in request.frames if frame.header.role not in (Role.SYSTEM, Role.DEVELOPER)]
    return Prompt(
        _writable(talk),
        SystemMessage(date=today.isoformat(), effort=request.effort),
        DeveloperMessage("\n\n".join(orders)) if orders else None,
        opened(request.cut_answer),
    )


def opened(cut_answer: Frame | None) -> Frame | None:
    """The answer that the prompt opens again, as it can be written in Harmony; None to begin a new message."""
    return next(iter(_writable([cut_answer])), None) if cut_answer else None


def _writable(frames: Sequence[Frame]) -> list[Frame]:
    """The frames without what Harmony cannot express; a message whose author or recipient cannot be written is left out."""
    return [replace(frame, header=header) for frame in frames if (header := _header(frame.header))]


def _header(header: Header) -> Header | None:
    is_tool = header.role == Role.TOOL
    needed = (header.role, header.channel, header.recipient, header.name if is_tool else None)
    if not all(value is None or HEADER_VALUE.fullmatch(value) for value in needed) or (is_tool and not header.name):
        return None
    return replace(
        header, name=_if_writable(header.name), content_type=_if_writable(header.content_type), constrain=_if_writable(header.constrain)
    )


def _if_writable(value: str | None) -> str | None:
    return value if value is not None and HEADER_VALUE.fullmatch(value) else None
