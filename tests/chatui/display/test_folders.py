"""Folders: races between deletion and other changes, and valid names."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, connection

from chatui.display import folders, own_data
from chatui.models.conversation import Conversation, Folder
from chatui.models.user import User
from chatui.permissions import access
from chatui.transfer import exports
from tests.support.turns import ask, store

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def work(ada: User) -> Folder:
    return Folder.objects.create(owner=ada, name="Work", instructions="Answer in Latin.")


def put_in(person: User, folder: Folder) -> None:
    row = Conversation.objects.create(owner=person, title="A")
    own_data.move(person, [row.pk], str(folder.pk))


def begin_in(person: User, folder: Folder) -> None:
    store(person, ask(text="A", folder=folder.pk), "a process")


def rename(person: User, folder: Folder) -> None:
    Conversation.objects.create(owner=person, title="A", folder=folder)
    folders.change(person, folder.pk, "Home", "")


@pytest.mark.parametrize("act", [put_in, begin_in, rename])
def test_a_folder_is_deleted_after_concurrent_changes_that_found_it(
    act: Callable[[User, Folder], None], ada: User, work: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    find, failures = access.own_folder, []

    def delete() -> None:
        try:
            folders.delete(ada, work.pk)
        except DatabaseError as error:
            failures.append(error)
        finally:
            connection.close()

    deleting = threading.Thread(target=delete)

    def found_first(*which: Any, **how: Any) -> Folder:
        monkeypatch.setattr(access, "own_folder", find)
        row = find(*which, **how)
        deleting.start()
        deleting.join(0.3)
        return row

    monkeypatch.setattr(access, "own_folder", found_first)
    act(ada, work)
    deleting.join(20)
    assert not failures and not Folder.objects.exists()
    assert Conversation.objects.get(title="A").folder is None


def test_an_export_is_complete_if_a_folder_is_deleted_meanwhile(ada: User, work: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    find = access.own_folders

    def found_and_gone(*which: Any, **how: Any) -> list[Folder]:
        rows = find(*which, **how)
        Folder.objects.all().delete()
        return rows

    monkeypatch.setattr(access, "own_folders", found_and_gone)
    _about, (name, text), _account = exports.all_files(ada)
    description = {"name": "Work", "instructions": "Answer in Latin.", "conversations": []}
    assert (name, json.loads(str(text))) == ("folders.json", {"folders": [description]})


@pytest.mark.parametrize("name", ["\u200b", "\u202e\u2066", "\u200d\u200c", " \u3164 \u2800", "\ufe0f", "\u0301", "\U000e0041", "\u00ad"])
def test_an_invisible_name_is_refused(name: str) -> None:
    assert folders.clean_name(name) == ""
