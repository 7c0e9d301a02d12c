"""A mutant of the gate: its tests notice it, others do not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutations.mutants import Mutant, mutants
from tests.mutations.plugin import ROOT


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
