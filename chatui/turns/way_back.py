"""The way of a model's events to those who record and publish them: a list of stages, which ``runner`` builds for each turn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from chatui.store import transcripts
from chatui.tools.replies import CallIds
from renderer.events import FrameClosed, FrameOpened, FrameText, RawEvent, UnansweredCalls
from renderer.frame_kinds import ASIDE, PRODUCT_NAMES, SUMMARY_NAME, is_answer
from renderer.frames import Frame, Header, Role


class Stage:
    """Changes, holds back, adds or reads events."""

    def feed(self, event: RawEvent) -> Sequence[RawEvent]:
        """Take the next event. Returns the events to pass on."""
        raise NotImplementedError

    def finish(self) -> Sequence[RawEvent]:
        """A sampling has ended, or was cut. Returns the events to pass on; another sampling may follow."""
        return ()


class WayBack:
    """Passes events through the stages, in their order, to ``record``."""

    def __init__(self, stages: Sequence[Stage], record: Callable[[RawEvent], None]) -> None:
        self._stages = stages
        self._record = record

    def feed(self, event: RawEvent) -> None:
        """Pass on the next event of a sampling."""
        self._pass([event], self._stages)

    def finish(self) -> None:
        """End a sampling."""
        for place, stage in enumerate(self._stages, start=1):
            self._pass(stage.finish(), self._stages[place:])

    def _pass(self, events: Iterable[RawEvent], stages: Iterable[Stage]) -> None:
        for stage in stages:
            events = [each for event in events for each in stage.feed(event)]
        for event in events:
            self._record(event)


class ModelFrames(Stage):
    """What a model may write: text that can be stored, calls with an id of their own, nothing after an unanswered call, and no frame under
    a name that is reserved for the product, so that it cannot forge a summary."""

    def __init__(self, call_ids: Collection[str]) -> None:
        """``call_ids``: those of earlier calls."""
        self._used_ids = call_ids
        self._call_ids: CallIds | None = None
        self._calls = UnansweredCalls()

    def feed(self, event: RawEvent) -> Sequence[RawEvent]:
        """See Stage."""
        if isinstance(event, FrameText):
            return [FrameText(transcripts.storable(event.text))]
        event = self._calls.feed(event)
        if not isinstance(event, FrameOpened):
            return [event]
        event = replace(event, header=_without_reserved_name(event.header))
        if event.header.call_id is None:
            return [event]
        # Made for the first call: most turns have none.
        self._call_ids = self._call_ids or CallIds(self._used_ids)
        return [self._call_ids.feed(event)]

    def finish(self) -> Sequence[RawEvent]:
        """See Stage."""
        self._calls = UnansweredCalls()
        return ()


def _without_reserved_name(header: Header) -> Header:
    if header.role != Role.ASSISTANT or header.name not in PRODUCT_NAMES:
        return header
    # Staff see the text of a summary. Of its headings, people learn the kinds of work at most.
    return ASIDE if header.name == SUMMARY_NAME else replace(header, name=None)


class TextBeforeCut(Stage):
    """The text before the cut: the first answer that opens is given this text as its start, so that readers of the events see one frame."""

    def __init__(self, cut_answer: Frame | None = None) -> None:
        """``cut_answer``: the answer to continue; None, or a frame without text, if the turn starts a new one."""
        self._text = cut_answer.body if cut_answer else ""
        self._is_waiting = bool(self._text)
        self.is_open = False
        """Whether the open frame begins with this text."""

    def __bool__(self) -> bool:
        """Whether the turn continues any text."""
        return bool(self._text)

    def feed(self, event: RawEvent) -> Sequence[RawEvent]:
        """See Stage."""
        if self._is_waiting and isinstance(event, FrameOpened) and is_answer(event.header):
            self._is_waiting, self.is_open = False, True
            return [event, FrameText(self._text)]
        if isinstance(event, FrameClosed):
            self.is_open = False
        return [event]

    def is_exceeded_by(self, frame: Frame) -> bool:
        """Whether a frame that is about to be stored contains more than white space, and more than the cut answer did."""
        return bool(frame.body.strip()) and (not self._text or frame.body.rstrip() != self._text.rstrip())
