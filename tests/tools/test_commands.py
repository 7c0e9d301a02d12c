"""The commands of the Makefile report correctly what they did and what they could not do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import may_be_selected
from tests.support.places import ROOT
from tests.tools import check, chromium, node, not_run

STRANGE = '''
"""Three tests, one of which needs what is not there."""
import pytest

def test_that_passes(): pass

@pytest.mark.services
def test_that_needs_a_database(): pass

@pytest.mark.browser
def test_that_needs_a_browser(): pass
'''


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Separate notes, so that those of the surrounding test run stay unchanged."""
    monkeypatch.setattr(not_run, "NOTES", tmp_path / "notes" / "not-run.txt")
    return not_run.NOTES


def summary_of(tmp_path: Path, **variables: str) -> str:
    """The summary that pytest prints for ``STRANGE`` with this project's settings and only these variables."""
    (tmp_path / "test_strange.py").write_text(STRANGE, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CHATUI_")} | variables
    command = [sys.executable, "-m", "pytest", "-p", "no:django", "-p", "tests.conftest", "-c", str(ROOT / "pyproject.toml")]
    places = ["-o", f"cache_dir={tmp_path}/cache", "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run([*command, *places], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split("what ran and what did not")[1]


@pytest.mark.slow
def test_the_summary_says_what_ran_and_why_the_rest_did_not(tmp_path: Path) -> None:
    summary = summary_of(tmp_path, CHATUI_CHROMIUM="/no/such/browser")
    assert "Tests that ran: 1 of" in summary
    assert "CHATUI_CHROMIUM names /no/such/browser, which is no program that can be run." in summary
    assert "PostgreSQL and Redis are used only when" in summary
    assert "1 passed, 2 skipped" in summary


@pytest.mark.slow
def test_a_service_that_does_not_answer_is_named(tmp_path: Path) -> None:
    address = "127.0.0.1:1"
    summary = summary_of(tmp_path, CHATUI_TEST_DATABASE_URL=f"postgres://{address}/x", CHATUI_TEST_REDIS_URL=f"redis://{address}/0")
    assert "CHATUI_TEST_DATABASE_URL names a server that does not answer" in summary


def test_what_could_not_run_is_remembered_once_until_it_is_forgotten(notes: Path) -> None:
    assert not_run.sentences() == []
    for sentence in ("No Node.js here.", "No Chromium here.", "No Node.js here."):
        not_run.note(sentence)
    assert not_run.sentences() == ["No Node.js here.", "No Chromium here."]
    not_run.forget()
    assert not_run.sentences() == []


@pytest.mark.usefixtures("notes")
def test_a_check_that_cannot_run_says_so_and_is_no_failure(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lame = check.Check("lame", lambda: ["false"], lambda: "it has no legs.")
    monkeypatch.setattr(check, "checks", lambda: [lame])
    assert check.main([]) == 0
    assert "lame               not run: it has no legs." in capsys.readouterr().out
    assert not_run.sentences() == ["The check “lame” was not run: it has no legs."]


@pytest.mark.usefixtures("notes")
@pytest.mark.parametrize(("command", "code", "line"), [("exit 0", 0, "all is well"), ("echo crooked; exit 3", 1, "crooked")])
def test_a_check_fails_when_its_command_does_and_only_then(
    command: str, code: int, line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "checks", lambda: [check.Check("straight", lambda: ["sh", "-c", command])])
    assert check.main([]) == code
    assert line in capsys.readouterr().out


def test_a_browser_that_is_named_wrongly_is_not_replaced_by_another(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CHATUI_CHROMIUM", str(tmp_path))
    (tmp_path / "browser").write_text("#!/bin/sh\n", encoding="utf-8")
    monkeypatch.setenv("CHATUI_CHROMIUM", str(tmp_path / "browser"))
    assert chromium.find() is None
    (tmp_path / "browser").chmod(0o755)
    assert chromium.find() == tmp_path / "browser"


def test_without_node_the_reason_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "program", lambda name: None)
    assert (node.why_not() or "").startswith("there is no Node.js")


@pytest.mark.slow
def test_manage_py_says_which_python_to_take_where_there_is_no_django() -> None:
    bare = subprocess.run([sys.executable, "-S", "manage.py", "check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (bare.returncode, "Traceback" in bare.stderr) == (1, False)
    assert ".venv/bin/python manage.py" in bare.stderr
    version = subprocess.run([sys.executable, "manage.py", "--version"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert version.returncode == 0, version.stderr


def test_a_module_is_passed_over_only_if_none_of_its_tests_can_be_wanted() -> None:
    def may_be(expression: str, *of_all: str) -> bool:
        return may_be_selected(expression, frozenset(of_all), frozenset({"browser", "slow"}))

    assert not may_be("not browser and not slow", "browser") and may_be("not browser and not slow")
    assert may_be("not (not browser and not slow)", "browser") and may_be("not (not browser and not slow)")
    assert may_be("slow", "browser") and not may_be("slow and not browser", "browser")


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A virtual environment whose pip installs nothing and writes down which lists it should have installed."""
    program = tmp_path / "venv" / "bin" / "python"
    program.parent.mkdir(parents=True)
    installed = 'for last; do :; done; echo "$last" >> "$(dirname "$0")/installed"'
    program.write_text(f'#!/bin/sh\nif [ "$1 $2" = "-m pip" ]; then {installed}; else exec "{sys.executable}" "$@"; fi\n', encoding="utf-8")
    program.chmod(0o755)
    return program.parent.parent


def made(environment: Path, target: str) -> list[str]:
    """The lists that a command has installed."""
    log = environment / "bin" / "installed"
    log.unlink(missing_ok=True)
    subprocess.run(["make", target, f"VENV={environment}"], cwd=ROOT, check=True, capture_output=True)
    return log.read_text(encoding="utf-8").split() if log.exists() else []


def test_what_is_installed_is_not_installed_again(environment: Path) -> None:
    assert made(environment, "runtime") == ["requirements.txt"]
    assert made(environment, "runtime") == []
    assert made(environment, "development") == ["requirements-dev.txt"]
    assert made(environment, "development") == []
    assert made(environment, "runtime") == [], "it is part of what development has installed"
    (environment / "requirements-dev.txt.installed").write_text("an older list", encoding="utf-8")
    assert made(environment, "runtime") == ["requirements.txt"]
    assert made(environment, "development") == ["requirements-dev.txt"]
