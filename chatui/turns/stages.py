"""The way back of a model's events: a list of stages, which ``runner`` builds for each turn, to the recorder.

Here are the first, which every turn has, and that of a turn that continues a cut answer; the others are in files of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from chatui.tools.replies import CallIds
from renderer import characters
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent, UnansweredCalls
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
        self._pass((event,), self._stages)

    def finish(self) -> None:
        """End a sampling."""
        for place, stage in enumerate(self._stages, start=1):
            self._pass(stage.finish(), self._stages[place:])

    def _pass(self, events: Iterable[RawEvent], stages: Iterable[Stage]) -> None:
        for stage in stages:
            passed: list[RawEvent] = []
            for event in events:
                passed += stage.feed(event)
            events = passed
        for event in events:
            self._record(event)


class ModelFrames(Stage):
    """What a model may write: text that can be stored, calls with an id of their own, nothing after an unanswered call, and no frame under
    a name that is reserved for the product, so that it cannot forge a summary. Of a program's function, only one name is passed on.

    JSON escapes a character such as an emoji as two halves, and servers may send each in an event of its own, in every wire format. The
    first half waits for the second.
    """

    def __init__(self, call_ids: Collection[str], recipients: Mapping[str, str] | None = None) -> None:
        """``call_ids``: those of earlier calls. ``recipients``: in a program's turn, by other names under which a model may call the
        same."""
        self._used_ids = call_ids
        self._is_for_program = recipients is not None
        self._recipients = recipients or {}
        self._call_ids: CallIds | None = None
        self._calls = UnansweredCalls()
        self._half = ""

    def feed(self, event: RawEvent) -> Sequence[RawEvent]:
        if isinstance(event, FrameText):
            text = self._half + event.text
            self._half = text[-1] if "\ud800" <= text[-1:] <= "\udbff" else ""
            text = text[:-1] if self._half else text
            return [FrameText(characters.storable(text))] if text or not self._half else []
        return [*self._alone(), *self._framed(event)]

    def _alone(self) -> Sequence[RawEvent]:
        """The half that waits, if the other one did not come."""
        half, self._half = self._half, ""
        return [FrameText(characters.storable(half))] if half else []

    def _framed(self, event: RawEvent) -> Sequence[RawEvent]:
        event = self._calls.feed(event)
        if not isinstance(event, FrameOpened):
            return [event]
        header = _without_reserved_name(event.header)
        if called := self._recipients.get(header.recipient or ""):
            header = replace(header, recipient=called)
        if header is not event.header:
            event = replace(event, header=header)
        if header.call_id is None:
            return [event]
        # Made for the first call: most turns have none.
        self._call_ids = self._call_ids or CallIds(self._used_ids, are_seen=self._is_for_program)
        return [self._call_ids.feed(event)]

    def finish(self) -> Sequence[RawEvent]:
        self._calls = UnansweredCalls()
        return self._alone()


def _without_reserved_name(header: Header) -> Header:
    if header.role != Role.ASSISTANT or header.name not in PRODUCT_NAMES:
        return header
    # Staff see the text of a summary. Of its headings, people learn the kinds of work at most.
    return ASIDE if header.name == SUMMARY_NAME else replace(header, name=None)


class TextBeforeCut(Stage):
    """The text before the cut: the first answer that opens is given this text as its start, so that readers of the events see one frame;
    if that is withdrawn, and this text ``stays``, so is the next one."""

    def __init__(self, cut_answer: Frame | None = None, *, stays: bool = False) -> None:
        """``cut_answer``: the answer to continue; None, or a frame without text, if the turn starts a new one."""
        self._stays = stays
        self._text = cut_answer.body if cut_answer else ""
        self._is_waiting = bool(self._text)
        self.is_open = False
        """Whether the open frame begins with this text, and decides about it."""

    def __bool__(self) -> bool:
        return bool(self._text)

    def feed(self, event: RawEvent) -> Sequence[RawEvent]:
        if self._is_waiting and isinstance(event, FrameOpened) and is_answer(event.header):
            self._is_waiting, self.is_open = False, True
            return [event, FrameText(self._text)]
        if isinstance(event, FrameWithdrawn) and self.is_open and self._stays:
            self._is_waiting, self.is_open = True, False
        if isinstance(event, FrameClosed):
            self.is_open = False
        return [event]

    def is_exceeded_by(self, frame: Frame) -> bool:
        """Whether a frame that is about to be stored contains more than white space, and more than the cut answer did."""
        return bool(frame.body.strip()) and (not self._text or frame.body.rstrip() != self._text.rstrip())
