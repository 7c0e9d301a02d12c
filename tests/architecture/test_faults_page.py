"""``docs/faults.md`` is true: it has every fault and promise once, and the tests that it names exist, and are those that are repeated."""

import re

from tests.architecture.sources import ROOT, python_sources

PAGE = (ROOT / "docs/faults.md").read_text(encoding="utf-8")
ELSEWHERE = {"tests/llama/test_killed.py"}
"""Repeated, but of something that is no row of the page: a real model server that is killed."""


def rows(letter: str) -> dict[str, str]:
    """The rows of one table: what its first cell says, and the rest."""
    return dict(re.findall(rf"^\| ({letter}\d+) \| (.+) \|$", PAGE, re.MULTILINE))


def named() -> set[tuple[str, str]]:
    """Each test that the page names, with its file."""
    return set(re.findall(r"`(tests/\S+?\.py)::(test_\w+)`", PAGE))


def test_each_fault_and_promise_has_its_row_in_order() -> None:
    assert list(rows("I")) == [f"I{number}" for number in range(1, 11)]
    assert list(rows("F")) == [f"F{number}" for number in range(1, 38)]


def test_each_fault_names_a_test_that_exists() -> None:
    tests = {
        (source.path, name)
        for source in python_sources("tests/")
        # By lines, because to read the trees of all tests takes seconds.
        for name in re.findall(r"^(?:async )?def (test_\w+)\(", source.text, re.MULTILINE)
    }
    assert named() - tests == set(), "docs/faults.md names tests that are not there: write their new places or names"
    assert {fault for fault, row in rows("F").items() if "::test_" not in row} == set()


def test_what_is_repeated_as_a_race_or_fault_is_on_the_page() -> None:
    repeated = {source.path for source in python_sources("tests/") if re.search(r"\bpytest\.mark\.faults\b", source.text)}
    assert len(repeated) > 8, "the premise"
    assert repeated - {path for path, _ in named()} == ELSEWHERE


def test_each_fault_is_tested_by_make_test() -> None:
    left_out = {
        (source.path, name)
        for source in python_sources("tests/")
        for name in re.findall(r"^@pytest\.mark\.extended\n(?:@.+\n|[ )\]].*\n)*(?:async )?def (test_\w+)\(", source.text, re.MULTILINE)
    }
    assert len(left_out) > 10, "the premise"
    assert named() & left_out == set()
