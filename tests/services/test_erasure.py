"""Imports and erasure over PostgreSQL: the same rules of tables, and rows that are kept and go in short transactions there, too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services.databases import own_database
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
print("ANSWER" + json.dumps([[m.objects.count() for m in (User, Conversation, Message, Turn)], chain.verify().is_whole]))
"""
COME_BACK = r"""
from chatui.audit_log.lines import Filters, rows
from chatui.models import User
from tests.chatui.store.long_conversations import long_conversation
long_conversation(User.objects.create(pk=rows(Filters(action="account erased")).get().detail[3:39], username="ada"), 4)
"""


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """The product over a database of our own, without a server."""
    with own_database() as address:
        deployment = Deployment(tmp_path_factory.mktemp("data"), CHATUI_DATABASE_URL=address)
        deployment.make_people(ada=(False, []), bela=(False, []))
        yield deployment


def run(deployment: Deployment, code: str):
    return json.loads(deployment.manage("shell", "--no-imports", "-c", code).split("ANSWER", 1)[1])


def test_a_person_comes_goes_and_is_forgotten_again_after_a_restore(deployment: Deployment, tmp_path: Path) -> None:
    names, alpha, zeta, deleted_at, found = run(deployment, FILL)
    assert (names, alpha, zeta) == (["zeta", "alpha", "imported"], "{'big': 1e+22, 'nothing': -0.0}", "\x00")
    assert (deleted_at, found) == (None, 1000)
    said = deployment.manage("erase_person", "ada", "--yes")
    assert "2 conversations, 0 folders, 3000 messages" in said and "VACUUM" in said
    assert run(deployment, LEFT) == [[1, 1, 4, 2], True]
    file = tmp_path / "erasures.jsonl"
    deployment.manage("erasures", "export", str(file))
    deployment.manage("shell", "--no-imports", "-c", COME_BACK)
    assert run(deployment, LEFT) == [[2, 2, 8, 4], True]
    assert "1 person erased." in deployment.manage("erasures", "apply", str(file))
    assert run(deployment, LEFT) == [[1, 1, 4, 2], True]
