"""Programs that tests fork from a warm process behave like those that are started anew: output, exit codes, signals, environment."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.support.deployments import process

pytestmark = pytest.mark.served


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    others = {name: value for name, value in os.environ.items() if not name.startswith("CHATUI_")}
    return others | {"CHATUI_DATA_DIR": str(tmp_path), "PYTHONWARNINGS": "default"}


def test_output_errors_and_exit_codes_are_those_of_the_program(environment: dict[str, str]) -> None:
    sound = process.run(["manage.py", "shell", "--no-imports", "-c", "import os; print(os.environ['CHATUI_DATA_DIR'])"], environment)
    assert (sound.returncode, sound.stdout.strip(), sound.stderr) == (0, environment["CHATUI_DATA_DIR"], "")
    refused = process.run(["manage.py", "no-such-command"], environment)
    assert refused.returncode == 1 and "no-such-command" in refused.stderr and not refused.stdout


def test_one_that_is_killed_or_takes_too_long_says_so(environment: dict[str, str]) -> None:
    with tempfile.TemporaryFile("w+") as output:
        sleeps = process.start(["manage.py", "shell", "--no-imports", "-c", "import time; time.sleep(600)"], environment, output)
        assert isinstance(sleeps, process.Forked) and sleeps.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            sleeps.wait(0.05)
        sleeps.kill()
        assert (sleeps.wait(60), sleeps.poll()) == (-signal.SIGKILL, -signal.SIGKILL)
        sleeps.terminate()  # nothing is left, and nothing happens


def test_what_python_or_the_loader_reads_of_the_environment_means_a_start_of_its_own(environment: dict[str, str]) -> None:
    with tempfile.TemporaryFile("w+") as output:
        own = process.start(["manage.py", "--version"], environment | {"PYTHONHASHSEED": "7"}, output)
        assert isinstance(own, subprocess.Popen) and own.wait(60) == 0
