"""The tests of this folder notice each planted leak, as the command does (``tests/chatui/operations/canary/test_runs.py``)."""

import re
import subprocess
import sys

import pytest

from tests.support.places import ROOT
from tests.support.planted_leaks import LEAKS

NAMED = {leak.caught_by for leak in LEAKS.values()}


def test_there_are_many_of_them_and_each_names_its_own_test_and_a_place() -> None:
    assert len(LEAKS) >= 20
    assert len(NAMED) == len(LEAKS)
    assert all(leak.found for leak in LEAKS.values())


@pytest.mark.extended  # of tests, not of the product: each of them looks for hidden text in make test
@pytest.mark.timeout(1800)
def test_each_planted_leak_fails_the_test_that_it_names() -> None:
    plugin = ("-p", "tests.support.planted_leaks")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--quiet", "-n", "2", *plugin, *NAMED], cwd=ROOT, capture_output=True, text=True, check=False
    )
    failed = set(re.findall(r"^FAILED (.+?)(?: - .*)?$", done.stdout, re.MULTILINE))
    assert NAMED - failed == set(), done.stdout + done.stderr
