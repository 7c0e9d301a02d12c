"""``transcript check`` compares with openai-harmony: equal, different on purpose, unexpectedly different, or why not compared."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chatui.model_servers import vocabulary as vocabularies
from renderer import command
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.operations.test_transcript import COMPLETION, run
from tests.chatui.transfer.test_imports import DOCUMENT
from tests.support.second_readers import believed, crashing, hanging, lying, patient
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary

pytestmark = pytest.mark.served

PLAIN = """version: 2.2
<|start|>user<|message|>What is <<|start|> for?<|end|>
<|start|>assistant to=functions.look call_id=c1<|channel|>commentary<|constrain|>json<|message|>{}<|call|>
<|start|>tool to=assistant name=functions.look call_id=c1<|channel|>commentary<|message|>SECRET<|end|>
<|start|>assistant<|channel|>final<|message|>It begins a message.<|return|>
"""
PECULIAR = PLAIN.replace("user<", "user name=alice<").replace(" to=assistant", "")


@pytest.fixture(autouse=True)
def _has_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real second reader has more time than usual: on a busy machine, its process takes long to start."""
    patient(monkeypatch)


@pytest.fixture
def _has_vocabulary(rank_file: Path, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch) -> None:
    """The right file in the right directory; to save time, it is read once for all tests."""
    monkeypatch.setenv(vocabularies.DIRECTORY_VARIABLE, str(rank_file.parent))
    monkeypatch.setattr(vocabularies, "load", lambda _: vocabulary)


def file_with(tmp_path: Path, text: str) -> str:
    (tmp_path / "talk").write_text(text)
    return str(tmp_path / "talk")


def checked(*arguments: str) -> tuple[int, dict[str, Any]]:
    code, output, errors = run("check", "--json", *arguments)
    assert errors == ""
    return code, json.loads(output)


def test_a_plain_transcript_is_equal_token_for_token(tmp_path: Path, rank_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(vocabularies.DIRECTORY_VARIABLE, str(rank_file.parent))
    name = file_with(tmp_path, PLAIN)
    code, output, errors = run("check", name)
    assert (code, errors) == (0, "") and output.splitlines()[0] == f"{name}: accepted, 4 frames"
    assert "equal" in output and "purpose" not in output
    code, report = checked(name)
    about = report["second_reader"]
    assert (code, about["compared"], about["equal"], about["as_meant"], about["differences"]) == (0, True, True, True, [])
    assert about["tokens"] > 40


@pytest.mark.usefixtures("_has_vocabulary")
def test_what_differs_on_purpose_is_named_with_its_reason_and_is_no_fault(tmp_path: Path) -> None:
    name = file_with(tmp_path, PECULIAR)
    code, output, _ = run("check", name)
    assert code == 0 and "2 ways, all on purpose" in output and "DIFFERS" not in output and "SECRET" not in output
    assert "on purpose: name-left-out, message 1: We leave out" in output and "reply-without-recipient, message 3: We read" in output
    _, report = checked(name)
    assert [(one["kind"], one["on_purpose"], one["message"]) for one in report["second_reader"]["differences"]] == [
        ("name-left-out", True, 1),
        ("reply-without-recipient", True, 3),
    ]


@pytest.mark.usefixtures("_has_vocabulary")
def test_unexpected_differences_have_their_own_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rank_file: Path) -> None:
    believed(monkeypatch, lying(rank_file, "another body"))
    name = file_with(tmp_path, PECULIAR)
    code, output, _ = run("check", name)
    assert code == 3 and "NOT all on purpose" in output and "DIFFERS: read-otherwise" in output and "SECRET" not in output
    code, report = checked(name)
    assert (code, report["accepted"], report["second_reader"]["as_meant"]) == (3, True, False)


@pytest.mark.usefixtures("_has_vocabulary")
def test_a_failing_second_reader_gives_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rank_file: Path) -> None:
    name = file_with(tmp_path, PLAIN)
    for reader, sentence in ((crashing(rank_file), "crashed"), (hanging(rank_file, tmp_path / "pid"), "did not answer within")):
        believed(monkeypatch, reader)
        code, output, errors = run("check", name)
        assert (
            (code, errors) == (0, "") and "not compared with openai-harmony: " in output and sentence in output and "SECRET" not in output
        )


def test_a_missing_vocabulary_is_reported_and_the_check_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(vocabularies.DIRECTORY_VARIABLE, raising=False)
    code, report = checked(file_with(tmp_path, PLAIN))
    assert (code, report["accepted"], report["second_reader"]["compared"]) == (0, True, False)
    assert "fetch_vocabulary" in report["second_reader"]["why"]


def test_it_can_be_switched_off_and_a_broken_transcript_is_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a process was started"))
    monkeypatch.setattr(vocabularies, "load", lambda _: pytest.fail("the vocabulary was read"))
    assert checked("--no-second-reader", file_with(tmp_path, PLAIN)) == (
        0,
        {"accepted": True, "clean": True, "frames": 4, "problems": [], "second_reader": None},
    )
    code, report = checked(file_with(tmp_path, "version: 2.2\n<|start|>robot<|message|>x<|end|>"))
    assert (code, report["second_reader"]) == (1, None)


@pytest.mark.usefixtures("_has_vocabulary")
def test_a_value_that_harmony_cannot_represent_is_reported(tmp_path: Path) -> None:
    code, report = checked("--fragment", file_with(tmp_path, "<|start|>assistant to=a<|b<|channel|>final<|message|>x<|end|>"))
    assert code == 0 and report["accepted"], "the premise: OpenChatML can hold it"
    assert "cannot be written as Harmony" in report["second_reader"]["why"]


@pytest.mark.usefixtures("_has_vocabulary")
def test_other_forms_and_standard_input_are_compared_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unquoted = PLAIN.replace("<<|start|>", "it")  # in Harmony text a quoted marker is a real one
    for form in ("json", "harmony-tokens"):
        name = file_with(tmp_path, run("convert", "--to", form, file_with(tmp_path, unquoted))[1])
        code, report = checked("--from", form, "--conversation", name)
        assert (code, report["second_reader"]["equal"]) == (0, True), form
    assert checked("--from", "harmony", file_with(tmp_path, COMPLETION))[1]["second_reader"]["as_meant"] is True
    assert checked(file_with(tmp_path, DOCUMENT))[1]["second_reader"]["as_meant"] is True
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PLAIN.encode())))
    assert checked("-")[1]["second_reader"]["equal"] is True


def test_a_transcript_too_large_for_memory_is_checked_and_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "MAX_BUFFERED_BYTES", 100)
    code, report = checked(file_with(tmp_path, PLAIN))
    assert (code, report["accepted"], report["second_reader"]["compared"]) == (0, True, False)
    assert "larger than" in report["second_reader"]["why"]
