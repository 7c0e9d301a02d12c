"""Judges the content of the answers: trials in, findings out, no I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator

from chatui.doctor.faults import Fault, Finding, Level
from chatui.doctor.leak_patterns import share_a_stretch, sign_of_leak
from chatui.doctor.questions import CUT_AT, MAX_TOKENS, Questions
from chatui.doctor.trial import Trial
from renderer.frame_kinds import is_preamble
from renderer.frames import Terminator

_STRETCH = 40
"""The number of consecutive characters that the answer to a small sum and its reasoning cannot share by chance."""
_TOKENS_BESIDE_TEXT = 16
"""An answer has no more tokens than characters; the messages' headers, and how servers count, take a few more."""
_SUMMARY_STRETCH = 60
_MAX_CHARS_OF_A_TOKEN = 20


def judge_leak(trial: Trial) -> Finding | None:
    """Whether an answer has the form of a leak, and whether people would see it. No question here is about markers or tags."""
    if sign := sign_of_leak(trial.visible):
        return Finding(sign, Level.LEAK, "The leak guard of this product does not catch it: people see it.")
    answer = "".join(frame.body for frame in (*trial.caught, *trial.answers))
    sign = sign_of_leak(answer)
    if sign is None or not trial.caught:
        return None
    half = " The header of the answer is missing, so it is only half Harmony." if _is_half(answer) else ""
    nothing = "" if trial.visible else " Nothing was left to show."
    return Finding(sign, Level.FAULT, f"The leak guard of this product catches it: people see none of it.{half}{nothing}")


def _is_half(answer: str) -> bool:
    return "<|channel|>analysis" in answer and "<|channel|>final" not in answer


def judge_sum(trial: Trial, words: Questions) -> Iterator[Finding]:
    """Leaks without a known form, and whether there are an answer and reasoning at all."""
    if leak := _formless_leak(trial, words):
        yield leak
    if trial.error is None and not trial.visible:
        yield _without_answer(trial)
    if trial.observed.chars > _MAX_CHARS_OF_A_TOKEN * MAX_TOKENS:
        yield Finding(Fault.LIMIT_IGNORED, Level.FAULT, f"More than {_MAX_CHARS_OF_A_TOKEN * MAX_TOKENS} characters came.")
    if lost := _lost_reasoning(trial):
        yield Finding(Fault.REASONING_LOST, Level.FAULT, lost)


def _formless_leak(trial: Trial, words: Questions) -> Finding | None:
    visible = trial.visible
    if sign_of_leak(visible):
        return None
    if share_a_stretch(trial.thought, visible, _STRETCH):
        return Finding(Fault.LEAK_THOUGHT, Level.LEAK, f"More than {_STRETCH} characters of the reasoning are in the answer as well.")
    if words.thought in visible and not trial.thought and not trial.caught:
        detail = "A word that the model was to write in its reasoning and never in an answer came in the answer"
        return Finding(Fault.LEAK_THOUGHT, Level.LEAK, f"{detail} ({words.thought}), and no reasoning came apart from it.")
    return None


def _without_answer(trial: Trial) -> Finding:
    if trial.caught:
        return Finding(Fault.ANSWER_HIDDEN, Level.UNUSABLE)
    if trial.was_cut:
        return Finding(Fault.NOT_JUDGED, Level.UNASKED, f"It was cut after {MAX_TOKENS} tokens or fewer.")
    if any(frame.terminator is Terminator.CALL for frame in trial.frames):
        return Finding(Fault.NOT_JUDGED, Level.UNASKED, "The model called a tool instead, though none was offered.")
    return Finding(Fault.NO_ANSWER, Level.UNUSABLE, "Reasoning came." if trial.thought else "Nothing came at all.")


def _lost_reasoning(trial: Trial) -> str | None:
    """The evidence of lost reasoning; None if reasoning arrived, or there is no evidence."""
    if trial.error or trial.thought or trial.caught or not trial.visible:
        return None
    if trial.observed.reasoned:
        return f"The server counts {trial.observed.reasoned} tokens of reasoning and sends none of them."
    sampled = trial.observed.sampled or 0
    if sampled > _TOKENS_BESIDE_TEXT + len(trial.visible):
        return f"The server counts {sampled} tokens for an answer of {len(trial.visible)} characters."
    return None


def judge_cut(trial: Trial) -> Iterator[Finding]:
    """Whether the server reports a cut answer as cut, and keeps the length limit."""
    if trial.error or trial.ended is None:
        return
    sampled = trial.observed.sampled or 0
    is_too_long = sampled > 2 * CUT_AT or trial.observed.chars > _MAX_CHARS_OF_A_TOKEN * CUT_AT
    if is_too_long or re.search(r"\b(?:199|200)\b", trial.visible):
        detail = f"{sampled} tokens came" if sampled else "Much more came"
        yield Finding(Fault.LIMIT_IGNORED, Level.FAULT, f"{detail} where {CUT_AT} were allowed.")
    elif not trial.was_cut and (sampled >= CUT_AT - 1 or (not sampled and (not trial.visible or re.search(r"\b2\b", trial.visible)))):
        yield Finding(Fault.CUT_UNSAID, Level.FAULT, f"It says {_quoted(trial.observed.end)}. People would take the answer for complete.")
    elif trial.was_cut and trial.observed.end in ("stop", "completed"):
        detail = f"It says {_quoted(trial.observed.end)} after all of {CUT_AT} tokens. This product notices, where a limit is set"
        yield Finding(Fault.CUT_UNSAID, Level.FAULT, f"{detail} (max_answer_tokens), and tells people that the answer was cut.")


def judge_plan(trial: Trial, words: Questions, by_ids: Trial | None) -> Iterator[Finding]:
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
        yield Finding(Fault.PREAMBLE_GLUED if is_glued else Fault.PREAMBLE_UNMARKED, Level.FAULT, detail)
    elif by_ids is not None:
        yield from _compared(trial, words, by_ids)


def _compared(trial: Trial, words: Questions, by_ids: Trial) -> Iterator[Finding]:
    preambles = [frame for frame in by_ids.answers if is_preamble(frame.header)]
    rest = [frame for frame in by_ids.answers if not is_preamble(frame.header)]
    if by_ids.error or by_ids.was_cut or len(preambles) != 1 or len(rest) != 1:
        return
    announced, answer, visible = preambles[0].body.strip(), rest[0].body.strip(), trial.visible.strip()
    detail = "By token ids the same question gave an announcement and an answer."
    if visible == announced + answer:
        yield Finding(Fault.PREAMBLE_GLUED, Level.FAULT, f"{detail} Here both came as one text.")
    elif visible.startswith(announced) and visible.endswith(answer) and len(visible) <= len(announced) + len(answer) + 4:
        yield Finding(Fault.PREAMBLE_UNMARKED, Level.FAULT, f"{detail} Here both came as answers.")
    elif visible == answer or (words.first in announced and words.first not in visible and words.last in visible):
        yield Finding(Fault.PREAMBLE_LOST, Level.FAULT, f"{detail} Here only the answer came.")


def judge_summary(trial: Trial, words: Questions, *, was_asked_for: bool, are_shown: bool) -> Iterator[Finding]:
    """Whether summaries are really summaries. ``are_shown``: the operator trusts them, so people read them."""
    observed = trial.observed
    if not observed.summary.strip():
        return
    shown = "They are trusted in the configuration, so people read it." if are_shown else "They are not shown."
    if raw := _why_raw(observed.summary, observed.thought, observed.sealed, words):
        yield Finding(Fault.SUMMARY_RAW, Level.LEAK if are_shown else Level.FAULT, f"{raw} {shown}")
    elif not was_asked_for:
        detail = "They came without being asked for, as they do where the reasoning itself is put into that field."
        yield Finding(Fault.SUMMARY_RAW, Level.LEAK if are_shown else Level.FAULT, f"{detail} {shown}")
    else:
        yield Finding(Fault.SUMMARY_UNPROVEN, Level.NOTE, shown)


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
