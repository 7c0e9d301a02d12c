"""Builds the prompt in token ids: the instructions, as much history as fits, and the start of the model's turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from chatui.backends.answer_format import for_prompt
from chatui.backends.base import BackendError, SampleRequest
from chatui.backends.context_fitting import fit
from chatui.backends.context_window import ANSWER_TOKENS, reserved_tokens
from renderer.errors import Code, ParseHeaderError
from renderer.frame_kinds import NOTES
from renderer.frames import HEADER_VALUE, Frame, Header, Role
from renderer.harmony.prompt import DeveloperMessage, Fitted, Prompt, SystemMessage, build_within
from renderer.harmony.vocabulary import Vocabulary
from renderer.history import questions

_SHORTENINGS = 3
_CLOSER = 0.9
_BROWSER = "browser."


def room_of(request: SampleRequest, context: int | None, max_tokens: int | None = None) -> int | None:
    """How many tokens its prompt may have. ``context``: tokens of prompt and answer together; ``max_tokens``: of the prompt; None if
    unknown."""
    room = None if context is None else context - reserved_tokens(request.max_tokens, context)
    return min((each for each in (room, max_tokens) if each is not None), default=None)


def fitted(request: SampleRequest, vocabulary: Vocabulary, today: date, room: int | None = None, *, min_turns: int = 1) -> Fitted:
    """The ids, and how many of the oldest turns were left out, so that there are at most as many as there is ``room``.

    If it still does not fit, the beginning of a cut answer is left out. ``min_turns``: how many of the last turns are never left out.

    Raises:
        BackendError: a frame cannot be written.
    """
    asked = request
    try:
        found = build_within(_prompt(request, today), vocabulary, room, min_turns=min_turns)
        for _ in range(_SHORTENINGS):
            if room is None or len(found.ids) <= room or request.cut_answer is None:
                break
            # The estimate of the other formats, corrected by the exact count: a few rounds instead of one for each token.
            whole = fit(request, None).weight
            request = fit(request, room * whole * _CLOSER / max(_length(request, vocabulary, today), 1)).request
            found = build_within(_prompt(request, today), vocabulary, room, min_turns=min_turns)
    except ParseHeaderError as error:
        raise BackendError(Code.PARSE_HEADER, str(error)) from error
    return replace(found, turns_left_out=questions(asked.frames) - questions(request.frames) + found.turns_left_out)


def answer_tokens(request: SampleRequest, prompt_tokens: int, context: int | None) -> int:
    """The token limit for the answer. Always sent, because servers' defaults are as low as 16. One less than fits, as some require."""
    if context is None:
        return request.max_tokens or ANSWER_TOKENS
    return min(request.max_tokens or context, max(context - prompt_tokens - 1, 1))


def _length(request: SampleRequest, vocabulary: Vocabulary, today: date) -> int:
    return len(build_within(_prompt(request, today), vocabulary, None).ids)


def _prompt(request: SampleRequest, today: date) -> Prompt:
    """System and developer frames become one developer message: the system message has only the content that the model was trained on."""
    orders = [frame.body for frame in request.frames if frame.header.role in (Role.SYSTEM, Role.DEVELOPER)]
    functions = tuple(tool for tool in request.tools if tool.recipient is None)
    formats = (for_prompt(request.answer_format),) if request.answer_format else ()
    talk = [frame for frame in request.frames if frame.header.role not in (Role.SYSTEM, Role.DEVELOPER)]
    return Prompt(
        _writable(talk),
        _system_message(request, today),
        DeveloperMessage("\n\n".join(orders) if orders else None, functions, formats),
        opened(request.cut_answer),
    )


def _system_message(request: SampleRequest, today: date) -> SystemMessage:
    """The system message: it describes the built-in tools in the words that the model was trained on, never as functions."""
    notes = {tool.recipient: tool.note for tool in request.tools}
    browser = {name.removeprefix(_BROWSER) for name in notes if name and name.startswith(_BROWSER)}
    return SystemMessage(today.isoformat(), request.effort, browser, "python" in notes, notes.get("python", ""))


def opened(cut_answer: Frame | None) -> Frame | None:
    """The answer that the prompt opens again, in a form that Harmony can express; None to begin a new message."""
    return next(iter(_writable([cut_answer])), None) if cut_answer else None


def _writable(frames: Sequence[Frame]) -> list[Frame]:
    """The frames without what Harmony cannot express; a message whose author or recipient cannot be written is left out."""
    return [replace(frame, header=header) for frame in frames if (header := _header(frame.header))]


def _header(header: Header) -> Header | None:
    if header == NOTES:
        return Header(Role.USER)  # without a channel, as in the model's training
    is_tool = header.role == Role.TOOL
    needed = (header.role, header.channel, header.recipient, header.name if is_tool else None)
    if not all(value is None or HEADER_VALUE.fullmatch(value) for value in needed) or (is_tool and not header.name):
        return None
    return replace(
        header, name=_if_writable(header.name), content_type=_if_writable(header.content_type), constrain=_if_writable(header.constrain)
    )


def _if_writable(value: str | None) -> str | None:
    return value if value is not None and HEADER_VALUE.fullmatch(value) else None
