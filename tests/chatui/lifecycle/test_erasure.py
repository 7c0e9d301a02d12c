"""Erased people: all of their text and their name in every table and file, by each way to erase, and only with the permission."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.apps import apps
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management import CommandError
from django.db import DatabaseError, connection, models
from django.test import Client

from chatui.audit_log import chain
from chatui.audit_log.record import SHELL
from chatui.lifecycle import erasure as lifecycle_erasure
from chatui.models.audit import AttemptWarning, AuditEvent
from chatui.models.collections import Collection
from chatui.models.conversation import Conversation, Folder
from chatui.models.debug_requests import DebugRequest
from chatui.models.invitations import Invitation
from chatui.models.message import Message
from chatui.models.programs import ApiKey
from chatui.models.saved_prompts import SavedPrompt
from chatui.models.sign_in import PasswordLink
from chatui.models.tools import ToolConfirmation
from chatui.models.turn import TurnState
from chatui.models.user import AccountChange, User
from chatui.permissions import four_eyes
from chatui.store import assistants, erasure, files
from chatui.store.files import FileDestination, NewFile
from chatui.transfer import exports
from chatui.turns import running
from tests.chatui.conftest import make_person, output_of, signed_in
from tests.chatui.store import pieces
from tests.chatui.store.long_conversations import MODELS, long_conversation
from tests.support.people import are_linked
from tests.support.places import ROOT
from tests.support.scripted import FINAL, ScriptedBackend, answer, frame
from tests.support.turns import ask, begin

pytestmark = pytest.mark.django_db

WORD = "zymurgycanary"


@pytest.fixture
def written(ada: User, grace: User) -> Conversation:
    """Everything that can be Ada's, and a conversation of Grace's that has nothing to do with her."""
    row = long_conversation(ada, 6, WORD)
    row.folder = Folder.objects.create(owner=ada, name=f"About {WORD}", instructions=f"Say {WORD} often.")
    row.save()
    Folder.objects.create(owner=grace, name="About carrots", instructions="Say carrot often.")
    helper = assistants.create(ada, {"name": f"About {WORD}", "instructions": f"Say {WORD} often."})
    SavedPrompt.objects.create(owner=ada, name=f"About {WORD}", text=f"Say {WORD} often.")
    Collection.objects.create(owner=ada, name=f"About {WORD}")
    files.save(FileDestination(ada.pk, row.pk), NewFile.of(f"About {WORD}.txt", WORD.encode()))
    Conversation.objects.filter(pk=row.pk).update(began_with_assistant=True, assistant_version=helper.versions.get())
    Conversation.objects.filter(pk=long_conversation(ada, 2, WORD).pk).update(deleted_at="2026-01-01T00:00Z")
    other = long_conversation(grace, 4, "carrot")
    DebugRequest.objects.create(conversation=row, person=grace, minutes=15, reason=f"about {WORD}", decided_by=ada)
    DebugRequest.objects.create(conversation=other, person=ada, minutes=15, reason=f"about {WORD}")
    DebugRequest.objects.create(conversation=other, person=grace, minutes=15, decided_by=ada)
    AttemptWarning.objects.create(person_name="ada", day="2026-11-20", attempts=7)
    AttemptWarning.objects.create(person_name="grace", day="2026-11-20", attempts=7, acknowledged_by="ada")
    AccountChange.objects.create(changer_id=grace.pk, changed_id=ada.pk, what="account changed: is called ada now")
    for whose, maker in ((ada, "grace"), (grace, "ada")):
        PasswordLink.objects.create(user=whose, made_by_name=maker, expires_at="2030-01-01T00:00Z")
    ApiKey.objects.create(owner=grace, name="A wiki", prefix="a", digest="a", made_by_name="ada")
    ToolConfirmation.objects.create(name="wiki_search_pages", decided_at="2026-11-20T00:00Z", decided_by="ada")
    Invitation.objects.create(made_by=grace, used_by=ada, note="for ada", expires_at="2030-01-01T00:00Z")
    about = ContentType.objects.get_for_model(User)
    for who, target in ((grace, ada), (ada, grace)):
        LogEntry.objects.create(user=who, content_type=about, object_id=str(target.pk), object_repr=target.username, action_flag=CHANGE)
    signed_in(ada)
    return row


def test_nothing_of_a_person_is_left_in_any_table_but_the_audit_log(ada: User, grace: User, written: Conversation) -> None:
    key, name = ada.pk, ada.username
    assert len(list(traces_of(key, name))) > 15, "there is nothing to erase, so this test would prove nothing"
    lifecycle_erasure.erase(SHELL, ada)
    assert list(traces_of(key, name)) == []
    left = {model.__name__: model.objects.count() for model in MODELS}  # type: ignore[attr-defined]
    assert left == {
        "Conversation": 1,
        "Message": 4,
        "Turn": 2,
        "SearchEntry": 5,
        "ActiveLeaf": 1,
        "ShareLink": 1,
        "DebugRequest": 2,
        "Rating": 1,
    }
    assert Folder.objects.get().owner == grace
    assert User.objects.get() == grace and AttemptWarning.objects.get().person_name == "grace"


def traces_of(key: object, name: str) -> list[str]:
    """Every column of every table that refers to the person or holds the name or the word, found by the columns themselves."""
    tables = [model for model in apps.get_models(include_auto_created=True) if model is not AuditEvent]
    columns = [(model, field) for model in tables for field in model._meta.local_concrete_fields]
    found = [
        f"{model.__name__}.{field.name}"
        for model, field in columns
        if any(model._default_manager.filter(question).exists() for question in questions(field, key, name))
    ]
    sessions = apps.get_model("sessions", "Session").objects.all()
    return found + ["Session" for session in sessions if session.get_decoded().get("_auth_user_id") == str(key)]


def questions(field: models.Field, key: object, name: str) -> list[models.Q]:  # type: ignore[type-arg]
    """What to ask of a column that would betray the person."""
    if isinstance(field, models.ForeignKey):
        return [models.Q(**{field.attname: key})] if field.related_model is User else []
    if isinstance(field, models.CharField | models.TextField):
        return [models.Q(**{f"{field.name}__icontains": WORD}), models.Q(**{f"{field.name}__regex": rf"\b{name}\b"})]
    return []


OWNED = {
    "ApiKey": ("", "account.json"),
    "Assistant": ("assistants", "assistants.json"),
    "Collection": ("collections", "collections.json"),
    "Conversation": ("conversations", "….ocml"),
    "FileContent": ("files", "…/"),
    "Folder": ("folders", "folders.json"),
    "SavedPrompt": ("saved prompts", "prompts.json"),
    "StoredFile": ("files", "…/"),
}
"""What a person owns: by the name of the table the kind that an erasure counts, and the file of the archive as its READ-ME.txt says it. A
key is no text: it is not counted."""


def test_whatever_a_person_owns_is_erased_and_counted_and_is_in_their_archive(ada: User, written: Conversation) -> None:
    tables = {model.__name__ for model in apps.get_models() if any(field.name == "owner" for field in model._meta.local_concrete_fields)}
    assert tables == set(OWNED), "write into OWNED what an erasure counts it as, and which file of the archive has it"
    assert tables - {trace.partition(".")[0] for trace in traces_of(ada.pk, ada.username)} == set(), (
        "make a row of Ada's in the fixture written"
    )
    counts = lifecycle_erasure.contents_of(ada).counts
    assert {kind for kind, _ in OWNED.values() if kind and not counts.get(kind)} == set(), "count it in chatui/lifecycle/erasure.py"
    archive = dict(exports.all_files(ada))
    kept = {file for _, file in OWNED.values()}
    assert {file for file in kept if not any(is_called(name, file) for name in archive)} == set(), "add it in chatui/transfer/exports.py"
    told = {"READ-ME.txt": str(archive[exports.ABOUT]), "docs/usage.md": (ROOT / "docs/usage.md").read_text(encoding="utf-8")}
    assert {(file, where) for where, text in told.items() for file in kept if file not in text} == set(), "say there what the file has"


def is_called(name: str, file: str) -> bool:
    """Whether a file of an archive is the one that its READ-ME.txt calls so: ``…`` is any name."""
    return file.removeprefix("…") in name if file.startswith("…") else name == file


MINE = {
    *("2 conversations", "1 folders", "1 assistants", "1 collections", "1 saved prompts", "1 files"),
    *("8 messages", "4 turns", "2 share links", "4 debug requests"),
}
"""What ``written`` has of Ada, without the kinds of which there is nothing."""


def counted(text: str) -> set[str]:
    """What a text counts, without zeros."""
    return set(re.findall(r"\b[1-9][0-9]* [a-z]+(?: [a-z]+)?(?=[,.\n]|$)", text))


def test_the_audit_log_keeps_the_name_and_records_the_erasure(ada: User, written: Conversation) -> None:
    signed_in(ada).get(f"/c/{written.pk}/debug/")
    before, key = AuditEvent.objects.filter(actor_name="ada").count(), ada.pk
    assert before == 1
    lifecycle_erasure.erase(SHELL, ada)
    line = AuditEvent.objects.order_by("number").last()
    assert line is not None and (line.action, line.way, line.owner_name) == ("account erased", "shell", "ada")
    assert line.detail.startswith(f"id {key}: ") and counted(line.detail) == MINE
    assert AuditEvent.objects.filter(actor_name="ada").count() == before
    assert chain.verify().is_intact


def test_an_erasure_that_cannot_be_recorded_does_not_happen(ada: User, written: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise DatabaseError

    monkeypatch.setattr(lifecycle_erasure, "record", refuse)
    with pytest.raises(DatabaseError):
        lifecycle_erasure.erase(SHELL, ada)
    assert Message.objects.filter(conversation=written).count() == 6 and User.objects.get(pk=ada.pk).is_active


def test_an_interrupted_erasure_ends_sessions_and_can_be_repeated(
    ada: User, written: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, erase = signed_in(ada), erasure.erase_conversation

    def break_off(key: Any) -> int:
        erase(key)
        raise DatabaseError

    monkeypatch.setattr(erasure, "erase_conversation", break_off)
    with pytest.raises(DatabaseError):
        lifecycle_erasure.erase(SHELL, ada)
    assert client.get("/").status_code == 302 and not Client().login(username="ada", password="correct horse battery")
    monkeypatch.undo()
    lifecycle_erasure.erase(SHELL, User.objects.get(username="ada"))
    assert not User.objects.filter(username="ada").exists() and not Conversation.objects.filter(owner_id=ada.pk).exists()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("vacuum", [False, True])
def test_no_text_is_left_in_the_files_of_the_database(vacuum: bool, ada: User, written: Conversation) -> None:
    long_conversation(ada, 200, WORD)
    with connection.cursor() as cursor:
        # Debian's SQLite does so unasked, others do not.
        assert cursor.execute("PRAGMA secure_delete").fetchone() == (1,)
    words = [WORD.encode(), b"7a796d75726779", ada.password.encode()]
    assert all(word in file_bytes() for word in (words[0], words[2])), "not there before, so this test would prove nothing"
    erased = lifecycle_erasure.erase(SHELL, ada, vacuum=vacuum)
    assert erased.warning == "" and [word for word in words if word in file_bytes()] == []
    assert b"carrot" in file_bytes() and b"account erased" in file_bytes()


def file_bytes() -> bytes:
    name = connection.settings_dict["NAME"]
    return b"".join(path.read_bytes() for ending in ("", "-wal", "-shm", "-journal") if (path := Path(f"{name}{ending}")).exists())


def test_the_operator_is_told_if_the_write_ahead_log_could_not_be_emptied(ada: User) -> None:
    assert connection.in_atomic_block, "the premise: somebody holds the database"
    assert lifecycle_erasure.erase(SHELL, ada).warning == lifecycle_erasure.BUSY


@pytest.mark.django_db(transaction=True)
async def test_an_answer_that_is_being_written_is_stopped_and_writes_nothing_more(ada: User, backend: ScriptedBackend) -> None:
    gate = asyncio.Event()
    backend.script = [*frame(FINAL, "one two"), gate, *answer()]
    row = await Conversation.objects.acreate(owner=ada)
    question = ask(text="Go on", effort="low", conversation=row.pk)
    await begin(ada, question)
    await asyncio.wait_for(backend.waiting.wait(), 10)
    await database_sync_to_async(lifecycle_erasure.erase)(SHELL, ada)
    await asyncio.wait_for(running.settle(), 10)
    assert backend.closed == 1 and not gate.is_set()
    assert not await Message.objects.aexists() and not await User.objects.aexists()


def test_a_turn_of_another_process_may_not_write_into_what_is_being_erased(ada: User, written: Conversation) -> None:
    turn = written.turns.order_by("pk").first()
    assert turn is not None
    type(turn).objects.filter(pk=turn.pk).update(state=TurnState.RUNNING, lease_owner="another")
    pieces.leave(turn.pk, WORD)
    erasure.close(written.pk)
    turn.refresh_from_db()
    assert (turn.state, turn.lease_owner) == (TurnState.STOPPED, "") and not turn.pieces.exists()


# --- its page -----------------------------------------------------------------------------------------------------------------------


ERASER = ["delete_user", "view_user"]


def page_of(person: User) -> str:
    return f"/manage/people/{person.pk}/erase/"


def test_a_superuser_erases_somebody_who_has_written_much(root: User, ada: User) -> None:
    long_conversation(ada, 60)
    client = signed_in(root)
    page = client.get(page_of(ada)).content.decode()
    assert counted(page) >= {"1 conversation", "60 messages", "30 turns", "1 share link", "1 debug request"} and "cabbage" not in page
    wrong = client.post(page_of(ada), {"name": "adam"})
    assert "This is not the name of the account." in wrong.content.decode() and User.objects.filter(pk=ada.pk).exists()
    response = client.post(page_of(ada), {"name": "ada"}, follow=True)
    assert response.status_code == 200 and "ada was erased" in response.content.decode()
    assert not User.objects.filter(username="ada").exists() and not Message.objects.exists()
    line = AuditEvent.objects.get(action="account erased")
    assert (line.actor_name, line.way, line.owner_name) == ("root", "admin", "ada")


def test_an_erasure_counts_for_the_four_eyes_rule(root: User, ada: User, bela: User) -> None:
    four_eyes.record_change(ada, [bela.pk], "account changed")
    assert not are_linked(root, bela), "the premise"
    signed_in(root).post(page_of(ada), {"name": "ada"})
    assert not User.objects.filter(username="ada").exists() and are_linked(root, bela)


def test_nobody_erases_themselves_or_accounts_with_more_permissions(grace: User, sam: User, root: User) -> None:
    sam.user_permissions.set(Permission.objects.filter(codename__in=ERASER))
    for who, target in ((sam, grace), (sam, root), (sam, sam), (root, root)):
        assert signed_in(who).post(page_of(target), {"name": target.username}).status_code == 404
        assert signed_in(who).get(page_of(target)).status_code == 404
    assert User.objects.count() == 3


# --- the command line ---------------------------------------------------------------------------------------------------------------


def test_a_dry_run_counts_and_erases_nothing(ada: User, written: Conversation) -> None:
    said = output_of("erase_person", "ada", "--dry-run")
    assert said.startswith("ada: ") and said.count("\n") == 1 and counted(said) == MINE
    assert User.objects.filter(pk=ada.pk).exists() and not AuditEvent.objects.exists()


@pytest.mark.parametrize(("typed", "is_accepted"), [("ada", True), ("yes", False), ("", False), (None, False)])
def test_the_name_has_to_be_typed(typed: str | None, is_accepted: bool, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def type_it() -> str:
        if typed is None:
            raise EOFError
        return typed

    monkeypatch.setattr("builtins.input", type_it)
    if is_accepted:
        assert "Erased." in output_of("erase_person", "ada")
    else:
        with pytest.raises(CommandError, match="Nothing was erased"):
            output_of("erase_person", "ada")
    assert User.objects.filter(pk=ada.pk).exists() is not is_accepted


def test_yes_skips_the_confirmation_and_unknown_names_are_errors(ada: User) -> None:
    assert "Erased." in output_of("erase_person", "ada", "--yes")
    with pytest.raises(CommandError, match="no such account"):
        output_of("erase_person", "ada", "--yes")


# --- the list of erasures -------------------------------------------------------------------------------------------------------------


def test_erasures_are_repeated_in_a_restored_backup(ada: User, bela: User, tmp_path: Path) -> None:
    ids, file = {"ada": ada.pk, "bela": bela.pk}, tmp_path / "erasures.jsonl"
    for name in ids:
        output_of("erase_person", name, "--yes")
    output_of("erasures", "export", str(file))
    assert file.stat().st_mode & 0o777 == 0o600 and len(file.read_text().splitlines()) == 2
    # The backup brings Ada back, under the id that she had. Somebody else has become Bela.
    again = User.objects.create(pk=ids["ada"], username="ada")
    long_conversation(again, 4)
    stranger = make_person("bela")
    assert "ada: 1 conversations" in output_of("erasures", "apply", str(file), "--dry-run") and User.objects.filter(pk=again.pk).exists()
    assert output_of("erasures", "apply", str(file)).endswith("1 person erased.\n")
    assert User.objects.get() == stranger and not Message.objects.exists()
    assert AuditEvent.objects.filter(action="account erased", owner_name="ada").count() == 2
    assert output_of("erasures", "apply", str(file)) == "0 people erased.\n"


def test_a_list_only_grows(ada: User, tmp_path: Path) -> None:
    file = tmp_path / "erasures.jsonl"
    earlier = '{"id": "0193f2a0-0000-7000-8000-000000000000", "name": "grace", "at": "2026-01-01T00:00:00+00:00"}\n'
    file.write_text(earlier)
    output_of("erase_person", "ada", "--yes")
    for _ in range(2):
        output_of("erasures", "export", str(file))
    lines = file.read_text().splitlines(keepends=True)
    assert lines[0] == earlier and len(lines) == 2 and '"name": "ada"' in lines[1]
    assert output_of("erasures", "export") == lines[1], "standard output has those of this database"


@pytest.mark.parametrize("text", ["{", "[]", '{"id": "x", "name": "a", "at": "b"}', '{"name": "a"}'])
def test_an_invalid_list_is_refused_and_nobody_is_erased(text: str, ada: User, tmp_path: Path) -> None:
    file = tmp_path / "erasures.jsonl"
    good = f'{{"id": "{ada.pk}", "name": "ada", "at": "2026-01-01T00:00:00+00:00"}}\n'
    file.write_text(good + text)
    for what in ("apply", "export"):
        with pytest.raises(CommandError, match="line 2"):
            output_of("erasures", what, str(file))
    assert User.objects.filter(pk=ada.pk).exists()
    with pytest.raises(CommandError, match="cannot be read"):
        output_of("erasures", "apply", str(tmp_path / "nothing"))
