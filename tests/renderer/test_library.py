"""The format library works by itself: its README is correct, it can be imported alone, and ``python -m renderer`` needs no Django."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "renderer/README.md"
ELSEWHERE = (
    "asgiref", "bleach", "channels", "chatui", "daphne", "django", "html5lib", "httpx", "linkify_it", "markdown_it", "mdit_py_plugins",
    "nh3", "openai_harmony", "pydantic", "pygments", "regex", "tiktoken",
)  # fmt: skip
"""Packages that the format library does not need. It needs PyYAML."""

BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ELSEWHERE:
            raise ImportError(f"blocked: {name}")

ELSEWHERE = set(sys.argv.pop(1).split(","))
sys.meta_path.insert(0, Blocked())
"""

TALK = """version: 2.2

<|start|>user<|message|>Hi<|end|>
<|start|>assistant<|channel|>analysis<|message|>SECRET<|end|>
<|start|>assistant<|channel|>final<|message|>Hello<|return|>
"""


def alone(program: str, *arguments: str, standard_input: str = "") -> subprocess.CompletedProcess[str]:
    """Run a program in an interpreter that can import only the format library and PyYAML."""
    command = [sys.executable, "-c", BLOCKED + program, ",".join(ELSEWHERE), *arguments]
    return subprocess.run(command, cwd=ROOT, input=standard_input, capture_output=True, text=True, timeout=60, check=False)


def command(*arguments: str, standard_input: str = TALK) -> tuple[int, str, str]:
    """``python -m renderer`` in such an interpreter: exit code, output, errors."""
    done = alone(
        "import runpy; runpy.run_module('renderer', run_name='__main__', alter_sys=True)", *arguments, standard_input=standard_input
    )
    return done.returncode, done.stdout, done.stderr


def examples() -> list[str]:
    """The Python of the README."""
    return re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_blocked_packages_cannot_be_imported() -> None:
    for name in ("django", "tiktoken"):
        done = alone(f"import {name}")
        assert done.returncode == 1 and "blocked" in done.stderr


@pytest.mark.slow
def test_the_readme_has_examples_and_they_hold_without_any_other_package() -> None:
    assert len(examples()) == 2
    for example in examples():
        done = alone(example)
        assert done.returncode == 0, done.stderr


def test_every_format_but_token_ids_is_read_and_written_without_any_other_package() -> None:
    program = """
from renderer.formats import Format, Source, read, write
def none(): raise AssertionError("no vocabulary is needed")
transcript = read(Source(Format.OPENCHATML, sys.argv[1].encode()), none).transcript
for target in (Format.OPENCHATML, Format.JSON, Format.HARMONY):
    text, record = write(transcript, target, none)
    assert read(Source(target, text.encode(), record), none).transcript == transcript, target
"""
    done = alone(program, TALK)
    assert done.returncode == 0, done.stderr


def test_token_ids_say_which_package_is_missing() -> None:
    program = """
from renderer.harmony import vocabulary
vocabulary.SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
try:
    vocabulary.Vocabulary(b"")
except vocabulary.VocabularyError as error:
    print(error)
"""
    assert "tiktoken" in alone(program).stdout


@pytest.mark.slow
def test_the_command_checks_converts_and_shows_without_django() -> None:
    assert command("check", "-") == (0, "-: accepted, 3 frames\n", "")
    code, output, _ = command("convert", "--to", "json", "-")
    assert code == 0 and [message["role"] for message in json.loads(output)["messages"]] == ["user", "assistant", "assistant"]
    assert command("convert", "--from", "json", "--to", "openchatml", "-", standard_input=output) == (0, TALK, "")
    code, output, _ = command("show", "-")
    assert code == 0 and "Hello" in output and "SECRET" not in output
    assert "SECRET" in command("show", "--as", "staff", "-")[1]


@pytest.mark.slow
def test_the_command_distinguishes_refused_and_flagged_problems() -> None:
    flagged = 'version: 2.2\n<|start|>tool name=functions.x<|message|>{"ok":true}<|end|>\n'
    code, output, _ = command("check", "-", standard_input=flagged)
    assert code == 0 and "flagged: E-CALL-SCHEMA" in output and "accepted, 1 frame, 1 flagged" in output
    report = json.loads(command("check", "--json", "-", standard_input=flagged)[1])
    assert (report["accepted"], report["clean"], report["problems"][0]["refused"]) == (True, False, False)
    assert command("check", "--fail-on-flags", "-", standard_input=flagged)[0] == 4
    assert command("check", "--fail-on-flags", "-")[0] == 0
    assert command("check", "--fail-on-flags", "-", standard_input=flagged + "stray")[0] == 1
    as_json = command("convert", "--to", "json", "-", standard_input=flagged)[1]
    code, output, _ = command("check", "--from", "json", "-", standard_input=as_json)
    assert code == 0 and "flagged: E-CALL-SCHEMA" in output and "accepted, 1 frame, 1 flagged" in output
    assert command("check", "--from", "json", "-", standard_input='{"role": "user", "content": "Hi"}')[:2] == (0, "-: accepted, 1 frame\n")
    code, output, _ = command("check", "-", standard_input=flagged + "stray")
    assert code == 1 and "-:3:1: E-PARSE-HEADER" in output and "refused, 2 frames, 1 flagged" in output


@pytest.mark.slow
def test_the_command_says_what_it_cannot_read() -> None:
    code, _, errors = command("check", "no-such-file")
    assert code == 2 and "no-such-file" in errors
    code, _, errors = command("check", "--from", "harmony-tokens", "-", standard_input="[200006]")
    assert code == 2 and "--vocabulary" in errors
