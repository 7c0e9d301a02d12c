"""Validates each answer against the required format when it ends, and lets the model retry once.

Events pass through here on their way from a sampling to the turn, so that an invalid answer is withdrawn before it counts as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chatui import prompts
from chatui.answer_formats import AnswerFormat
from chatui.backends.base import SampleRequest
from chatui.models.turn import TurnState
from chatui.turns.running_turn import RunningTurn, TurnOutcome
from chatui.turns.stages import Stage
from renderer import history
from renderer.errors import Code
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import ANSWER, PREAMBLE, is_answer
from renderer.frames import Frame, Header, Role

JSON = "json"


class CheckedAnswers(Stage):
    """Checks the answers of one turn, as a stage of its events. ``follow`` returns the next request, ``verdict`` the outcome.

    A person sees the answer grow. If the first answer is invalid, it disappears; an invalid second answer stays, with a sentence that says
    so. A program gets a complete valid answer, or none.
    """

    def __init__(self, wanted: AnswerFormat, running: RunningTurn) -> None:
        self._wanted = wanted
        # Part of a text matches no schema, so the continuation of a cut answer is only marked as JSON, and not checked.
        self._checks = running.request.cut_answer is None or not running.request.cut_answer.body
        self._running = running
        self._for_program = running.ask.program is not None
        self._body: list[str] | None = None
        self._buffered: list[RawEvent] = []
        self._fault: tuple[str, str] | None = None
        self._has_retried = False

    @property
    def requested(self) -> AnswerFormat | None:
        """The format that requests ask for; None if the answers are not checked."""
        return self._wanted if self._checks else None

    def feed(self, event: RawEvent) -> Sequence[RawEvent]:
        """Pass on an event; those of an answer for a program wait until the answer has been checked."""
        match event:
            case FrameOpened(header=header) if is_answer(header):
                event = replace(event, header=replace(header, constrain=JSON))
                self._body = [] if self._checks else None
            case FrameText(text=text) if self._body is not None:
                self._body.append(text)
            case FrameWithdrawn():
                self._body = None
            case FrameClosed() if self._body is not None:
                return self._closed(event, "".join(self._body))
        if self._for_program and self._body is not None:
            self._buffered.append(event)  # until it has been checked
            return ()
        return [*self._released(), event]

    def finish(self) -> Sequence[RawEvent]:
        """See Stage. Nothing of an answer that was cut before it was checked is passed on."""
        self._body = None
        self._buffered.clear()
        return ()

    def follow(self, request: SampleRequest, written: Sequence[Frame], *, is_over: bool) -> SampleRequest | None:
        """The next request if the answer that has just ended is invalid; None if it is valid, or was the second try.

        ``written``: the frames of the turn so far, without that answer, which is hidden. ``is_over``: calls were handed back to the
        program, which will send the replies in another request; the answer next to them stays hidden, and the calls are the turn's result.
        """
        if is_over:
            self._fault = None
        if self._fault is None or self._has_retried:
            return None
        fault, body = self._fault
        self._fault, self._has_retried = None, True
        message = f"{Code.BODY_CONSTRAINT_VIOLATION}: {fault}\n\n{prompts.read('another_try')}"
        frames = history.frames_for_prompt((*self._running.request.frames, *written, Frame(ANSWER, body)))
        return replace(request, frames=(*frames, Frame(Header(Role.USER), message)), tools=(), given_back={}, cut_answer=None)

    def verdict(self, outcome: TurnOutcome) -> TurnOutcome:
        """The outcome of the turn, given the ``outcome`` of its samplings."""
        if self._fault is None or outcome.state is TurnState.INCOMPLETE:
            return outcome
        return TurnOutcome(TurnState.FAILED, Code.BODY_CONSTRAINT_VIOLATION)

    def _closed(self, closed: FrameClosed, body: str) -> Sequence[RawEvent]:
        self._body, fault = None, None
        if closed.terminator is not None and closed.error is None and not closed.is_preamble_after_all:
            fault = self._wanted.fault(body)
        self._fault = None if fault is None else (fault, body)
        if fault is not None:
            closed = replace(closed, error=Code.BODY_CONSTRAINT_VIOLATION)
        if closed.is_preamble_after_all and self._buffered:
            # The buffered frame gets the right header from the start.
            self._buffered[0], closed = FrameOpened(PREAMBLE), replace(closed, header=None)
        is_withdrawn = fault is not None and (self._for_program or not self._has_retried)
        return [*self._released(), *([FrameWithdrawn()] if is_withdrawn else []), closed]

    def _released(self) -> Sequence[RawEvent]:
        buffered, self._buffered = self._buffered, []
        return buffered
