"""The doctor's questions, with fresh random marker words, so that reports quote nothing else."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from chatui.backends.base import SampleRequest
from renderer.frames import Frame, Header, Role

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
        """An answer that cannot fit."""
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
    return SampleRequest((*before, Frame(Header(Role.USER), question)), effort="medium", max_tokens=max_tokens)
