"""Disaster recovery with the commands of ``docs/operating/backup.md``: data is backed up while a server runs, destroyed, and restored."""

import signal
from pathlib import Path

import pytest

from tests.operating.from_docs import block, run_block
from tests.support.deployments import process
from tests.support.served import Deployment

pytestmark = pytest.mark.served


def test_backed_up_while_served_destroyed_and_restored(tmp_path: Path) -> None:
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    elsewhere.mkdir()
    deployment = Deployment(data)
    deployment.make_people(ada=(False, []), bela=(False, []))
    beginnings = ("chatui backup --new-key", "chatui backup /mnt", "chatui restore")
    key, daily, restore = (block("docs/operating/backup.md", begins) for begins in beginnings)
    run_block(key, deployment.environment, elsewhere)
    server = deployment.start()
    try:
        ada = server.sign_in("ada")
        printed = run_block(daily, deployment.environment, elsewhere)
        assert "2 accounts" in printed and "The log is intact. Head: --number" in printed
        [backup] = elsewhere.glob("*.age")
        names = {"chatui-20261121-040000.sqlite3.age": backup.name}
        deployment.manage("erase_person", "bela", "--yes")
        run_block(daily.splitlines()[1], deployment.environment, elsewhere)
        restored_elsewhere = ["manage.py", "restore", str(backup), "--identity", str(elsewhere / "backup.key")]
        refused = process.run(restored_elsewhere, deployment.environment)
        assert refused.returncode == 1 and "A server is running on this database" in refused.stderr
        assert ada.get("/shares/").status_code == 200, "and it continues"
    finally:
        server.stop(signal.SIGKILL)
    database = data / "chatui.sqlite3"
    database.write_bytes(database.read_bytes()[:5000])
    printed = run_block(restore, deployment.environment, elsewhere, **names)
    assert "1 accounts" in printed and "erased since the backup: 1" in printed
    assert "The log is intact" in deployment.manage("audit", "verify")
    again = deployment.start()
    try:
        again.sign_in("ada")
    finally:
        again.stop()


def test_a_second_server_on_the_same_file_says_so_and_ends_while_commands_run_beside(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path)
    first = deployment.start()
    try:
        second = process.run(["manage.py", "serve", "--port", "0"], deployment.environment, timeout=100)
        assert second.returncode == 1 and "Another process already serves" in second.stderr and "Traceback" not in second.stderr
        assert "log is empty" in deployment.manage("audit", "head")
    finally:
        first.stop(signal.SIGKILL)
    deployment.start().stop()
