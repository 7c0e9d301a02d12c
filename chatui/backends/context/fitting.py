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

_MIN_KEPT = 60.0
"""At least this much of a cut answer is kept: the model must see where it continues."""
_ASKING_TO_CONTINUE = 80.0
"""The weight of the request to continue, when it is made in words."""
_SPACE_WITHIN = 60


@dataclass(frozen=True, slots=True)
class Fit:
    """A request that should fit. ``weight``: its estimated tokens, see ``token_budget.weight``; ``hidden``: those of its reasoning.

    ``turns_left_out``: how many questions were left out, each with all that follows it. ``is_minimal``: nothing more can be left out.
    ``is_answer_limited``: its answer must be shorter than requested. ``counted``: the part of the weight that comes from exact counts.
    """

    request: SampleRequest
    weight: float
    hidden: float
    turns_left_out: int
    is_minimal: bool
    is_answer_limited: bool = False
    counted: float = 0.0


def fit(request: SampleRequest, max_weight: float | None, factor: float = 1.0) -> Fit:
    """Shorten the request (``renderer.prompt_trimming``) to a weight of at most ``max_weight``. ``factor``: the window's, for exact counts.

    If it still does not fit, the reasoning after a cut answer is left out, then the beginning of that answer.
    """
    orders = [frame for frame in request.frames if frame.header.role in (Role.SYSTEM, Role.DEVELOPER)]
    before, turns = history.turns(frame for frame in request.frames if frame.header.role not in (Role.SYSTEM, Role.DEVELOPER))
    parts = [before, *turns] if before else turns
    cut = request.cut_answer
    other = TEMPLATE_TOKENS + weight_of_tools(request.tools) + weight_of(orders) + (weight_of([cut]) + _ASKING_TO_CONTINUE if cut else 0.0)
    found = trim(parts, lambda frame: _weight(request, frame, factor), None if max_weight is None else max_weight - other)
    frames, total = list(found.frames), found.length + other
    if cut is not None and max_weight is not None and total > max_weight:
        frames, cut, total = _shortened(frames, cut, total, max_weight)
    fitted = request
    if cut is not request.cut_answer or frames != [frame for part in parts for frame in part]:
        fitted = replace(request, frames=(*orders, *frames), cut_answer=cut)
    return Fit(
        fitted,
        total,
        hidden_weight(fitted),
        found.turns_left_out,
        found.is_minimal and (cut is None or weight(cut.body) <= _MIN_KEPT),
        counted=sum(_weight(request, frame, factor) for frame in frames if frame in request.counted),
    )


def _weight(request: SampleRequest, frame: Frame, factor: float) -> float:
    counted = request.counted.get(frame) if is_document(frame.header) else None
    return weight_of([frame]) if counted is None else FRAME_TOKENS + counted / factor


def hidden_weight(request: SampleRequest) -> float:
    """The weight of the reasoning in a request."""
    return weight_of(frame for frame in request.frames if frame.header.channel == Channel.ANALYSIS)


def without_last_reasoning(request: SampleRequest) -> SampleRequest:
    """The request without the reasoning at its end, which is not sent when a cut answer is continued in words."""
    return replace(request, frames=tuple(_without_last_reasoning(list(request.frames))))


def _shortened(frames: list[Frame], cut: Frame, total: float, max_weight: float) -> tuple[list[Frame], Frame, float]:
    """The last turn with less of the model's text. ``total``: the weight of the whole request."""
    without = _without_last_reasoning(frames)
    total -= weight_of(frames[len(without) :])
    has = weight(cut.body)
    if total <= max_weight or has <= _MIN_KEPT:
        return without, cut, total
    keeps = max(has - (total - max_weight), _MIN_KEPT)
    body = _end_of(cut.body, int(len(cut.body) * keeps / has))
    return without, replace(cut, body=body), total - has + weight(body)


def _end_of(text: str, chars: int) -> str:
    """At most the last ``chars`` characters, from the beginning of a line or a word."""
    end = text[-chars:]
    start = next((end.find(mark, 0, _SPACE_WITHIN) for mark in ("\n", " ") if mark in end[:_SPACE_WITHIN]), -1)
    return end[start + 1 :]


def _without_last_reasoning(frames: list[Frame]) -> list[Frame]:
    last = next((place for place in range(len(frames), 0, -1) if frames[place - 1].header != ANALYSIS), 0)
    return frames[:last]
