"""openai-harmony in a separate process: what it reads and writes, and a plain error message if it cannot."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from renderer.harmony.pieces import ids_of_pieces, pieces_of_text
from renderer.harmony.vocabulary import Vocabulary
from tests.support.second_readers import (
    COMMAND,
    NONSENSE,
    Reader,
    SecondReader,
    SecondReaderError,
    SecondReaderMessage,
    Unreadable,
    crashing,
    hanging,
    hurried,
    invalid_reader,
    read,
    reader,
    task,
    written,
)

pytestmark = pytest.mark.served

HI = SecondReaderMessage("user", text="hi")
SECRET = "SECRET-OF-THE-MODEL"


def ids(text: str, vocabulary: Vocabulary) -> list[int]:
    return ids_of_pieces(pieces_of_text(text), vocabulary)


def test_it_reads_messages_and_continues_after_an_unreadable_one(vocabulary: Vocabulary, in_process: Reader) -> None:
    thought, answer = (
        SecondReaderMessage("assistant", None, "analysis", text="hm"),
        SecondReaderMessage("assistant", None, "final", text="4"),
    )
    thinking = "<|channel|>analysis<|message|>hm<|end|>"
    answered = "<|start|>assistant<|channel|>final<|message|>4<|return|>"
    cases = [
        ("", None),
        ("words", "no-start"),
        ("<|start|>robot<|message|>x<|end|>", "unknown-role"),
        ("<|start|>assistant a b c<|channel|>final<|message|>x<|end|>", "words-left-in-header"),
        ("<|start|>assistant<|channel|><|message|>x<|end|>", "empty-channel"),
    ]
    results = [read(in_process, ids(thinking + between + answered, vocabulary)) for between, _ in cases]
    assert results == [(thought, *([Unreadable(problem)] if problem else []), answer) for _, problem in cases]


def test_ids_that_end_in_a_header_or_are_invalid_are_reported_by_words_of_a_closed_list(in_process: Reader) -> None:
    assert read(in_process, [200_005, 35_644]) == (Unreadable("cut-header"),)
    assert read(in_process, [], is_completion=False) == ()
    assert read(in_process, [-1]) == (Unreadable("unreadable"),)


def test_it_writes_each_message_and_says_which_it_cannot_write(vocabulary: Vocabulary, second: SecondReader) -> None:
    talk = (HI, SecondReaderMessage("robot", text="x"), SecondReaderMessage("tool", text="a tool without a name"))
    hi = tuple(ids("<|start|>user<|message|>hi<|end|>", vocabulary))
    assert written(second, HI) == ((hi,), hi)
    assert written(second, *talk) == ((hi, None, None), ())


def test_without_its_vocabulary_it_says_what_to_do_and_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a process was started"))
    with pytest.raises(SecondReaderError, match="fetch_vocabulary"):
        written(reader(None), HI)


def test_a_vocabulary_that_is_another_is_refused_and_no_other_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "o200k_base.tiktoken").write_text("YQ== 0\n")
    monkeypatch.setenv("TIKTOKEN_RS_CACHE_DIR", str(tmp_path / "cache"))
    for place in (tmp_path / "o200k_base.tiktoken", tmp_path / "nothing" / "o200k_base.tiktoken"):
        with pytest.raises(SecondReaderError, match="does not accept the installed vocabulary"):
            written(reader(place), HI)
    assert not (tmp_path / "cache").exists()


def test_a_panic_of_openai_harmony_is_reported_as_a_crash_and_quotes_nothing(
    second: SecondReader, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SecondReaderError) as raised:
        written(second, SecondReaderMessage("user", text=SECRET + " " * 1_000_000))
    assert str(raised.value) == "openai-harmony crashed."
    assert capfd.readouterr() == ("", "")


def test_a_text_that_takes_it_half_a_minute_costs_no_more_than_the_time_that_it_is_given(second: SecondReader) -> None:
    started = time.monotonic()
    with pytest.raises(SecondReaderError, match="did not answer within 2 seconds"):
        written(hurried(second, 2), SecondReaderMessage("user", text="한" * 200_000))
    assert time.monotonic() - started < 60


def test_a_crash_and_a_hang_are_plain_sentences_and_leave_no_process(
    rank_file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    note = tmp_path / "pid"
    for one, sentence in ((crashing(rank_file), "crashed"), (hanging(rank_file, note, 8), "did not answer within 8 seconds")):
        with pytest.raises(SecondReaderError, match=sentence) as raised:
            written(one, SecondReaderMessage("user", text=SECRET))
        assert SECRET not in str(raised.value)
    assert capfd.readouterr() == ("", "")
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


@pytest.mark.parametrize("name", NONSENSE)
def test_an_invalid_answer_is_an_error(name: str, rank_file: Path) -> None:
    with pytest.raises(SecondReaderError, match="invalid answer") as raised:
        written(invalid_reader(rank_file, name), HI)
    assert "SECRET" not in str(raised.value)


def test_a_program_that_is_not_there_is_a_plain_sentence(rank_file: Path) -> None:
    with pytest.raises(SecondReaderError, match="could not be started"):
        written(reader(rank_file, 5, ("/nowhere/python",)), HI)


def test_it_runs_with_low_priority(rank_file: Path) -> None:
    program = (
        "import os, sys; sys.path.insert(0, sys.argv[1]); from chatui.operations import second_reader; before = os.nice(0)\n"
        "second_reader.serve(); sys.exit(101 if os.nice(0) <= before else 0)"
    )
    command = (sys.executable, "-I", "-c", program, COMMAND[-1])
    assert read(reader(rank_file, command=command), [], is_completion=False) == ()


def test_the_process_gets_no_key_and_no_way_to_the_network(rank_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATUI_BACKEND_KEY", "sk-SECRET")
    seen: list[dict[str, str]] = []

    def run(*_: object, env: dict[str, str], **__: object) -> None:
        seen.append(env)
        raise OSError(5, "no")

    monkeypatch.setattr(subprocess, "Popen", run)
    with pytest.raises(SecondReaderError):
        written(reader(rank_file), HI)
    assert "sk-SECRET" not in str(seen) and seen[0]["HTTPS_PROXY"] == "http://127.0.0.1:9"


def test_bodies_are_in_no_repr() -> None:
    values = [
        SecondReaderMessage("user", text=SECRET),
        task(ids=(1, 2, 3), is_completion=True),
    ]
    assert SECRET not in repr(values) and "1, 2, 3" not in repr(values)
