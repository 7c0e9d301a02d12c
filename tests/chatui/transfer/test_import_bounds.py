"""An import stops at its limits, does not block other writers, and is stored completely or not at all."""

import re
import threading
import time
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import DatabaseError, connections, transaction
from django.db.models import Value
from django.test import Client
from django.utils import timezone

from chatui.display.search import search
from chatui.models.conversation import Conversation
from chatui.models.message import Message, SearchEntry
from chatui.models.user import User
from chatui.permissions import access
from chatui.store import bulk_append, erasure
from chatui.transfer.imports import import_transcript, look_at
from chatui.transfer.upload import ImportRefusedError
from tests.chatui.conftest import signed_in
from tests.support.database import Database
from tests.support.database import database as database
from tests.support.limits import limit, set_limits

pytestmark = pytest.mark.django_db

FRAME = b"<|start|>user<|message|>cabbages<|end|>\n"
HEADER = b"version: 2.2\n\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: HEADER + FRAME + b"x<|end|>" * 655_000,
        lambda: HEADER + FRAME * (5 * 1024 * 1024 // len(FRAME) - 1),
        lambda: HEADER + FRAME + b"<|start|>" * 580_000,
        lambda: b"x<|end|>" * 655_000,
        lambda: b'{"header": {"version": "2.2"}, "messages": [' + b"{}," * 1_700_000 + b"{}]}",
        lambda: b'{"header": {"version": "2.2", "x": {' + b",".join(b'"%d":1' % n for n in range(450_000)) + b'}}, "messages": []}',
        lambda: b'{"header": {"version": "2.2"}, "messages": [{"role": "user", "content": "' + b'a\\"' * 1_700_000,
    ],
    ids=["strays", "frames", "starts", "no header", "objects", "keys", "string"],
)
def test_every_kind_of_large_upload_stops_at_a_limit(make: Callable[[], bytes]) -> None:
    data = make()  # not where the test is collected: each process of a run would make them all
    assert 4_000_000 < len(data) <= limit("chatui.transfer", "MAX_BYTES")
    started = time.process_time()
    with pytest.raises(ImportRefusedError):
        look_at(User(), data)
    assert time.process_time() - started < 3
    tracemalloc.start()
    try:
        with pytest.raises(ImportRefusedError):
            look_at(User(), data)
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_others_write_while_two_imports_are_written(ada: User, bela: User) -> None:
    data = HEADER + FRAME * 2_000
    done: list[float] = []
    started = time.monotonic()
    threads = [threading.Thread(target=in_a_thread(partial(imported, who, data, done))) for who in (ada, bela)]
    for thread in threads:
        thread.start()
    delays = []
    while len(done) < 2 and time.monotonic() - started < 120:
        started_waiting = time.monotonic()
        with transaction.atomic():
            User.objects.filter(pk=ada.pk).update(last_name="x")
        delays.append(time.monotonic() - started_waiting)
        time.sleep(0.02)
    for thread in threads:
        thread.join()
    assert len(done) == 2 and Message.objects.count() == 4_000 == SearchEntry.objects.count()
    assert len(delays) > 5 and max(delays) < 10, f"the longest of {len(delays)} waits took {max(delays):.1f} s"


def imported(person: User, data: bytes, done: list[float]) -> None:
    import_transcript(person, data)
    done.append(time.monotonic())


def in_a_thread(work: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        try:
            work()
        finally:
            connections.close_all()

    return run


def test_an_import_in_several_batches_has_positions_parents_and_search_entries(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.store", BATCH_MESSAGES=3)
    imported = import_transcript(ada, HEADER + FRAME * 10).conversation
    rows = list(Message.objects.filter(conversation=imported).order_by("position"))
    assert [row.position for row in rows] == list(range(10))
    assert [row.parent_id for row in rows] == [None, *(row.pk for row in rows[:-1])]
    assert SearchEntry.objects.filter(conversation=imported).count() == 10 and len(search(ada, "cabbages").hits) == 1
    assert imported.active_leaves.get().message == rows[-1]


@pytest.mark.parametrize("rows", [7, 40])
def test_a_transaction_is_limited_in_rows_and_characters(rows: int, ada: User, monkeypatch: pytest.MonkeyPatch, database: Database) -> None:
    set_limits(monkeypatch, "chatui.store", BATCH_MESSAGES=rows, BATCH_CHARS=1_000)
    sizes: list[int] = []
    before_each(RENEWAL, database, lambda row: sizes.append(row.messages.count()))
    import_transcript(ada, HEADER + FRAME * 100)
    steps = [later - earlier for earlier, later in pairwise(sizes)]
    assert max(steps) == min(rows, 1_000 // (len(FRAME) - 1))


def before_each(statement: str, database: Database, then: Callable[[Conversation], object]) -> None:
    """Do this before each such statement of an import, once its conversation is stored, and until it fails."""

    def again() -> None:
        if row := Conversation.objects.exclude(unfinished_until=None).order_by("created_at").last():
            then(row)
        database.before(statement, again)

    database.before(statement, again)


RENEWAL = "UPDATE chatui_conversation SET unfinished_until"
"""How an import says that it goes on, after each part that it has stored."""


def midway(database: Database, patch: pytest.MonkeyPatch, then: Callable[[Conversation], object]) -> None:
    """Pause in the middle of an import, to see what others see of it then."""
    set_limits(patch, "chatui.store", BATCH_MESSAGES=5)
    before_each(RENEWAL, database, lambda row: then(row) if row.messages.count() == 10 else None)


def test_an_unfinished_import_is_invisible_to_everybody(
    ada: User, grace: User, monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    seen: list[int] = []

    def look(row: Conversation) -> None:
        client = signed_in(ada)
        paths = [f"/c/{row.pk}/{end}" for end in ("", "download/", "share/")]
        seen.extend(client.get(path).status_code for path in paths)
        seen.append(client.post(f"/c/{row.pk}/restore/").status_code)
        assert str(row.pk) not in client.get("/").content.decode() and f"deleted={row.pk}" not in client.get("/").content.decode()
        assert "cabbages" not in client.get(f"/?deleted={row.pk}").content.decode()
        assert not search(ada, "cabbages").hits and not list(access.all_own_conversations(ada))

    midway(database, monkeypatch, look)
    row = import_transcript(ada, HEADER + FRAME * 20).conversation
    assert seen == [404] * 4
    assert signed_in(ada).get(f"/c/{row.pk}/").status_code == 200 and len(search(ada, "cabbages").hits) == 1


def test_an_import_that_fails_in_the_middle_leaves_nothing(ada: User, monkeypatch: pytest.MonkeyPatch, database: Database) -> None:
    def fail(row: Conversation) -> None:
        raise DatabaseError

    midway(database, monkeypatch, fail)
    with pytest.raises(DatabaseError):
        import_transcript(ada, HEADER + FRAME * 20)
    assert not Conversation.objects.exists() and not Message.objects.exists() and not SearchEntry.objects.exists()


def test_unfinished_imports_of_dead_processes_are_erased(ada: User, monkeypatch: pytest.MonkeyPatch, database: Database) -> None:
    def die(row: Conversation) -> None:
        raise DatabaseError

    midway(database, monkeypatch, die)
    database.refuse("UPDATE chatui_conversation SET deleted_at")
    with pytest.raises(DatabaseError):
        import_transcript(ada, HEADER + FRAME * 20)
    left = Conversation.objects.get()
    with pytest.raises(ImportRefusedError, match="another of your imports"):
        import_transcript(ada, HEADER + FRAME)
    Conversation.objects.update(unfinished_until=timezone.now() - timedelta(seconds=1))
    finished = import_transcript(ada, HEADER + FRAME).conversation
    assert Conversation.objects.get() == finished != left and Message.objects.count() == 1


@pytest.mark.parametrize("hours", [-2, 2])
def test_a_wrong_clock_ends_no_import_and_keeps_no_dead_one(
    hours: int, ada: User, monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    def swept_elsewhere(row: Conversation) -> None:
        with monkeypatch.context() as right:
            right.setattr(timezone, "now", lambda: datetime.now(UTC))
            assert erasure.erase_unfinished() == 0
            ends = Conversation.objects.get(pk=row.pk).unfinished_until
            assert ends is not None and timedelta(0) < ends - timezone.now() <= bulk_append.LEASE

    midway(database, monkeypatch, swept_elsewhere)
    monkeypatch.setattr(timezone, "now", lambda: datetime.now(UTC) + timedelta(hours=hours))
    finished = import_transcript(ada, HEADER + FRAME * 20).conversation
    assert Message.objects.filter(conversation=finished).count() == 20
    erasure.close(finished.pk)
    monkeypatch.setattr(timezone, "now", lambda: datetime.now(UTC))
    assert erasure.erase_unfinished() == 1, "the twin: what is being erased is not kept by a clock either"


def test_an_import_goes_on_for_no_moment_after_it_was_closed(ada: User, monkeypatch: pytest.MonkeyPatch, database: Database) -> None:
    """Not even within one moment of the database's clock."""
    moment = Value(timezone.now())

    def close(row: Conversation) -> None:
        monkeypatch.setattr("chatui.database.connections.now", lambda: moment)
        erasure.close(row.pk)
        assert not bulk_append.is_in_progress(ada)

    midway(database, monkeypatch, close)
    with pytest.raises(ImportRefusedError):
        import_transcript(ada, HEADER + FRAME * 20)
    erasure.close(Conversation.objects.get().pk)  # again, since the transaction in which it stopped was the test's, too
    assert erasure.erase_unfinished() == 1 and not Conversation.objects.exists()


def test_an_import_whose_owner_is_erased_meanwhile_stops(ada: User, monkeypatch: pytest.MonkeyPatch, database: Database) -> None:
    def erase(row: Conversation) -> None:
        if row.messages.count() == 10:
            erasure.erase_conversation(row.pk)

    set_limits(monkeypatch, "chatui.store", BATCH_MESSAGES=5)
    before_each("SAVEPOINT", database, erase)  # between two transactions
    with pytest.raises(ImportRefusedError):
        import_transcript(ada, HEADER + FRAME * 20)
    assert not Conversation.objects.exists()


def test_an_upload_is_kept_in_memory_up_to_a_limit_and_never_on_disk(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.NamedTemporaryFile", None)
    response = post(signed_in(ada), HEADER + FRAME + b" " * 12_000_000)
    assert response.status_code == 400 and "E-X-TOO-LARGE" in response.content.decode()
    assert post(signed_in(ada), HEADER + FRAME + b" " * 4_000_000).status_code == 302


def post(client: Client, data: bytes):  # type: ignore[no-untyped-def]
    return client.post("/import/", {"file": SimpleUploadedFile("talk.ocml", data)})


def without_pieces(page: str) -> str:
    """A page without the empty things in it that scripts copy."""
    return re.sub(r"(?s)<template.*?</template>", "", page)


def test_an_import_remains_marked_when_it_is_renamed(ada: User) -> None:
    row = import_transcript(ada, HEADER + FRAME).conversation
    client = signed_in(ada)
    assert client.post(f"/c/{row.pk}/rename/", {"title": "My own work"}).status_code == 302
    chat = without_pieces(client.get(f"/c/{row.pk}/").content.decode())
    assert "My own work" in chat and chat.count('class="imported-mark"') == 2, "in the top bar, and in the list"
    assert "not written here" in client.get(f"/c/{row.pk}/share/").content.decode()
    link = client.post(f"/c/{row.pk}/share/", {"days": "7", "leaf": str(Message.objects.get().pk)}, follow=True)
    assert link.status_code == 200
    shared = Client().get(f"/s/{row.share_links.get().token}/").content.decode()
    assert "Imported transcript: not written here." in shared and "My own work" in shared
    assert "\nimported: true\n" in client.get(f"/c/{row.pk}/download/").content.decode()


def test_other_conversations_are_not_marked_as_imported(ada: User, conversation: Conversation) -> None:
    assert "imported" not in without_pieces(signed_in(ada).get(f"/c/{conversation.pk}/").content.decode())
    assert "imported" not in signed_in(ada).get(f"/c/{conversation.pk}/download/").content.decode()
