"""The doctor's test questions to a model server, and each answer: its frames as the real backend parsed them, and what it noted of them.

The questions have fresh random marker words, so that reports quote nothing else.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, field, replace

from chatui.backends.base import Backend, BackendError, EndReason, SampleEnded, SampleRequest, Taker, Usage
from chatui.backends.sample_facts import SampleFacts
from chatui.backends.separation import Separation
from chatui.codes import ProductCode
from renderer.events import Assembler, RawEvent
from renderer.frame_kinds import SUMMARY
from renderer.frames import Channel, Frame, Header, Intent, Role
from renderer.gate import Audience, may_see, show
from renderer.strict_json import text_of


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of one question. Its texts are not in the repr."""

    frames: tuple[Frame, ...] = field(repr=False)
    facts: SampleFacts
    ended: SampleEnded | None = None
    error: BackendError | None = None
    separation: Separation | None = None
    """How the next answer would be read if this one were all that is known; None if nothing was learned."""

    @property
    def answers(self) -> list[Frame]:
        return [frame for frame in self.frames if frame.header != SUMMARY and may_see(frame.header, Audience.END_USER)]

    @property
    def visible(self) -> str:
        return "".join(show(frame, Audience.END_USER) for frame in self.answers)

    @property
    def caught(self) -> list[Frame]:
        """The text that the leak guard removed from the answer."""
        return [frame for frame in self.frames if frame.header.intent == Intent.DEBUG]

    @property
    def thought(self) -> str:
        """The reasoning that arrived separately from the answer, in any field."""
        return "\n\n".join(filter(None, (self.reasoning, self.summary)))

    @property
    def reasoning(self) -> str:
        """The reasoning that arrived separately, without what the server calls a summary of it."""
        frames = (frame for frame in self.frames if frame.header.channel == Channel.ANALYSIS and frame.header.intent is None)
        return "\n\n".join(frame.body for frame in frames)

    @property
    def summary(self) -> str:
        """What the server calls a summary of its reasoning."""
        return "\n\n".join(frame.body for frame in self.frames if frame.header == SUMMARY)

    @property
    def sealed(self) -> str:
        """What the server calls its encrypted reasoning."""
        given = self.ended.reasoning if self.ended else None
        return "".join(text_of(item.get("encrypted_content")) for item in given.items) if given else ""

    @property
    def usage(self) -> Usage:
        """The server's counts; none of them without an answer."""
        return (self.ended and self.ended.usage) or Usage()

    @property
    def was_cut(self) -> bool:
        """Whether the backend treated it as cut by the length limit."""
        return self.ended is not None and self.ended.reason is EndReason.LENGTH


async def attempt(backend: Backend, request: SampleRequest, seconds: float) -> Trial:
    """Ask once, for at most ``seconds``. Never raises for what a server does; the connection is closed in any case."""
    facts = SampleFacts()
    request = replace(request, facts=facts, on_sent=facts.sent, on_taken=facts.taken)
    assembler, finished = Assembler(), []
    ended: SampleEnded | None = None
    error: BackendError | None = None

    def take(event: RawEvent) -> None:
        if done := assembler.feed(event):
            finished.append(done)

    try:
        async with asyncio.timeout(seconds):
            ended = await backend.sample(request, Taker(take))
    except BackendError as raised:
        error = raised
    except TimeoutError:
        error = BackendError(ProductCode.TIMEOUT, "the time for this question was up")
    if left := assembler.finish():
        finished.append(left)
    separation = next((known.separation for known in backend.known_separations().values()), None)
    return Trial(tuple(done.frame for done in finished), facts, ended, error, separation)


CUT_AT = 24
"""In tokens: far fewer than two hundred numbers need, and more than servers count before the first word."""
MAX_TOKENS = 400
"""The most tokens of the other answers, including reasoning."""
_ANIMALS = ("badger", "cormorant", "dormouse", "heron", "ibex", "jackdaw", "lynx", "marten", "otter", "plover", "stoat", "vole")


@dataclass(frozen=True, slots=True)
class Questions:
    """The marker words and the questions. ``thought`` belongs in the reasoning only, ``first`` ends the announcement, ``last``
    begins the answer."""

    thought: str
    first: str
    last: str

    @classmethod
    def new(cls) -> Questions:
        """Questions with new words that no answer contains by chance."""
        chosen = secrets.SystemRandom().sample(_ANIMALS, 3)
        return cls(*(f"{animal}-{secrets.randbelow(9000) + 1000}" for animal in chosen))

    def sum(self) -> SampleRequest:
        """A short answer, some reasoning, and a word that must stay in the reasoning."""
        return _request(f"While you reason, write the word {self.thought} once. Never write it in an answer.", "What is 2 + 2?")

    def cut(self) -> SampleRequest:
        return _request(None, "Count from 1 to 200.", CUT_AT)

    def plan(self) -> SampleRequest:
        """An announcement and an answer: two visible messages."""
        return _request(
            "Before you answer, send the user one short message on the commentary channel that says what you are about to do and ends with "
            f"the word {self.first}. Begin your final answer with the word {self.last}, and keep it under fifteen words.",
            "Plan a weekend trip to Paris.",
        )


def _request(instructions: str | None, question: str, max_tokens: int = MAX_TOKENS) -> SampleRequest:
    before = (Frame(Header(Role.DEVELOPER), instructions),) if instructions else ()
    return SampleRequest((*before, Frame(Header(Role.USER), question)), effort="medium", max_tokens=max_tokens, wants_summary=False)
