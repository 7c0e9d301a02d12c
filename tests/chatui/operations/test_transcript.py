"""``manage.py transcript``: formats, positions of errors, exit codes, audiences."""

import io
import json
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from renderer.ocml import document as ocml
from tests.chatui.transfer.test_imports import DOCUMENT

COMPLETION = "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>4.<|return|>"


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit code, output and errors."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("transcript", *arguments, stdout=out, stderr=err)
    except SystemExit as ended:
        return int(ended.code or 0), out.getvalue(), err.getvalue()
    except CommandError as error:
        return error.returncode, out.getvalue(), str(error)
    return 0, out.getvalue(), err.getvalue()


@pytest.fixture
def document(tmp_path: Path) -> str:
    file = tmp_path / "talk.ocml"
    file.write_text(DOCUMENT)
    return str(file)


@pytest.fixture
def broken(tmp_path: Path) -> str:
    file = tmp_path / "broken.ocml"
    file.write_text("version: 2.2\n<|start|>user<|message|>Hi<|end|>\n<|start|>robot<|message|>SECRET<|end|>\n")
    return str(file)


def test_check_says_that_a_valid_transcript_is_valid(document: str) -> None:
    code, output, _ = run("check", "--no-second-reader", document)
    assert (code, output.strip()) == (0, f"{document}: accepted, 7 frames")


def test_check_points_at_the_place_and_quotes_nothing(broken: str) -> None:
    code, output, _ = run("check", broken)
    assert code == 1 and f"{broken}:3:10: E-PARSE-HEADER" in output and "(frame 1)" in output and "SECRET" not in output


def test_check_reports_as_json(broken: str) -> None:
    code, output, _ = run("check", "--json", broken)
    report = json.loads(output)
    assert code == 1 and report["accepted"] is False
    assert {key: report["problems"][0][key] for key in ("code", "line", "column", "frame")} == {
        "code": "E-PARSE-HEADER",
        "line": 3,
        "column": 10,
        "frame": 1,
    }


def test_a_missing_file_has_its_own_exit_code(tmp_path: Path) -> None:
    for what in (["check"], ["show"], ["convert", "--to", "json"]):
        assert run(*what, str(tmp_path / "nothing"))[0] == 2


def test_show_prints_visible_frames_for_end_users_and_all_for_staff(document: str) -> None:
    code, shown, _ = run("show", document)
    assert code == 0 and "It is *sunny*." in shown and "CANARY" not in shown
    assert "CANARY-ANALYSIS" in run("show", "--as", "staff", document)[1]


def test_show_prints_one_object_for_each_message(document: str) -> None:
    lines = run("show", "--json", document)[1].splitlines()
    assert [json.loads(line) for line in lines] == [
        {"role": "user", "channel": None, "intent": None, "text": "What is the weather?"},
        {"role": "assistant", "channel": "final", "intent": None, "text": "It is *sunny*."},
    ]


def test_control_sequences_are_escaped(tmp_path: Path) -> None:
    file = tmp_path / "odd.ocml"
    file.write_text("version: 2.2\n<|start|>user<|message|>a\x1b[2Jb\u202ec<|end|>")
    shown = run("show", str(file))[1]
    assert "\x1b" not in shown and "\u202e" not in shown and "a\\x1b[2Jb" in shown


def test_standard_input_is_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(DOCUMENT.encode())))
    assert run("check", "--no-second-reader", "-")[1].strip() == "-: accepted, 7 frames"


def test_text_to_json_to_text_loses_nothing(document: str, tmp_path: Path) -> None:
    as_json = tmp_path / "talk.json"
    as_json.write_text(run("convert", "--to", "json", document)[1])
    back = run("convert", "--from", "json", "--to", "openchatml", str(as_json))[1]
    assert ocml.parse(back) == ocml.parse(DOCUMENT)


def test_text_to_harmony_to_text_loses_nothing_with_its_side_record(document: str, tmp_path: Path) -> None:
    harmony, record = tmp_path / "talk.harmony", tmp_path / "talk.side.json"
    code, text, errors = run("convert", "--to", "harmony", "--side-record", str(record), document)
    assert (code, errors) == (0, "")
    harmony.write_text(text)
    back = run("convert", "--from", "harmony", "--to", "openchatml", "--side-record", str(record), str(harmony))[1]
    assert ocml.parse(back) == ocml.parse(DOCUMENT)


def test_without_a_side_record_it_says_what_is_lost(document: str) -> None:
    assert "--side-record" in run("convert", "--to", "harmony", document)[2]


def test_a_completion_in_harmony_shows_its_final_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "completion.harmony"
    file.write_text(COMPLETION)
    assert [json.loads(line)["text"] for line in run("show", "--json", "--from", "harmony", str(file))[1].splitlines()] == ["4."]


def test_invalid_token_ids_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "ids.json"
    for text in ("[1, true]", "{}", "[1.5]", "nonsense", '["1"]'):
        file.write_text(text)
        code, _, errors = run("show", "--from", "harmony-tokens", str(file))
        assert code == 1 and "E-PARSE-HEADER" in errors, text
