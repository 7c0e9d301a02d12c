"""Parses a server's token ids a second time, with openai-harmony, and reports where the two parsers disagree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from chatui.operations.doctor.faults import DetectedFault, Level, ServerFault
from chatui.operations.doctor.trial import IdEvent, Trial
from chatui.operations.second_reader import (
    Difference,
    DifferenceKind,
    ReadMessage,
    ReadTokens,
    SecondReader,
    SecondReaderError,
    compare_readings,
    shown,
)
from renderer.harmony.vocabulary import SPECIAL_IDS, Vocabulary, marker_name

_MAX_CHARS = 100_000
_MAX_REPORTED = 3
# A reply's header or the position of a constraint is read differently in whole messages, too; the other differences mean malformed output.
_HARMLESS = frozenset({DifferenceKind.REPLY_WITHOUT_RECIPIENT, DifferenceKind.CONSTRAINT_IS_NO_RECIPIENT, DifferenceKind.CONSTRAINT_WORD})


def read_again(trials: Mapping[str, Trial], vocabulary: Vocabulary, second: SecondReader, *, is_llama: bool) -> Iterator[DetectedFault]:
    """``trials``: the questions asked with token ids, by name. ``is_llama``: ids are missing in its streams. Blocks."""
    whole = {name: trial for name, trial in trials.items() if _is_whole(trial)}
    if not whole:
        return
    asked = [
        ReadTokens(sampled_ids(trial.observed.id_events, vocabulary, is_llama=is_llama), is_completion=True) for trial in whole.values()
    ]
    try:
        readings = second.read(asked)
    except SecondReaderError as error:
        yield DetectedFault(ServerFault.READ_ONCE, Level.NOTE, str(error))
        return
    for (name, trial), messages in zip(whole.items(), readings, strict=True):
        if differences := [one for one in compare_readings(trial.frames, messages) if one.kind not in _HARMLESS]:
            yield DetectedFault(ServerFault.READERS_DIFFER, Level.FAULT, _disagreements(name, trial, messages, differences))


def sampled_ids(events: Sequence[IdEvent], vocabulary: Vocabulary, *, is_llama: bool) -> list[int]:
    """All sampled ids in order; where llama.cpp omits some (inside a character), those of its text."""
    return list(chain.from_iterable(_filled(event, vocabulary) if is_llama else event.ids for event in events))


def _is_whole(trial: Trial) -> bool:
    """Whether our reader and the recording both have the complete answer, so that nothing else could explain a difference."""
    return trial.error is None and trial.is_recorded_whole and bool(trial.observed.id_events) and trial.observed.chars < _MAX_CHARS


def _filled(event: IdEvent, vocabulary: Vocabulary) -> list[int]:
    *before, last = event.ids or (-1,)
    if last == -1:
        return vocabulary.encode(event.text)
    is_marker = last in SPECIAL_IDS
    text = event.text.removesuffix(str(marker_name(last))) if is_marker else event.text
    known = [*before, last] if not is_marker else before
    if any(number in SPECIAL_IDS or not 0 <= number < SPECIAL_IDS.start for number in known):
        return list(event.ids)
    sampled, expected = vocabulary.decode(known), text.encode("utf-8", "replace")
    # The end of a character whose beginning was in no event; if ids contradict the text, the ids count.
    is_end = sampled != expected and expected.endswith(sampled)
    return [*(vocabulary.encode(text) if is_end else known), *([last] if is_marker else [])]


def _disagreements(name: str, trial: Trial, messages: Sequence[ReadMessage], differences: Sequence[Difference]) -> str:
    """Quotes nothing: a body on which the readers disagree is hidden text."""
    named = "; ".join(map(_named, differences[:_MAX_REPORTED]))
    more = f"; and {len(differences) - _MAX_REPORTED} more" if len(differences) > _MAX_REPORTED else ""
    noticed = "Our reader noticed that it is not well-formed." if trial.is_flawed else "Our reader noticed nothing."
    return f"In the answer to the question “{name}”: {named}{more}. {noticed} {_seen_by_people(trial.visible, shown(messages))}"


def _named(difference: Difference) -> str:
    place = f"message {difference.message}" if difference.message else "the number of messages"
    detail = f" ({difference.detail})" if difference.detail else ""
    return f"{place}, {difference.kind.value}{detail}"


def _seen_by_people(ours: str, theirs: str) -> str:
    if ours == theirs:
        return "People see the same by either."
    if ours in theirs:
        return "People see less than they would by the other."
    return "People see something that they would not by the other."
