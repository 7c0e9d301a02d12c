"""Examinations: one at a time for each server and each process, and a stored report has no text of a server."""

import asyncio
import json
import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from chatui.codes import Cause
from chatui.models.audit import AuditEvent
from chatui.models.keys import new_key
from chatui.models.model_servers import Examination
from chatui.models.user import User
from tests.chatui.conftest import make_person, signed_in
from tests.chatui.operations.doctor.peers import answering, chat_answers
from tests.support import examinations, stub
from tests.support.examinations import FAULTS, until_ended
from tests.support.limits import set_limits
from tests.support.several import Configure
from tests.support.several import configure as configure

URL = "http://127.0.0.1:9"
PAGE = "/manage/servers/one/"
HOSTILE = "heron <script>"
BUSY = stub.responds("429 Too Many Requests", b"")


def lines(name: object = "one", **settings: object) -> str:
    """A server in the operator's file. JSON of these values is TOML, too."""
    values = {"name": name, "url": URL, "kind": "chat"} | settings
    return "[[backend]]\n" + "\n".join(f"{key} = {json.dumps(value)}" for key, value in values.items()) + "\n\n"


DEMO = '[[backend]]\nname = "demo"\nkind = "demo"\n'


@pytest.fixture
def kim(db: None, configure: Configure, monkeypatch: pytest.MonkeyPatch) -> User:
    """May change model servers; there is one, where nothing listens, and the demo."""
    set_limits(monkeypatch, "chatui.operations.doctor", PROGRESS_SECONDS=0.05)
    configure(lines() + DEMO)
    return make_person("kim", "view_storedbackend", "change_storedbackend", staff=True)


@pytest.fixture
def answers(kim: User, configure: Configure) -> Iterator[threading.Event]:
    """Two servers answer in an examination once this is set."""
    may_answer = threading.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        await asyncio.to_thread(may_answer.wait, 20)
        await BUSY(writer)

    with answering(dict.fromkeys(("chat", "responses"), answer)) as peer:
        configure(lines(url=peer.url) + lines("two", url=peer.url) + DEMO)
        yield may_answer
        may_answer.set()
        until_ended()


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
    assert signed_in(kim).post("/manage/servers/two/").status_code == 302
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
    assert {client.post(f"/manage/servers/{name}/").status_code for name in ("demo", "other", "x" * 300)} == {404}
    assert not Examination.objects.exists()


def test_the_demo_has_no_examination_page_and_other_servers_have(kim: User) -> None:
    page = signed_in(kim).get("/manage/servers/").content.decode()
    assert f'href="{PAGE}"' in page and "/manage/servers/demo/" not in page


@pytest.mark.django_db(transaction=True)
def test_a_server_with_a_missing_key_gets_a_report(kim: User, configure: Configure) -> None:
    configure(lines(key_env="NO_SUCH_KEY_IS_SET"))
    client = signed_in(kim)
    assert client.post(PAGE).status_code == 302
    until_ended()
    page = client.get(PAGE).content.decode()
    assert "key-missing" in page and "data-running" not in page and "have changed since" not in page
    assert client.post(PAGE).status_code == 302
    until_ended()


OF_OUR_WORDS = {
    "context-small",
    "ids-incomplete",
    "ids-missing",
    "no-stream",
    "out-of-time",
    "separation-unproven",
    "slow-first",
}
"""The faults whose evidence holds no name that a server has given."""


def test_no_text_of_a_server_is_stored(kim: User) -> None:
    findings = [(fault.value, "fault", HOSTILE) for fault in FAULTS if fault not in OF_OUR_WORDS]
    own = (Cause.KEY_REFUSED.value, "unusable", "HTTP 401.")
    report = examinations.stored(general=[own], formats={"chat": findings, "responses": ()}, said=HOSTILE, context=4096)
    assert "heron" not in json.dumps(report) and "place" not in json.dumps(report)
    row_of(finished_at=timezone.now(), report=report)
    page = signed_in(kim).get(PAGE).content.decode()
    assert "HTTP 401." in page and "heron" not in page and "not tried" in page
    assert [name for name, _, _ in findings if name not in page] == []


def test_a_fault_that_only_another_release_knows_is_omitted(kim: User) -> None:
    report = examinations.stored(general=[("busy", "unasked", "")])
    report["general"].append(["not-known-yet", 1, "words"])
    row_of(finished_at=timezone.now(), report=report)
    page = signed_in(kim).get(PAGE).content.decode()
    assert "busy" in page and "not-known-yet" not in page


@pytest.mark.django_db(transaction=True)
def test_a_report_of_another_address_is_outdated(kim: User, configure: Configure) -> None:
    client, words = signed_in(kim), "have changed since"
    with answering(chat_answers()) as peer:
        configure(lines(url=peer.url))
        assert client.post(PAGE).status_code == 302
        until_ended()
        page = client.get(PAGE).content.decode()
        assert "Healthy with these settings." in page and words not in page
        same: tuple[dict[str, object], ...] = ({"label": "Quick"}, {"effort": "low"})
        others: tuple[dict[str, object], ...] = (
            {"url": "http://127.0.0.1:10"},
            {"kind": "responses"},
            {"more_urls": ["http://127.0.0.1:11"]},
            {"summaries": "server"},
        )
        for changes, is_said in ((same, False), (others, True)):
            for changed in changes:
                configure(lines(**{"name": "one", "url": peer.url} | changed))
                assert (words in client.get(PAGE).content.decode()) is is_said, changed


@pytest.mark.django_db(transaction=True)
def test_each_address_has_a_report_and_the_worst_counts_for_the_server(kim: User, configure: Configure) -> None:
    client = signed_in(kim)
    with answering(chat_answers()) as one, answering({"chat": BUSY}) as two, answering(chat_answers()) as three:
        peers = (one, two, three)
        configure(lines(url=one.url, more_urls=[two.url, three.url]))
        assert client.post(PAGE).status_code == 302
        until_ended()
        questions = [sum(request.path == "/v1/chat/completions" for request in peer.requests) for peer in peers]
    assert questions == [3, 1, 3] and Examination.objects.get().asked == 6, "of all addresses, before the last question of each"
    page = client.get(PAGE).content.decode()
    state = page.partition('id="examination-state"')[2].partition("</p>")[0]
    assert "Worst result of 3 addresses: It could not be queried." in state and "30 short test questions" in page
    assert [f"(address {number} of 3)" in page for number in (1, 2, 3, 4)] == [True, True, True, False]


def test_very_large_numbers_are_not_stored() -> None:
    context = 10**4000
    report = examinations.stored(general=[("ids-incomplete", "unusable", f"It counts {context} tokens.")], context=context)
    assert report["context"] is None and len(json.dumps(report)) < 1000
    assert examinations.stored(context=131_072)["context"] == 131_072
