"""What an operator reads when the product cannot start: one line with the cause, soon, and no traceback."""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support import disks
from tests.support.deployments import process
from tests.support.served import Deployment, free_port

MOST_SECONDS = 5.0


def failed(deployment: Deployment, *command: str) -> str:
    """The only line that a command prints when it fails."""
    done = process.run(["manage.py", *(command or ("serve", "--port", str(free_port())))], deployment.environment)
    assert done.returncode == 1, done.stdout
    lines = (done.stdout + done.stderr).strip().splitlines()
    assert len(lines) == 1, lines
    assert "hunter2" not in lines[0]
    return lines[0]


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("DATABASE_URL", "mysql://x", "must look like postgres://"),
        ("DATABASE_URL", "postgres://a:hunter2@h:x/x", "must look like postgres://"),
        ("REDIS_URL", "nonsense", "must look like redis://"),
        ("FILE_MB", "many", "valid integer"),
    ],
)
@pytest.mark.served
def test_a_malformed_setting_is_one_line(name: str, value: str, says: str, tmp_path: Path) -> None:
    line = failed(Deployment(tmp_path, **{f"CHATUI_{name}": value}))
    assert line.startswith(f"CHATUI_{name}: ")
    assert says in line


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("BACKEND_URL", "localhost:8000", "CHATUI_BACKEND_URL is not an http or https address"),
        ("HOSTSS", "x", "There is no setting CHATUI_HOSTSS. Did you mean CHATUI_HOSTS?"),
    ],
)
@pytest.mark.served
def test_what_only_a_check_finds_is_one_line(name: str, value: str, says: str, tmp_path: Path) -> None:
    assert says in failed(Deployment(tmp_path, **{f"CHATUI_{name}": value}))


@pytest.mark.served
def test_a_taken_port_is_named_with_the_way_out(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        line = failed(Deployment(tmp_path), "serve", "--port", str(port))
    assert f"Port {port} of 127.0.0.1 is taken" in line
    assert f"--port {port + 1}" in line
    assert "99999 is no port" in failed(Deployment(tmp_path), "serve", "--port", "99999")


@pytest.mark.served
@pytest.mark.skipif(os.getuid() != 0, reason="Only root can become another account.")
@pytest.mark.parametrize("what", ["directory", "database"])
def test_a_data_directory_that_cannot_be_written_is_one_line(what: str, tmp_path: Path) -> None:
    place = tmp_path / "data"
    deployment = Deployment(place)
    if what == "directory":
        place = tmp_path / "new"
        place.mkdir(mode=0o755)
    else:
        for path in (place, *place.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
    for path in (tmp_path, *tmp_path.parents):
        if path.stat().st_uid == 0 and path.name.startswith("pytest"):
            path.chmod(0o755)
    environment = deployment.environment | {"CHATUI_DATA_DIR": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "manage.py", "serve", "--port", str(free_port())]
    done = subprocess.run(command, env=environment, user="nobody", capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    [line] = (done.stdout + done.stderr).strip().splitlines()
    assert str(place) in line
    assert "Permission denied" in line


@pytest.mark.served
@pytest.mark.parametrize("room", ["none, at its first start", "none", "that of the database"])
def test_a_full_disk_is_said(room: str, tmp_path: Path) -> None:
    deployment = Deployment(tmp_path / "data")
    database = tmp_path / "data/chatui.sqlite3"
    megabytes = 3 + database.stat().st_size // 2**20
    assert sum(file.stat().st_size for file in (tmp_path / "data/static").rglob("*")) > megabytes * 1.5 * 2**20, "the premise"
    with disks.small(tmp_path / "disk", megabytes=megabytes) as disk:
        environment = deployment.environment | {"CHATUI_DATA_DIR": str(disk), "PYTHONWARNINGS": "ignore"}
        if room != "none, at its first start":
            shutil.copy2(database, disk)
            (disk / "static").mkdir()
            environment["CHATUI_SECRET_KEY"] = "x" * 50
        if room != "that of the database":
            disks.fill(disk)
        done = process.run(["manage.py", "serve", "--port", str(free_port())], environment)
        assert not (disk / "secret_key").exists(), "half a key would be taken for one at the next start"
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip() and not line.startswith("  Preparing ")]
    assert (done.returncode, len(said)) == (1, 1), said
    assert {
        "none, at its first start": f"CHATUI_DATA_DIR: {disk} cannot be used by this account",
        "none": f"The database {disk}/chatui.sqlite3 (CHATUI_DATA_DIR) cannot be used: the disk is full, ",
        "that of the database": f"CommandError: Styles and scripts cannot be stored: {disk}/static",
    }[room] in said[0]
    assert "No space left on device." in said[0] or room == "none"


@pytest.mark.served
def test_a_command_in_a_data_directory_without_a_database_says_so(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path)
    deployment.environment["CHATUI_DATA_DIR"] = str(tmp_path / "other")
    for command in (("audit", "verify"), ("purge",), ("close_account", "ada")):
        line = failed(deployment, *command)
        assert str(tmp_path / "other" / "chatui.sqlite3") in line
        assert "manage.py migrate" in line


@pytest.mark.services
@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("{server}/no_such_db", 'database "no_such_db" does not exist'),
        ("postgres://postgres:hunter2@127.0.0.1:{free}/postgres", "refused"),
        ("{server}/postgres?nope=hunter2", 'invalid connection option "nope"'),
        ("{server}/postgres?connect_timeout=hunter2", "bad value for connect_timeout"),
    ],
)
def test_a_database_that_is_not_there_is_one_line(address: str, says: str, tmp_path: Path) -> None:
    server = os.environ["CHATUI_TEST_DATABASE_URL"].rpartition("/")[0]
    line = failed(Deployment(tmp_path, CHATUI_DATABASE_URL=address.format(server=server, free=free_port())))
    assert line.startswith("Error: PostgreSQL at ")
    assert says in line


@pytest.mark.served
def test_a_database_that_is_silent_is_not_waited_for(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        seconds = {}
        for port in (free_port(), silent.getsockname()[1]):
            started = time.monotonic()
            line = failed(Deployment(tmp_path, CHATUI_DATABASE_URL=f"postgres://postgres:hunter2@127.0.0.1:{port}/postgres"))
            seconds[line.rpartition(": ")[2]] = time.monotonic() - started
    refused, unanswered = seconds.values()
    assert line.endswith("cannot be used: it does not answer.")
    assert unanswered < 2 * refused + MOST_SECONDS, "besides what this machine needs to start a process"
