"""Prepares one turn for the debug view: state, settings, usage, errors, and its frames as bars on a timeline."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

from chatui.codes import code_of
from chatui.display.debug.values import Bar, Fault, ShownFrame, ShownTurn
from chatui.languages.sentences import sentence_of
from chatui.models import Turn
from renderer.gate import as_debug_text

_KIND_NAMES = {
    "answer": pgettext_lazy("kind of frame", "answer"),
    "preamble": pgettext_lazy("kind of frame", "preamble"),
    "call": pgettext_lazy("kind of frame", "call"),
    "reply": pgettext_lazy("kind of frame", "reply"),
    "analysis": pgettext_lazy("kind of frame", "analysis"),
    "other": pgettext_lazy("kind of frame", "other"),
}


def shown_turn(turn: Turn, frames: Sequence[ShownFrame], *, continued_position: int | None, has_request: bool) -> ShownTurn:
    """The turn, with a bar for each of ``frames`` that has its own duration.

    ``continued_position``: the position of the message that the turn continues.
    """
    end = turn.finished_at
    seconds = (end - turn.started_at).total_seconds() if end else None
    return ShownTurn(
        id=str(turn.pk),
        state=turn.state,
        state_name=turn.get_state_display(),
        fault=fault(turn.error_code),
        detail=as_debug_text(turn.error_detail),
        backend=turn.backend,
        model=turn.model,
        choice=turn.choice,
        effort=turn.effort,
        started_at=turn.started_at,
        seconds=seconds,
        input_tokens=turn.input_tokens,
        output_tokens=turn.output_tokens,
        turns_left_out=turn.turns_left_out,
        context_size=turn.context_size,
        context_used=turn.context_used,
        continued_position=str(continued_position) if continued_position is not None else "",
        has_request=has_request,
        bars=_bars(frames, seconds),
    )


def fault(code: str) -> Fault | None:
    """A stored error code with its message; only the code if this version does not know it."""
    if not code:
        return None
    try:
        return Fault(code, sentence_of(code_of(code)))
    except ValueError:
        return Fault(code, "")


def kind(frame: ShownFrame) -> str:
    """The kind of a frame on the timeline: answer, preamble, analysis, call, reply, or something else."""
    if frame.why_hidden is None:
        return "preamble" if frame.header.get("intent") else "answer"
    if frame.terminator == "<|call|>":
        return "call"
    if frame.header["role"] == "tool":
        return "reply"
    return "analysis" if frame.header.get("channel") == "analysis" else "other"


def kind_name(kind: str) -> str:
    """The label of a kind."""
    return str(_KIND_NAMES.get(kind, kind))


def _bars(frames: Sequence[ShownFrame], seconds: float | None) -> tuple[Bar, ...]:
    timed = [(frame, frame.offset, frame.took) for frame in frames if frame.offset is not None and frame.took is not None]
    whole = max([seconds or 0.0, *(offset for _, offset, _ in timed)])
    if not timed or whole <= 0:
        return ()
    return tuple(
        Bar(
            message_id=frame.message_id,
            kind=kind(frame),
            kind_name=kind_name(kind(frame)),
            label=_("#%(position)s %(kind)s, %(seconds)s s")
            % {"position": frame.position, "kind": kind_name(kind(frame)), "seconds": number_format(took, 2)},
            start=f"{100 * (offset - took) / whole:.2f}%",
            length=f"{100 * took / whole:.2f}%",
        )
        for frame, offset, took in timed
    )
