"""``manage.py backup``: a consistent snapshot, checked, readable only by its owner, and encrypted for the operator's keys."""

import signal
import sqlite3
import stat
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

import pyrage
import pytest
from django.core.management import CommandError
from django.db import connection

from chatui.audit_log.lines import LineFilters, rows
from chatui.database import file_locks
from tests.chatui.audit_log.triggers import without_triggers
from tests.chatui.conftest import output_of
from tests.chatui.operations.conftest import WORD
from tests.support import database_file
from tests.support.deployments import process
from tests.support.served import Deployment

SSH = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHsKLqeplhpW+uObz5dvMgjz1OxfM/XXUB+VHtZ6isGN alice@rust"


def count(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as opened:
        return int(opened.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_a_backup_is_one_private_file_with_everything_in_it_and_a_line_in_the_log(database: Path, tmp_path: Path) -> None:
    assert Path(f"{database}-wal").stat().st_size, "the newest lines are in the write-ahead log, or this test would prove nothing"
    place = tmp_path / "backups"
    place.mkdir()
    printed = output_of("backup", place)
    [backup] = place.iterdir()
    assert "2 accounts, 2 conversations, 8 messages" in printed and "The log is intact" in printed
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600 and count(backup, "chatui_message") == 8
    assert [path.name for path in place.iterdir()] == [backup.name], "sqlite3 leaves no other file with a database without a log"
    [line] = rows(LineFilters(action="backup made"))
    assert (line.way, line.detail) == ("shell", "not encrypted") and count(backup, "chatui_auditevent") == 1
    [ended] = rows(LineFilters(action="backup ended"))
    assert (ended.way, ended.detail, ended.number) == ("shell", "", line.number + 1)
    assert not list(tmp_path.glob("*.backup*")), "the prepared files are deleted"


@pytest.mark.slow
def test_a_backup_is_a_snapshot_while_others_write(database: Path, tmp_path: Path) -> None:
    """Two rows are written in each transaction, so a copy that tore one apart would hold an odd number."""
    ended, started = threading.Event(), threading.Event()

    def write() -> None:
        with closing(sqlite3.connect(database, timeout=60, isolation_level=None)) as writer:
            writer.execute("CREATE TABLE pairs (n)")
            while not ended.wait(0.002):  # as fast as it can, it makes gigabytes on a quick disk
                writer.execute("BEGIN IMMEDIATE")
                writer.executemany("INSERT INTO pairs VALUES (?)", [(b"x" * 9000,), (b"y" * 9000,)])
                writer.execute("COMMIT")
                started.set()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert started.wait(60)
        sizes = []
        for number in range(12):
            output_of("backup", tmp_path / f"{number}")
            sizes.append(count(tmp_path / f"{number}", "pairs"))
    finally:
        ended.set()
        thread.join()
    assert all(size % 2 == 0 for size in sizes) and sizes == sorted(sizes) and sizes[-1] > 0


def test_an_encrypted_backup_is_unreadable_without_its_key(database: Path, tmp_path: Path) -> None:
    public, other = new_key(tmp_path / "key"), new_key(tmp_path / "other")
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    output_of("backup", tmp_path / "b.age", "--to", public, "--to", SSH)
    sealed = (tmp_path / "b.age").read_bytes()
    assert WORD.encode() not in sealed
    key = (tmp_path / "key").read_text().splitlines()[-1]
    (tmp_path / "opened").write_bytes(pyrage.decrypt(sealed, [pyrage.x25519.Identity.from_str(key)]))
    assert count(tmp_path / "opened", "chatui_message") == 8 and WORD.encode() in (tmp_path / "opened").read_bytes()
    assert other != public
    (tmp_path / "cut.age").write_bytes(sealed[: len(sealed) // 2])
    for name, identity in (("b.age", "other"), ("cut.age", "key")):
        with pytest.raises(CommandError, match="another key, or it is damaged"):
            output_of("restore", tmp_path / name, "--identity", tmp_path / identity)
    assert count(database, "chatui_message") == 8


def test_a_file_can_name_the_keys_and_a_private_one_is_refused_without_being_quoted(database: Path, tmp_path: Path) -> None:
    keys = {name: new_key(tmp_path / name) for name in ("key", "second")}
    (tmp_path / "keys").write_text(f"# of Ada\n{keys['key']}\n{SSH}\n{keys['second']}\n")
    output_of("backup", tmp_path / "sealed", "--to", tmp_path / "keys")
    for name in keys:
        identity = pyrage.x25519.Identity.from_str((tmp_path / name).read_text().splitlines()[-1])
        assert pyrage.decrypt((tmp_path / "sealed").read_bytes(), [identity]).startswith(b"SQLite format 3")
    (tmp_path / "none").write_text("# nobody\n")
    for wrong in (tmp_path / "key", tmp_path / "none", tmp_path / "missing", "age1nonsense", "ssh-nonsense"):
        with pytest.raises(CommandError) as refused:
            output_of("backup", tmp_path / "b", "--to", wrong)
        assert "AGE-SECRET" not in str(refused.value) and not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("reading", "of_private", "of_public"),
    [
        (
            PermissionError(13, "Permission denied"),
            "private key K cannot be read: Permission denied",
            "public keys K cannot be read",
        ),
        (FileNotFoundError(2, "No such file"), "private key K cannot be read: No such file.", "K is neither a public key nor a readable"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"), "K is not a file of keys", "K is not a file of keys"),
    ],
)
def test_a_file_of_keys_that_cannot_be_read_is_named_for_what_it_is(
    reading: Exception, of_private: str, of_public: str, database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = Path.read_text

    def refuse(path: Path, *args: str, **kwargs: str) -> str:
        if path == Path("K"):
            raise reading
        return sound(path, *args, **kwargs)

    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(CommandError, match=of_private):
        output_of("restore", tmp_path / "backup", "--identity", "K")
    with pytest.raises(CommandError, match=of_public):
        output_of("backup", tmp_path / "backup", "--to", "K")


def test_no_file_is_overwritten_and_no_partial_file_is_left(database: Path, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("mine")
    with pytest.raises(CommandError, match="exists already"):
        output_of("backup", tmp_path / "there")
    assert (tmp_path / "there").read_text() == "mine"
    with pytest.raises(CommandError, match="cannot be written"):
        output_of("backup", tmp_path / "no" / "such" / "directory")
    with file_locks.take(database, file_locks.BACKING_UP), pytest.raises(CommandError, match="Another process"):
        output_of("backup", tmp_path / "new")
    assert not list(tmp_path.glob("*new*")) and not list(tmp_path.glob("*.backup*"))


@pytest.mark.served
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_nothing_that_stays(how: signal.Signals, tmp_path: Path) -> None:
    deployment, place = Deployment(tmp_path / "data"), tmp_path / "backups"
    place.mkdir()
    with closing(sqlite3.connect(tmp_path / "data/chatui.sqlite3")) as opened:
        opened.execute("CREATE TABLE large (x)")
        opened.executemany("INSERT INTO large VALUES (zeroblob(?))", [(1024 * 1024,)] * 100)
        opened.commit()

    def unfinished() -> list[str]:
        return [path.name for path in [*place.glob(".*"), *(tmp_path / "data").glob("*.backup*")]]

    for number in range(10):  # until it is met in the middle
        with tempfile.TemporaryFile("w+") as output:
            running = process.start(["manage.py", "backup", str(place / f"{number}")], deployment.environment, output)
            while not unfinished() and running.poll() is None:
                time.sleep(0.005)
            running.send_signal(how)
            code = running.wait(60)
        if code:
            break
        (place / f"{number}").unlink()
    assert code == (128 + how if how == signal.SIGTERM else -how)
    assert bool(unfinished()) is (how == signal.SIGKILL) and not [path for path in place.iterdir() if not path.name.startswith(".")]
    deployment.manage("backup", str(place / "next"))
    assert [path.name for path in place.iterdir()] == ["next"] and not unfinished()


def test_a_broken_audit_log_is_backed_up_and_reported(database: Path, tmp_path: Path) -> None:
    output_of("backup", tmp_path / "one")
    with without_triggers(), connection.cursor() as cursor:
        cursor.execute("UPDATE chatui_auditevent SET detail = 'nothing' WHERE number = 1")
    with pytest.raises(SystemExit) as ended:
        output_of("backup", tmp_path / "two")
    assert ended.value.code == 1 and count(tmp_path / "two", "chatui_message") == 8


def test_a_damaged_database_is_not_backed_up(database: Path, tmp_path: Path) -> None:
    output_of("backup", tmp_path / "copy")
    with closing(sqlite3.connect(tmp_path / "copy")) as opened:
        [page] = opened.execute("SELECT rootpage FROM sqlite_master WHERE name = 'chatui_rating'").fetchone()
        [size] = opened.execute("PRAGMA page_size").fetchone()
    with (tmp_path / "copy").open("r+b") as file:
        file.seek(size * (page - 1))
        file.write(b"\xff" * size)
    with database_file.in_use(tmp_path / "copy"), pytest.raises(CommandError, match="damaged"):
        output_of("backup", tmp_path / "of a damaged one")
    assert not list(tmp_path.glob("*damaged*"))


def new_key(path: Path) -> str:
    """The public key of a new private one in this file."""
    return output_of("backup", "--new-key", path).splitlines()[0]
