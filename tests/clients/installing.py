"""Installs the client libraries below ``.cache/clients``, in separate environments, and knows the command to run each."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.places import ROOT
from tests.tools import node

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
PLACE = Path(os.environ.get("CHATUI_CACHE_DIR", ROOT / ".cache")) / "clients"
CODEX_CONFIG = """
model = "demo"
model_provider = "chatui"
[model_providers.chatui]
name = "chatui"
base_url = "{url}"
env_key = "CHATUI_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"""


def install() -> None:
    """Install the clients that are missing. CalledProcessError if a registry or the machine does not allow it."""
    _once(PLACE / "python", HERE / "requirements.txt", _install_python)
    _once(PLACE / "node", HERE / "package.json", _install_node)


def commands(url: str, key: str, home: Path) -> dict[str, list[list[str]]]:
    """The command of each client, in order. ``home``: an empty directory for Codex and Claude Code."""
    python, own_node = str(PLACE / "python" / "bin" / "python"), node.program("node") or "node"
    found = {program.stem: [[python, "-P", str(program), url, key]] for program in sorted(PROGRAMS.glob("[a-z]*.py"))}
    for program in sorted(PROGRAMS.glob("*.mjs")):
        shutil.copy(program, PLACE / "node")  # Node looks for packages next to a module
        found[program.stem] = [[own_node, str(PLACE / "node" / program.name), url, key]]
    (home / "config.toml").write_text(CODEX_CONFIG.format(url=url), encoding="utf-8")
    codex = [own_node, str(PLACE / "node" / "node_modules" / "@openai" / "codex" / "bin" / "codex.js"), "exec"]
    found["codex"] = [
        [*codex, "--json", "--skip-git-repo-check", "Write down the plan, please."],
        [*codex, "resume", "--last", "--json", "--skip-git-repo-check", "Thank you."],
    ]
    wrapper = PLACE / "node" / "node_modules" / "@anthropic-ai" / "claude-code" / "cli-wrapper.cjs"  # runs without npm's install scripts
    claude = [own_node, str(wrapper), "--tools", "Read", "--allowedTools", "Read", "--output-format", "json", "-p"]
    found["claude_code"] = [[*claude, "Read the file notes.txt with the Read tool."], [*claude, "--continue", "Thank you."]]
    return found


def environment(url: str, key: str, home: Path) -> dict[str, str]:
    """The clients' environment: without the developer's own configuration, and without access to their vendors' model servers."""
    passed = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    own = {"HOME": str(home), "CODEX_HOME": str(home), "CHATUI_KEY": key, "OPENAI_AGENTS_DISABLE_TRACING": "1"}
    claude = {"ANTHROPIC_BASE_URL": url.removesuffix("/v1"), "ANTHROPIC_AUTH_TOKEN": key, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    return {**passed, **own, **claude, "ANTHROPIC_MODEL": "demo", "ANTHROPIC_SMALL_FAST_MODEL": "demo"}


def _once(place: Path, pins: Path, make: object) -> None:
    digest = hashlib.sha256(pins.read_bytes()).hexdigest()
    stamp = place / ".installed"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == digest:
        return
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    assert callable(make)
    make(place, pins)
    stamp.write_text(digest, encoding="utf-8")


def _install_python(place: Path, pins: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    subprocess.run([str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--requirement", str(pins)], check=True)


def _install_node(place: Path, pins: Path) -> None:
    shutil.copy(pins, place)
    command = [node.program("npm") or "npm", "install", "--no-audit", "--no-fund", "--silent"]
    own = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    subprocess.run(command, cwd=place, env={**os.environ, "PATH": own}, check=True)
