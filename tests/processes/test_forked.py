"""Programs that tests fork from a warm process behave like newly started ones: output, exit codes, signals, environment."""

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


def test_each_program_has_a_name_and_settings_of_its_own_and_makes_nothing_twice(environment: dict[str, str], tmp_path: Path) -> None:
    code = (
        "import os; from chatui.wire import bus; from django.conf import settings; from django.core.checks import registry; "
        "print(bus.PROCESS.split(':')[1] == str(os.getpid()), settings.ENVIRONMENT.data_dir); "
        "checks = [(each.__module__, each.__qualname__) for each in registry.registry.get_checks()]; print(len(checks) - len({*checks}))"
    )
    for place in (tmp_path, tmp_path / "other"):
        place.mkdir(exist_ok=True)
        ran = process.run(["manage.py", "shell", "--no-imports", "-c", code], environment | {"CHATUI_DATA_DIR": str(place)})
        assert ran.stdout.split() == ["True", str(place), "0"], ran.stderr


TWICE = """
import sys, types, chatui.asgi, chatui.operations.doctor.examination
ours = {name: module for name, module in list(sys.modules.items()) if name.startswith("chatui")}
held = {held for module in ours.values() for held in vars(module).values() if isinstance(held, types.ModuleType)}
print(sorted({module.__name__ for module in held if module is not ours.get(module.__name__, module)}), len(ours) > 200)
"""


def test_a_package_that_needs_settings_is_imported_by_each_program_as_a_whole(environment: dict[str, str]) -> None:
    """A module left over from a first attempt would exist twice, with its classes and counters."""
    ran = process.run(["manage.py", "shell", "--no-imports", "-c", TWICE], environment)
    assert ran.stdout.split() == ["[]", "True"], ran.stdout + ran.stderr


def test_a_forked_program_that_is_killed_or_times_out_reports_so(environment: dict[str, str]) -> None:
    with tempfile.TemporaryFile("w+") as output:
        sleeps = process.start(["manage.py", "shell", "--no-imports", "-c", "import time; time.sleep(600)"], environment, output)
        assert isinstance(sleeps, process.Forked) and sleeps.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            sleeps.wait(0.05)
        sleeps.kill()
        assert (sleeps.wait(60), sleeps.poll()) == (-signal.SIGKILL, -signal.SIGKILL)
        sleeps.terminate()  # no effect: the process has ended


def test_variables_that_python_or_the_loader_reads_cause_a_new_interpreter(environment: dict[str, str]) -> None:
    with tempfile.TemporaryFile("w+") as output:
        own = process.start(["manage.py", "--version"], environment | {"PYTHONHASHSEED": "7"}, output)
        assert isinstance(own, subprocess.Popen) and own.wait(60) == 0
