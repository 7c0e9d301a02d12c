"""The operator's virus scanner: what it is given, what its exit codes mean, and what is logged if a file could not be checked."""

import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from chatui.transfer import files

COMMAND = "clamdscan --fdpass 'of a host' -"
QUOTED = "-".join(["words", "of", "the", "file"])


def replaced(monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any]) -> None:
    monkeypatch.setattr(files, "subprocess", type("Fake", (), {"run": staticmethod(run), "SubprocessError": subprocess.SubprocessError}))


@pytest.mark.parametrize(
    ("code", "why", "is_logged"), [(0, "", False), (1, "infected", False), (2, "unchecked", True), (-9, "unchecked", True)]
)
def test_the_exit_code_of_the_scanner_is_the_verdict(
    code: int, why: str, is_logged: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    given: list[tuple[Any, dict[str, Any]]] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        given.append((command, options))
        return subprocess.CompletedProcess(command, code, QUOTED.encode())

    replaced(monkeypatch, run)
    assert files.scan(COMMAND, b"data") == why
    [(command, options)] = given
    assert command == ["clamdscan", "--fdpass", "of a host", "-"], "no shell reads it"
    assert options == {"input": b"data", "capture_output": True, "timeout": 60.0, "check": False}
    assert (f"(exit code {code})" in caplog.text) is is_logged and bool(caplog.text) is is_logged and QUOTED not in caplog.text


@pytest.mark.parametrize(
    "error",
    [OSError(QUOTED), ValueError(QUOTED), subprocess.TimeoutExpired(QUOTED, 60.0, QUOTED.encode()), subprocess.SubprocessError(QUOTED)],
)
def test_a_scanner_that_fails_has_not_checked_the_file(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def run(*_: object, **__: object) -> None:
        raise error

    replaced(monkeypatch, run)
    assert files.scan(COMMAND, b"data") == "unchecked"
    assert f"({type(error).__name__})" in caplog.text and QUOTED not in caplog.text


def test_a_command_that_cannot_be_read_has_not_checked_the_file(caplog: pytest.LogCaptureFixture) -> None:
    assert files.scan("clamdscan 'of a host", b"data") == "unchecked" and "(ValueError)" in caplog.text


def test_without_a_scanner_every_file_is_clean(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    replaced(monkeypatch, lambda *_, **__: pytest.fail("nothing is run"))
    assert files.scan("", b"data") == "" and caplog.text == ""
