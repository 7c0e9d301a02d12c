"""Shortens a request to fit the context window: drops whole turns and documents, but never the operator's instructions or the last
question."""

from __future__ import annotations

from dataclasses import dataclass, replace

from chatui.backends.base import SampleRequest
from chatui.backends.context.token_budget import FRAME_TOKENS, TEMPLATE_TOKENS, weight, weight_of, weight_of_tools
from renderer import history
from renderer.frame_kinds import ANALYSIS, is_document
from renderer.frames import Channel, Frame, Role
from renderer.prompt_trimming import trim

_LEAST_KEPT = 60.0
"""Of a cut answer so much is always kept: the model needs the place at which it continues."""
_ASKING_TO_CONTINUE = 80.0
"""What the request to continue weighs, where that is asked in words."""
_SPACE_WITHIN = 60


@dataclass(frozen=True, slots=True)
class Fit:
    """A request that should fit. ``weight``: about its tokens, see ``token_budget.weight``; ``hidden``: those of the reasoning in it.

    ``turns_left_out``: how many questions are not in it with all that belongs to them. ``is_least``: nothing more can be left out.
    ``is_answer_limited``: its answer may not be as long as was asked for. ``counted``: how much of the weight was counted before.
    """

    request: SampleRequest
    weight: float
    hidden: float
    turns_left_out: int
    is_least: bool
    is_answer_limited: bool = False
    counted: float = 0.0


def fit(request: SampleRequest, most: float | None, factor: float = 1.0) -> Fit:
    """The request, without what is left out (``renderer.prompt_trimming``) where it would weigh more than ``most``. ``factor``: that of the
    window, for what was counted.

    Of an answer that is to be continued, and does not fit even so, the beginning is left out; before that, the reasoning behind it.
    """
    orders = [frame for frame in request.frames if frame.header.role in (Role.SYSTEM, Role.DEVELOPER)]
    before, turns = history.turns(frame for frame in request.frames if frame.header.role not in (Role.SYSTEM, Role.DEVELOPER))
    parts = [before, *turns] if before else turns
    cut = request.cut_answer
    other = TEMPLATE_TOKENS + weight_of_tools(request.tools) + weight_of(orders) + (weight_of([cut]) + _ASKING_TO_CONTINUE if cut else 0.0)
    found = trim(parts, lambda frame: _weight(request, frame, factor), None if most is None else most - other)
    frames, total = list(found.frames), found.length + other
    if cut is not None and most is not None and total > most:
        frames, cut, total = _shortened(frames, cut, total, most)
    fitted = request
    if cut is not request.cut_answer or frames != [frame for part in parts for frame in part]:
        fitted = replace(request, frames=(*orders, *frames), cut_answer=cut)
    return Fit(
        fitted,
        total,
        hidden_weight(fitted),
        found.turns_left_out,
        found.is_least and (cut is None or weight(cut.body) <= _LEAST_KEPT),
        counted=sum(_weight(request, frame, factor) for frame in frames if frame in request.counted),
    )


def _weight(request: SampleRequest, frame: Frame, factor: float) -> float:
    counted = request.counted.get(frame) if is_document(frame.header) else None
    return weight_of([frame]) if counted is None else FRAME_TOKENS + counted / factor


def hidden_weight(request: SampleRequest) -> float:
    """What the reasoning in a request weighs."""
    return weight_of(frame for frame in request.frames if frame.header.channel == Channel.ANALYSIS)


def without_last_reasoning(request: SampleRequest) -> SampleRequest:
    """The request without the reasoning at its end, which is not sent where a cut answer is continued in words."""
    return replace(request, frames=tuple(_without_last_reasoning(list(request.frames))))


def _shortened(frames: list[Frame], cut: Frame, total: float, most: float) -> tuple[list[Frame], Frame, float]:
    """The last turn with less of what the model wrote in it. ``total`` weighs all of it."""
    without = _without_last_reasoning(frames)
    total -= weight_of(frames[len(without) :])
    has = weight(cut.body)
    if total <= most or has <= _LEAST_KEPT:
        return without, cut, total
    keeps = max(has - (total - most), _LEAST_KEPT)
    body = _end_of(cut.body, int(len(cut.body) * keeps / has))
    return without, replace(cut, body=body), total - has + weight(body)


def _end_of(text: str, chars: int) -> str:
    """So many of the last characters, from the beginning of a line or a word."""
    end = text[-chars:]
    start = next((end.find(mark, 0, _SPACE_WITHIN) for mark in ("\n", " ") if mark in end[:_SPACE_WITHIN]), -1)
    return end[start + 1 :]


def _without_last_reasoning(frames: list[Frame]) -> list[Frame]:
    last = next((place for place in range(len(frames), 0, -1) if frames[place - 1].header != ANALYSIS), 0)
    return frames[:last]
