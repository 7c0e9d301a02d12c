"""Builds the requests to the summarizer from a running turn, and checks its answers. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chatui import prompts
from chatui.backends.base import SampleRequest
from chatui.turns import server_summaries
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import BROKEN, SUMMARY_NAME, is_document
from renderer.frames import Channel, Frame, Header, Intent, Role
from renderer.gate import Audience, may_see
from renderer.summary import new_words
from renderer.summary.check import Verdict, check
from renderer.summary.index import HiddenText, SeenText

MOST_STEPS = server_summaries.MOST_STEPS
MOST_NOTES_CHARS = 4_000
MOST_QUESTION_CHARS = 1_000
MOST_ORDERS_CHARS = 8_000
MOST_TOKENS = 400
MOST_ANSWER_CHARS = 2_000


class Notes:
    """What is known of a running turn. ``open`` takes the branch, ``feed`` each new event; both index the text for the check.

    ``is_vouched``: the operator says that what this server calls a summary really is one.
    """

    def __init__(self, *, is_vouched: bool = False) -> None:
        self._is_vouched = is_vouched
        self.hidden = HiddenText()
        self.seen = SeenText()
        self._orders: list[str] = []
        self._question = ""
        self._header: Header | None = None
        self._visible: list[str] = []
        self._fresh: list[str] = []
        self.fresh_chars = 0

    def open(self, frames: Iterable[Frame]) -> None:
        """The branch as the model sees it. The time grows with its length: about a second for some millions of characters."""
        for frame in frames:
            if may_see(frame.header, Audience.END_USER):
                self.seen.feed(frame.body)
                self._question = frame.body if frame.header.role == Role.USER else self._question
            elif is_document(frame.header):
                self.seen.feed(frame.body)  # the person who uploaded it knows it
            elif frame.header.role in (Role.SYSTEM, Role.DEVELOPER):
                self._orders.append(frame.body)
                self.hidden.feed_instructions(frame.body)
            else:
                self.hidden.feed(frame.body)
                self.hidden.settle(is_end=True)
        new_words.prepare(self.seen)

    def feed(self, event: RawEvent) -> None:
        """An event of the running turn."""
        match event:
            case FrameOpened(header=header):
                self._header = header
            case FrameText(text=text):
                self._feed_text(text)
            case FrameWithdrawn():
                hidden, self._visible, self._header = self._visible, [], BROKEN
                for text in hidden:
                    self.hidden.feed(text)
            case FrameClosed():
                if self._visible:
                    self.seen.feed("".join(self._visible))
                    self._visible = []
                self.hidden.settle(is_end=True)

    def _feed_text(self, text: str) -> None:
        if self._header is None or (self._header.name == SUMMARY_NAME and self._is_vouched):
            # ``steps_of_server`` takes it when it is complete.
            return
        if may_see(self._header, Audience.END_USER):
            self._visible.append(text)
            return
        self.hidden.feed(text)
        if is_reasoning(self._header):
            self._fresh.append(text)
            self.fresh_chars += len(text)

    def steps_of_server(self, text: str) -> list[str]:
        """The lines of a server's own, complete summary; none where it reads like reasoning.

        Everything else in it counts as hidden text, before any line is judged. A server that once sent its reasoning as a summary is not
        trusted again in this turn: some send it in pieces, and a short piece may look harmless.
        """
        found = server_summaries.read(text)
        self._is_vouched = self._is_vouched and not found.is_reasoning
        steps = found.steps if self._is_vouched else []
        self.hidden.feed(found.besides if steps else text)
        self.hidden.settle(is_end=True)
        return steps

    def request(self, model: str | None, shown: Iterable[str]) -> SampleRequest:
        """The next request to a summarizer. What is new in it counts as covered from now on, whatever the answer.

        A summarizer gets reasoning only: neither the instructions nor tool calls and their results.
        """
        fresh = "".join(self._fresh)[-MOST_NOTES_CHARS:]
        self._fresh, self.fresh_chars = [], 0
        lines = "\n".join(f"- {step}" for step in shown) or "- none"
        asked = f"## Question\n\n{self._asked()}\n\n## Lines shown before\n\n{lines}\n\n## New notes\n\n{fresh}"
        return _request("summary", asked, model)

    def review(self, line: str, model: str | None) -> SampleRequest:
        """The request to the reviewing model about a line that passed the check."""
        orders = "\n\n".join(self._orders)[-MOST_ORDERS_CHARS:] or "none"
        return _request("summary_review", f"## Question\n\n{self._asked()}\n\n## Instructions\n\n{orders}\n\n## Line\n\n{line}", model)

    def judge(self, candidate: str, before: Sequence[str] = ()) -> Verdict:
        """Whether a line may be shown after those ``before`` it, as far as a comparison can tell."""
        return check(candidate, self.hidden, self.seen, before)

    def _asked(self) -> str:
        return self._question[:MOST_QUESTION_CHARS]


def is_reasoning(header: Header) -> bool:
    """Whether a frame holds reasoning, not a tool call or something that is kept for staff."""
    is_thought = header.role == Role.ASSISTANT and header.channel == Channel.ANALYSIS
    return is_thought and header.recipient is None and header.intent != Intent.DEBUG


def is_allowed(answer: str) -> bool:
    """Whether a review allows the line. Anything but the one word is a no."""
    return answer.strip().casefold().strip(".!\"'*` ") == "allow"


def _request(prompt: str, asked: str, model: str | None) -> SampleRequest:
    frames = (Frame(Header(Role.DEVELOPER), prompts.read(prompt)), Frame(Header(Role.USER), asked))
    return SampleRequest(frames, model=model, effort="low", max_tokens=MOST_TOKENS)
