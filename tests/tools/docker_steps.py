"""Runs the steps of the Dockerfile in a clean directory, without Docker: a rehearsal, not a build.

It shows that the steps are in a working order, that the image lacks nothing that they need, that the pins install, that the product starts
as the plain user, that the health check passes, and how long that took. Each stage has a directory and a Python of its own. It cannot check
the base image, or anything about Docker itself.

Usage: ``python -m tests.tools.docker_steps``
"""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from tests.support.places import ROOT

START_SECONDS = 60
PASSED_OVER = ("EXPOSE", "VOLUME")


@dataclass(slots=True)
class Rehearsal:
    """The clean directory of a stage and the state after its steps so far. ``top`` represents the stage's ``/``."""

    top: Path
    python: Path
    workdir: str = "/"
    environment: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)
    user: str = "0"
    health: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    stages: dict[str, Path] = field(default_factory=dict)
    """The tops of earlier stages, by name."""

    @property
    def here(self) -> Path:
        return self.top / self.workdir.lstrip("/")

    def variables(self) -> dict[str, str]:
        """The environment of a step. Absolute paths of the image are mapped below ``top``."""
        mapped = {name: str(self.top / value.lstrip("/")) if value.startswith("/") else value for name, value in self.environment.items()}
        usual = {"PATH": f"{self.python.parent}:/usr/bin:/bin", "HOME": str(self.top), "LANG": "C.UTF-8"}
        return {**usual, **_pip_settings(), **self.arguments, **mapped}


def main() -> int:
    """Run every step, then start the product as the image would. 0 on success."""
    interpreter = _interpreter()
    with tempfile.TemporaryDirectory(prefix="chatui-image-") as directory:
        everything = Path(directory)
        everything.chmod(0o755)
        rehearsal, stages = None, dict[str, Path]()
        for step in steps((ROOT / "Dockerfile").read_text(encoding="utf-8")):
            print(f"  {step.splitlines()[0][:110]}", flush=True)
            if step.startswith("FROM "):
                name = step.partition(" AS ")[2] or "image"
                rehearsal = Rehearsal(everything / name, everything / name / "python" / "bin" / "python", stages=stages)
                stages[name] = rehearsal.top
                subprocess.run([interpreter, "-m", "venv", rehearsal.top / "python"], check=True)
            elif rehearsal:
                run_step(rehearsal, step)
        assert rehearsal
        for name, top in stages.items():
            if top != rehearsal.top:
                shutil.rmtree(top)
                print(f"  stage {name} removed", flush=True)
        good = starts(rehearsal)
    print("The steps of the Dockerfile work in a clean directory. No image was built." if good else "The product did not start.")
    return 0 if good else 1


def steps(text: str) -> list[str]:
    """The instructions of a Dockerfile, continued lines joined, comments left out."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return [step.strip() for step in re.sub(r"\s*\\\n\s*", " ", lines).splitlines() if step.strip()]


def run_step(rehearsal: Rehearsal, step: str) -> None:  # noqa: C901 - one case for each word of a Dockerfile
    """Run one instruction.

    Raises:
        ValueError: an instruction that this rehearsal does not support; add it here before the Dockerfile uses it.
        subprocess.CalledProcessError: a RUN step failed.
    """
    word, _, rest = step.partition(" ")
    rest = rest.strip()
    match word:
        case "ENV":
            rehearsal.environment |= dict(pair.split("=", 1) for pair in shlex.split(rest))
        case "WORKDIR":
            rehearsal.workdir = rest
            rehearsal.here.mkdir(parents=True, exist_ok=True)
        case "ARG":
            name, _, value = rest.partition("=")
            rehearsal.arguments[name] = value
        case "COPY":
            *sources, target = rest.split()
            if sources[0].startswith("--from="):
                earlier = rehearsal.stages[sources.pop(0).partition("=")[2]]
                for source in sources:
                    shutil.copytree(earlier / source.lstrip("/"), rehearsal.here / target)
            else:
                for source in sources:
                    _copy(ROOT / source, rehearsal.here / target)
        case "RUN":
            subprocess.run(["sh", "-ec", _without_chown(rest)], cwd=rehearsal.here, env=rehearsal.variables(), check=True)
        case "USER":
            rehearsal.user = rest.split(":")[0]
        case "HEALTHCHECK":
            rehearsal.health = json.loads(rest[rest.index("CMD") + 3 :])
        case "CMD":
            rehearsal.command = json.loads(rest)
        case _ if word not in PASSED_OVER:
            raise ValueError(f"the rehearsal does not know {word}")


def starts(rehearsal: Rehearsal) -> bool:
    """Start the product as the image's user, on a free loopback port, and poll its health check until it passes."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    command = [word.replace("0.0.0.0", "127.0.0.1").replace("8000", port) for word in rehearsal.command]
    health = [word.replace(":8000", f":{port}") for word in rehearsal.health]
    user, begun = int(rehearsal.user) if os.geteuid() == 0 else None, time.monotonic()
    print(f"  starting as {'user ' + rehearsal.user if user is not None else 'this user, who may not become another'}", flush=True)
    with subprocess.Popen(
        command, cwd=rehearsal.here, env=rehearsal.variables(), user=user, group=user, extra_groups=None if user is None else []
    ) as server:
        try:
            deadline = time.monotonic() + START_SECONDS
            while time.monotonic() < deadline and server.poll() is None:
                checked = subprocess.run(health, cwd=rehearsal.here, env=rehearsal.variables(), check=False, capture_output=True)
                if checked.returncode == 0:
                    print(f"  alive after {time.monotonic() - begun:.1f} s", flush=True)
                    return _serves(f"http://127.0.0.1:{port}/setup/", begun)
                time.sleep(0.5)
            return False
        finally:
            server.terminate()


def _serves(page: str, begun: float) -> bool:
    """Wait for the first page."""
    while time.monotonic() - begun < START_SECONDS:
        try:
            with urllib.request.urlopen(page, timeout=START_SECONDS):
                print(f"  first page after {time.monotonic() - begun:.1f} s", flush=True)
                return True
        except OSError:  # 503 while it prepares
            time.sleep(0.2)
    return False


def _copy(source: Path, target: Path) -> None:
    """Copy the files that ``.dockerignore`` permits: this project's lists inclusions first, then exclusions."""
    rules = [line for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    name = source.relative_to(ROOT).as_posix()
    if not any(rule == f"!{name}" for rule in rules):
        raise ValueError(f".dockerignore keeps {name} out of the image")
    left_out = [rule.removeprefix("**/") for rule in rules if rule.startswith("**/")]
    if source.is_dir():
        shutil.copytree(source, target, ignore=lambda _, names: {name for name in names if any(fnmatch(name, rule) for rule in left_out)})
    else:
        if not target.suffix:
            target.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target if target.suffix else target / source.name)


def _without_chown(command: str) -> str:
    """Only root may change owners. Anybody else starts the product as themselves, and owns the files already."""
    return command if os.geteuid() == 0 else re.sub(r"chown -R \S+ \S+", "true", command)


def _pip_settings() -> dict[str, str]:
    """The rehearsal uses the machine's own package source, like everything else."""
    return {name: value for name, value in os.environ.items() if name.startswith("PIP_")} | {"PIP_QUIET": "1"}


def _interpreter() -> str:
    """A Python that the image's plain user can also start: one in root's home directory is not accessible."""
    own = Path(sys.base_prefix, "bin", "python3")
    readable = all(parent.stat().st_mode & 0o005 == 0o005 for parent in own.resolve().parents)
    return str(own) if readable or os.geteuid() != 0 else "/usr/bin/python3"


if __name__ == "__main__":
    sys.exit(main())
