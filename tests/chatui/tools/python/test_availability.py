"""Availability of ``python``: on only if the sandbox was probed and nothing escaped, otherwise off with a reason."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chatui.env import BASE_DIR
from chatui.tools import catalogue
from chatui.tools.python import availability, tool
from tests.support import environment
from tests.support.cases import for_each
from tests.support.new_process import forget
from tests.support.sandbox import NoSandboxError, attempts, change_code, escaping, found, starts_by, use, within
from tests.support.system_checks import said
from tests.support.tool_calls import RefusedError, ToolTurn


@pytest.fixture(autouse=True)
def _afresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    offer(monkeypatch)
    forget(availability, tool)
    yield
    monkeypatch.undo()
    forget(availability, tool)


def offer(monkeypatch: pytest.MonkeyPatch, **values: object) -> None:
    settings = {"backend_url": "http://127.0.0.1:9", "tools": {"python": ()}, "tools_without_approval": ["python"], **values}
    environment.change(monkeypatch, settings)


def called(code: str = "1") -> Any:
    """What a call returns of a turn that began when the tool was there."""
    return asyncio.run(ToolTurn(tools={"run_python": tool.PYTHON}).call("python", code=code))


@pytest.mark.django_db
def test_root_has_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    reason = availability.why_off()
    assert "runs as root" in reason and "an ordinary user" in reason
    assert catalogue.offered_to((), is_demo=False) == {}
    [warning] = said("W040")
    assert "runs as root" in str(warning.msg)
    with pytest.raises(RefusedError):
        called()


# The probe can outlast the rules that are in memory; then they are read again.
@pytest.mark.django_db
def test_it_is_offered_if_nothing_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    assert availability.why_off() == ""
    assert list(catalogue.offered_to((), is_demo=False)) == ["run_python"] and said("W040") == []


@pytest.mark.django_db
def test_it_is_off_until_the_sandbox_was_probed(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    assert catalogue.offered_to((), is_demo=False) == {} and not availability.why_off()
    assert list(catalogue.offered_to((), is_demo=False)) == ["run_python"]


def test_a_service_replaces_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, python_service_url="https://python.example.org")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert list(catalogue.offered_to((), is_demo=False)) == ["run_python"]


def test_a_service_without_an_address_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, python_service_url="python.example.org")
    assert availability.why_off() == "CHATUI_PYTHON_SERVICE_URL is not an http or https address"


def test_one_escape_turns_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    escaping(monkeypatch, "read /etc/passwd")
    assert "not secure, code in it could: read /etc/passwd; see docs/operating/sandboxes.md" in availability.why_off()
    assert catalogue.offered_to((), is_demo=False) == {}


@pytest.mark.django_db
def test_without_the_setting_nothing_is_probed(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, tools={"current_time": ()})
    use(monkeypatch, lambda: pytest.fail("tried"))
    assert availability.why_off() and said("W040") == []
    with pytest.raises(RefusedError, match="cannot be used"):
        called()


def test_without_bubblewrap_the_remedy_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert availability.why_off() == "there is no bubblewrap (Debian and Ubuntu: apt-get install bubblewrap)"


@for_each(
    {
        "bwrap: setting up uid map: Permission denied": "AppArmor",
        "bwrap: No permissions to create new namespace": "ordinary users",
        "bwrap: Creating new namespace failed: Operation not permitted": "ordinary users",
        "bwrap: Unknown option --disable-userns": "0.8 or newer",
        "bwrap: execvp /opt/python: Permission denied": "able to read the interpreter",
    }.items()
)
def test_errors_of_bubblewrap_are_shown_with_a_remedy(words: str, remedy: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        offer(patch)
        forget(availability, tool)
        starts_by(patch, ["/bin/sh", "-c", f"echo '{words}'"])
        use(patch)
        reason = availability.why_off()
    assert words in reason and remedy in reason


def test_a_sandbox_that_fakes_its_probe_results_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    change_code(monkeypatch, lambda _: "print('{}')")
    with pytest.raises(NoSandboxError, match="not all escape attempts"):
        attempts()


@for_each(["/nonexistent/python3", "/usr/bin/false", "/etc/passwd"])
def test_an_invalid_interpreter_is_reported(program: str) -> None:
    with pytest.raises(NoSandboxError, match="CHATUI_PYTHON_PROGRAM"):
        found(program, BASE_DIR)


def test_an_interpreter_inside_the_data_directory_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "python3"
    program.write_text(f'#!/bin/sh\necho \'[["{tmp_path}", "/usr"], {{}}]\'\n')
    program.chmod(0o755)
    for hidden in (tmp_path / "var", tmp_path.parent):
        with pytest.raises(NoSandboxError, match="use an interpreter elsewhere"):
            found(str(program), hidden)
    with pytest.raises(NoSandboxError, match="which code does not see"):  # beside it, but in /tmp
        found(str(program), tmp_path.parent / "var")


def test_a_virtual_environment_elsewhere_can_be_used() -> None:
    """Not in /tmp, which the sandbox replaces by its own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        Path(directory).chmod(0o755)
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", f"{directory}/science"], check=True, env={}, timeout=60)
        science = found(f"{directory}/science/bin/python3", BASE_DIR)
        assert science.trees == (f"{directory}/science",) and not any(attempts(science).values())


def test_other_files_in_a_system_directory_are_hidden() -> None:
    async def listed(interpreter: Any) -> str:
        return str((await interpreter.run("import os; os.listdir('/usr/share/doc')", 20, 100)).text)

    assert os.listdir("/usr/share/doc")
    assert within(listed, found("/usr/bin/python3", Path("/usr/share/doc"))) == "[]\n"
