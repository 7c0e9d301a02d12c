"""Whether a model server keeps reasoning apart from answers: what decides if an answer may be shown while it comes.

Structure decides, not words. It is proved by a completion whose reasoning came in an item or a field of its own before the first text, and
is remembered for the server and the model, because gpt-oss answers without thought at low effort.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Literal


class Separation(StrEnum):
    """The ways to read an answer."""

    OWN = "own"
    """This completion's reasoning came in a place of its own: text is shown as it comes, and nothing in it takes back what was shown."""
    STRUCTURED = "structured"
    """The server separates reasoning, but this completion had none: text is shown as it comes, except for what a parser left behind."""
    PLAIN = "plain"
    """The model writes no reasoning: the same, until one sign of it."""
    UNPROVEN = "unproven"
    """Nothing is shown until the sampling has ended; then the text is judged whole."""


Separates = Literal["proved", "always", "never reasons"]
"""The operator's word: prove it, the server always separates, or the model never reasons."""

REMEDY = "Turn that on at the server (llama.cpp: --reasoning-format; vLLM, SGLang: --reasoning-parser; else a newer version)."
"""What the operator of a server does if its models stay unproven."""
VOUCH = "Or vouch for it with separates."
_ANSWERS_FOR_PLAIN = 20
_GPT_OSS = re.compile(r"gpt[\W_]?oss", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a model at a server. ``why``: one sentence without its full stop. ``held``: how many answers were judged whole;
    ``withheld``: in how many something was hidden.
    """

    separation: Separation = Separation.UNPROVEN
    why: str = "no answer has come yet with its reasoning in a field or an item of its own"
    since: datetime | None = None
    held: int = 0
    withheld: int = 0
    plain: int = 0
    """How many answers in a row had neither reasoning of their own nor a sign."""


@dataclass(frozen=True, slots=True)
class Read:
    """How one completion was read. ``proves``: its reasoning came apart, before its text. ``has_text``: it has an answer, which is
    ``is_whole`` if it was not cut.
    """

    separation: Separation
    proves: bool
    has_sign: bool
    has_text: bool
    is_whole: bool

    @property
    def is_held(self) -> bool:
        return self.has_text and self.separation is Separation.UNPROVEN

    @property
    def is_withheld(self) -> bool:
        """Whether some of it was not shown: a sign, or a cut where the sign may be missing."""
        return self.has_sign or (self.is_held and not self.is_whole)


IDS = Known(Separation.STRUCTURED, "token ids say which text is reasoning")
"""For backends that read token ids."""


class Separations:
    """What this process has learned about the models of one server."""

    def __init__(self, separates: Separates = "proved") -> None:
        self._separates = separates
        self._known: dict[str, Known] = {}
        self._is_gpt_oss = False

    def is_gpt_oss(self) -> None:
        """The server's tokenizer says so, whatever its model is called: no answers without thought make it *plain*."""
        self._is_gpt_oss = True
        if self._separates == "proved":
            self._known = {model: known for model, known in self._known.items() if known.separation is not Separation.PLAIN}

    def of(self, model: str | None) -> Separation:
        """How to read the next answer, unless it proves more by itself."""
        return self._of(model).separation

    def known(self) -> dict[str, Known]:
        return dict(self._known)

    def learn(self, model: str | None, read: Read) -> None:
        """Take in how a completion was read. A sign takes back what is remembered, never what a completion proves by itself."""
        known = self._of(model)
        known = replace(known, held=known.held + read.is_held, withheld=known.withheld + read.is_withheld)
        self._known[model or ""] = self._changed(known, model, read)

    def _of(self, model: str | None) -> Known:
        begin = {
            "always": Known(Separation.STRUCTURED, "the operator says that this server separates its reasoning"),
            "never reasons": Known(Separation.PLAIN, "the operator says that this model never reasons"),
        }
        return self._known.get(model or "", begin.get(self._separates, Known()))

    def _changed(self, known: Known, model: str | None, read: Read) -> Known:
        if self._separates == "always":
            return known
        if read.has_sign:
            why = "an answer had signs of raw output in its text"
            return replace(known, plain=0) if known.why == why else _now(known, Separation.UNPROVEN, why)
        if read.proves:
            why = "an answer came with its reasoning in a field or an item of its own"
            return known if known.separation is Separation.STRUCTURED else _now(known, Separation.STRUCTURED, why)
        if known.separation is not Separation.UNPROVEN or not (read.has_text and read.is_whole):
            return known
        known = replace(known, plain=known.plain + 1)
        if known.plain < _ANSWERS_FOR_PLAIN or self._may_be_gpt_oss(model):
            return known
        return _now(known, Separation.PLAIN, f"{_ANSWERS_FOR_PLAIN} answers in a row had no reasoning and no sign of it")

    def _may_be_gpt_oss(self, model: str | None) -> bool:
        """It answers without thought at low effort. A model without a name may be it, unless the operator says that it never reasons."""
        is_unnamed = model is None and self._separates == "proved"
        return self._is_gpt_oss or is_unnamed or bool(_GPT_OSS.search(model or ""))


def _now(known: Known, separation: Separation, why: str) -> Known:
    return replace(known, separation=separation, why=why, since=datetime.now(UTC), plain=0)
