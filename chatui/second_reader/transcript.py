"""Compares our Harmony reader and writer with openai-harmony's on one transcript, and names the differences."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from chatui.second_reader.differences import Difference, Kind
from chatui.second_reader.process import Message, Read, SecondReader, Write, Written
from chatui.second_reader.reading import as_message, compare_readings
from renderer.frames import Channel, Frame, Role, Terminator
from renderer.harmony import hip1
from renderer.harmony.vocabulary import MARKER_IDS, Vocabulary
from renderer.tokens import Token

_START, _END, _CALL = MARKER_IDS[Token.START], MARKER_IDS[Token.END], MARKER_IDS[Token.CALL]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result. ``tokens`` and ``messages``: how many were compared."""

    tokens: int
    messages: int
    differences: tuple[Difference, ...] = ()

    @property
    def is_as_intended(self) -> bool:
        """Whether all differences are on purpose."""
        return all(difference.kind.is_on_purpose for difference in self.differences)


def compare(frames: Sequence[Frame], vocabulary: Vocabulary, second: SecondReader) -> Comparison:
    """Compare token by token and message by message.

    Raises:
        ParseHeaderError: the transcript cannot be written as Harmony.
        SecondReaderError: the second reader gave no result.
    """
    [compared] = compare_all([frames], vocabulary, second)
    return compared


def compare_all(transcripts: Sequence[Sequence[Frame]], vocabulary: Vocabulary, second: SecondReader) -> list[Comparison]:
    """Compare several; the second reader is started once. Raises as ``compare``."""
    ours = [hip1.to_tokens(frames, vocabulary)[0] for frames in transcripts]
    wanted = [Write([form(frame) for frame in frames]) for frames in transcripts for form in (as_message, _message_like_ours)]
    written, readings = second.write_and_read(wanted, [Read(ids, is_completion=bool(ids) and ids[0] != _START) for ids in ours])
    compared = []
    for frames, ids, plain, like_ours, theirs in zip(transcripts, ours, written[::2], written[1::2], readings, strict=True):
        segments = _segments(ids, vocabulary)
        read = hip1.from_tokens(ids, vocabulary, conversation=True).frames
        differences = (*_compare_writings(frames, segments, plain, like_ours), *compare_readings(read, theirs))
        compared.append(Comparison(len(ids), len(frames), differences))
    return compared


def _message_like_ours(frame: Frame) -> Message:
    """The message for which openai-harmony should write the same ids as we do."""
    frame = hip1.as_written(frame)
    message = as_message(frame)
    is_tool, is_constraint = message.role == Role.TOOL, frame.header.constrain is not None
    is_called = frame.terminator is Terminator.CALL  # openai-harmony ends every message to "all" as a call; we do so only for calls
    recipient = None if message.recipient == "all" and not is_called else message.recipient
    channel = Channel.FINAL.value if message.channel is None and message.role == Role.ASSISTANT else message.channel
    return replace(
        message,
        name=message.name if is_tool else None,
        channel=channel,
        recipient=recipient,
        content_type=message.content_type if recipient not in (None, "all") or is_constraint else None,
    )


def _segments(ids: Sequence[int], vocabulary: Vocabulary) -> list[tuple[int, ...]]:
    """The ids by message. No body contains a start token, so each one begins a message; a completion lacks the first one and the role."""
    opened = [*ids] if not ids or ids[0] == _START else [_START, *vocabulary.encode(Role.ASSISTANT.value), *ids]
    starts = [place for place, number in enumerate(opened) if number == _START]
    return [tuple(opened[start:end]) for start, end in itertools.pairwise([*starts, len(opened)])]


def _compare_writings(frames: Sequence[Frame], ours: Sequence[tuple[int, ...]], plain: Written, like_ours: Written) -> Iterator[Difference]:
    if len(ours) != len(frames):
        yield Difference(Kind.WRITTEN_OTHERWISE, 0, "a different number of messages")
        return
    for number, (frame, ids, as_is, as_ours) in enumerate(zip(frames, ours, plain.ids, like_ours.ids, strict=True), 1):
        if ids != as_is:
            yield from (Difference(kind, number) for kind in _rules(frame, ids, as_ours))
    if difference := _dropped(frames, plain):
        yield difference


def _rules(frame: Frame, ours: tuple[int, ...], as_ours: tuple[int, ...] | None) -> list[Kind]:
    """The rules that explain how we write ``frame``; if they do not explain every id, the difference is not on purpose."""
    if as_ours is None:
        return [Kind.NOT_WRITTEN]
    written = hip1.as_written(frame)
    if written != frame:
        return [Kind.HIDDEN_ON_ANALYSIS if ours == as_ours else Kind.WRITTEN_OTHERWISE]
    message, like_ours = as_message(frame), _message_like_ours(frame)
    kinds = [kind for name, kind in _BY_FIELD.items() if getattr(message, name) != getattr(like_ours, name)]
    if message.role == Role.ASSISTANT and message.recipient is not None and frame.terminator is not Terminator.CALL:
        kinds.append(Kind.NO_CALL)
        if as_ours[-1:] == (_CALL,):
            as_ours = (*as_ours[:-1], _END)
    return kinds if kinds and ours == as_ours else [Kind.WRITTEN_OTHERWISE]


_BY_FIELD = {"name": Kind.NAME_LEFT_OUT, "channel": Kind.CHANNEL_ADDED, "content_type": Kind.CONTENT_TYPE_LEFT_OUT}


def _dropped(frames: Sequence[Frame], plain: Written) -> Difference | None:
    """The reasoning that openai-harmony drops by default when it writes a conversation."""
    if None in plain.ids or plain.whole == _joined(plain, range(len(frames))):
        return None
    first_answer = next((place for place, frame in enumerate(frames) if frame.header.channel == Channel.FINAL), 0)
    spent = [place for place in range(first_answer) if frames[place].header.channel == Channel.ANALYSIS]
    if plain.whole != _joined(plain, [place for place in range(len(frames)) if place not in set(spent)]):
        return Difference(Kind.WRITTEN_OTHERWISE, 0, "the conversation as a whole differs from its messages")
    return Difference(Kind.REASONING_KEPT, 0, f"{len(spent)} of {len(frames)} messages")


def _joined(written: Written, places: Sequence[int]) -> tuple[int, ...]:
    return tuple(number for place in places for number in written.ids[place] or ())
