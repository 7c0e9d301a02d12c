"""Judges the answers to the doctor's questions, their content and their transport: trials in, findings out, no I/O.

Patterns recognize reasoning that has leaked into an answer. The transport is judged by refusals, failures, broken streams, streaming and
speed.

The transport is judged by what the backend noted before the leak guard (``SampleFacts``), leaks by the frames behind it. Whether people
would see the reasoning (then the finding is a leak) or the guard catches it (then it is a fault) is what an operator must know, and only
the guard tells. What a server put into its answer is what the guard let pass with what it caught, so a note from before the guard would be
a second copy of the same text, and the notes hold no text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from chatui.backends.base import BackendError
from chatui.backends.harmony.dialects import NO_IDS
from chatui.backends.sample_facts import SampleFacts
from chatui.backends.separation import Separation
from chatui.codes import Cause, Fault, ProductCode
from chatui.operations.doctor.faults import REMEDIES, DetectedFault, Level, ServerFault
from chatui.operations.doctor.identity import ServerIdentity
from chatui.operations.doctor.report import FormatReport
from chatui.operations.doctor.trial import CUT_AT, MAX_TOKENS, Questions, Trial
from renderer.errors import Code
from renderer.frame_kinds import is_preamble
from renderer.frames import Terminator

_MARKER = re.compile(r"<\|(?:start|channel|message|end|return|call|constrain)\|>")
_COLLAPSED = re.compile(r"assistant(?:final|analysis|commentary)|\A\s*(?:analysis|commentary)(?=[A-Z\"'*])")
_TAG = re.compile(r"</?(?:think|thinking|thought|thoughts|reasoning|reflection|analysis)>|\[/?THINK\]|◁/?think▷", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_MAX_CHARS = 20_000


def sign_of_leak(text: str) -> ServerFault | None:
    """The form of leak in ``text``, the answer to a question that has nothing to do with markers; None if there is none."""
    if _MARKER.search(text):
        return ServerFault.LEAK_MARKERS
    if _TAG.search(text):
        return ServerFault.LEAK_TAGS
    return ServerFault.LEAK_COLLAPSED if _COLLAPSED.search(text) else None


def share_a_stretch(one: str, other: str, length: int) -> bool:
    """Whether both contain the same ``length`` characters in a row, ignoring white space. Only the beginning of long texts is compared."""
    return not _stretches(one, length).isdisjoint(_stretches(other, length))


def _stretches(text: str, length: int) -> set[str]:
    text = _SPACE.sub(" ", text[:_MAX_CHARS]).strip()
    return {text[at : at + length] for at in range(len(text) - length + 1)}


_STRETCH = 40
"""The number of consecutive characters that the answer to a small sum and its reasoning cannot share by chance."""
_TOKENS_BESIDE_TEXT = 16
"""An answer has no more tokens than characters; the messages' headers, and how servers count, take a few more."""
_SUMMARY_STRETCH = 60
_MAX_CHARS_OF_A_TOKEN = 20


def judge_leak(trial: Trial) -> DetectedFault | None:
    """Whether an answer has the form of a leak, and whether people would see it. No question here is about markers or tags."""
    if sign := sign_of_leak(trial.visible):
        return DetectedFault(sign, Level.LEAK, "The leak guard of this product does not catch it: people see it.")
    answer = "".join(frame.body for frame in (*trial.caught, *trial.answers))
    sign = sign_of_leak(answer)
    if sign is None or not trial.caught:
        return None
    is_half = "<|channel|>analysis" in answer and "<|channel|>final" not in answer
    half = " The header of the answer is missing, so it is only half Harmony." if is_half else ""
    nothing = "" if trial.visible else " Nothing was left to show."
    return DetectedFault(sign, Level.FAULT, f"The leak guard of this product catches it: people see none of it.{half}{nothing}")


def judge_sum(trial: Trial, words: Questions) -> Iterator[DetectedFault]:
    """Leaks without a known form, and whether there are an answer and reasoning at all."""
    if leak := _formless_leak(trial, words):
        yield leak
    if trial.error is None and not trial.visible:
        yield _without_answer(trial)
    if trial.facts.chars > _MAX_CHARS_OF_A_TOKEN * MAX_TOKENS:
        yield DetectedFault(ServerFault.LIMIT_IGNORED, Level.FAULT, f"More than {_MAX_CHARS_OF_A_TOKEN * MAX_TOKENS} characters came.")
    if lost := _lost_reasoning(trial):
        yield DetectedFault(ServerFault.REASONING_LOST, Level.FAULT, lost)


def _formless_leak(trial: Trial, words: Questions) -> DetectedFault | None:
    """Reasoning in the answer without any sign of it: a long stretch that came as reasoning, too, or the word for reasoning alone."""
    visible = trial.visible
    if sign_of_leak(visible):
        return None
    if share_a_stretch(trial.thought, visible, _STRETCH):
        return DetectedFault(
            ServerFault.LEAK_THOUGHT, Level.LEAK, f"More than {_STRETCH} characters of the reasoning are in the answer as well."
        )
    if words.thought in visible and not trial.thought and not trial.caught:
        detail = "A word that the model was to write in its reasoning and never in an answer came in the answer"
        return DetectedFault(ServerFault.LEAK_THOUGHT, Level.LEAK, f"{detail} ({words.thought}), and no reasoning came apart from it.")
    return None


def _without_answer(trial: Trial) -> DetectedFault:
    if trial.caught:
        return DetectedFault(ServerFault.ANSWER_HIDDEN, Level.UNUSABLE)
    if trial.was_cut:
        return DetectedFault(ServerFault.NOT_JUDGED, Level.UNASKED, f"It was cut after {MAX_TOKENS} tokens or fewer.")
    if any(frame.terminator is Terminator.CALL for frame in trial.frames):
        return DetectedFault(ServerFault.NOT_JUDGED, Level.UNASKED, "The model called a tool instead, though none was offered.")
    return DetectedFault(ServerFault.NO_ANSWER, Level.UNUSABLE, "Reasoning came." if trial.thought else "Nothing came at all.")


def _lost_reasoning(trial: Trial) -> str | None:
    """The evidence of lost reasoning; None if reasoning arrived, or there is no evidence."""
    if trial.error or trial.thought or trial.caught or not trial.visible:
        return None
    if reasoned := trial.usage.reasoning_tokens:
        return f"The server counts {reasoned} tokens of reasoning and sends none of them."
    sampled = trial.usage.completion_tokens or 0
    if sampled > _TOKENS_BESIDE_TEXT + len(trial.visible):
        return f"The server counts {sampled} tokens for an answer of {len(trial.visible)} characters."
    return None


def judge_cut(trial: Trial) -> Iterator[DetectedFault]:
    """Whether the server reports a cut answer as cut, and keeps the length limit."""
    if trial.error or trial.ended is None:
        return
    sampled = trial.usage.completion_tokens or 0
    is_too_long = sampled > 2 * CUT_AT or trial.facts.chars > _MAX_CHARS_OF_A_TOKEN * CUT_AT
    if is_too_long or re.search(r"\b(?:199|200)\b", trial.visible):
        detail = f"{sampled} tokens came" if sampled else "Much more came"
        yield DetectedFault(ServerFault.LIMIT_IGNORED, Level.FAULT, f"{detail} where {CUT_AT} were allowed.")
    elif not trial.was_cut and (sampled >= CUT_AT - 1 or (not sampled and (not trial.visible or re.search(r"\b2\b", trial.visible)))):
        yield DetectedFault(
            ServerFault.CUT_UNSAID, Level.FAULT, f"It says {_quoted(trial.facts.reported_end)}. People would take the answer for complete."
        )
    elif trial.was_cut and trial.facts.reported_end in ("stop", "completed"):
        detail = f"It says {_quoted(trial.facts.reported_end)} after all of {CUT_AT} tokens. This product notices, where a limit is set"
        yield DetectedFault(ServerFault.CUT_UNSAID, Level.FAULT, f"{detail} (max_answer_tokens), and tells people that the answer was cut.")


def judge_plan(trial: Trial, words: Questions, by_ids: Trial | None) -> Iterator[DetectedFault]:
    """What happened to the announcement. ``by_ids``: the same question with token ids, which lose nothing; None if not available."""
    if trial.error or any(is_preamble(frame.header) for frame in trial.answers):
        return
    texts = [frame.body for frame in trial.answers]
    if not texts:
        return
    _, found, after = trial.visible.partition(words.first)
    gap, answered, _ = after.partition(words.last)
    if found and answered:
        is_glued = len(texts) == 1 and not re.search(r"\s", gap)
        detail = f"The words {words.first} and {words.last}, of the announcement and of the answer, came in one visible text."
        yield DetectedFault(ServerFault.PREAMBLE_GLUED if is_glued else ServerFault.PREAMBLE_UNMARKED, Level.FAULT, detail)
    elif by_ids is not None:
        yield from _compared(trial, words, by_ids)


def _compared(trial: Trial, words: Questions, by_ids: Trial) -> Iterator[DetectedFault]:
    preambles = [frame for frame in by_ids.answers if is_preamble(frame.header)]
    rest = [frame for frame in by_ids.answers if not is_preamble(frame.header)]
    if by_ids.error or by_ids.was_cut or len(preambles) != 1 or len(rest) != 1:
        return
    announced, answer, visible = preambles[0].body.strip(), rest[0].body.strip(), trial.visible.strip()
    detail = "By token ids the same question gave an announcement and an answer."
    if visible == announced + answer:
        yield DetectedFault(ServerFault.PREAMBLE_GLUED, Level.FAULT, f"{detail} Here both came as one text.")
    elif visible.startswith(announced) and visible.endswith(answer) and len(visible) <= len(announced) + len(answer) + 4:
        yield DetectedFault(ServerFault.PREAMBLE_UNMARKED, Level.FAULT, f"{detail} Here both came as answers.")
    elif visible == answer or (words.first in announced and words.first not in visible and words.last in visible):
        yield DetectedFault(ServerFault.PREAMBLE_LOST, Level.FAULT, f"{detail} Here only the answer came.")


def judge_summary(trial: Trial, words: Questions, *, was_asked_for: bool) -> Iterator[DetectedFault]:
    """Whether summaries are really summaries. People read none of their words either way."""
    if not trial.summary.strip():
        return
    if raw := _why_raw(trial.summary, trial.reasoning, trial.sealed, words):
        yield DetectedFault(ServerFault.SUMMARY_RAW, Level.FAULT, raw)
    elif not was_asked_for:
        detail = "They came without being asked for, as they do where the reasoning itself is put into that field."
        yield DetectedFault(ServerFault.SUMMARY_RAW, Level.FAULT, detail)
    else:
        yield DetectedFault(ServerFault.SUMMARY_UNPROVEN, Level.NOTE)


def _why_raw(summary: str, thought: str, sealed: str, words: Questions) -> str | None:
    if words.thought in summary:
        return f"A word that the model was only to think of is in one ({words.thought})."
    for other, name in ((thought, "the reasoning that came beside it"), (sealed, "the content that it calls encrypted")):
        if other and (summary.strip() == other.strip() or share_a_stretch(summary, other, _SUMMARY_STRETCH)):
            return f"One says the same as {name}."
    return None


def _quoted(word: str) -> str:
    """The server's word for the end. An unknown word is not quoted: it could be anything."""
    if not word:
        return "nothing about the end"
    return f"“{word}”" if re.fullmatch(r"[a-z_]{1,30}", word) else "a word of its own"


SLOW_SECONDS = 10.0
# The length from which an answer should arrive in several events.
_MIN_CHARS = 80
# Buffered text arrives in one or two reads. So may a short answer from a fast server, or data that a busy machine reads late.
_MIN_PIECES, _MIN_SECONDS, _MAX_READS = 12, 2.0, 2
_NOT_NOW = (ProductCode.BACKEND_BUSY, ProductCode.BACKEND_UNREACHABLE, ProductCode.TIMEOUT)


def judge_failure(trial: Trial) -> DetectedFault | None:
    """Why the question was not answered; None if it was."""
    error = trial.error
    if error is None:
        return None
    if error.code is ProductCode.TIMEOUT and trial.facts.pieces:
        return DetectedFault(ServerFault.OUT_OF_TIME, Level.UNASKED, "An answer had begun and was not finished.")
    if error.evidence == NO_IDS:
        return DetectedFault(ServerFault.IDS_MISSING, Level.UNUSABLE, "Text came, and no ids.")
    if error.code is Code.STREAM_TRUNCATED:
        came = "Some of the answer had come." if trial.facts.pieces else "Nothing had come."
        end = f" It says {_quoted(trial.facts.reported_end)}." if trial.facts.reported_end else ""
        return DetectedFault(Cause.BROKEN_OFF, Level.UNUSABLE, came + end)
    return fault_of(error)


def fault_of(error: BackendError) -> DetectedFault:
    """The finding for a server that gave no answer. UNASKED: it may give one later, or was not even reached."""
    is_asked = error.code not in _NOT_NOW and error.cause not in (Cause.CERTIFICATE, Cause.WRONG_SCHEME)
    seen = f"{error.evidence[:1].upper()}{error.evidence[1:]}." if error.evidence else ""
    return DetectedFault(error.cause, Level.UNUSABLE if is_asked else Level.UNASKED, seen)


def judge_ids(trial: Trial, product: str | None) -> DetectedFault | None:
    """Whether all ids arrived. Streams from llama.cpp always have gaps, which its dialect handles."""
    ids, sampled = trial.facts.ids, trial.usage.completion_tokens
    if trial.error or product != "vLLM" or not ids or sampled is None or ids >= sampled - 1:
        return None
    return DetectedFault(ServerFault.IDS_INCOMPLETE, Level.UNUSABLE, f"It counts {sampled} tokens and sent {ids} ids.")


def judge_pace(trials: Sequence[Trial]) -> Iterator[DetectedFault]:
    """Streaming, by the longest answer, and the wait for the first word, by the quickest: the first may include loading the model."""
    answered = [trial.facts for trial in trials if trial.error is None and trial.facts.began is not None]
    if not answered:
        return
    if why := _why_in_one_piece(max(answered, key=lambda facts: facts.chars)):
        yield DetectedFault(ServerFault.NO_STREAM, Level.FAULT, why)
    waits = [facts.began for facts in answered if facts.began is not None]
    if min(waits) > SLOW_SECONDS:
        yield DetectedFault(ServerFault.SLOW_FIRST, Level.FAULT, f"It came after {min(waits):.0f} seconds at best.")
    elif waits[0] > SLOW_SECONDS:
        yield DetectedFault(
            ServerFault.SLOW_FIRST, Level.NOTE, f"Only at first, {waits[0]:.0f} seconds: the model may have had to be loaded."
        )


def judge_repetition(trials: Sequence[Trial]) -> Iterator[DetectedFault]:
    """Whether the server sends all of the text again with each piece."""
    if count := sum(trial.facts.repeats for trial in trials):
        yield DetectedFault(ServerFault.TEXT_REPEATED, Level.FAULT, f"It did in {count} of {len(trials)} answers.")


def _why_in_one_piece(facts: SampleFacts) -> str | None:
    if facts.is_whole:
        return "It answered with one plain JSON body."
    if facts.pieces == 1 and facts.chars >= _MIN_CHARS:
        return f"One event contained all of {facts.chars} characters."
    if facts.pieces >= _MIN_PIECES and facts.reads <= _MAX_READS and (facts.ended or 0.0) >= _MIN_SECONDS:
        return f"All {facts.pieces} events came at once, after {facts.began or 0.0:.1f} seconds."
    return None


@dataclass(slots=True)
class Answers:
    """The answers in one wire format."""

    kind: str
    """As configured."""
    not_tried: str = ""
    """Why no question was asked."""
    findings: list[DetectedFault] = field(default_factory=list)
    """Those from before the first question."""
    trials: dict[str, Trial] = field(default_factory=dict)
    """The questions that were asked and answered, by name; ``summary`` is the first again, with a summary requested."""
    out_of_time: bool = False

    @property
    def family(self) -> str:
        return self.kind.split("-")[0]

    def report(self, identity: ServerIdentity, words: Questions, *, by_ids: Trial | None) -> FormatReport:
        """``by_ids``: the third question by token ids, for comparison."""
        findings = [*self.findings, *_once(self._found(identity, words, by_ids))]
        waits = [trial.facts.began for trial in self.trials.values() if trial.facts.began is not None]
        return FormatReport(self.kind, tuple(findings), self.not_tried, min(waits, default=None))

    def _found(self, identity: ServerIdentity, words: Questions, by_ids: Trial | None) -> Iterator[DetectedFault]:
        trials, is_by_ids = [*self.trials.values()], self.family == "harmony"
        for trial in trials:
            if failure := judge_failure(trial):
                is_about_names = failure.fault is Cause.MODEL_UNKNOWN and identity.models
                yield replace(failure, seen=f"{failure.seen} {identity.named}") if is_about_names else failure
            if leak := judge_leak(trial):
                yield leak
        yield from self._about_each(words, by_ids, identity.product)
        if is_by_ids:
            yield from filter(None, (judge_ids(trial, identity.product) for trial in trials))
        yield from judge_pace(trials)
        yield from judge_repetition(trials)
        if self.out_of_time:
            yield DetectedFault(ServerFault.OUT_OF_TIME, Level.FAULT)

    def _about_each(self, words: Questions, by_ids: Trial | None, product: str | None) -> Iterator[DetectedFault]:
        """What each question was asked for."""
        first, cut, plan, again = (self.trials.get(name) for name in ("sum", "count", "plan", "summary"))
        if first:
            yield from judge_sum(first, words)
            yield from judge_summary(first, words, was_asked_for=self.family == "chat")
        if again and not (first and first.summary):
            yield from judge_summary(again, words, was_asked_for=True)
        if cut:
            yield from judge_cut(cut)
        if self.family == "harmony":
            return
        if plan:
            yield from judge_plan(plan, words, by_ids)
        if first and first.visible and all(trial.separation in (None, Separation.UNPROVEN) for trial in self.trials.values()):
            yield DetectedFault(ServerFault.SEPARATION_UNPROVEN, Level.NOTE, f"It is {product}." if product in REMEDIES else "")


def _once(findings: Iterator[DetectedFault]) -> Iterator[DetectedFault]:
    """The most serious finding of each fault, in order."""
    found: dict[Fault, DetectedFault] = {}
    for finding in findings:
        if finding.fault not in found or finding.level > found[finding.fault].level:
            found[finding.fault] = finding
    yield from found.values()
