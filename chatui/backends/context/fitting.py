"""Leaves out the oldest turns of a request until it fits: whole turns, and never the operator's instructions or the last question."""

from __future__ import annotations

from dataclasses import dataclass, replace

from chatui.backends.base import SampleRequest
from chatui.backends.context.room import TEMPLATE_TOKENS, weight, weight_of, weight_of_tools
from renderer import history
from renderer.frame_kinds import ANALYSIS
from renderer.frames import Channel, Frame, Role

_LEAST_KEPT = 60.0
"""Of a cut answer so much is always kept: the model needs the place at which it continues."""
_ASKING_TO_CONTINUE = 80.0
"""What the request to continue weighs, where that is asked in words."""
_SPACE_WITHIN = 60


@dataclass(frozen=True, slots=True)
class Fit:
    """A request that should fit. ``weight``: about its tokens, see ``room.weight``; ``hidden``: those of the reasoning in it.

    ``turns_left_out``: how many of the oldest questions are not in it. ``is_least``: nothing more can be left out. ``is_answer_limited``:
    its answer may not be as long as was asked for.
    """

    request: SampleRequest
    weight: float
    hidden: float
    turns_left_out: int
    is_least: bool
    is_answer_limited: bool = False


def fit(request: SampleRequest, most: float | None) -> Fit:
    """The request, without its oldest turns where it would weigh more than ``most``.

    Of an answer that is to be continued, and does not fit even so, the beginning is left out; before that, the reasoning behind it.
    """
    orders = [frame for frame in request.frames if frame.header.role in (Role.SYSTEM, Role.DEVELOPER)]
    before, turns = history.turns(frame for frame in request.frames if frame.header.role not in (Role.SYSTEM, Role.DEVELOPER))
    parts = [before, *turns] if before else turns
    weights = [weight_of(part) for part in parts]
    cut = request.cut_answer
    total = (
        TEMPLATE_TOKENS
        + weight_of_tools(request.tools)
        + weight_of(orders)
        + sum(weights)
        + (weight_of([cut]) + _ASKING_TO_CONTINUE if cut else 0.0)
    )
    dropped = 0
    while most is not None and total > most and dropped < len(parts) - 1:
        total -= weights[dropped]
        dropped += 1
    kept = [frame for part in parts[dropped:] for frame in part]
    if cut is not None and most is not None and total > most:
        kept, cut, total = _shortened(kept, cut, total, most)
    fitted = request
    if dropped or cut is not request.cut_answer or len(kept) < sum(map(len, parts)):
        fitted = replace(request, frames=(*orders, *kept), cut_answer=cut)
    return Fit(
        fitted,
        total,
        hidden_weight(fitted),
        sum(map(history.questions, parts[:dropped])),
        dropped >= len(parts) - 1 and (cut is None or weight(cut.body) <= _LEAST_KEPT),
    )


def hidden_weight(request: SampleRequest) -> float:
    """What the reasoning in a request weighs."""
    return weight_of(frame for frame in request.frames if frame.header.channel == Channel.ANALYSIS)


def without_last_reasoning(request: SampleRequest) -> SampleRequest:
    """The request without the reasoning at its end, which is not sent where a cut answer is continued in words."""
    return replace(request, frames=tuple(_without_last_reasoning(list(request.frames))))


def _shortened(kept: list[Frame], cut: Frame, total: float, most: float) -> tuple[list[Frame], Frame, float]:
    """The last turn with less of what the model wrote in it. ``total`` weighs all of it."""
    without = _without_last_reasoning(kept)
    total -= weight_of(kept[len(without) :])
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
