"""Whether a model server keeps reasoning apart from answers: what decides if an answer may be shown while it comes.

Structure decides, not words. It is proved by a completion whose reasoning came in an item or a field of its own before the first text, and
is remembered for the server and the model, because gpt-oss answers without thought at low effort: if it has a store, for all processes, and
after a restart. Behind a gateway, each upstream proves it for itself.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal, Protocol

from renderer.strict_json import text_of


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
MAX_UPSTREAMS = 64
"""How many upstreams of a model are remembered: those used last."""
UPSTREAM_FIELDS = ("provider", "model", "system_fingerprint")
_PROVED = "an answer came with its reasoning in a field or an item of its own"
_SIGN = "an answer had signs of raw output in its text"
_GPT_OSS = re.compile(r"gpt[\W_]?oss", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a model at a server."""

    separation: Separation = Separation.UNPROVEN
    why: str = "no answer has come yet with its reasoning in a field or an item of its own"
    """One sentence without its full stop."""
    since: datetime | None = None
    held: int = 0
    """How many answers were judged whole."""
    withheld: int = 0
    """In how many of those something was hidden."""
    plain: int = 0
    """How many answers in a row had neither reasoning of their own nor a sign."""


@dataclass(frozen=True, slots=True)
class Read:
    """How one completion was read."""

    separation: Separation
    proves: bool
    """Whether its reasoning came apart, before its text."""
    has_sign: bool
    has_text: bool
    """Whether it has an answer."""
    is_whole: bool
    """Whether its answer was not cut."""
    upstream: str = ""
    """Who answered behind a gateway, as it was named before the first output: a digest, empty if nothing was named."""
    version: str = ""
    """The version as it was named in the end: a digest, empty if nothing was named."""

    @property
    def is_held(self) -> bool:
        return self.has_text and self.separation is Separation.UNPROVEN

    @property
    def is_withheld(self) -> bool:
        """Whether some of it was not shown: a sign, or a cut where the sign may be missing."""
        return self.has_sign or (self.is_held and not self.is_whole)


_UNKNOWN = Known()
_BEGIN: Mapping[str, Known] = {
    "always": Known(Separation.STRUCTURED, "the operator says that this server separates its reasoning"),
    "never reasons": Known(Separation.PLAIN, "the operator says that this model never reasons"),
}
IDS = Known(Separation.STRUCTURED, "token ids say which text is reasoning")
"""For backends that read token ids."""


class Proofs(Protocol):
    """Where proofs are kept, by model and upstream."""

    def version_of(self, model: str, upstream: str) -> str | None:
        """The version that the server named in the completion that proved it, perhaps empty; None if there is no proof."""

    def keep(self, model: str, upstream: str, version: str) -> None: ...

    def end(self, model: str, upstream: str) -> None: ...


class OwnProofs(Proofs):
    """Proofs of one backend alone. ``known``: the version by model and upstream; None for a proof that ended."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], str | None] = {}

    def version_of(self, model: str, upstream: str) -> str | None:
        return self.known.get((model, upstream))

    def keep(self, model: str, upstream: str, version: str) -> None:
        self.known[model, upstream] = version

    def end(self, model: str, upstream: str) -> None:
        self.known[model, upstream] = None


class Separations:
    """What this process has learned about the models of one server. ``proofs``: what all processes know; None for what this one learns."""

    def __init__(self, separates: Separates = "proved", proofs: Proofs | None = None) -> None:
        self._separates = separates
        self._proofs = proofs or OwnProofs()
        self._known: dict[tuple[str, str], Known] = {}
        self._is_gpt_oss = False

    def is_gpt_oss(self) -> None:
        """The server's tokenizer says so, whatever its model is called: no answers without thought make it *plain*."""
        self._is_gpt_oss = True
        if self._separates == "proved":
            self._known = {place: known for place, known in self._known.items() if known.separation is not Separation.PLAIN}

    def of(self, model: str | None, upstream: str = "") -> Separation:
        """How to read the next answer, unless it proves more by itself. ``upstream``: as of a Read."""
        return self._of(model, upstream).separation

    def known(self) -> dict[str, Known]:
        """What is known of each model, by its name: of the upstream that answered last."""
        return {model: self._of(model or None, upstream) for model, upstream in list(self._known)}

    def learn(self, model: str | None, read: Read) -> None:
        """Take in how a completion was read. A sign takes back what is remembered, never what a completion proves by itself."""
        known = self._of(model, read.upstream)
        if read.is_held or read.is_withheld:
            known = replace(known, held=known.held + read.is_held, withheld=known.withheld + read.is_withheld)
        self._note(model or "", read.upstream, self._changed(known, model, read))

    def _note(self, model: str, upstream: str, known: Known) -> None:
        self._known.pop((model, upstream), None)
        self._known[model, upstream] = known
        places = [place for place in self._known if place[0] == model]
        for place in places[:-MAX_UPSTREAMS]:
            del self._known[place]

    def _of(self, model: str | None, upstream: str) -> Known:
        known = self._known.get((model or "", upstream), _BEGIN.get(self._separates, _UNKNOWN))
        if self._separates != "proved":
            return known
        is_proved = self._proofs.version_of(model or "", upstream) is not None
        if is_proved and known.separation is not Separation.STRUCTURED:
            return replace(known, separation=Separation.STRUCTURED, why=_PROVED, plain=0)
        if known.separation is Separation.STRUCTURED and not is_proved:
            return replace(known, separation=Separation.UNPROVEN, why=_SIGN, plain=0)
        return known

    def _changed(self, known: Known, model: str | None, read: Read) -> Known:
        """What is known of the model once this completion was read. Keeps or ends the proof, too, which other processes may share.

        A sign of raw output ends it, and so does an answer in another version than the one that proved it, unless it is a proof itself. A
        model without a proof becomes *plain* after enough answers in a row that had neither reasoning nor a sign.
        """
        if self._separates == "always":
            return known
        place = model or "", read.upstream
        if read.has_sign:
            self._proofs.end(*place)
            return replace(known, plain=0) if known.why == _SIGN else _now(known, Separation.UNPROVEN, _SIGN)
        proved_by = self._proofs.version_of(*place)
        if read.proves:
            if proved_by is None or (read.version and read.version != proved_by):
                self._proofs.keep(*place, read.version)
            return known if known.separation is Separation.STRUCTURED and known.since else _now(known, Separation.STRUCTURED, _PROVED)
        if proved_by is not None and read.version and read.version != proved_by:
            self._proofs.end(*place)
            return _now(known, Separation.UNPROVEN, "the server names another version than the one that proved it")
        if known.separation is not Separation.UNPROVEN or not (read.has_text and read.is_whole):
            return known
        known = replace(known, plain=known.plain + 1)
        if known.plain < _ANSWERS_FOR_PLAIN or self._may_be_gpt_oss(model):
            return known
        return _now(known, Separation.PLAIN, f"{_ANSWERS_FOR_PLAIN} answers in a row had no reasoning and no sign of it")

    def _may_be_gpt_oss(self, model: str | None) -> bool:
        """Whether the model may be gpt-oss, which answers without thought at low effort. One without a name may be, unless the operator
        says that it never reasons."""
        is_unnamed = model is None and self._separates == "proved"
        return self._is_gpt_oss or is_unnamed or bool(_GPT_OSS.search(model or ""))


def upstream_of(answer: Mapping[str, Any]) -> str:
    """Who answers behind a gateway, with which model and in which version, as far as an answer or a chunk of it says so. A server may put
    any text there: nothing in one field looks like two."""
    named = [text_of(answer.get(name)) for name in UPSTREAM_FIELDS]
    return json.dumps(named) if any(named) else ""


def digest_of(name: str) -> str:
    """The digest of what a server named, as a Read has it; empty if it named nothing."""
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest() if name else ""


def _now(known: Known, separation: Separation, why: str) -> Known:
    return replace(known, separation=separation, why=why, since=datetime.now(UTC), plain=0)
