"""Imports, files and erasure on PostgreSQL: the same constraints of tables, and rows written and deleted in short transactions."""

from pathlib import Path

import pytest

from tests.services.databases import answer_of, own_database
from tests.services.databases import database as database
from tests.services.databases import deployment as deployment
from tests.support.served import Deployment

pytestmark = pytest.mark.services

FILL = r"""
import json
from chatui.models import Conversation, Message, SearchEntry, User
from chatui.store import document_headers
from chatui.transfer.imports import import_transcript
from tests.chatui.store.long_conversations import long_conversation
ada, bela = (User.objects.get(username=name) for name in ("ada", "bela"))
header = b'version: 2.2\nzeta: "\\0"\nalpha: {big: 1.0e+22, nothing: -0.0}\n\n'
row = import_transcript(ada, header + b"<|start|>user<|message|>cabbages<|end|>\n" * 1000).conversation
row.refresh_from_db()
extra = document_headers.header_of(row).extra
long_conversation(ada, 2000)
long_conversation(bela, 4)
found = SearchEntry.objects.filter(conversation=row).count()
print("ANSWER" + json.dumps([list(extra), repr(extra["alpha"]), extra["zeta"], row.deleted_at, found]))
"""
LEFT = r"""
import json
from chatui.audit_log import chain
from chatui.models import Conversation, Message, Turn, User
print("ANSWER" + json.dumps([[m.objects.count() for m in (User, Conversation, Message, Turn)], chain.verify().is_intact]))
"""
COME_BACK = r"""
from chatui.audit_log.lines import LineFilters, rows
from chatui.models import User
from tests.chatui.store.long_conversations import long_conversation
long_conversation(User.objects.create(pk=rows(LineFilters(action="account erased")).get().detail[3:39], username="ada"), 4)
"""
AT_ONCE = r"""
import json, threading
from django.db import connection, transaction
from chatui.models import Conversation, FileContent, FilePiece, StoredFile, User
from chatui.store import erasure
from chatui.store import files
from chatui.store.files import FileRefusedError, NewFile, FileDestination
ada = User.objects.get(username="ada")
kept, gone = (Conversation.objects.create(owner=ada) for _ in range(2))
refused, errors = [], []

def keep(row, data, times):
    try:
        for number in range(times):
            try:
                with transaction.atomic():
                    files.save(FileDestination(ada.pk, row.pk), NewFile.of(f"f{number}", data))
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
whole = all(files.data_of(file) == same for file in StoredFile.objects.all())
together(*[(keep, kept, bytes([letter]) * 600_000, 1) for letter in range(6)])
print("ANSWER" + json.dumps([first, whole, files.bytes_of(ada.pk), len(refused), errors]))
"""


def test_a_person_comes_goes_and_is_forgotten_again_after_a_restore(deployment: Deployment, tmp_path: Path) -> None:
    names, alpha, zeta, deleted_at, found = answer_of(deployment, FILL)
    assert (names, alpha, zeta) == (["zeta", "alpha", "imported"], "{'big': 1e+22, 'nothing': -0.0}", "\x00")
    assert (deleted_at, found) == (None, 1000)
    output = deployment.manage("erase_person", "ada", "--yes")
    assert "2 conversations, " in output and " 3000 messages, " in output and "VACUUM" in output
    assert answer_of(deployment, LEFT) == [[1, 1, 4, 2], True]
    file = tmp_path / "erasures.jsonl"
    deployment.manage("erasures", "export", str(file))
    deployment.manage("shell", "--no-imports", "-c", COME_BACK)
    assert answer_of(deployment, LEFT) == [[2, 2, 8, 4], True]
    assert "1 person erased." in deployment.manage("erasures", "apply", str(file))
    assert answer_of(deployment, LEFT) == [[1, 1, 4, 2], True]


def test_what_is_kept_at_once_is_one_content_within_the_quota_while_another_conversation_is_erased(tmp_path: Path) -> None:
    with own_database() as address:
        deployment = Deployment(tmp_path / "data", CHATUI_DATABASE_URL=address, CHATUI_FILES_OF_PERSON_MB="1")
        deployment.make_people(ada=(False, []))
        first, whole, size, refused, errors = answer_of(deployment, AT_ONCE)
    assert errors == [] and first == [30, 1, 2, 0] and whole
    assert (size, refused) == (900_000, 5), "of six concurrent uploads, only one still fits"
