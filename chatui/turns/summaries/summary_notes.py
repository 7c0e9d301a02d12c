"""Builds the requests to the summarizer from a running turn, and checks its answers. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chatui import prompts
from chatui.backends.base import SampleRequest
from chatui.turns.summaries import server_summaries
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import BROKEN, SUMMARY_NAME, is_document
from renderer.frames import Channel, Frame, Header, Intent, Role
from renderer.gate import Audience, may_see
from renderer.summary import new_words
from renderer.summary.check import Verdict, check
from renderer.summary.index import HiddenText, SeenText

MAX_NOTES_CHARS = 4_000
MAX_QUESTION_CHARS = 1_000
MAX_INSTRUCTIONS_CHARS = 8_000
MAX_TOKENS = 400
MAX_ANSWER_CHARS = 2_000


class Notes:
    """The notes on a running turn. ``open`` takes the branch, ``feed`` each new event; both index the text for the check.

    ``is_trusted``: the operator says that this server's summaries can be trusted.
    """

    def __init__(self, *, is_trusted: bool = False) -> None:
        self._is_trusted = is_trusted
        self.hidden = HiddenText()
        self.seen = SeenText()
        self._instructions: list[str] = []
        self._question = ""
        self._header: Header | None = None
        self._visible: list[str] = []
        self._new: list[str] = []
        self.new_chars = 0

    def open(self, frames: Iterable[Frame]) -> None:
        """Index the branch as the model sees it. Takes time in proportion to its length: about a second for a few million characters."""
        for frame in frames:
            if may_see(frame.header, Audience.END_USER):
                self.seen.feed(frame.body)
                self._question = frame.body if frame.header.role == Role.USER else self._question
            elif is_document(frame.header):
                self.seen.feed(frame.body)  # the person who uploaded it knows it
            elif frame.header.role in (Role.SYSTEM, Role.DEVELOPER):
                self._instructions.append(frame.body)
                self.hidden.feed_instructions(frame.body)
            else:
                self.hidden.feed(frame.body)
                self.hidden.settle(is_end=True)
        new_words.prepare(self.seen)

    def feed(self, event: RawEvent) -> None:
        """Index an event of the running turn."""
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
        if self._header is None or (self._header.name == SUMMARY_NAME and self._is_trusted):
            # ``server_steps`` gets the complete text.
            return
        if may_see(self._header, Audience.END_USER):
            self._visible.append(text)
            return
        self.hidden.feed(text)
        if is_reasoning(self._header):
            self._new.append(text)
            self.new_chars += len(text)

    def server_steps(self, text: str) -> list[str]:
        """The lines of a complete summary by the server itself; none if it reads like reasoning.

        The rest of its text is indexed as hidden before any line is judged. After a server has sent reasoning as a summary, it is not
        trusted for the rest of the turn: some servers send reasoning in pieces, and a short piece may look harmless.
        """
        found = server_summaries.read(text)
        self._is_trusted = self._is_trusted and not found.is_reasoning
        steps = found.steps if self._is_trusted else []
        self.hidden.feed(found.other_text if steps else text)
        self.hidden.settle(is_end=True)
        return steps

    def request(self, model: str | None, shown: Iterable[str]) -> SampleRequest:
        """The next request to a summarizer. It contains the reasoning since the last request, and never repeats any.

        A summarizer gets the question, the lines shown so far and reasoning, but neither the instructions nor tool calls or their results.
        """
        new = "".join(self._new)[-MAX_NOTES_CHARS:]
        self._new, self.new_chars = [], 0
        lines = "\n".join(f"- {step}" for step in shown) or "- none"
        text = f"## Question\n\n{self._question_start()}\n\n## Lines shown before\n\n{lines}\n\n## New notes\n\n{new}"
        return _request("summary", text, model)

    def review(self, line: str, model: str | None) -> SampleRequest:
        """The request that asks the reviewing model about a line that passed the check."""
        instructions = "\n\n".join(self._instructions)[-MAX_INSTRUCTIONS_CHARS:] or "none"
        text = f"## Question\n\n{self._question_start()}\n\n## Instructions\n\n{instructions}\n\n## Line\n\n{line}"
        return _request("summary_review", text, model)

    def judge(self, candidate: str, before: Sequence[str] = ()) -> Verdict:
        """Whether a line may be shown after the lines ``before`` it, as far as a comparison with the hidden text can tell."""
        return check(candidate, self.hidden, self.seen, before)

    def _question_start(self) -> str:
        return self._question[:MAX_QUESTION_CHARS]


def is_reasoning(header: Header) -> bool:
    """Whether a frame is reasoning, and not a tool call or a frame for staff only."""
    is_thought = header.role == Role.ASSISTANT and header.channel == Channel.ANALYSIS
    return is_thought and header.recipient is None and header.intent != Intent.DEBUG


def is_allowed(answer: str) -> bool:
    """Whether a review allows the line. Any answer other than the one word counts as a no."""
    return answer.strip().casefold().strip(".!\"'*` ") == "allow"


def _request(prompt: str, text: str, model: str | None) -> SampleRequest:
    frames = (Frame(Header(Role.DEVELOPER), prompts.read(prompt)), Frame(Header(Role.USER), text))
    return SampleRequest(frames, model=model, effort="low", max_tokens=MAX_TOKENS)
