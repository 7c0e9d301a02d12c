"""The second reader, openai-harmony, and others that lie, crash, hang or write nonsense.

They are real processes, because the process is what must not be trusted; but ``in_process`` is the library itself, for many transcripts.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from chatui.model_servers.vocabulary import DIRECTORY_VARIABLE
from chatui.operations import second_reader
from chatui.operations.second_reader import COMMAND as COMMAND
from chatui.operations.second_reader import ComparisonTask, DifferenceKind, OpenAIHarmony
from chatui.operations.second_reader import SecondReader as SecondReader
from chatui.operations.second_reader import SecondReaderError as SecondReaderError
from chatui.operations.second_reader import SecondReaderMessage as SecondReaderMessage
from chatui.operations.second_reader import Unreadable as Unreadable
from renderer.frames import Frame
from renderer.harmony.vocabulary import Vocabulary

Reader = SecondReader | OpenAIHarmony
PURPOSES = {kind.value: kind.is_on_purpose for kind in DifferenceKind}
"""Every kind of difference, and whether it is on purpose."""
SENTENCES = {kind.value: kind.sentence for kind in DifferenceKind}
Written = tuple[tuple[tuple[int, ...] | None, ...], tuple[int, ...]]
"""The ids of each message, None for one that cannot be written, and those of the whole."""


@pytest.fixture
def second(rank_file: Path) -> SecondReader:
    """The real second reader, with more time than a busy machine needs."""
    return reader(rank_file)


@pytest.fixture(scope="session")
def in_process(rank_file: Path) -> OpenAIHarmony:
    """The same without a process for each transcript."""
    import openai_harmony

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(DIRECTORY_VARIABLE, str(rank_file.parent))
        return OpenAIHarmony(openai_harmony)


def reader(rank_file: Path | None, seconds: float = 120, command: Sequence[str] = COMMAND) -> SecondReader:
    """The second reader with a vocabulary that is there, or not."""
    return SecondReader(lambda: rank_file, seconds, command)


def hurried(one: SecondReader, seconds: float) -> SecondReader:
    """The same with less time."""
    return replace(one, seconds=seconds)


def never_asked() -> SecondReader:
    return SecondReader(lambda: pytest.fail("somebody was asked"))


def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """``transcript check`` waits for the real second reader as long as a busy machine needs."""
    monkeypatch.setattr(second_reader, "SecondReader", partial(SecondReader, seconds=120))


def believed(monkeypatch: pytest.MonkeyPatch, one: SecondReader) -> None:
    """``transcript check`` asks this one."""
    monkeypatch.setattr(second_reader, "SecondReader", lambda: one)


def task(*messages: SecondReaderMessage, ids: Sequence[int] = (), is_completion: bool = False) -> ComparisonTask:
    """To write these messages, and to read these ids."""
    return ComparisonTask(messages, messages, tuple(ids), is_completion=is_completion)


def written(one: Reader, *messages: SecondReaderMessage) -> Written:
    """What it writes of these messages."""
    answer = one.answer(task(*messages))
    assert answer.plain == answer.like_ours
    return answer.plain.ids, answer.plain.whole


def read(one: Reader, ids: Sequence[int], *, is_completion: bool = True) -> tuple[SecondReaderMessage | Unreadable, ...]:
    """What it reads of these ids."""
    return one.answer(task(ids=ids, is_completion=is_completion)).read


def compared(frames: Sequence[Frame], vocabulary: Vocabulary, one: Reader) -> dict[str, Any]:
    """What ``transcript check --json`` says of a comparison with it."""
    return second_reader.compare(frames, vocabulary, one).as_json()


def kinds(frames: Sequence[Frame], theirs: Sequence[SecondReaderMessage | Unreadable]) -> list[str]:
    """How what it reads differs from what is meant."""
    return [one.kind.value for one in second_reader.compare_readings(frames, theirs)]


_WRAPPED = """
import io, json, sys
sys.path.insert(0, {root!r})
from chatui.operations import second_reader
out, sys.stdout = sys.stdout, io.TextIOWrapper(io.BytesIO())
second_reader.serve()
answer = json.loads(sys.stdout.buffer.getvalue())
written, messages = (answer["plain"], answer["like_ours"]), answer["read"]
{lie}
out.write(json.dumps(answer))
"""
LIES = {
    "other ids": '[one.update(ids=[ids and [*ids[:-1], 64, ids[-1]] for ids in one["ids"]]) for one in written]',
    "another channel": '[message.update(channel="final") for message in messages if "role" in message]',
    "another body": '[message.update(text=message["text"] + "!") for message in messages if "role" in message]',
    "one message less": "del messages[-1:]",
    "no reading": 'messages[:] = [{"problem": "unreadable"} for _ in messages]',
    "no writing": '[one.update(ids=[None for _ in one["ids"]]) for one in written]',
}
_WRITES = """one = '{{"ids": {ids}, "whole": []}}'; print('{{"plain": ' + one + ', "like_ours": ' + one + ', "read": {read}}}')"""
NONSENSE = {
    "nothing": "pass",
    "no JSON": "print('SECRET')",
    "another shape": "print('[1]')",
    "another message": _WRITES.format(ids="[[1]]", read='[{"role": 1}]'),
    "ids that are none": _WRITES.format(ids="[[1.5]]", read="[]"),
    "fewer messages": _WRITES.format(ids="[]", read="[]"),
    "bytes": "import sys; sys.stdout.buffer.write(b'\\xff\\xfe\\n')",
    "deep": "print('[' * 100000)",
}


def lying(rank_file: Path, name: str) -> SecondReader:
    """The real second reader with one false value in its output."""
    return _running(rank_file, _WRAPPED.format(root=COMMAND[-1], lie=LIES[name]), 120)


def crashing(rank_file: Path) -> SecondReader:
    """Ends like a Rust panic, with content on standard error."""
    return _running(rank_file, "import sys; sys.stderr.write('panicked: ' + sys.stdin.read()); sys.exit(101)", 120)


def hanging(rank_file: Path, note: Path, seconds: float = 1) -> SecondReader:
    """Never answers; writes its process id to ``note``."""
    return _running(rank_file, f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(600)", seconds)


def invalid_reader(rank_file: Path, name: str) -> SecondReader:
    """Exits successfully with invalid output."""
    return _running(rank_file, NONSENSE[name], 120)


def _running(rank_file: Path, program: str, seconds: float) -> SecondReader:
    return reader(rank_file, seconds, (sys.executable, "-I", "-c", program))
