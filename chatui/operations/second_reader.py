"""Runs openai-harmony in a separate process, started for one batch of requests and killed when its time is up."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from chatui import processes
from chatui.processes import LateError

SECONDS = 20.0
"""How long a batch may take. Loading takes half a second; an unbroken run of 80,000 characters would take half a minute."""
MAX_BYTES = 200_000_000
COMMAND = (sys.executable, "-I", str(Path(__file__).with_name("second_reader_worker.py")))
# The variables that Python needs to start. The process gets no other: no keys, no passwords, and no way to the network.
_NEEDED = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR")
_one_at_a_time = threading.Lock()
"""Each process takes 150 MB and a processor, which people's answers need as well. So simultaneous examinations wait for each other."""
_NOWHERE = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")


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
class ReadTokens:
    """Token ids to read. ``is_completion``: they begin after ``<|start|>assistant``."""

    ids: Sequence[int] = field(repr=False)
    is_completion: bool


@dataclass(frozen=True, slots=True)
class WriteConversation:
    """A conversation to write."""

    messages: Sequence[SecondReaderMessage] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Written:
    """The token ids that openai-harmony wrote. ``ids``: those of each message, None if it cannot be written. ``whole``: those of the whole
    conversation, from which openai-harmony drops reasoning by itself; empty if it cannot be written.
    """

    ids: tuple[tuple[int, ...] | None, ...] = field(repr=False)
    whole: tuple[int, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class SecondReader:
    """openai-harmony. ``rank_file`` finds the vocabulary file on this machine, None if there is none; nothing is ever downloaded.

    One process runs at a time. ``seconds`` includes the wait for the previous one.
    """

    rank_file: Callable[[], Path | None]
    seconds: float = SECONDS
    command: Sequence[str] = COMMAND

    def read(self, completions: Sequence[ReadTokens]) -> list[tuple[ReadMessage, ...]]:
        """The messages of each request. Blocks for at most ``seconds``.

        Raises:
            SecondReaderError: no vocabulary, no answer in time, a crash, or an invalid answer.
        """
        return self.write_and_read((), completions)[1]

    def write(self, conversations: Sequence[WriteConversation]) -> list[Written]:
        """The token ids of each conversation. Blocks and raises as ``read``."""
        return self.write_and_read(conversations, ())[0]

    def write_and_read(
        self, conversations: Sequence[WriteConversation], completions: Sequence[ReadTokens]
    ) -> tuple[list[Written], list[tuple[ReadMessage, ...]]]:
        """Write and read with one process. Blocks and raises as ``read``."""
        to_write = [{"write": [asdict(message) for message in one.messages]} for one in conversations]
        to_read = [{"read": list(one.ids), "completion": one.is_completion} for one in completions]
        answers = self._answers([*to_write, *to_read])
        written = [_written(answer, len(one.messages)) for answer, one in zip(answers, conversations, strict=False)]
        return written, [_messages(answer) for answer in answers[len(to_write) :]]

    def within(self, seconds: float) -> SecondReader:
        """A copy whose time limit is at most ``seconds``."""
        return replace(self, seconds=min(self.seconds, seconds))

    def _answers(self, requests: Sequence[object]) -> list[object]:
        rank_file = self.rank_file()
        if rank_file is None:
            raise SecondReaderError("The vocabulary of gpt-oss is not installed. Run: python manage.py fetch_vocabulary")
        output = self._run("".join(f"{json.dumps(request)}\n" for request in requests), rank_file)
        try:
            answers = [json.loads(line) for line in output.splitlines()]
        except (ValueError, RecursionError) as error:
            raise _invalid_answer() from error
        if answers == [{"error": "vocabulary"}]:
            raise SecondReaderError("openai-harmony does not accept the installed vocabulary.")
        if len(answers) != len(requests):
            raise _invalid_answer()
        return answers

    def _run(self, lines: str, rank_file: Path) -> bytes:
        environment = {name: os.environ[name] for name in _NEEDED if name in os.environ}
        environment |= {**_NOWHERE, "TIKTOKEN_ENCODINGS_BASE": str(rank_file.parent)}
        end = time.monotonic() + self.seconds
        if not _one_at_a_time.acquire(timeout=max(self.seconds, 0)):
            raise self._late()
        try:
            left = end - time.monotonic()
            code, output = processes.run(self.command, lines.encode(), seconds=left, max_bytes=MAX_BYTES, environment=environment)
        except LateError:
            raise self._late() from None
        except OSError as error:
            raise SecondReaderError(f"openai-harmony could not be started: {error.strerror or 'no reason was given'}.") from error
        finally:
            _one_at_a_time.release()
        if code:
            raise SecondReaderError("openai-harmony crashed.")
        return output

    def _late(self) -> SecondReaderError:
        return SecondReaderError(f"openai-harmony did not answer within {self.seconds:g} seconds and was stopped.")


def _messages(answer: object) -> tuple[ReadMessage, ...]:
    match answer:
        case {"messages": list(messages), **rest} if not rest:
            return tuple(map(_message, messages))
    raise _invalid_answer()


def _message(raw: object) -> ReadMessage:
    match raw:
        case {"problem": str(problem), **rest} if not rest:
            return Unreadable(problem)
        case {
            "role": str(role),
            "name": str() | None as name,
            "channel": str() | None as channel,
            "recipient": str() | None as recipient,
            "content_type": str() | None as content_type,
            "text": str(text),
        }:
            return SecondReaderMessage(role, name, channel, recipient, content_type, text)
    raise _invalid_answer()


def _written(answer: object, messages: int) -> Written:
    match answer:
        case {"ids": list(ids), "whole": whole} if len(ids) == messages:
            return Written(tuple(None if one is None else _ids(one) for one in ids), _ids(whole))
    raise _invalid_answer()


def _ids(raw: object) -> tuple[int, ...]:
    if not isinstance(raw, list) or not all(type(number) is int for number in raw):
        raise _invalid_answer()
    return tuple(raw)


def _invalid_answer() -> SecondReaderError:
    return SecondReaderError("openai-harmony gave an invalid answer.")
