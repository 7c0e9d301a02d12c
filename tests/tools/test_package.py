"""The wheel, installed outside of the checkout: its command serves from an empty directory, with its own files and languages."""

import os
import subprocess
import sys
import sysconfig
import time
import venv
from pathlib import Path

import httpx
import pytest

from tests.support.deployments import prepared
from tests.support.places import ROOT
from tests.support.served import START_SECONDS, free_port

pytestmark = pytest.mark.served

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
USUAL = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "LANG": "C.UTF-8"}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command ``chatui`` of an environment with the wheel, and what it needs from that of the tests."""
    top = tmp_path_factory.mktemp("package")
    packaged = {"CHATUI_PACKAGED": str(prepared.static_files().parent)}
    build = ("wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(top), str(ROOT))
    subprocess.run([*PIP, *build], env=os.environ | packaged, check=True)
    (wheel,) = top.glob("chatui-*.whl")
    venv.create(top / "venv", symlinks=True, with_pip=False)
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    python = top / "venv" / "bin" / "python"
    place = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()
    Path(place, "of-the-tests.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    subprocess.run([python, *PIP[1:], "install", "--no-deps", "--no-index", str(wheel)], check=True)
    (top / "empty").mkdir()
    return top / "venv" / "bin" / "chatui"


def test_it_serves_from_an_empty_directory_with_all_of_its_files(program: Path) -> None:
    empty, port = program.parents[2] / "empty", free_port()
    with (empty.parent / "console").open("w+") as console:
        serving = subprocess.Popen([program, "serve", "--port", str(port)], env=USUAL, cwd=empty, stdout=console, stderr=console)
        try:
            page = _served(f"http://127.0.0.1:{port}/setup/", serving)
            assert "Erstes Konto erstellen" in page.text, "it has its languages"
            paths = {piece.partition('"')[0] for piece in page.text.split('"/static/')[1:]}
            for path in paths:
                file = httpx.get(f"http://127.0.0.1:{port}/static/{path}", headers={"Accept-Encoding": "br"}, trust_env=False)
                assert file.status_code == 200, path
                assert file.headers.get("Content-Encoding") == "br" or not path.endswith((".js", ".css")), path
            assert paths
        finally:
            serving.terminate()
            serving.wait()
        console.seek(0)
        assert "code for the first one" in console.read()
    assert (empty / "var" / "chatui.sqlite3").is_file(), "data is where it was started"
    assert _files(empty / "var" / "static") == _files(prepared.static_files()), "those that the wheel has, and none made there"


def _served(url: str, serving: "subprocess.Popen[bytes]") -> httpx.Response:
    """The page, once it is served."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        assert serving.poll() is None, "it ended"
        try:
            page = httpx.get(url, headers={"Accept-Language": "de"}, trust_env=False, timeout=START_SECONDS)
        except httpx.TransportError:
            page = None
        if page is not None and page.status_code == 200:
            return page
        time.sleep(0.1)
    raise AssertionError(f"no page in {START_SECONDS} seconds")


def _files(top: Path) -> set[str]:
    return {str(path.relative_to(top)) for path in top.rglob("*") if path.is_file()}


def test_its_other_commands_work_there(program: Path) -> None:
    environment = USUAL | {"CHATUI_DATA_DIR": str(program.parents[2] / "elsewhere")}
    subprocess.run([program, "migrate", "--verbosity", "0"], env=environment, cwd="/", check=True)
    for arguments in (("check",), ("migrate", "--check"), ("doctor", "--help"), ("transcript", "check", str(ROOT / "README.md"))):
        done = subprocess.run([program, *arguments], env=environment, cwd="/", capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr and "No module" not in done.stderr, (arguments, done.stderr)
        assert done.returncode == 0 or arguments[0] == "transcript", (arguments, done.stdout, done.stderr)
