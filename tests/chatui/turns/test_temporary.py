"""Temporary conversations: never listed or searchable; deleted when closed, left or expired, unless the user decides to keep them."""

import asyncio
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from io import BytesIO, StringIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from asgiref.sync import async_to_sync
from channels.db import database_sync_to_async
from django.core.management import call_command
from django.db import IntegrityError, connection
from django.utils import timezone

from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.message import SearchEntry
from chatui.models.user import User
from tests.chatui.conftest import OPENING, signed_in
from tests.chatui.database.locks import needs_sqlite
from tests.chatui.lifecycle.test_erasure import file_bytes
from tests.chatui.store.long_conversations import MODELS, long_conversation
from tests.support import constants
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.database import Database, Statements
from tests.support.database import database as database
from tests.support.database import statements as statements
from tests.support.environment import change
from tests.support.other_processes import reap
from tests.support.page import Page, answered, settled
from tests.support.scripted import ScriptedBackend, answer

pytestmark = pytest.mark.django_db(transaction=True)

reap_now = async_to_sync(reap)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


def temporary(ada: User, word: str = "cabbage") -> Conversation:
    row = long_conversation(ada, 4, word)
    row.title, row.temporary_until = "", timezone.now() + HOUR
    row.save()
    SearchEntry.objects.filter(conversation=row).delete()
    return row


def until(row: Conversation) -> datetime:
    found = Conversation.objects.get(pk=row.pk).temporary_until
    assert found is not None
    return found


def is_about(at: datetime, expected: timedelta) -> bool:
    return abs(at - timezone.now() - expected) < timedelta(seconds=20)


def set_until(row: Conversation, ahead: timedelta) -> None:
    Conversation.objects.filter(pk=row.pk).update(temporary_until=timezone.now() + ahead)


def tell(person: User, row: Conversation, what: str) -> int:
    return signed_in(person).post(f"/c/{row.pk}/temporary/{what}/").status_code


async def test_it_is_neither_announced_to_lists_nor_indexed(ada: User, backend: ScriptedBackend) -> None:
    async with BrowserSocket(ada) as socket, BrowserSocket(ada) as aside:
        await socket.send_message("What is a xylophone?", temporary=True)
        accepted = (await socket.until("chatui:accepted"))[-1]
        await socket.until(*ENDS)
        assert not any("chatui:listed" in raw for raw in (*aside.raw, *socket.raw)) and accepted["title"] == ""
        row = await Conversation.objects.aget()
        assert row.title == "" and row.temporary_until is not None and is_about(row.temporary_until, HOUR)
        assert await SearchEntry.objects.acount() == 0
        await socket.send_message("What is a xylophone?")
        assert (await aside.until("chatui:listed"))[-1]["title"] == "What is a xylophone?", "the premise: others are notified"
        await socket.until(*ENDS)
    assert await SearchEntry.objects.acount() > 0
    assert not [row async for row in SearchEntry.objects.filter(conversation=row)]


@pytest.mark.parametrize("sent", ["yes", 1, "true"])
async def test_a_flag_that_is_no_boolean_is_refused(ada: User, sent: object) -> None:
    async with BrowserSocket(ada) as socket:
        await socket.send_message(temporary=sent)
        assert (await socket.next())["code"] == "E-X-COMMAND"
    assert await Conversation.objects.acount() == 0


async def test_no_model_is_asked_for_a_title(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"titles": True})
    turn = await answered(ada, temporary=True)
    assert turn.conversation.title == "" and len(backend.requests) == 1
    await answered(ada)
    assert len(backend.requests) == 3, "the twin: another one is given a title"


@pytest.mark.parametrize("hours", [-2, 2])
async def test_a_machine_with_a_wrong_clock_neither_shortens_nor_extends_it(
    hours: int, ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lasts(row: Conversation) -> timedelta:
        return await database_sync_to_async(until)(row) - datetime.now(UTC)

    monkeypatch.setattr(timezone, "now", lambda: datetime.now(UTC) + timedelta(hours=hours))
    row = (await answered(ada, temporary=True)).conversation
    assert 59 * MINUTE < await lasts(row) <= HOUR
    for what, least, most in (("leave", timedelta(0), MINUTE), ("stay", 59 * MINUTE, HOUR)):
        assert await database_sync_to_async(tell)(ada, row, what) == 200
        assert least < await lasts(row) <= most


@pytest.mark.parametrize("hours", [-2, 2])
def test_a_page_that_is_opened_at_a_machine_with_another_clock_neither_shortens_nor_extends_it(
    hours: int, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = temporary(ada)
    monkeypatch.setattr(timezone, "now", lambda: datetime.now(UTC) + timedelta(hours=hours))
    assert signed_in(ada).get(f"/c/{row.pk}/").status_code == 200
    assert tell(ada, row, "stay") == 200
    assert 59 * MINUTE < until(row) - datetime.now(UTC) <= HOUR


async def test_an_answer_that_ends_after_the_page_was_left_changes_nothing(ada: User, backend: ScriptedBackend) -> None:
    gate = asyncio.Event()
    backend.script = [gate, *answer()]
    async with Page(ada) as page:
        row = (await page.ask(temporary=True)).conversation
        assert await database_sync_to_async(tell)(ada, row, "leave") == 200
        gate.set()
        await page.ended()
    assert is_about(await database_sync_to_async(until)(row), MINUTE)


def test_leaving_ends_it_in_a_minute_unless_the_person_returns(ada: User) -> None:
    row = temporary(ada)
    assert tell(ada, row, "leave") == 200 and is_about(until(row), MINUTE)
    assert tell(ada, row, "stay") == 200 and is_about(until(row), HOUR)
    tell(ada, row, "leave")
    assert signed_in(ada).get(f"/c/{row.pk}/").status_code == 200 and is_about(until(row), HOUR), "it was reloaded"
    set_until(row, timedelta(seconds=5))
    tell(ada, row, "leave")
    assert until(row) < timezone.now() + timedelta(seconds=6), "leaving does not extend its time"


async def test_an_expired_one_is_erased_and_its_pages_are_told(ada: User, backend: ScriptedBackend) -> None:
    over, still, kept_one = [await database_sync_to_async(temporary)(ada) for _ in range(3)]
    await database_sync_to_async(set_until)(over, -MINUTE)
    await Conversation.objects.filter(pk=kept_one.pk).aupdate(temporary_until=None)
    async with BrowserSocket(ada) as socket:
        await socket.send("subscribe", conversation=str(over.pk))
        await socket.until("chatui:idle")
        await reap()
        assert (await socket.until("chatui:unlisted"))[-1]["conversation"] == str(over.pk)
    assert {row.pk async for row in Conversation.objects.all()} == {still.pk, kept_one.pk}


def test_signing_out_ends_it_in_a_minute(ada: User, bela: User) -> None:
    row, other = temporary(ada), temporary(bela)
    assert signed_in(ada).post("/sign-out/").status_code == 302
    assert is_about(until(row), MINUTE) and is_about(until(other), HOUR)


def test_one_that_cannot_be_erased_blocks_no_other(ada: User, database: Database) -> None:
    for _ in range(3):
        set_until(temporary(ada), -MINUTE)
    database.refuse("DELETE FROM chatui_message", IntegrityError())
    reap_now()
    assert len(database.met) == 1 and not Conversation.objects.exists(), "the one that was left is erased after the others"


def test_no_process_erases_for_long_what_has_expired(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    constants.change(monkeypatch, erasing_seconds=0)
    for _ in range(3):
        set_until(temporary(ada), -MINUTE)
    left = []
    while Conversation.objects.exists():
        reap_now()
        left.append(Conversation.objects.count())
    assert left == [2, 1, 0]


def test_purge_erases_expired_ones(ada: User) -> None:
    row = temporary(ada)
    call_command("purge", stdout=StringIO())
    assert Conversation.objects.exists()
    set_until(row, -MINUTE)
    call_command("purge", stdout=StringIO())
    assert [model.__name__ for model in MODELS if model.objects.exists()] == []  # type: ignore[attr-defined]


def test_closing_erases_every_row_at_once_but_not_the_audit_log(ada: User, grace: User) -> None:
    row = temporary(ada)
    path = f"/c/{row.pk}/debug/"
    client = signed_in(grace)
    assert client.post(f"{path}open/", OPENING).status_code == 302
    assert "cabbage" in client.get(path).content.decode(), "staff may view it while it exists"
    assert tell(ada, row, "close") == 200
    assert [model.__name__ for model in MODELS if model.objects.exists()] == []  # type: ignore[attr-defined]
    assert client.get(path).status_code == signed_in(ada).get(f"/c/{row.pk}/").status_code == 404
    lines = AuditEvent.objects.filter(conversation_id=row.pk)
    assert {"open debug view"} <= {line.action for line in lines} and not any("cabbage" in str(vars(line)) for line in lines)


async def test_a_turn_running_in_it_may_not_write_any_more(ada: User, backend: ScriptedBackend) -> None:
    gate = asyncio.Event()
    backend.script = [gate, *answer()]
    async with Page(ada) as page:
        turn = await page.ask(temporary=True)
        await asyncio.wait_for(backend.waiting.wait(), 20)
        assert await database_sync_to_async(tell)(ada, turn.conversation, "close") == 200
        gate.set()
        await settled()
    assert not await Conversation.objects.aexists()


def test_one_that_was_kept_or_used_meanwhile_stays(ada: User, database: Database) -> None:
    rows = [temporary(ada), temporary(ada)]
    for row in rows:
        set_until(row, -MINUTE)

    def meanwhile() -> None:
        Conversation.objects.filter(pk=rows[0].pk).update(temporary_until=None)
        set_until(rows[1], HOUR)

    database.before("UPDATE chatui_conversation SET deleted_at", meanwhile)
    reap_now()
    assert len(database.met) == 1 and Conversation.objects.filter(deleted_at=None).count() == 2


def test_an_interrupted_erasure_is_completed(ada: User) -> None:
    row = temporary(ada)
    Conversation.objects.filter(pk=row.pk).update(deleted_at=timezone.now(), unfinished_until=timezone.now())
    assert signed_in(ada).get(f"/c/{row.pk}/").status_code == 404 and Conversation.objects.exists()
    reap_now()
    assert not Conversation.objects.exists()


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL keeps deleted rows until VACUUM")
async def test_none_of_its_text_remains_in_the_database_files(ada: User, backend: ScriptedBackend) -> None:
    backend.script = answer("Zymurgycanary is brewing.", "what is zymurgycanary")
    row = (await answered(ada, "What is zymurgycanary?", temporary=True)).conversation
    assert b"zymurgycanary" in await database_sync_to_async(file_bytes)(), "the premise"
    assert await database_sync_to_async(tell)(ada, row, "close") == 200
    assert b"ymurgycanary" not in await database_sync_to_async(file_bytes)()


@needs_sqlite
def test_the_log_is_truncated_later_if_somebody_is_reading(ada: User, statements: Statements) -> None:
    name = str(connection.settings_dict["NAME"])
    row, log, truncated = temporary(ada), Path(f"{name}-wal"), "PRAGMA wal_checkpoint(TRUNCATE)"
    with closing(sqlite3.connect(name, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM chatui_conversation").fetchone() == (1,)
        assert tell(ada, row, "close") == 200
        assert log.stat().st_size > 0, "the premise: what was erased is still in the log"
    for _ in range(2):
        reap_now()
        assert log.stat().st_size == 0
    assert statements.count(truncated) == 2, "once more, and then never again"


def test_a_kept_one_is_listed_and_found(ada: User) -> None:
    row = temporary(ada, "xylophone")
    client = signed_in(ada)
    assert str(row.pk) not in client.get("/").content.decode()
    assert tell(ada, row, "keep") == 200
    assert str(row.pk) in client.get("/").content.decode()
    assert client.get("/search/?q=xylophone").content.decode().count(f"/c/{row.pk}/at/") == 4
    conversation = Conversation.objects.get()
    assert conversation.temporary_until is None and conversation.title == "xylophone 0"
    assert [tell(ada, row, what) for what in ("keep", "close", "leave", "stay")] == [404] * 4


async def test_it_is_kept_once_its_answer_has_ended(ada: User, backend: ScriptedBackend) -> None:
    gate = asyncio.Event()
    backend.script = [gate, *answer()]
    async with Page(ada) as page:
        row = (await page.ask(temporary=True)).conversation
        assert await database_sync_to_async(tell)(ada, row, "keep") == 409
        gate.set()
        await page.ended()
    assert await database_sync_to_async(tell)(ada, row, "keep") == 200
    assert await SearchEntry.objects.filter(conversation=row).acount() == 2


def test_an_erased_one_cannot_be_kept(ada: User) -> None:
    row = temporary(ada)
    assert [tell(ada, row, what) for what in ("close", "keep")] == [200, 404] and not Conversation.objects.exists()


def test_only_its_owner_can_close_keep_or_read_it(ada: User, bela: User, grace: User) -> None:
    row = temporary(ada)
    for other in (bela, grace):
        assert [tell(other, row, what) for what in ("close", "keep", "leave", "stay")] == [404] * 4
    assert signed_in(bela).get(f"/c/{row.pk}/").status_code == 404
    assert signed_in(grace).get(f"/c/{row.pk}/")["Location"] == f"/c/{row.pk}/debug/", "whoever may, after a reason"
    assert is_about(until(row), HOUR)


def test_an_ordinary_conversation_cannot_be_closed(ada: User, conversation: Conversation) -> None:
    assert [tell(ada, conversation, what) for what in ("close", "keep", "leave", "stay")] == [404] * 4
    assert Conversation.objects.get() == conversation


def test_its_page_says_that_it_is_temporary_and_has_no_title(ada: User) -> None:
    page = signed_in(ada).get(f"/c/{temporary(ada).pk}/").content.decode()
    assert "Not listed, not searchable." in page and "data-temporary" in page and "<title>Temporary chat" in page
    assert "cabbage 0" in page and 'data-action="rate"' not in page.partition("<template")[0]
    ordinary = signed_in(ada).get("/").content.decode()
    assert "Not listed, not searchable." not in ordinary and 'href="/?temporary=1"' in ordinary


def exported(person: User) -> list[str]:
    """The names of the files in the archive of all that is the person's."""
    answer = signed_in(person).get("/download/")
    with ZipFile(BytesIO(b"".join(answer))) as archive:
        return archive.namelist()


def test_an_export_of_everything_leaves_it_out(ada: User) -> None:
    row = temporary(ada)
    assert exported(ada) == ["READ-ME.txt", "account.json"]
    assert tell(ada, row, "keep") == 200
    assert [name.rpartition(".")[2] for name in exported(ada)] == ["txt", "md", "ocml", "json", "json"]
