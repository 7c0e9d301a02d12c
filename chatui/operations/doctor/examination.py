"""Runs an examination of one model server: identifies the server, then asks the questions in each wire format, within a time limit.

The findings come from the answers in each wire format.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from chatui.backends import registry
from chatui.backends.auto import AUTO, CHAT, choose
from chatui.backends.base import BackendError, Endpoint, SampleLimits, SampleRequest
from chatui.backends.harmony.dialects import DIALECTS
from chatui.backends.http import Upstream
from chatui.backends.route import DIRECT, Route
from chatui.backends.separation import OwnProofs, Separates, Separation
from chatui.codes import Cause, ProductCode
from chatui.operations.doctor.faults import DetectedFault, Level, ServerFault
from chatui.operations.doctor.identity import ServerIdentity, identify, loaded_context
from chatui.operations.doctor.judging import Answers, fault_of
from chatui.operations.doctor.report import DoctorReport, FormatReport
from chatui.operations.doctor.trial import Questions, Trial, attempt
from renderer.harmony.vocabulary import Vocabulary, VocabularyError

SECONDS = 55.0
"""The default time limit of an examination."""
_FAMILIES = ("harmony", "responses", "chat")
_PRODUCTS = {name.lower().replace(".", ""): name for name in DIALECTS}
_CONTEXT_TOO_SMALL, _CONTEXT_MODEST = 4096, 16_384
_CONNECT_SECONDS, _QUESTION_SECONDS = 5.0, 15.0
_PART_FOR_IDENTITY = 0.3
_NOT_ANSWERING = ("", "401", "403", "429", "503")
"""Statuses of HTTP after which no further question is asked; empty if there was no response."""
MIN_SECONDS = 1.0
"""With less than this left, no further question is asked."""
Progress = Callable[[str, int], None]
"""Called before each question, with its wire format and the number of questions asked before. It must not block."""


@dataclass(frozen=True, slots=True)
class ExaminedServer:
    """The model server that is examined. ``summaries``, ``asks_for_reasoning`` and ``separates`` are as in its spec."""

    name: str
    url: str
    vocabulary: Callable[[], Vocabulary]
    """Loads it, for token ids."""
    kind: str = "chat"
    key: str | None = field(default=None, repr=False)
    """Not in the repr."""
    model: str | None = None
    summaries: str = "none"
    route: Route = DIRECT
    is_brief: bool = False
    """Only the first question is asked, in the configured format."""
    asks_for_reasoning: bool = True
    separates: Separates = "proved"
    proofs: OwnProofs = field(default_factory=OwnProofs)
    """What the answers in the configured format prove."""


async def examine(
    target: ExaminedServer, *, seconds: float = SECONDS, questions: Questions | None = None, progress: Progress | None = None
) -> DoctorReport:
    """Ask at most ten questions, one after the other, within ``seconds``.

    Raises:
        ValueError: the address is invalid, or the kind is unknown.
    """
    if target.kind not in (AUTO, *registry.KINDS):
        raise ValueError(f"no such kind of model server: {target.kind!r}; known are: {', '.join((AUTO, *registry.KINDS))}")
    examination = _Examination(target, seconds, questions or Questions.new(), progress)
    try:
        return await examination.run()
    finally:
        await examination.upstream.aclose()


class _Examination:
    def __init__(self, target: ExaminedServer, seconds: float, questions: Questions, progress: Progress | None) -> None:
        self._target = target
        self._progress, self._count = progress, 0
        self._questions = questions
        self._now = asyncio.get_running_loop().time
        self._began = self._now()
        self._end = self._began + seconds
        # The first answer may have to wait until the model is loaded; the others share the remaining time.
        self._first_seconds = 0.6 * seconds
        self._limits = SampleLimits(connect=_CONNECT_SECONDS, first=seconds, idle=seconds, overall=seconds, read_interval=0.001)
        self._identity: ServerIdentity
        self._lacks_vocabulary = False
        self.upstream = Upstream(target.url, target.key, self._limits, target.route)

    async def run(self) -> DoctorReport:
        target = self._target
        dialect = _PRODUCTS.get(target.kind.partition("-")[2])
        try:
            async with asyncio.timeout(_PART_FOR_IDENTITY * self._left()):
                self._identity = await identify(self.upstream, target.model, dialect)
        except BackendError as error:
            return self._report(ServerIdentity(self.upstream.host), [fault_of(error)], [])
        except TimeoutError:
            self._identity = ServerIdentity(self.upstream.host, dialect, model=target.model)
        self._target = target = replace(target, kind=await self._chosen_kind())
        asked = [await self._asked(target.kind)]
        first = asked[0].trials.get("sum")
        is_answering = not first or first.error is None or first.facts.was_taken or first.error.status not in _NOT_ANSWERING
        if is_answering and not target.is_brief:
            asked += [await self._asked(kind) for kind in _FAMILIES if kind != asked[0].family]
        by_ids = next((answers.trials.get("plan") for answers in asked if answers.family == "harmony"), None)
        reports = [answers.report(self._identity, self._questions, by_ids=by_ids) for answers in asked]
        if self._identity.product == "Ollama" and self._identity.context is None:
            self._identity = replace(self._identity, context=await loaded_context(self.upstream, self._identity.model))
        return self._report(self._identity, list(self._general(asked[0])), reports)

    async def _chosen_kind(self) -> str:
        """The kind that is examined as the configured one: for an automatic kind, the one that the product would choose."""
        if self._target.kind != AUTO:
            return self._target.kind
        target = self._target
        endpoint = Endpoint(target.url, model=target.model, trusts_summaries=target.summaries == "server")
        endpoint = replace(endpoint, wants_reasoning=target.asks_for_reasoning)
        try:
            async with asyncio.timeout(_PART_FOR_IDENTITY * self._left()):
                chosen = await choose(self.upstream, endpoint, target.vocabulary)
                self._lacks_vocabulary = chosen.lacks_vocabulary
                return chosen.kind
        except (BackendError, TimeoutError):
            return CHAT

    def _report(self, identity: ServerIdentity, general: list[DetectedFault], formats: list[FormatReport]) -> DoctorReport:
        target = self._target
        spent = self._now() - self._began
        return DoctorReport(target.name, target.kind, identity, tuple(general), tuple(formats), spent)

    def _general(self, mine: Answers) -> Iterator[DetectedFault]:
        identity, asked_for = self._identity, self._target.model
        known = {*identity.models, *(name.removesuffix(":latest") for name in identity.models)}
        first = mine.trials.get("sum")
        if asked_for and known and asked_for not in known and first and first.error is None:
            yield DetectedFault(ServerFault.MODEL_OTHER, Level.FAULT, identity.named)
        if identity.is_gpt_oss is False and mine.family != "harmony":
            yield DetectedFault(ServerFault.NOT_GPT_OSS, Level.NOTE, identity.reason)
        if self._lacks_vocabulary:
            yield DetectedFault(ServerFault.VOCABULARY_MISSING, Level.NOTE)
        context = identity.context
        if context is not None and context < _CONTEXT_MODEST:
            yield DetectedFault(
                ServerFault.CONTEXT_SMALL, Level.FAULT if context < _CONTEXT_TOO_SMALL else Level.NOTE, f"{context} tokens."
            )

    async def _asked(self, kind: str) -> Answers:
        """Ask every question in one wire format; fewer if one failed or the time is up."""
        answers = Answers(kind)
        if kind.startswith("harmony") and not await self._can_speak_ids(answers):
            return answers
        if self._left() < MIN_SECONDS:
            answers.not_tried = "the time was up"
            if kind == self._target.kind:
                answers.findings.append(DetectedFault(ServerFault.OUT_OF_TIME, Level.UNASKED))
            return answers
        questions = self._questions
        answers.trials["sum"] = first = await self._ask(kind, questions.sum(), self._first_seconds)
        if first.error is not None or self._target.is_brief:
            return answers
        await self._ask_in_time(answers, "count", questions.cut())
        await self._ask_in_time(answers, "plan", questions.plan())
        if kind == "responses":
            await self._ask_in_time(answers, "summary", replace(questions.sum(), wants_summary=True))
        return answers

    async def _can_speak_ids(self, answers: Answers) -> bool:
        """Whether token ids can be tried; otherwise ``answers`` says why not, as a finding if token ids are configured."""
        is_configured = answers.kind == self._target.kind
        product, is_gpt_oss = self._identity.product, self._identity.is_gpt_oss
        finding: DetectedFault | None = None
        if product not in DIALECTS:
            summary = f"It is {product or 'a server that does not say what it is'}; ids are spoken with {', '.join(DIALECTS)}."
            finding = DetectedFault(Cause.KIND_NOT_SPOKEN, Level.UNUSABLE, summary)
        elif is_gpt_oss is False:
            finding = DetectedFault(ServerFault.NOT_GPT_OSS, Level.UNUSABLE, self._identity.reason)
        else:
            try:
                await asyncio.to_thread(self._target.vocabulary)
            except VocabularyError:
                finding = DetectedFault(ServerFault.VOCABULARY_MISSING, Level.UNUSABLE)
        if finding is None:
            return True
        if is_configured:
            answers.findings.append(finding)
        else:
            answers.not_tried = f"{finding.fault.sentence} {finding.seen}".strip()
        return False

    def _left(self) -> float:
        return self._end - self._now()

    async def _ask_in_time(self, answers: Answers, name: str, request: SampleRequest) -> None:
        if self._left() < MIN_SECONDS:
            answers.out_of_time = True
            return
        trial = await self._ask(answers.kind, request, _QUESTION_SECONDS)
        if trial.error is not None and trial.error.code is ProductCode.TIMEOUT and trial.facts.pieces:
            # It was answering; it is only too slow for an examination.
            answers.out_of_time = True
        else:
            answers.trials[name] = trial

    async def _ask(self, kind: str, request: SampleRequest, seconds: float) -> Trial:
        if self._progress is not None:
            self._progress(kind, self._count)
        self._count += 1
        target = self._target
        endpoint = Endpoint(target.url, target.key, self._identity.model, self._limits, route=target.route, trusts_summaries=True)
        endpoint = replace(endpoint, separates=target.separates, proofs=target.proofs if kind == target.kind else None)
        backend = registry.build(endpoint, kind=kind, vocabulary=target.vocabulary)
        try:
            trial = await attempt(backend, request, min(seconds, self._left()))
        finally:
            await backend.aclose()
        # The questions ask for reasoning, so that they can tell where it comes. What people ask may not, and then nothing proves anything.
        is_known = target.asks_for_reasoning or target.separates != "proved"
        return trial if is_known else replace(trial, separation=Separation.UNPROVEN)
