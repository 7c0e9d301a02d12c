"""Examinations: one at a time for each server and each process, and a stored report has no text of a server."""

import asyncio
import json
import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from chatui.audit_log.record import Visitor
from chatui.backends.spec import BackendSpec
from chatui.codes import Cause
from chatui.model_servers import connected, stored
from chatui.models.audit import AuditEvent
from chatui.models.keys import new_key
from chatui.models.model_servers import Examination
from chatui.models.user import User
from chatui.operations.doctor import runs
from chatui.operations.doctor.examination import ExaminedServer, Progress
from chatui.operations.doctor.faults import DetectedFault, Level, ServerFault
from chatui.operations.doctor.identity import ServerIdentity
from chatui.operations.doctor.report import DoctorReport, FormatReport
from tests.chatui.conftest import make_person, signed_in

SPEC = BackendSpec(name="one", url="http://127.0.0.1:9")
PAGE = "/manage/servers/one/"
HOSTILE = "heron <script>"


@pytest.fixture
def kim(db: None, monkeypatch: pytest.MonkeyPatch) -> User:
    """May change model servers; the server that is there is never asked."""
    configure(monkeypatch, SPEC)
    return make_person("kim", "view_storedbackend", "change_storedbackend", staff=True)


def configure(monkeypatch: pytest.MonkeyPatch, spec: BackendSpec) -> None:
    """That server is set up, and the demo."""
    monkeypatch.setattr(connected, "specs", lambda: (spec, BackendSpec(name="demo", kind="demo")))


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Servers answer in an examination once this is set."""
    may_answer = threading.Event()

    async def examine(target: ExaminedServer, *, seconds: float, progress: Progress) -> DoctorReport:
        progress("chat", 1)
        await asyncio.to_thread(may_answer.wait, 20)
        return busy()

    monkeypatch.setattr(runs, "examine", examine)
    monkeypatch.setattr(runs, "PROGRESS_SECONDS", 0.05)
    yield may_answer
    may_answer.set()
    until_ended()


def until_ended() -> None:
    for each in threading.enumerate():
        if each.name.startswith("examination of"):
            each.join(20)


def busy() -> DoctorReport:
    """Of a server that had no time."""
    return DoctorReport("one", "chat", ServerIdentity("place"), (DetectedFault(Cause.BUSY, Level.UNASKED),))


def row_of(**values: object) -> Examination:
    now = timezone.now()
    row: Examination = Examination.objects.create(
        **{"server": "one", "begun_at": now, "lease_until": now + timedelta(seconds=10), "asked": 3} | values
    )
    return row


@pytest.mark.django_db(transaction=True)
def test_no_examination_starts_while_another_process_examines_the_server(kim: User, answers: threading.Event) -> None:
    row_of()
    client = signed_in(kim)
    assert "3 of at most 10 questions" in client.get(PAGE).content.decode()
    answer = client.post(PAGE)
    assert answer.status_code == 409 and "This process is already examining" in answer.content.decode()
    assert not AuditEvent.objects.exists()
    Examination.objects.all().delete()
    assert client.post(PAGE).status_code == 302


@pytest.mark.django_db(transaction=True)
def test_a_run_of_a_dead_process_does_not_block_the_next(kim: User, answers: threading.Event) -> None:
    row = row_of(lease_until=timezone.now() - timedelta(seconds=1))
    client = signed_in(kim)
    page = client.get(PAGE).content.decode()
    assert "ended without a report" in page and "data-running" not in page
    assert client.post(PAGE).status_code == 302
    new = Examination.objects.get()
    assert new.run != row.run and new.finished_at is None
    assert list(AuditEvent.objects.values_list("action", "owner_name")) == [("model server examined", "one")]


@pytest.mark.django_db(transaction=True)
def test_a_run_that_is_taken_for_dead_writes_nothing_into_the_next_one(kim: User, answers: threading.Event) -> None:
    assert signed_in(kim).post(PAGE).status_code == 302
    next_run = new_key()
    Examination.objects.update(run=next_run, asked=0, kind="", lease_until=timezone.now() + timedelta(seconds=10))
    answers.set()
    until_ended()
    row = Examination.objects.get()
    assert (row.run, row.finished_at, row.report, row.asked) == (next_run, None, None, 0)


@pytest.mark.django_db(transaction=True)
def test_a_process_examines_one_server_at_a_time(kim: User, answers: threading.Event) -> None:
    runs.begin(Visitor(kim, "", "page"), SPEC.model_copy(update={"name": "two"}))
    assert signed_in(kim).post(PAGE).status_code == 409
    assert [row.server for row in Examination.objects.all()] == ["two"]
    answers.set()
    until_ended()
    assert signed_in(kim).post(PAGE).status_code == 302, "the twin"


def test_only_staff_who_may_change_back_ends_can_start_one(kim: User, ada: User) -> None:
    reader = signed_in(make_person("reader", "view_storedbackend", staff=True))
    page = reader.get(PAGE).content.decode()
    assert "To examine it, you need the permission to change model servers." in page and reader.post(PAGE).status_code == 404
    assert {client.get(PAGE).status_code for client in (signed_in(ada), signed_in(make_person("sam", staff=True)))} == {404}
    changer = signed_in(make_person("changer", "change_storedbackend", staff=True))
    assert {changer.get(PAGE).status_code, changer.post(PAGE).status_code} == {404}, "who may not see them"
    client = signed_in(kim)
    assert {client.post(f"/manage/servers/{name}/").status_code for name in ("demo", "two", "x" * 300)} == {404}
    assert not Examination.objects.exists()


def test_the_demo_has_no_examination_page_and_other_servers_have(kim: User) -> None:
    page = signed_in(kim).get("/manage/servers/").content.decode()
    assert f'href="{PAGE}"' in page and "/manage/servers/demo/" not in page


@pytest.mark.django_db(transaction=True)
def test_a_server_with_a_missing_key_gets_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "PROGRESS_SECONDS", 0.05)
    spec = BackendSpec(name="keyless", url="http://127.0.0.1:9", key_env="NO_SUCH_KEY_IS_SET")
    root = User.objects.create_superuser("root", password="correct horse battery")
    runs.begin(Visitor(root, "", "admin"), spec)
    until_ended()
    standing = runs.status_of(spec)
    assert standing is not None and standing.worst is not None and not standing.is_running and not standing.is_outdated
    assert [finding.fault for finding in standing.worst.general] == ["key-missing"]
    runs.begin(Visitor(root, "", "admin"), spec)
    until_ended()


OF_OUR_WORDS = {
    ServerFault.CONTEXT_SMALL,
    ServerFault.IDS_INCOMPLETE,
    ServerFault.IDS_MISSING,
    ServerFault.NO_STREAM,
    ServerFault.OUT_OF_TIME,
    ServerFault.SEPARATION_UNPROVEN,
    ServerFault.SLOW_FIRST,
}
"""The faults whose evidence holds no name that a server has given."""


def test_no_text_of_a_server_is_stored() -> None:
    findings = tuple(DetectedFault(fault, Level.FAULT, HOSTILE) for fault in ServerFault if fault not in OF_OUR_WORDS)
    identity = ServerIdentity("place", HOSTILE, HOSTILE, (HOSTILE,), HOSTILE, 4096, True, HOSTILE)
    own = DetectedFault(Cause.KEY_REFUSED, Level.UNUSABLE, "HTTP 401.")
    report = DoctorReport("one", "chat", identity, (own,), (FormatReport("chat", findings), FormatReport("responses", (), HOSTILE)))
    stored = json.loads(json.dumps(runs.to_stored([report], "mark")))
    assert "heron" not in json.dumps(stored) and "place" not in json.dumps(stored)
    [shown] = runs.from_stored(stored)
    assert shown.general[0].seen == "HTTP 401." and shown.identity.product is None and len(shown.formats[0].findings) == len(findings)
    assert shown.formats[1].not_tried


def test_a_fault_that_only_another_release_knows_is_omitted() -> None:
    stored = runs.to_stored([busy()], "mark")
    stored["general"].append(["not-known-yet", 1, "words"])
    assert [finding.fault for finding in runs.from_stored(stored)[0].general] == ["busy"]


def test_a_report_of_another_address_is_outdated(kim: User, monkeypatch: pytest.MonkeyPatch) -> None:
    healthy = runs.to_stored([DoctorReport("one", "chat", ServerIdentity("place"))], stored.settings_digest(SPEC))
    row_of(finished_at=timezone.now(), report=healthy)
    client, words = signed_in(kim), "have changed since"
    page = client.get(PAGE).content.decode()
    assert "Healthy with these settings." in page and words not in page
    same: tuple[dict[str, object], ...] = ({"label": "Quick"}, {"effort": "low"})
    others: tuple[dict[str, object], ...] = (
        {"url": "http://127.0.0.1:10"},
        {"kind": "responses"},
        {"more_urls": ("http://127.0.0.1:11",)},
        {"summaries": "server"},
    )
    for changes, is_said in ((same, False), (others, True)):
        for changed in changes:
            configure(monkeypatch, SPEC.model_copy(update=changed))
            assert (words in client.get(PAGE).content.decode()) is is_said, changed


@pytest.mark.django_db(transaction=True)
def test_each_address_has_a_report_and_the_worst_counts_for_the_server(kim: User, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = SPEC.model_copy(update={"more_urls": ("http://127.0.0.1:10", "http://127.0.0.1:11")})
    requested: list[str] = []

    async def examine(target: ExaminedServer, *, seconds: float, progress: Progress) -> DoctorReport:
        requested.append(target.url)
        progress("chat", 4)
        return busy() if target.url.endswith(":10") else DoctorReport("one", "chat", ServerIdentity("place"))

    monkeypatch.setattr(runs, "examine", examine)
    configure(monkeypatch, spec)
    runs.begin(Visitor(kim, "", "page"), spec)
    until_ended()
    assert set(requested) == {spec.url, *spec.more_urls} and Examination.objects.get().asked == 12
    page = signed_in(kim).get(PAGE).content.decode()
    state = page.partition('id="examination-state"')[2].partition("</p>")[0]
    assert "Worst result of 3 addresses: It could not be queried." in state and "30 short test questions" in page
    assert [f"(address {number} of 3)" in page for number in (1, 2, 3, 4)] == [True, True, True, False]


def test_very_large_numbers_are_not_stored() -> None:
    context = 10**4000
    found = DetectedFault(ServerFault.IDS_INCOMPLETE, Level.UNUSABLE, f"It counts {context} tokens.")
    stored = runs.to_stored([DoctorReport("one", "chat", ServerIdentity("place", context=context), (found,))], "mark")
    assert stored["context"] is None and len(json.dumps(stored)) < 1000
    assert runs.to_stored([DoctorReport("one", "chat", ServerIdentity("place", context=131_072))], "")["context"] == 131_072
