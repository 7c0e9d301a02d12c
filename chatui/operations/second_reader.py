"""openai-harmony as a second reader and writer of Harmony, for ``transcript check``.

It runs in a process of its own (``serve``), started for one transcript and killed when its time is up. Its reading is compared with ours
message by message, its writing token by token. Some kinds of differences are on purpose.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from pydantic import TypeAdapter, ValidationError

from chatui import processes
from chatui.env import BASE_DIR, environment
from chatui.model_servers import vocabulary
from chatui.processes import LateError
from chatui.program import command
from renderer.command import MAX_BUFFERED_BYTES
from renderer.errors import OpenChatMLError
from renderer.frames import HEADER_VALUE, Channel, Frame, Intent, Role, Terminator
from renderer.harmony import hip1
from renderer.harmony.vocabulary import MARKER_IDS, Vocabulary, VocabularyError
from renderer.tokens import Token

SECONDS = 20.0
"""How long a transcript may take. Loading takes half a second; an unbroken run of 80,000 characters would take half a minute."""
MAX_BYTES = 200_000_000
_PROGRAM = "import sys; sys.path.insert(0, sys.argv.pop(1)); from chatui.operations import second_reader; second_reader.serve()"
COMMAND = (sys.executable, "-I", "-B", "-c", _PROGRAM, str(BASE_DIR))
NICENESS = 10
# The variables that Python needs to start. The process gets no other: no keys, no passwords, and no way to the network.
_NEEDED = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR")
_NOWHERE = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
_NO_VOCABULARY = b'{"error":"vocabulary"}'
_START, _END, _CALL = MARKER_IDS[Token.START], MARKER_IDS[Token.END], MARKER_IDS[Token.CALL]
# The beginnings of openai-harmony's error messages, and our word for each. The rest of a message quotes the header.
_PROBLEMS = {
    "Unknown role": "unknown-role",
    "unexpected tokens remaining in message header": "words-left-in-header",
    "Unexpected EOS while waiting for message header": "cut-header",
    "Unexpected token": "no-start",
    "channel marker present but no channel value": "empty-channel",
}


class SecondReaderError(Exception):
    """The second reader gave no result; the message is a sentence for the operator, and quotes nothing."""


@dataclass(frozen=True, slots=True)
class SecondReaderMessage:
    """A message in openai-harmony's terms. A constraint is a ``content_type`` such as ``<|constrain|>json``."""

    role: str
    name: str | None = None
    channel: str | None = None
    recipient: str | None = None
    content_type: str | None = None
    text: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A message that openai-harmony could not read; ``problem`` is a word of a closed list."""

    problem: str


ReadMessage = SecondReaderMessage | Unreadable


@dataclass(frozen=True, slots=True)
class WrittenTokens:
    """The token ids that openai-harmony wrote."""

    ids: tuple[tuple[int, ...] | None, ...] = field(repr=False)
    """The ids of each message; None for one that cannot be written."""
    whole: tuple[int, ...] = field(repr=False)
    """The ids of the whole conversation, from which openai-harmony drops reasoning by itself; empty if it cannot be written."""


@dataclass(frozen=True, slots=True)
class ComparisonTask:
    """What openai-harmony is asked about one transcript: to write its messages twice, and to read our ids of it."""

    plain: tuple[SecondReaderMessage, ...]
    """The messages as they are."""
    like_ours: tuple[SecondReaderMessage, ...]
    """As it should write them to get our ids."""
    ids: tuple[int, ...] = field(repr=False)
    is_completion: bool
    """Whether the ids begin after ``<|start|>assistant``."""


@dataclass(frozen=True, slots=True)
class ComparisonAnswer:
    """What it made of a task."""

    plain: WrittenTokens
    like_ours: WrittenTokens
    read: tuple[ReadMessage, ...]


_TASK, _ANSWER = TypeAdapter(ComparisonTask), TypeAdapter(ComparisonAnswer)


@dataclass(frozen=True, slots=True)
class SecondReader:
    """openai-harmony in its process."""

    rank_file: Callable[[], Path | None] = lambda: vocabulary.find(environment().data_dir)
    """Finds the vocabulary file on this machine, None if there is none; nothing is ever downloaded."""
    seconds: float = SECONDS
    """How long a transcript may take."""
    command: Sequence[str] = COMMAND

    def answer(self, task: ComparisonTask) -> ComparisonAnswer:
        """The answer of one process. Blocks for at most ``seconds``.

        Raises:
            SecondReaderError: no vocabulary, no answer in time, a crash, or an invalid answer.
        """
        rank_file = self.rank_file()
        if rank_file is None:
            raise SecondReaderError(f"The vocabulary of gpt-oss is not installed. Run: {command('fetch_vocabulary')}")
        output = self._run(_TASK.dump_json(task), rank_file)
        if output == _NO_VOCABULARY:
            raise SecondReaderError("openai-harmony does not accept the installed vocabulary.")
        try:
            answer = _ANSWER.validate_json(output, strict=True)
        except ValidationError:
            raise SecondReaderError("openai-harmony gave an invalid answer.") from None
        if (len(answer.plain.ids), len(answer.like_ours.ids)) != (len(task.plain), len(task.like_ours)):
            raise SecondReaderError("openai-harmony gave an invalid answer.")
        return answer

    def _run(self, task: bytes, rank_file: Path) -> bytes:
        environment = {name: os.environ[name] for name in _NEEDED if name in os.environ}
        environment |= {**_NOWHERE, "TIKTOKEN_ENCODINGS_BASE": str(rank_file.parent)}
        try:
            code, output = processes.run(self.command, task, seconds=self.seconds, max_bytes=MAX_BYTES, environment=environment)
        except LateError:
            raise SecondReaderError(f"openai-harmony did not answer within {self.seconds:g} seconds and was stopped.") from None
        except OSError as error:
            raise SecondReaderError(f"openai-harmony could not be started: {error.strerror or 'no reason was given'}.") from error
        if code:
            raise SecondReaderError("openai-harmony crashed.")
        return output


def serve() -> None:
    """The process: load the vocabulary, then answer the task on standard input, with low priority so that people's requests go first.

    openai-harmony's error messages may quote a conversation, so errors are returned as words of a closed list.
    """
    import openai_harmony as harmony  # nothing else of the product may know it

    os.nice(NICENESS)
    try:
        worker = OpenAIHarmony(harmony)
    except harmony.HarmonyError:
        sys.stdout.buffer.write(_NO_VOCABULARY)
        return
    sys.stdout.buffer.write(_ANSWER.dump_json(worker.answer(_TASK.validate_json(sys.stdin.buffer.read()))))


class OpenAIHarmony:
    """openai-harmony in this process, which it may block for minutes, or end."""

    def __init__(self, harmony: Any) -> None:
        self._harmony = harmony
        self._refusals = (harmony.HarmonyError, AttributeError, OverflowError, RuntimeError, TypeError, ValueError)
        self._encoding = harmony.load_harmony_encoding("HarmonyGptOss")

    def answer(self, task: ComparisonTask) -> ComparisonAnswer:
        return ComparisonAnswer(self._written(task.plain), self._written(task.like_ours), (*self._read(task.ids, task.is_completion),))

    def _read(self, ids: Sequence[int], is_completion: bool) -> Iterator[ReadMessage]:
        """Every message; after an unreadable one, reading continues at the next start token, where openai-harmony itself would stop."""
        role = self._harmony.Role.ASSISTANT if is_completion else None
        position = 0
        while position < len(ids) or role:
            parser, problem, place = self._harmony.StreamableParser(self._encoding, role), "", position
            try:
                for place in range(position, len(ids)):
                    parser.process(ids[place])
                place = len(ids)
                parser.process_eos()
            except self._refusals as error:
                problem = next((word for beginning, word in _PROBLEMS.items() if str(error).startswith(beginning)), "unreadable")
            for message in parser.messages:
                author, text = message.author, "".join(part.text for part in message.content)
                yield SecondReaderMessage(author.role.value, author.name, message.channel, message.recipient, message.content_type, text)
            if problem:
                yield Unreadable(problem)
            position, role = next((later for later in range(place + 1, len(ids)) if ids[later] == _START), len(ids)), None

    def _written(self, conversation: Sequence[SecondReaderMessage]) -> WrittenTokens:
        """The ids of each message, and of all with openai-harmony's defaults, which drop reasoning before the first answer."""
        messages = [self._or_none(self._message, message) for message in conversation]
        ids = [message and self._or_none(self._encoding.render, message) for message in messages]
        whole = self._or_none(lambda: self._encoding.render_conversation(self._harmony.Conversation.from_messages(messages)))
        return WrittenTokens(tuple(one and tuple(one) for one in ids), tuple(whole or ()))

    def _message(self, message: SecondReaderMessage) -> Any:
        author = self._harmony.Author(role=self._harmony.Role(message.role), name=message.name)
        changes = {name: getattr(message, name) for name in ("channel", "recipient", "content_type")}
        return self._harmony.Message.from_author_and_content(author, message.text).model_copy(update=changes)

    def _or_none(self, work: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return work(*arguments)
        except self._refusals:
            return None


class DifferenceKind(StrEnum):
    """The kinds of differences, by the names that reports and scripts use. ``sentence``: what differs, and why if it is on purpose."""

    _value_: str
    sentence: str
    is_on_purpose: bool

    def __new__(cls, name: str, sentence: str = "", is_on_purpose: bool = True) -> Self:
        member = str.__new__(cls, name)
        member._value_, member.sentence, member.is_on_purpose = name, sentence, is_on_purpose
        return member

    NAME_LEFT_OUT = (
        "name-left-out",
        "We leave out the name of a person or an assistant; the side record has it. openai-harmony writes it, but cannot read it.",
    )
    CHANNEL_ADDED = (
        "channel-added",
        "We write an assistant's message without a channel on final, as OpenChatML means it: Harmony requires a channel.",
    )
    CONTENT_TYPE_LEFT_OUT = (
        "content-type-left-out",
        "We leave out a content type without a recipient; the side record has it. openai-harmony reads it as the recipient.",
    )
    NO_CALL = "no-call", "We end a message that is not a call with <|end|>: openai-harmony ends any message that has a recipient as a call."
    HIDDEN_ON_ANALYSIS = (
        "hidden-on-analysis",
        "We write on analysis what people may not see, but would without the side record: Harmony has no intents.",
    )
    REASONING_KEPT = (
        "reasoning-kept",
        "A transcript is a record, so we write all of it: openai-harmony drops the reasoning before the first answer.",
    )
    REPLY_WITHOUT_RECIPIENT = (
        "reply-without-recipient",
        "We read a tool's reply without a recipient: openai-harmony treats its author as an unknown role.",
    )
    CONSTRAINT_IS_NO_RECIPIENT = (
        "constraint-is-no-recipient",
        "We read a constraint without a recipient as a constraint: openai-harmony reads it as the recipient.",
    )
    CONSTRAINT_WORD = (
        "constraint-word",
        "We read a constraint in lower case, and only if it is a plain word: openai-harmony reads any characters.",
    )
    HEADER_HIDDEN = "header-hidden", "We hide a message whose header is ambiguous: openai-harmony guesses."
    WRITTEN_OTHERWISE = "written-otherwise", "The token ids differ.", False
    NOT_WRITTEN = "not-written", "openai-harmony cannot write it.", False
    READ_OTHERWISE = "read-otherwise", "The readers differ.", False
    NOT_READ = "not-read", "openai-harmony cannot read it.", False
    OTHER_COUNT = "other-count", "One reader finds more messages than the other.", False


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between the two readers."""

    kind: DifferenceKind
    message: int = 0
    """Counts from 1; 0 means the whole."""
    detail: str = ""
    """What differs; it quotes nothing."""


CONSTRAIN = "<|constrain|>"
_FIELDS = {"role": "role", "name": "name", "channel": "channel", "recipient": "recipient", "content_type": "content type", "text": "body"}


def compare_readings(ours: Sequence[Frame], theirs: Sequence[ReadMessage]) -> Iterator[Difference]:
    """The differences in order; both read the same ids. A header without a body at the end does not count as a message."""
    ours, theirs = _without_cut_header(list(ours), list(theirs))
    for number, (frame, message) in enumerate(zip(ours, theirs, strict=False), 1):
        yield from (Difference(kind, number, detail) for kind, detail in _differing(frame, message))
    if len(ours) != len(theirs):
        yield Difference(DifferenceKind.OTHER_COUNT, 0, f"{len(ours)} by ours, {len(theirs)} by openai-harmony")


def as_message(frame: Frame) -> SecondReaderMessage:
    """A frame as a message of openai-harmony, with everything that such a message can represent."""
    header = frame.header
    kind = f"{CONSTRAIN}{header.constrain}" if header.constrain is not None else header.content_type
    return SecondReaderMessage(header.role, header.name, header.channel, header.recipient, kind, frame.body)


def _without_cut_header(ours: list[Frame], theirs: list[ReadMessage]) -> tuple[list[Frame], list[ReadMessage]]:
    if theirs and theirs[-1] == Unreadable("cut-header"):
        theirs = theirs[:-1]
        if len(ours) == len(theirs) + 1 and ours[-1].header.intent == Intent.DEBUG:
            ours = ours[:-1]
    return ours, theirs


def _differing(frame: Frame, message: ReadMessage) -> Iterator[tuple[DifferenceKind, str]]:
    """How the two readings of one message differ, with the names of the fields that do, if that is not on purpose."""
    is_hidden = frame.header.intent == Intent.DEBUG
    if isinstance(message, Unreadable):
        if frame.header.role == Role.TOOL and frame.header.recipient is None and message.problem == "unknown-role":
            yield DifferenceKind.REPLY_WITHOUT_RECIPIENT, ""
        elif not is_hidden:
            yield DifferenceKind.NOT_READ, message.problem
        return
    ours = as_message(frame)
    kinds, message = _without_intended(ours, message)
    fields = [label for name, label in _FIELDS.items() if getattr(ours, name) != getattr(message, name)]
    if fields and is_hidden and frame.body.endswith(message.text):
        yield DifferenceKind.HEADER_HIDDEN, ""
    elif fields:
        yield DifferenceKind.READ_OTHERWISE, " and ".join(fields)
    else:
        yield from ((kind, "") for kind in kinds)


def _without_intended(ours: SecondReaderMessage, message: SecondReaderMessage) -> tuple[list[DifferenceKind], SecondReaderMessage]:
    """The differences between two readings of one header that are on purpose, and ``message`` without them: what still differs is not."""
    kinds = []
    if ours.recipient is None and message.content_type is None and (message.recipient or "").startswith(CONSTRAIN):
        kinds.append(DifferenceKind.CONSTRAINT_IS_NO_RECIPIENT)
        message = replace(message, recipient=None, content_type=message.recipient)
    if message.content_type != ours.content_type and ours.content_type == _constraint(message.content_type):
        kinds.append(DifferenceKind.CONSTRAINT_WORD)
        message = replace(message, content_type=ours.content_type)
    return kinds, message


def _constraint(content_type: str | None) -> str | None:
    """A constraint as our reader normalizes it; anything else unchanged."""
    if content_type is None or not content_type.startswith(CONSTRAIN):
        return content_type
    word = content_type.removeprefix(CONSTRAIN).lower()
    return f"{CONSTRAIN}{word}" if HEADER_VALUE.fullmatch(word) else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of a comparison: how many ``tokens`` were compared, and the ``differences``; or ``why`` nothing was compared."""

    tokens: int = 0
    differences: tuple[Difference, ...] = ()
    why: str = ""

    @property
    def is_bad(self) -> bool:
        """Whether a difference is not on purpose."""
        return not all(difference.kind.is_on_purpose for difference in self.differences)

    def as_json(self) -> dict[str, object]:
        if self.why:
            return {"compared": False, "why": self.why}
        differences = [
            {"kind": one.kind.value, "on_purpose": one.kind.is_on_purpose, "message": one.message, "detail": one.detail}
            for one in self.differences
        ]
        equal, meant = not differences, not self.is_bad
        return {"compared": True, "equal": equal, "as_meant": meant, "tokens": self.tokens, "differences": differences}

    def lines(self) -> Iterator[str]:
        """The same as text: a summary line, then one line for each kind of difference."""
        if self.why:
            yield f"not compared with openai-harmony: {self.why}"
        elif not self.differences:
            yield f"as openai-harmony writes and reads it: equal, {self.tokens} tokens"
        else:
            grouped: dict[tuple[DifferenceKind, str], list[int]] = {}
            for one in sorted(self.differences, key=lambda one: one.kind.is_on_purpose):
                grouped.setdefault((one.kind, one.detail), []).append(one.message)
            ways = f"{len(grouped)} way{'' if len(grouped) == 1 else 's'}"
            yield f"openai-harmony differs in {ways}, {'NOT all on purpose' if self.is_bad else 'all on purpose'}"
            for (kind, detail), numbers in grouped.items():
                text = f"{kind.sentence.removesuffix('.')} ({detail})." if detail else kind.sentence
                yield f"  {'on purpose' if kind.is_on_purpose else 'DIFFERS'}: {kind.value}{_where(numbers)}: {text}"


def _where(numbers: list[int]) -> str:
    if numbers == [0]:
        return ""
    more = len(numbers) - _MAX_NUMBERS
    named = ", ".join(map(str, numbers[:_MAX_NUMBERS]))
    return f", message{'' if len(numbers) == 1 else 's'} {named}{f' and {more} more' if more > 0 else ''}"


_MAX_NUMBERS = 5


def second_opinion(frames: Callable[[], tuple[Frame, ...]] | None) -> Comparison:
    """Compare ``frames``, a function that is called when everything else is ready; None if there are too many to keep in memory. Blocks
    until the second reader finishes or times out.
    """
    if frames is None:
        return Comparison(why=f"it is larger than {MAX_BUFFERED_BYTES >> 20} MB")
    try:
        return compare(frames(), vocabulary.load(environment().data_dir), SecondReader())
    except OpenChatMLError as error:
        return Comparison(why=f"it cannot be written as Harmony: {error.hint}.")
    except (SecondReaderError, VocabularyError) as error:
        return Comparison(why=str(error))


def compare(frames: Sequence[Frame], vocabulary: Vocabulary, second: SecondReader | OpenAIHarmony) -> Comparison:
    """Compare a transcript token by token and message by message.

    Raises:
        OpenChatMLError: it cannot be written as Harmony.
        SecondReaderError: the second reader gave no result.
    """
    ids = hip1.to_tokens(frames, vocabulary)[0]
    plain, like_ours = (tuple(map(form, frames)) for form in (as_message, _message_like_ours))
    answer = second.answer(ComparisonTask(plain, like_ours, tuple(ids), is_completion=bool(ids) and ids[0] != _START))
    read = hip1.from_tokens(ids, vocabulary, conversation=True).frames
    writings = _compare_writings(frames, _segments(ids, vocabulary), answer.plain, answer.like_ours)
    return Comparison(len(ids), (*writings, *compare_readings(read, answer.read)))


def _message_like_ours(frame: Frame) -> SecondReaderMessage:
    """The message for which openai-harmony should write the same ids as we do."""
    frame = hip1.as_written(frame)
    message = as_message(frame)
    is_tool, is_constraint = message.role == Role.TOOL, frame.header.constrain is not None
    recipient = None if message.recipient == "all" else message.recipient  # openai-harmony ends every message to "all" as a call
    channel = Channel.FINAL.value if message.channel is None and message.role == Role.ASSISTANT else message.channel
    return replace(
        message,
        name=message.name if is_tool else None,
        channel=channel,
        recipient=recipient,
        content_type=message.content_type if recipient is not None or is_constraint else None,
    )


def _segments(ids: Sequence[int], vocabulary: Vocabulary) -> list[tuple[int, ...]]:
    """The ids by message. No body contains a start token, so each one begins a message; a completion lacks the first one and the role."""
    opened = [*ids] if not ids or ids[0] == _START else [_START, *vocabulary.encode(Role.ASSISTANT.value), *ids]
    starts = [index for index, number in enumerate(opened) if number == _START]
    return [tuple(opened[start:end]) for start, end in itertools.pairwise([*starts, len(opened)])]


def _compare_writings(
    frames: Sequence[Frame], ours: Sequence[tuple[int, ...]], plain: WrittenTokens, like_ours: WrittenTokens
) -> Iterator[Difference]:
    if len(ours) != len(frames):
        yield Difference(DifferenceKind.WRITTEN_OTHERWISE, 0, "a different number of messages")
        return
    for number, (frame, ids, as_is, as_ours) in enumerate(zip(frames, ours, plain.ids, like_ours.ids, strict=True), 1):
        if ids != as_is:
            yield from (Difference(kind, number) for kind in _rules(frame, ids, as_ours))
    if difference := _dropped(frames, plain):
        yield difference


def _rules(frame: Frame, ours: tuple[int, ...], as_ours: tuple[int, ...] | None) -> list[DifferenceKind]:
    """The rules that explain how we write ``frame``; if they do not explain every id, the difference is not on purpose."""
    if as_ours is None:
        return [DifferenceKind.NOT_WRITTEN]
    written = hip1.as_written(frame)
    if written != frame:
        return [DifferenceKind.HIDDEN_ON_ANALYSIS if ours == as_ours else DifferenceKind.WRITTEN_OTHERWISE]
    message, like_ours = as_message(frame), _message_like_ours(frame)
    kinds = [kind for name, kind in _BY_FIELD.items() if getattr(message, name) != getattr(like_ours, name)]
    if message.role == Role.ASSISTANT and message.recipient is not None and frame.terminator is not Terminator.CALL:
        kinds.append(DifferenceKind.NO_CALL)
        if as_ours[-1:] == (_CALL,):
            as_ours = (*as_ours[:-1], _END)
    return kinds if kinds and ours == as_ours else [DifferenceKind.WRITTEN_OTHERWISE]


_BY_FIELD = {
    "name": DifferenceKind.NAME_LEFT_OUT,
    "channel": DifferenceKind.CHANNEL_ADDED,
    "content_type": DifferenceKind.CONTENT_TYPE_LEFT_OUT,
}


def _dropped(frames: Sequence[Frame], plain: WrittenTokens) -> Difference | None:
    """The reasoning that openai-harmony drops by default when it writes a conversation."""
    if None in plain.ids or plain.whole == _ids_at(plain, range(len(frames))):
        return None
    first_answer = next((index for index, frame in enumerate(frames) if frame.header.channel == Channel.FINAL), 0)
    spent = [index for index in range(first_answer) if frames[index].header.channel == Channel.ANALYSIS]
    if plain.whole != _ids_at(plain, [index for index in range(len(frames)) if index not in set(spent)]):
        return Difference(DifferenceKind.WRITTEN_OTHERWISE, 0, "the conversation as a whole differs from its messages")
    return Difference(DifferenceKind.REASONING_KEPT, 0, f"{len(spent)} of {len(frames)} messages")


def _ids_at(written: WrittenTokens, places: Sequence[int]) -> tuple[int, ...]:
    return tuple(number for place in places for number in written.ids[place] or ())
