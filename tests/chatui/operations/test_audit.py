"""``manage.py audit export|counts``, and the lines that other commands add to the log."""

import csv
import io
import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from chatui.audit_log.record import FIRST_HASH, HASHED_COLUMNS, PRODUCT, Visitor, record
from chatui.display import system
from chatui.models.audit import AuditEvent, CountedLine
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.permissions import access
from tests.chatui.audit_log.triggers import without_triggers
from tests.chatui.conftest import make_person, refuse_log
from tests.support.audit_lines import digest, digest_of

pytestmark = pytest.mark.django_db


def at(day: int) -> None:
    """The last line moves to that day of November 2026, 10:00 UTC, with a hash that fits."""
    with without_triggers():
        line = AuditEvent.objects.order_by("-number")[0]
        line.at = datetime(2026, 11, day, 10, tzinfo=UTC)
        line.hash = digest(line)
        line.save()


@pytest.fixture
def _log(ada: User, bela: User, conversation: Conversation) -> None:
    """Bela tried twice on one day and once on the next, Ada once; a stranger was somewhere."""
    for person, day in ((bela, 18), (bela, 18), (bela, 19), (ada, 19)):
        record("debug page", Visitor(person, "192.0.2.7", "page"), conversation.pk, code="E-PERM-VISIBILITY")
        at(day)
    record("something", Visitor(None, "192.0.2.8", "socket"))
    at(19)


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("audit", *arguments, stdout=out)
    return out.getvalue()


def numbers(*arguments: str) -> list[int]:
    return [json.loads(line)["number"] for line in run("export", *arguments).splitlines()]


@pytest.mark.usefixtures("_log")
def test_an_export_as_json_lines_has_all_hashed_values() -> None:
    lines = [json.loads(line) for line in run("export").splitlines()]
    assert [line["number"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert list(lines[0]) == [*HASHED_COLUMNS, "hash"]
    for before, line in zip([None, *lines], lines, strict=False):
        assert digest_of([line[name] for name in HASHED_COLUMNS]) == line["hash"], "anybody who has the file can check it alone"
        assert line["previous_hash"] == (before["hash"] if before else FIRST_HASH)


@pytest.mark.usefixtures("_log")
def test_an_export_is_recorded_before_it_is_made_with_its_filters_and_nobodys_name() -> None:
    run("export", "--code", "E-PERM-VISIBILITY", "--since", "2026-11-19", "--format", "csv")
    line = AuditEvent.objects.order_by("-number")[0]
    assert (line.action, line.way, line.actor, line.detail) == (
        "audit export",
        "shell",
        None,
        "csv: since 2026-11-19 00:00, code E-PERM-VISIBILITY",
    )


@pytest.mark.usefixtures("_log")
def test_the_owners_name_filters_an_export_and_is_counted_by(ada: User, bela: User, conversation: Conversation) -> None:
    for person in (bela, bela, ada):
        with pytest.raises(access.HiddenViewRefusedError):
            access.view_hidden(Visitor(person, "192.0.2.7", "page"), conversation.pk, action="debug page")
    exported = [json.loads(line) for line in run("export", "--whose", "ada").splitlines()]
    assert [(line["number"], line["actor_name"], line["owner_name"]) for line in exported] == [(6, "bela", "ada"), (7, "ada", "ada")]
    assert run("counts", "--code", "E-PERM-VISIBILITY", "--by", "whose").splitlines() == ["(nobody's)\t4", "ada\t3"]
    assert run("counts", "--whose", "ada", "--by", "person,whose").splitlines() == ["bela\tada\t2", "ada\tada\t1"]


def test_an_export_first_writes_overdue_sums(bela: User, conversation: Conversation) -> None:
    for _ in range(3):
        with pytest.raises(access.HiddenViewRefusedError):
            access.view_hidden(Visitor(bela, "192.0.2.7", "page"), conversation.pk, action="debug page")
    CountedLine.objects.update(ends_at=timezone.now())
    exported = [json.loads(line) for line in run("export").splitlines()]
    assert [line["action"] for line in exported] == ["debug page", "debug page", "audit export"]
    assert exported[1]["detail"].startswith("after line 1: 2 more; last ")


@pytest.mark.usefixtures("_log")
def test_filters_of_an_export(conversation: Conversation) -> None:
    assert numbers("--code", "E-PERM-VISIBILITY") == [1, 2, 3, 4]
    assert numbers("--person", "bela") == [1, 2, 3]
    assert numbers("--conversation", str(conversation.pk)) == [1, 2, 3, 4]
    assert numbers("--until", "2026-11-18") == [1, 2]
    assert numbers("--since", "2026-11-19", "--until", "2026-11-19") == [3, 4, 5]
    assert numbers("--since", "2026-11-19T10:00", "--until", "2026-11-19T10:00") == []
    assert numbers("--since", "2026-11-19T12:00+02:00", "--until", "2026-11-19T10:01") == [3, 4, 5]


FORMULAS = [
    '=HYPERLINK("http://evil.example")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    " =1",
    "＝1",
    "＋1",
    "－1",
    "＠x",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_no_cell_of_a_csv_file_is_a_formula(text: str, grace: User) -> None:
    grace.username = text
    record("test", Visitor(grace, text, "page"), text, detail=text)
    (_, line, *_) = csv.reader(io.StringIO(run("export", "--format", "csv")))
    assert [cell for cell in line if cell.lstrip(" ").startswith(tuple("=+-@\t\r\n＝＋－＠"))] == []
    assert line.count(f"'{text}") == (2 if text.startswith("\r") else 4), "the log itself replaces a carriage return in free text"


def test_harmless_cells_of_a_csv_file_are_unchanged(grace: User) -> None:
    record("test", Visitor(grace, "2001:db8::1", "page"), detail='a "quoted", word\nand a line')
    head, line, _ = csv.reader(io.StringIO(run("export", "--format", "csv")))
    row = dict(zip(head, line, strict=True))
    assert (row["actor_name"], row["address"], row["detail"]) == ("grace", "2001:db8::1", 'a "quoted", word\nand a line')


@pytest.mark.usefixtures("_log")
def test_an_export_goes_into_a_new_file_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    run("export", str(path))
    assert len(path.read_text().splitlines()) == 6 and stat.S_IMODE(path.stat().st_mode) == 0o600
    count = AuditEvent.objects.count()
    with pytest.raises(CommandError, match="cannot be created") as refused:
        run("export", str(path))
    assert refused.value.returncode == 2 and AuditEvent.objects.count() == count


@pytest.mark.usefixtures("_log")
def test_counts_by_person_and_day() -> None:
    refused = ("--code", "E-PERM-VISIBILITY")
    assert run("counts", *refused) == "2026-11-19\tada\t1\n2026-11-19\tbela\t1\n2026-11-18\tbela\t2\n"
    assert run("counts", "--by", "person", *refused) == "bela\t3\nada\t1\n"
    assert run("counts", "--by", "day") == "2026-11-19\t3\n2026-11-18\t2\n"
    assert run("counts", "--by", "person", "--since", "2026-11-19") == "(nobody signed in)\t1\nada\t1\nbela\t1\n"


@pytest.mark.parametrize(
    "arguments", [["counts", "--by", "height"], ["export", "--since", "yesterday"], ["export", "--conversation", "x"], ["forget"], []]
)
def test_invalid_arguments_are_refused(arguments: list[str]) -> None:
    with pytest.raises((SystemExit, CommandError)) as refused:
        run(*arguments)
    error = refused.value
    assert isinstance(error, SystemExit | CommandError) and (error.code if isinstance(error, SystemExit) else error.returncode) in (1, 2)


def test_a_retention_run_is_recorded_before_anything_is_removed(
    ada: User, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    Conversation.objects.update(deleted_at=timezone.now() - timedelta(days=31))
    with monkeypatch.context() as patch:
        refuse_log(patch)
        with pytest.raises(OSError, match="no space left"):
            call_command("purge", stdout=io.StringIO())
    assert Conversation.objects.filter(pk=conversation.pk).exists()
    call_command("purge", stdout=io.StringIO())
    assert not Conversation.objects.filter(pk=conversation.pk).exists()
    ended, line = AuditEvent.objects.all()
    assert (line.action, line.way, line.actor_name) == ("retention run", "shell", "") and line.detail.endswith(": 1")
    assert (ended.action, ended.way) == ("retention run ended", "shell") and "; conversations: 1, " in ended.detail


@pytest.mark.parametrize(("minutes", "ends", "is_due"), [(50, False, False), (70, False, True), (70, True, False), (1500, True, True)])
def test_a_run_that_was_killed_is_due_again_within_the_day(
    minutes: int, ends: bool, is_due: bool, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = timezone.now() - timedelta(minutes=minutes)
    with monkeypatch.context() as then:
        then.setattr("django.utils.timezone.now", lambda: began)
        record(system.PURGE, PRODUCT, detail="conversations: 0")
        if ends:
            record(system.PURGE_ENDED, PRODUCT, detail="0.1 s")
    assert system.purge_is_due() is is_due


def test_control_sequences_in_account_names_are_escaped(db: None) -> None:
    person = make_person("mallory")
    person.username = "mal\x1b[2Jlory"
    record("test", Visitor(person, "", "page"))
    assert "\x1b" not in run("counts", "--by", "person")
