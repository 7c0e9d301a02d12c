"""The commands of the Makefile report correctly what they did and what they could not do."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import may_be_selected
from tests.support.places import ROOT

VOCABULARY = "chatui.model_servers.vocabulary"


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
    """A virtual environment that installs nothing, and fetches no vocabulary, and writes down which lists it should have installed."""
    program = tmp_path / "venv" / "bin" / "python"
    program.parent.mkdir(parents=True)
    installed = 'for last; do :; done; echo "$last" >> "$(dirname "$0")/installed"'
    instead = f'case "$1 $2" in "-m pip" | "-m chatui.model_servers.vocabulary") {installed};; *) exec "{sys.executable}" "$@";; esac'
    program.write_text(f"#!/bin/sh\n{instead}\n", encoding="utf-8")
    program.chmod(0o755)
    return program.parent.parent


def made(environment: Path, target: str) -> list[str]:
    """The lists that a command has installed, and the vocabulary if it asked for that."""
    log = environment / "bin" / "installed"
    log.unlink(missing_ok=True)
    subprocess.run(["make", target, f"VENV={environment}"], cwd=ROOT, check=True, capture_output=True)
    return log.read_text(encoding="utf-8").split() if log.exists() else []


def test_what_is_installed_is_not_installed_again(environment: Path) -> None:
    assert made(environment, "runtime") == ["requirements.txt", VOCABULARY]
    assert made(environment, "runtime") == []
    assert made(environment, "development") == ["requirements-dev.txt"]
    assert made(environment, "development") == []
    assert made(environment, "runtime") == [VOCABULARY], "the rest is part of what development has installed"
    assert made(environment, "runtime") == []
    (environment / "requirements-dev.txt.installed").write_text("an older list", encoding="utf-8")
    assert made(environment, "runtime") == ["requirements.txt", VOCABULARY]
    assert made(environment, "development") == ["requirements-dev.txt"], "tests fetch what they need themselves"
