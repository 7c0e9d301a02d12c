"""Backup and restore of PostgreSQL with the commands of ``docs/operating/backup.md``."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.operating.from_docs import block, run_block
from tests.services.databases import own_database
from tests.support.deployments import process
from tests.support.places import ROOT
from tests.support.served import Deployment

pytestmark = pytest.mark.services

COUNT = "from chatui.models import MachineKey, User; from django.contrib.sessions.models import Session; "
COUNT += "print('ANSWER', sorted(User.objects.values_list('username', flat=True)), Session.objects.count(), MachineKey.objects.count())"
SIGN_IN = "from chatui.models import User; from django.test import Client; Client().force_login(User.objects.get(username='ada'))"
START = "from chatui.operations import machine_keys; machine_keys.require()"


@pytest.mark.skipif(not shutil.which("pg_dump"), reason="pg_dump and pg_restore are programs of PostgreSQL, which are not installed here.")
def test_a_database_is_dumped_changed_and_restored(tmp_path: Path) -> None:
    def counted() -> str:
        return deployment.manage("shell", "--no-imports", "-c", COUNT).split("ANSWER ")[1].strip()

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    daily, restore = (block("docs/operating/backup.md", begins) for begins in ("umask 077", "set -a; . /etc/chatui.env"))
    with own_database() as address:
        deployment = Deployment(tmp_path / "data", CHATUI_DATABASE_URL=address)
        deployment.make_people(ada=(False, []), bela=(False, []))
        deployment.manage("shell", "--no-imports", "-c", f"{SIGN_IN}\n{START}")
        settings, nothing = tmp_path / "chatui.env", tmp_path / "nothing.env"
        settings.write_text(f"CHATUI_DATABASE_URL='{address}'\n")
        nothing.write_text("")
        # The shell that backs up and restores has no settings of the product.
        bare = {name: value for name, value in deployment.environment.items() if name != "CHATUI_DATABASE_URL"}
        places = {"/etc/chatui.env": str(settings), "/var/lib/chatui": str(tmp_path / "data")}
        with pytest.raises(AssertionError, match="CHATUI_DATABASE_URL: parameter null or not set"):
            run_block(daily, bare, elsewhere, **places | {"/etc/chatui.env": str(nothing)})
        run_block(daily, bare, elsewhere, **places)
        recorded = "from chatui.models.audit import AuditEvent as A; print('ANSWER', A.objects.filter(action='backup ended').count())"
        assert deployment.manage("shell", "--no-imports", "-c", recorded).split("ANSWER ")[1].strip() == "1"
        assert (elsewhere / "chatui.dump").stat().st_mode & 0o077 == 0
        deployment.manage("erase_person", "bela", "--yes")
        run_block(daily.splitlines()[-1], deployment.environment, elsewhere)
        ours = bare | {"PYTHON": sys.executable}
        there = places | {"/srv/chatui/.venv/share/chatui": f"{ROOT}/deploy"}
        broken = tmp_path / "broken"
        broken.mkdir()
        (broken / "chatui.dump").write_bytes((elsewhere / "chatui.dump").read_bytes()[:20])
        (broken / "erasures.jsonl").write_text("")
        with pytest.raises(AssertionError, match="NOT complete"):
            run_block(restore, ours, broken, **there)
        assert counted() == "['ada'] 1 3", "nothing was removed"
        printed = run_block(restore, ours, elsewhere, **there)
        assert "1 person erased" in printed and "The log is intact" in printed
        assert counted() == "['ada'] 0 0"
        refused = process.run(["manage.py", "backup", str(tmp_path)], deployment.environment)
        assert refused.returncode == 1 and "pg_dump" in refused.stderr
