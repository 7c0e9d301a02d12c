"""A machine for the commands of the documentation: its own ``/etc``, ``/srv`` and ``/var/lib``, and programs that stand for systemd's."""

import os
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import httpx

from tests.support.served import START_SECONDS, free_port

SYSTEMCTL = """#!{python}
# Starts and stops units of {units}, as systemd would: what they start, with their settings.
import os, shlex, signal, subprocess, sys, time
from pathlib import Path
PLACES, UNITS, STATE = {places!r}, Path({units!r}), Path({state!r})
def of(unit):
    text = (UNITS / unit).read_text()
    for written, meant in PLACES.items():
        text = text.replace(written, meant)
    return [line.partition("=")[::2] for line in text.splitlines() if "=" in line and not line.startswith("#")]
def start(unit):
    lines = of(unit)
    environment = {{name: value for name, value in os.environ.items() if not name.startswith("CHATUI_")}}
    for name, value in lines:
        if name == "Environment":
            environment.update([value.split("=", 1)])
        if name == "EnvironmentFile":
            for line in Path(value).read_text().splitlines():
                if "=" in line and not line.startswith("#"):
                    environment.update([shlex.split(line)[0].split("=", 1)])
        if name == "StateDirectory":
            Path(PLACES["/var/lib/chatui"]).mkdir(parents=True, exist_ok=True)
    [home] = [value for name, value in lines if name == "WorkingDirectory"]
    commands = [shlex.split(value) for name, value in lines if name == "ExecStart"]
    if ("Type", "oneshot") in lines:
        for command in commands:
            subprocess.run(command, env=environment, cwd=home, check=True)
    else:
        with (STATE / "journal").open("a") as journal:
            process = subprocess.Popen([*commands[0], "--port", "{port}"], env=environment, cwd=home, stdout=journal, stderr=journal,
                                       stdin=subprocess.DEVNULL, start_new_session=True)
        (STATE / unit).write_text(str(process.pid))
def stop(unit):
    pid = int((STATE / unit).read_text())
    os.kill(pid, signal.SIGTERM)
    while True:
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{{pid}}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                break
        except OSError:
            break
        time.sleep(0.1)
    (STATE / unit).unlink()
verb, *names = [word for word in sys.argv[1:] if word != "--now"]
for name in names:
    assert name == "nginx" or (UNITS / name).is_file(), name
    if verb in ("start", "enable") and name.endswith(".service"):
        start(name)
    elif verb == "stop":
        stop(name)
"""


class Machine:
    """One machine, in a directory. ``url`` is where its product serves; ``environment`` is that of its shell."""

    def __init__(self, top: Path, wheel: Path, elsewhere: Path) -> None:
        """``elsewhere``: what ``/mnt/elsewhere`` is."""
        self.top, self.wheel, self.port = top, wheel, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.journal = top / "journal"
        for directory in (top / "bin", top / "etc" / "systemd" / "system", top / "etc" / "nginx" / "conf.d", top / "home", top / "srv"):
            directory.mkdir(parents=True, exist_ok=True)
        self.places = {
            "/srv/chatui": str(top / "srv" / "chatui"),
            "/var/lib/chatui": str(top / "lib"),
            "/usr/local/bin": str(top / "bin"),
            "/mnt/elsewhere": str(elsewhere),
            "/etc/": f"{top}/etc/",
        }
        programs = {
            "systemctl": SYSTEMCTL.format(
                python=sys.executable, places=self.places, units=f"{top}/etc/systemd/system", state=str(top), port=self.port
            ),
            "journalctl": f"#!/bin/sh\ncat {self.journal}\n",
            "useradd": "#!/bin/sh\n",
        }
        for name, text in programs.items():
            program = top / "bin" / name
            program.write_text(text, encoding="utf-8")
            program.chmod(0o755)
        # Of the environment of the tests come the packages that the wheel needs.
        self.environment = {
            "PATH": f"{top}/bin:{os.environ['PATH']}",
            "HOME": str(top / "home"),
            "LANG": "C.UTF-8",
            "PYTHONPATH": sysconfig.get_path("purelib"),
        }

    def run(self, block: str, **other: str) -> str:
        """Run a block of a page in the home directory, with other places and accounts, and return its output."""
        changed = {
            "/usr/bin/python3": "python3",
            "python3 -m venv": f"{sys.executable} -m venv --symlinks",
            "pip install": "pip install --quiet --disable-pip-version-check --no-index --no-deps",
            "chatui-*.whl": str(self.wheel),
            "-o chatui -g chatui ": "",
            "chown chatui: ": "ls ",
            "setpriv --reuid chatui --regid chatui --clear-groups": "env",
            **self.places,
            **other,
        }
        for written, meant in changed.items():
            block = block.replace(written, meant)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=self.top / "home", env=self.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def wait_until_it_serves(self) -> None:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            try:
                if '"starting"' not in httpx.get(f"{self.url}/readyz", trust_env=False).text:
                    return
            except httpx.HTTPError:
                pass
            time.sleep(0.1)
        raise AssertionError(self.journal.read_text(encoding="utf-8"))

    def stop(self) -> None:
        """End what still runs."""
        running = self.top / "chatui.service"
        if running.exists():
            os.kill(int(running.read_text()), signal.SIGKILL)
