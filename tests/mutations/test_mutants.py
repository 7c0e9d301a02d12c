"""What can be changed in a module, which tests are run, and a mutant of the gate: its tests notice it, others do not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutations.mutants import Mutant, mutants, mutated
from tests.mutations.plugin import ROOT, in_order

MODULE = '''
"""Docstring."""
LIMIT = 3

def may(person: str = "nobody") -> bool:
    """Whether."""
    if person is None or not person:
        raise ValueError("wording")
    names = [one for one in person if one > "a"]
    logger.info("wording %s", names)
    Person.objects.filter(name=person, active=True).update(seen=1)
    return len(names) >= LIMIT
'''

EXPECTED = {
    "Or -> And",
    "without `person is None`",
    "without `not person`",
    "`person is None or not person` -> True",
    "`person is None or not person` -> False",
    "Is -> IsNot",
    "without not: `not person`",
    "without `raise ValueError('wording')`",
    "without one > 'a'",
    "Gt -> GtE",
    "'a' -> 'a~'",
    "without `logger.info('wording %s', names)`",
    "without `Person.objects.filter(name=person, active=True).update(seen=1)`",
    "without `person` as name",
    "without `True` as active",
    "True -> False",
    "without `1` as seen",
    "1 -> 2",
    "`return len(names) >= LIMIT` -> return None",
    "GtE -> Gt",
}


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """A folder with one module."""
    (tmp_path / "module.py").write_text(MODULE, encoding="utf-8")
    return tmp_path


def test_conditions_constants_calls_and_results_can_be_changed_but_no_wording(module: Path) -> None:
    found = list(mutants(module, "module.py"))
    assert {one.what for one in found} == EXPECTED
    assert {one.function for one in found} == {"may"}


def test_each_change_has_the_line_on_which_it_runs(module: Path) -> None:
    lines = {one.what: one.line for one in mutants(module, "module.py")}
    assert min(lines.values()) > 0 and lines["without one > 'a'"] == lines["Gt -> GtE"] == lines["'a' -> 'a~'"] == 9


def test_each_change_gives_another_program(module: Path) -> None:
    found = list(mutants(module, "module.py"))
    programs = {compile(mutated(module, one), "module.py", "exec").co_consts for one in found}
    assert len(programs) == len(found)
    assert compile(MODULE, "module.py", "exec").co_consts not in programs


def test_the_tests_that_noticed_other_changes_come_first_then_the_quickest_until_the_time_is_used_up() -> None:
    tests = [("slow", 3.0), ("quick", 1.0), ("middle", 2.0), ("latest", 4.0)]
    assert in_order(tests, ["latest"], 8.0) == [("latest", 4.0), ("quick", 1.0), ("middle", 2.0)]
    assert in_order(tests, [], 0.5) == [("quick", 1.0)]


@pytest.mark.slow
def test_a_mutant_of_the_gate_is_killed_by_a_test_of_the_gate_and_survives_others(tmp_path: Path) -> None:
    mutant = next(one for one in mutants(ROOT, "renderer/gate.py") if one.function == "may_see" and "END_USER" in one.what)
    assert _result(tmp_path, mutant, _names("tests/renderer/test_gate.py"))["result"] == "killed"
    assert _result(tmp_path, mutant, [])["result"] == "survived"


def _names(path: str) -> list[str]:
    listed = subprocess.run([sys.executable, "-m", "pytest", "--collect-only", "--quiet", path], cwd=ROOT, capture_output=True, text=True)
    return [line for line in listed.stdout.splitlines() if "::" in line]


def _result(folder: Path, mutant: Mutant, names: list[str]) -> dict[str, str]:
    wanted, answers = folder / "wanted", folder / "answers"
    wanted.write_text(json.dumps({"mutant": vars(mutant), "tests": [(name, 0.01) for name in names]}), encoding="utf-8")
    answers.unlink(missing_ok=True)
    where = ["tests/renderer/test_gate.py", "tests/chatui/permissions/test_four_eyes.py"]
    flags = ["-p", "tests.mutations.plugin", "--mutants", str(wanted), "--answers", str(answers)]
    subprocess.run([sys.executable, "-m", "pytest", "--quiet", *flags, *where], cwd=ROOT, check=True, capture_output=True, timeout=120)
    result: dict[str, str] = json.loads(answers.read_text(encoding="utf-8"))
    return result
