"""The wheel, installed outside of the checkout: its command serves from an empty directory, with its own files and languages."""

import asyncio
import contextlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from _pytest.mark import ParameterSet

from tests.support.deployments import prepared
from tests.support.places import ROOT
from tests.support.served import PASSWORD, START_SECONDS, LiveSocket, free_port

pytestmark = pytest.mark.served

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
USUAL = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "LANG": "C.UTF-8"}


LATER = "29991231235959"


def built(top: Path, **more: str) -> Path:
    """A wheel of the product in this directory, with the static files of the tests."""
    packaged = {"CHATUI_PACKAGED": str(prepared.static_files().parent)} | more
    build = ("wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(top), str(ROOT))
    subprocess.run([*PIP, *build], env=os.environ | packaged, check=True)
    (wheel,) = top.glob("chatui-*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def program(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(wheel, tmp_path_factory.mktemp("package"))


def installed(wheel: Path, top: Path, base: str = sys.executable, packages: str = sysconfig.get_path("purelib")) -> Path:
    """The command ``chatui`` of an environment of the Python ``base`` with the wheel, and what it needs from the directory ``packages``."""
    subprocess.run([base, "-m", "venv", "--without-pip", top / "venv"], check=True)
    python = top / "venv" / "bin" / "python"
    Path(site_packages(python), "needed.pth").write_text(packages, encoding="utf-8")
    install(python, wheel)
    return top / "venv" / "bin" / "chatui"


def site_packages(python: Path) -> str:
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()


def install(python: Path, wheel: Path) -> None:
    """Install it there as README.md says for a new version, but take no package from elsewhere."""
    subprocess.run([python, *PIP[1:], "install", "--upgrade", "--no-deps", "--no-index", wheel], check=True)


def directory(place: Path) -> Path:
    """A directory to serve from, whose database has its tables already: the test of the empty directory makes them."""
    (place / "var").mkdir(parents=True)
    shutil.copyfile(prepared.migrated(), place / "var" / "chatui.sqlite3")
    return place


@contextlib.contextmanager
def serving(program: Path, directory: Path, environment: dict[str, str]) -> Iterator["Started"]:
    """``chatui serve`` in the directory, once it serves."""
    server = Started(free_port())
    with (directory.parent / f"console-{server.port}").open("w+") as console:
        command = [str(program), "serve", "--port", str(server.port)]
        process = subprocess.Popen(command, env=environment, cwd=directory, stdout=console, stderr=console)
        try:
            server.page = _served(f"{server.url}/setup/", process)
            console.seek(0)
            server.console = console.read()
            yield server
        finally:
            process.terminate()
            assert process.wait() == 0


@dataclass(slots=True)
class Started:
    """A process that serves, its first page, and what it has printed until then."""

    port: int
    page: httpx.Response = field(init=False)
    console: str = field(init=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


async def first_answer(server: Started) -> None:
    """Make the first account with the code of the console, and ask the demo."""
    code = re.search(r"code for the first one: (\S+)", server.console)
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', server.page.text)
    assert code and token, server.console
    with httpx.Client(
        base_url=server.url, trust_env=False, timeout=60, headers={"Origin": server.url}, cookies=server.page.cookies
    ) as client:
        new = {"username": "ada", "password1": PASSWORD, "password2": PASSWORD, "code": code[1], "csrfmiddlewaretoken": token[1]}
        assert client.post("/setup/", data=new).headers["Location"] == "/"
        async with asyncio.timeout(60), LiveSocket(server, client) as socket:
            await socket.send("send", client_id=str(uuid4()), conversation=None, text="Hello", effort="low")
            seen = await socket.until("response.completed", "response.failed", "response.incomplete", "chatui:refused")
        assert seen[-1]["type"] == "response.completed"


def test_it_serves_from_an_empty_directory_with_all_of_its_files(program: Path, tmp_path: Path) -> None:
    empty = tmp_path / "Müllers Katze"
    empty.mkdir()
    with serving(program, empty, USUAL) as server:
        assert "Erstes Konto erstellen" in server.page.text, "it has its languages"
        paths = {piece.partition('"')[0] for piece in server.page.text.split('"/static/')[1:]}
        for path in paths:
            file = httpx.get(f"{server.url}/static/{path}", headers={"Accept-Encoding": "br"}, trust_env=False)
            assert file.status_code == 200, path
            assert file.headers.get("Content-Encoding") == "br" or not path.endswith((".js", ".css")), path
        assert paths
    assert (empty / "var" / "chatui.sqlite3").is_file(), "data is where it was started"
    assert _files(empty / "var" / "static") == _files(prepared.static_files()), "those that the wheel has, and none made there"


def test_two_directories_are_two_products_and_one_directory_is_served_once(program: Path, tmp_path: Path) -> None:
    places = [directory(tmp_path / name) for name in ("one", "two")]
    with serving(program, places[0], USUAL) as one, serving(program, places[1], USUAL) as two:
        codes = {found[1] for server in (one, two) if (found := re.search(r"code for the first one: (\S+)", server.console))}
        assert len(codes) == 2
        for name, port, word in (
            ("one", free_port(), "already serves"),
            ("three", two.port, f"port (chatui serve --port {two.port + 1})."),
        ):
            (tmp_path / name).mkdir(exist_ok=True)
            command = [str(program), "serve", "--port", str(port)]
            done = subprocess.run(command, env=USUAL, cwd=tmp_path / name, capture_output=True, text=True, check=False)
            assert done.returncode == 1 and word in done.stderr and "Traceback" not in done.stderr


async def test_a_later_wheel_goes_over_it_and_finds_its_data(wheel: Path, tmp_path: Path) -> None:
    program = installed(wheel, tmp_path)
    there = directory(tmp_path / "there")
    without_home = {"PATH": USUAL["PATH"], "CHATUI_DEMO_TOKENS_PER_SECOND": "0"}
    with serving(program, there, without_home) as server:
        await first_answer(server)
    new = built(tmp_path, CHATUI_PACKAGED_AT=LATER)
    assert LATER in new.name
    before = {path.name for path in Path(site_packages(program.parent / "python")).glob("chatui-*.dist-info")}
    install(program.parent / "python", new)
    after = {path.name for path in Path(site_packages(program.parent / "python")).glob("chatui-*.dist-info")}
    assert len(before) == len(after) == 1 and before != after, "pip takes it for a later one"
    with serving(program, there, without_home) as server:
        assert 'name="password"' in server.page.text and "code for the first one" not in server.console, "ada's account is there"


def others() -> list[str]:
    """The Pythons of this machine that the product names and that work, on the PATH or of pyenv, but for the one that runs the tests."""
    places = (os.environ["PATH"], *map(str, Path.home().glob(".pyenv/versions/3.*/bin")))
    names = (f"python3.{minor}" for minor in range(11, 15) if minor != sys.version_info.minor)
    return [found for name in names if (found := next((path for place in places if (path := working(name, place))), None))]


def working(name: str, place: str) -> str | None:
    """The path of the program, if it is there, and is a Python with what environments need (Debian has that apart)."""
    path = shutil.which(name, path=place)
    return path if path and subprocess.run([path, "-c", "import ensurepip"], capture_output=True, check=False).returncode == 0 else None


def listed() -> list[ParameterSet]:
    """Those: the newest in every run."""
    *earlier, newest = others() or [""]
    absent = [] if newest else [pytest.mark.skip(reason="no other Python from 3.11 to 3.14, with venv, on this machine")]
    return [*(pytest.param(path, marks=pytest.mark.extended) for path in earlier), pytest.param(newest, marks=absent)]


def required(base: str) -> str:
    """The directory of the requirements, installed for this Python once for each state of the lock file, whose hashes say what they are."""
    asked = [base, "-c", "import platform; print(platform.python_version())"]
    version = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    with prepared.kept(f"requirements-{version}") as place:
        python = place / "venv" / "bin" / "python"
        if not (place / "made").exists():
            subprocess.run([base, "-m", "venv", "--clear", place / "venv"], check=True)
            pip = [str(python), *PIP[1:]]
            if subprocess.run([*pip, "download", "--no-deps", "--dest", str(place), "segno"], capture_output=True, check=False).returncode:
                pytest.skip(f"no package registry from which {base} could get the requirements")
            subprocess.run([*pip, "install", "--require-hashes", "--requirement", str(ROOT / "requirements.txt")], check=True)
            (place / "made").touch()
        return site_packages(python)


@pytest.mark.timeout(1200)  # the first time, on a busy machine
@pytest.mark.parametrize("other", listed(), ids=os.path.basename)
async def test_it_answers_with_each_python_of_the_machine(other: str, wheel: Path, tmp_path: Path) -> None:
    program = installed(wheel, tmp_path, other, required(other))
    empty = tmp_path / "empty"
    empty.mkdir()
    with serving(program, empty, USUAL | {"CHATUI_DEMO_TOKENS_PER_SECOND": "0"}) as server:
        await first_answer(server)


def _served(url: str, serving: "subprocess.Popen[bytes]") -> httpx.Response:
    """The page, once it is served."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        assert serving.poll() is None, "it ended"
        try:
            page = httpx.get(url, headers={"Accept-Language": "de"}, trust_env=False, timeout=START_SECONDS, follow_redirects=True)
        except httpx.TransportError:
            page = None
        if page is not None and page.status_code == 200:
            return page
        time.sleep(0.1)
    raise AssertionError(f"no page in {START_SECONDS} seconds")


def _files(top: Path) -> set[str]:
    return {str(path.relative_to(top)) for path in top.rglob("*") if path.is_file()}


def test_it_brings_the_units_and_what_else_operators_copy(program: Path) -> None:
    shared = program.parents[1] / "share" / "chatui"
    assert {path.name for path in shared.iterdir()} >= {"systemd", "chatui.env.example", "alerts.yml", "restore-postgresql.sh"}
    units = {unit.name: unit.read_text(encoding="utf-8") for unit in (shared / "systemd").iterdir()}
    assert units.keys() == {unit.name for unit in (ROOT / "deploy" / "systemd").iterdir()}
    commands = [line for text in units.values() for line in text.splitlines() if line.startswith("ExecStart=")]
    assert len(commands) == 4 and all(line.startswith("ExecStart=/srv/chatui/.venv/bin/chatui ") for line in commands)
    restoring = ["bash", str(shared / "restore-postgresql.sh"), "dump", "list"]
    done = subprocess.run(restoring, env=USUAL | {"CHATUI_DATABASE_URL": "postgres://"}, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "list cannot be read." in done.stderr


def test_in_a_deleted_directory_it_says_so_unless_it_needs_none(program: Path, tmp_path: Path) -> None:
    def run(arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        shell = f'mkdir "{tmp_path}/gone" && cd "{tmp_path}/gone" && rmdir "$PWD" && exec "{program}" {arguments}'
        return subprocess.run(["bash", "-c", shell], env=USUAL | settings, capture_output=True, text=True, check=False)

    for refused in (run("check"), run(f"serve --port {free_port()}")):
        assert refused.returncode == 1
        assert refused.stderr.startswith("CHATUI_DATA_DIR: the directory in which this was started was deleted"), refused.stderr
    started = run("migrate --verbosity 0", CHATUI_DATA_DIR=str(tmp_path / "data"))
    assert started.returncode == 0, started.stderr


def test_its_other_commands_work_there_and_name_themselves(program: Path, tmp_path: Path) -> None:
    environment = USUAL | {"CHATUI_DATA_DIR": str(tmp_path / "elsewhere")}
    early = subprocess.run([program, "audit", "verify"], env=environment, cwd="/", capture_output=True, text=True, check=False)
    assert "run chatui migrate, or correct the setting" in early.stderr, early.stderr
    shutil.copyfile(prepared.migrated(), tmp_path / "elsewhere" / "chatui.sqlite3")
    said = subprocess.run([program, "--version"], env=environment, cwd="/", capture_output=True, text=True, check=True).stdout.strip()
    assert (Path(site_packages(program.parent / "python")) / f"chatui-{said}.dist-info").is_dir(), said
    for arguments in (("check",), ("migrate", "--check"), ("doctor", "--help"), ("transcript", "check", str(ROOT / "README.md"))):
        done = subprocess.run([program, *arguments], env=environment, cwd="/", capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr and "No module" not in done.stderr, (arguments, done.stderr)
        assert done.returncode == 0 or arguments[0] == "transcript", (arguments, done.stdout, done.stderr)
