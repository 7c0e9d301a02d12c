"""``manage.py restore``: all or nothing, never while a server runs, and without the people who were erased since."""

import secrets
import shutil
import sqlite3
import stat
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from chatui.accounts import api_keys
from chatui.audit_log import chain
from chatui.audit_log.lines import LineFilters, rows
from chatui.audit_log.record import SHELL
from chatui.database import file_locks
from chatui.lifecycle.erasure import erase
from chatui.models.conversation import Conversation
from chatui.models.files import StoredFile
from chatui.models.invitations import Invitation
from chatui.models.message import Message
from chatui.models.programs import ApiKey
from chatui.models.shares import ShareLink
from chatui.models.sign_in import PasswordLink
from chatui.models.tools import ToolConfirmation
from chatui.models.user import ClosingCause, User
from chatui.operations import machine_keys
from chatui.store import erasure, temporary
from chatui.store.transcripts import frame_of
from chatui.tools import confirmations
from tests.chatui.audit_log.triggers import without_triggers
from tests.chatui.conftest import output_of, signed_in
from tests.chatui.operations.conftest import WORD
from tests.chatui.operations.test_backup import new_key
from tests.chatui.store.test_documents import talk_with
from tests.chatui.store.uploads import uploaded
from tests.support import database_file, environment, wiki
from tests.support.people import close

pytestmark = pytest.mark.slow


@pytest.fixture
def backup(database: Path, tmp_path: Path) -> Path:
    output_of("backup", tmp_path / "backup")
    return tmp_path / "backup"


def names() -> list[str]:
    return sorted(User.objects.values_list("username", flat=True))


def files_next_to(database: Path) -> set[str]:
    """The files next to the database, without locks and those that stay."""
    return {
        path.name
        for path in database.parent.glob("chatui.sqlite3?*")
        if path.name.partition("sqlite3.")[2] not in ("serving", "migrating", "backing-up")
    }


def test_lost_data_is_restored_and_the_former_database_is_kept(database: Path, backup: Path) -> None:
    [made] = rows(LineFilters(action="backup made"))
    Conversation.objects.all()[0].delete()
    output_of("backup", database.parent / "later")
    later = chain.head()
    assert later and Message.objects.count() == 4
    printed = output_of("restore", backup)
    assert "2 accounts, 2 conversations, 8 messages" in printed and Message.objects.count() == 8
    [line] = rows(LineFilters(action="backup restored"))
    assert (line.number, line.detail) == (2, f"made at line 1; the log before it ended at line 4 with {later.hash}")
    assert chain.verify(chain.ChainHead(made.number, made.hash)).is_intact, "with its triggers"
    connection.close()
    [former_name] = files_next_to(database)
    with closing(sqlite3.connect(database.parent / former_name)) as former:
        assert former.execute("SELECT count(*) FROM chatui_message").fetchone() == (4,)
    assert all(stat.S_IMODE((database.parent / name).stat().st_mode) == 0o600 for name in (former_name, database.name))


@pytest.mark.parametrize("key", ["", "a key of files that is long enough to be one"])
def test_restored_documents_can_be_read_downloaded_and_sent(
    key: str, database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.change(monkeypatch, {"file_key": key})
    ada, words = User.objects.get(username="ada"), "The zanzibar figures"
    file = uploaded(ada, "quarter.txt", words)
    talk = talk_with(ada, file)
    output_of("backup", tmp_path / "backup")
    erasure.erase_conversation(talk.pk)
    assert not StoredFile.objects.exists(), "the premise: it is lost"
    output_of("restore", tmp_path / "backup")
    client = signed_in(ada)
    assert b"".join(client.get(f"/files/{file.pk}/")) == words.encode()
    assert words in client.get(f"/files/{file.pk}/text/").content.decode()
    assert "quarter.txt" in client.get(f"/c/{talk.pk}/").content.decode()
    [body] = [frame_of(message).body for message in Message.objects.filter(conversation=talk, name="document")]
    assert words in body
    assert client.post(f"/files/{file.pk}/again/").status_code == 200


def test_access_closed_or_revoked_since_is_not_restored(database: Path, backup: Path, tmp_path: Path) -> None:
    call_command("createsuperuser", "--noinput", "--username", "root", "--email", "")
    people = {name: User.objects.get(username=name) for name in ("ada", "bela")}
    options = api_keys.NewKeyOptions(name="a key", for_responses=True, for_chat=False)
    valid, revoked = (api_keys.create(SHELL.of(people["bela"]), options).id for _ in range(2))
    links = [link_of(people["bela"]) for _ in range(2)]
    tools = [wiki.of_wiki(tmp_path, operation) for operation in ("searchPages", "getPage")]
    for tool in tools:
        tool.confirm()
    output_of("backup", database.parent / "later")
    assert close(people["ada"], ClosingCause.STAFF)
    api_keys.revoke_own(SHELL.of(people["bela"]), UUID(revoked))
    ShareLink.objects.filter(pk=links[1].pk).update(revoked_at=timezone.now())
    for name in (tools[1].tool.name, "never_confirmed"):
        confirmations.withdraw(name)
    assert "closed or revoked again, as since the backup: 4" in output_of("restore", database.parent / "later")
    assert not User.objects.get(username="ada").is_active and User.objects.get(username="bela").is_active
    assert set(ApiKey.objects.filter(revoked_at=None).values_list("pk", flat=True)) == {UUID(valid)}
    assert [ShareLink.objects.get(pk=link.pk).revoked_at is None for link in links] == [True, False]
    assert list(confirmations.stored()) == [tools[0].tool.name]
    assert ToolConfirmation.objects.filter(name="never_confirmed").exists(), "no file brings it back"
    assert [line.owner_name for line in rows(LineFilters(action="account closed"))] == ["ada"]


def test_unknown_revocations_are_reported(database: Path, backup: Path) -> None:
    connection.close()
    for path in database.parent.glob("chatui.sqlite3*"):
        path.unlink()
    assert "valid again" in output_of("restore", backup, "--without-erasures")


def link_of(person: User) -> ShareLink:
    talk = Conversation.objects.filter(owner=person)[0]
    leaf = Message.objects.filter(conversation=talk).latest("position")
    return ShareLink.objects.create(token=secrets.token_urlsafe(16), conversation=talk, leaf=leaf, created_by=person)


def test_erasures_in_the_current_database_are_repeated(database: Path, backup: Path) -> None:
    erase(SHELL, User.objects.get(username="ada"))
    assert "erased since the backup: 1" in output_of("restore", backup)
    assert names() == ["bela"] and Message.objects.count() == 4
    connection.close()
    assert f"{WORD} ada".encode() not in database.read_bytes() and f"{WORD} bela".encode() in database.read_bytes()
    assert f"{WORD} ada".encode() in backup.read_bytes()


def test_on_a_new_machine_the_list_of_erasures_is_required(database: Path, backup: Path, tmp_path: Path) -> None:
    erase(SHELL, User.objects.get(username="ada"))
    output_of("erasures", "export", tmp_path / "list")
    connection.close()
    for wrong in (b"", b"no database"):
        database_file.discard(database)
        if wrong:
            database.write_bytes(wrong)
            Path(f"{database}-wal").write_bytes(b"of the database that was destroyed")
        with pytest.raises(CommandError, match="--without-erasures"):
            output_of("restore", backup)
        assert files_next_to(database) <= {"chatui.sqlite3-wal"}, "nothing is left of the attempt"
        printed = output_of("restore", backup, "--erasures", tmp_path / "list")
        assert names() == ["bela"] and ("The former database" in printed) is bool(wrong)
        connection.close()
        for name in files_next_to(database):
            (database.parent / name).unlink()
    output_of("restore", backup, "--without-erasures")
    assert names() == ["bela"], "the log of the restored database also records the erasure"
    connection.close()
    database_file.discard(database)
    output_of("restore", backup, "--without-erasures")
    assert names() == ["ada", "bela"]


def test_the_erasures_of_an_unrelated_database_do_not_count(database: Path, backup: Path) -> None:
    with without_triggers(), connection.cursor() as cursor:
        cursor.execute("UPDATE chatui_auditevent SET hash = 'f'")
    with pytest.raises(CommandError, match="does not continue it"):
        output_of("restore", backup)


def test_nothing_is_restored_while_a_process_uses_the_database(database: Path, backup: Path) -> None:
    User.objects.filter(username="ada").update(first_name="later")
    with file_locks.take(database, file_locks.SERVING), pytest.raises(CommandError, match="server is running"):
        output_of("restore", backup)
    with closing(sqlite3.connect(database)) as reader:
        reader.execute("SELECT count(*) FROM chatui_user").fetchone()
        with pytest.raises(CommandError, match="open"):
            output_of("restore", backup)
    assert User.objects.get(username="ada").first_name == "later" and not [name for name in files_next_to(database) if "before" in name]
    output_of("restore", backup)
    assert User.objects.get(username="ada").first_name == ""


def test_temporary_chats_are_not_restored(database: Path, tmp_path: Path) -> None:
    row = Conversation.objects.all()[0]
    Conversation.objects.filter(pk=row.pk).update(temporary_until=timezone.now() + timedelta(hours=1))
    output_of("backup", tmp_path / "backup")
    output_of("restore", tmp_path / "backup")
    assert Conversation.objects.filter(temporary.is_over()).get().pk == row.pk
    assert Conversation.objects.filter(temporary_until=None).exists()


def test_the_machine_that_restores_may_have_other_keys(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine_keys.require()
    output_of("backup", tmp_path / "backup")
    environment.change(monkeypatch, {"secret_key": "y" * 50})
    with pytest.raises(machine_keys.OtherKeysError):
        machine_keys.require()
    output_of("restore", tmp_path / "backup")
    machine_keys.require()


def test_sessions_are_not_restored(database: Path, tmp_path: Path) -> None:
    client = signed_in(User.objects.get(username="ada"))
    assert client.get("/shares/").status_code == 200
    output_of("backup", tmp_path / "backup")
    output_of("restore", tmp_path / "backup")
    assert client.get("/shares/").status_code == 302


def test_one_time_links_are_not_restored(database: Path, tmp_path: Path) -> None:
    ada, later = User.objects.get(username="ada"), timezone.now() + timedelta(days=1)
    Invitation.objects.create(made_by=ada, expires_at=later)
    PasswordLink.objects.create(user=ada, expires_at=later)
    output_of("backup", tmp_path / "backup")
    output_of("restore", tmp_path / "backup")
    assert Invitation.objects.get().revoked_at is not None
    assert PasswordLink.objects.get().expires_at <= timezone.now()


def test_an_encrypted_backup_needs_its_key_and_a_changed_one_is_refused(database: Path, tmp_path: Path) -> None:
    public = new_key(tmp_path / "key")
    output_of("backup", tmp_path / "b.age", "--to", public)
    User.objects.filter(username="ada").update(username="eve")
    with pytest.raises(CommandError, match="--identity"):
        output_of("restore", tmp_path / "b.age")
    raw = bytearray((tmp_path / "b.age").read_bytes())
    raw[len(raw) // 2] ^= 1
    (tmp_path / "changed").write_bytes(raw)
    with pytest.raises(CommandError, match="damaged"):
        output_of("restore", tmp_path / "changed", "--identity", tmp_path / "key")
    output_of("restore", tmp_path / "b.age", "--identity", tmp_path / "key")
    assert names() == ["ada", "bela"]


def test_a_manual_copy_is_restored_with_its_write_ahead_log(database: Path, tmp_path: Path) -> None:
    User.objects.create_user("carl")
    for ending in ("", "-wal"):
        shutil.copy(f"{database}{ending}", tmp_path / f"copy{ending}")
    output_of("restore", tmp_path / "copy", "--without-erasures")
    assert names() == ["ada", "bela", "carl"]


def test_other_files_are_refused_and_change_nothing(database: Path, backup: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("once upon a time" * 1000)
    (tmp_path / "empty").write_bytes(b"")
    shutil.copy(backup, tmp_path / "newer")
    shutil.copy(backup, tmp_path / "changed")
    shutil.copy(backup, tmp_path / "between")
    with closing(sqlite3.connect(tmp_path / "between")) as between, between:
        between.execute("DELETE FROM django_migrations WHERE app = 'chatui' AND name NOT BETWEEN '0001_squashed_0051' AND '0058'")
    with closing(sqlite3.connect(tmp_path / "newer")) as newer, newer:
        newer.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('chatui', '9999_later', '2030-01-01')")
    with closing(sqlite3.connect(tmp_path / "changed")) as changed, changed:
        changed.execute("DROP TRIGGER chatui_audit_no_update")
        changed.execute("UPDATE chatui_auditevent SET detail = 'x'")
    refusals = {
        "text": "not a database of this product",
        "empty": "not a database of this product",
        "missing": "cannot be restored",
        "newer": "newer version",
        "between": "at 0057_sealed_keys, from which this version cannot continue: .*manage.py restore.* with commit c55f8eb3 ",
        "changed": "not intact",
    }
    for name, why in refusals.items():
        with pytest.raises(CommandError, match=why):
            output_of("restore", tmp_path / name, "--without-erasures")
        assert names() == ["ada", "bela"] and not [left for left in files_next_to(database) if left.endswith("restoring")]
    output_of("restore", tmp_path / "changed", "--accept-broken-log")


def test_a_backup_from_before_the_migrations_became_one_is_restored(database: Path, backup: Path) -> None:
    with closing(sqlite3.connect(backup)) as old, old:
        assert old.execute("DELETE FROM django_migrations WHERE name LIKE '0001_squashed_0065_%'").rowcount == 1
    User.objects.create_user("carl")
    output_of("restore", backup)
    assert names() == ["ada", "bela"]
    executor = MigrationExecutor(connection)
    assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == [], "none is missing"


def test_errors_of_sqlite_are_reported_and_leave_no_files(database: Path, backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        database_file.fill_disk_at_migrations(patch)
        with pytest.raises(CommandError, match="disk is full"):
            output_of("restore", backup)
        database_file.fill_disk_at_copies(patch)
        with pytest.raises(CommandError, match="disk is full"):
            output_of("backup", backup.parent / "second")
    assert files_next_to(database) <= {"chatui.sqlite3-shm", "chatui.sqlite3-wal"} and not (backup.parent / "second").exists()
    output_of("restore", backup)
