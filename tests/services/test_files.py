"""Files over PostgreSQL: the same content kept at once is one, the quota holds, and what goes meanwhile takes nothing along."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.services.databases import own_database
from tests.support.served import Deployment

pytestmark = pytest.mark.services

AT_ONCE = r"""
import json, threading
from django.db import connection, transaction
from chatui.models import Conversation, FileContent, FilePiece, StoredFile, User
from chatui.store import erasure
from chatui.store.files import keeping, reading
from chatui.store.files.keeping import FileRefusedError, NewFile, Place
ada = User.objects.get(username="ada")
kept, gone = (Conversation.objects.create(owner=ada) for _ in range(2))
refused, errors = [], []

def keep(row, data, times):
    try:
        for number in range(times):
            try:
                with transaction.atomic():
                    keeping.keep(Place(ada.pk, row.pk), NewFile(f"f{number}", data))
            except FileRefusedError:
                refused.append(number)
    except Exception as error:
        errors.append(repr(error))
    finally:
        connection.close()

def erase():
    try:
        erasure.erase_conversation(gone.pk)
    except Exception as error:
        errors.append(repr(error))
    finally:
        connection.close()

def together(*tasks):
    threads = [threading.Thread(target=task, args=arguments) for task, *arguments in tasks]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]

same = b"x" * 300_000
keep(gone, same, 3)
together(*[(keep, kept, same, 10)] * 3, (erase,))
first = [StoredFile.objects.count(), FileContent.objects.count(), FilePiece.objects.count(), len(refused)]
whole = all(reading.data_of(file) == same for file in StoredFile.objects.all())
together(*[(keep, kept, bytes([letter]) * 600_000, 1) for letter in range(6)])
print("ANSWER" + json.dumps([first, whole, keeping.bytes_of(ada.pk), len(refused), errors]))
"""


def test_what_is_kept_at_once_is_one_content_within_the_quota_while_another_conversation_is_erased(tmp_path: Path) -> None:
    with own_database() as address:
        deployment = Deployment(tmp_path / "data", CHATUI_DATABASE_URL=address, CHATUI_FILES_OF_PERSON_MB="1")
        deployment.make_people(ada=(False, []))
        said = deployment.manage("shell", "--no-imports", "-c", AT_ONCE)
    first, whole, size, refused, errors = json.loads(said.split("ANSWER", 1)[1])
    assert errors == [] and first == [30, 1, 2, 0] and whole
    assert (size, refused) == (900_000, 5), "of six that are begun at once, one still fits"
