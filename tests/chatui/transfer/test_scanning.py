"""The operator's virus scanner: what it is given, what its exit codes mean, and what is logged if a file could not be checked."""

import shlex
from pathlib import Path

import pytest

from chatui.models.files import StoredFile
from chatui.models.user import User
from chatui.transfer import files
from chatui.transfer.files import FileDestination, UploadRefusedError
from tests.support import environment
from tests.support.limits import set_limits

pytestmark = pytest.mark.django_db
WORDS = "-".join(["words", "of", "the", "file"])


def verdict(person: User, command: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Why a file is refused; empty if it is stored."""
    environment.change(monkeypatch, {"file_scanner": command})
    try:
        files.accept(FileDestination(person.pk, None), "notes.txt", WORDS.encode)
    except UploadRefusedError as refused:
        assert not StoredFile.objects.exists()
        return refused.why
    return ""


@pytest.mark.parametrize(
    ("code", "why", "is_logged"), [(0, "", False), (1, "infected", False), (2, "unchecked", True), (-9, "unchecked", True)]
)
def test_the_exit_code_of_the_scanner_is_the_verdict(
    code: int, why: str, is_logged: bool, tmp_path: Path, ada: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    script, end = tmp_path / "scan.sh", f"exit {code}" if code >= 0 else f"kill {code} $$"
    script.write_text(f'cat > "$0.given"; printf "%s\\n" "$@" > "$0.arguments"; cat "$0.given"; {end}')
    assert verdict(ada, f"sh {shlex.quote(str(script))} --fdpass 'of a host' $HOME -", monkeypatch) == why
    assert (tmp_path / "scan.sh.given").read_text() == WORDS
    assert (tmp_path / "scan.sh.arguments").read_text().splitlines() == ["--fdpass", "of a host", "$HOME", "-"], "no shell reads it"
    assert (f"(exit code {code})" in caplog.text) is is_logged and bool(caplog.text) is is_logged and WORDS not in caplog.text


@pytest.mark.parametrize(
    ("command", "error"), [(f"./no-{WORDS}", "FileNotFoundError"), (f"scan '{WORDS}", "ValueError"), ("sleep 60", "TimeoutExpired")]
)
def test_a_scanner_that_fails_has_not_checked_the_file(
    command: str, error: str, ada: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    set_limits(monkeypatch, "chatui.transfer", SECONDS=0.1)
    assert verdict(ada, command, monkeypatch) == "unchecked"
    assert f"({error})" in caplog.text and WORDS not in caplog.text


def test_without_a_scanner_every_file_is_clean(ada: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    assert verdict(ada, "", monkeypatch) == "" and caplog.text == ""
