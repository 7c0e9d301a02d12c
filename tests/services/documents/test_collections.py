"""Collections on PostgreSQL, where documents are really added at once: no limit is exceeded, and an heir gets all of them."""

import pytest

from tests.services.databases import answer_of
from tests.services.databases import database as database
from tests.services.databases import deployment as deployment
from tests.support.served import Deployment

pytestmark = pytest.mark.services

AT_ONCE = """
import json, threading, time
from django.contrib.auth.models import Group
from django.db import connection
from chatui.audit_log.record import Visitor
from chatui.models import User
from chatui.models.collections import Collection
from chatui.models.files import FileContent, StoredFile
from chatui.permissions.access import NotFoundError
from chatui.store import collections as store, ownership_transfer
from chatui.transfer import collections
store.MAX_DOCUMENTS = 3
ada, bela = (User.objects.get(username=name) for name in ("ada", "bela"))
office = Group.objects.create(name="office")
said = []

def made():
    row = Collection.objects.create(owner=ada, name="Handbook")
    row.groups.add(office)
    return row

def each_at_once(*deeds):
    barrier = threading.Barrier(len(deeds))
    def run(deed):
        try:
            barrier.wait()
            said.append(deed())
        except NotFoundError:
            said.append("no such collection")
        finally:
            connection.close()
    threads = [threading.Thread(target=run, args=(deed,)) for deed in deeds]
    for each in threads: each.start()
    for each in threads: each.join()

def adds(row, number, name=None):
    upload = collections.FileUpload(name or f"{number}.txt", f"Rule {number} of the office.".encode())
    return lambda: [refused.why for refused in collections.add(Visitor(ada, "192.0.2.7", "page"), row.pk, [upload])]

def now(row): return StoredFile.objects.filter(collection=row, replaced_at=None)

full = made()
each_at_once(*(adds(full, number) for number in range(8)))
limited = now(full).count(), sorted(map(str, said))

said.clear()
same = made()
each_at_once(*(adds(same, number, "rules.txt") for number in range(4)))
versions = now(same).count(), StoredFile.objects.filter(collection=same).count()

said.clear()
given = made()
files_of = ownership_transfer._transfer_files
def slowly(rows, heir):
    found = files_of(rows, heir)
    time.sleep(1.0)  # what is added meanwhile would stay behind
    return found
ownership_transfer._transfer_files = slowly
each_at_once(*(adds(given, number) for number in range(3)), lambda: ownership_transfer._transfer_collection(given, bela))
given.refresh_from_db()
files = StoredFile.objects.filter(collection=given)
contents = FileContent.objects.filter(files__in=files)
owners = [given.owner.username, *{owner for rows in (files, contents) for owner in rows.values_list("owner__username", flat=True)}]
print("ANSWER" + json.dumps([limited, versions, sorted(set(owners)), StoredFile.objects.filter(brought_in__isnull=False).count()]))
"""


def test_documents_that_are_added_at_once(deployment: Deployment) -> None:
    limited, versions, owners, left = answer_of(deployment, AT_ONCE)
    assert limited == [3, ["['full']"] * 5 + ["[]"] * 3], "as many as a collection may have, and the others are refused"
    assert versions == [1, 4], "of one name, the last one counts"
    assert owners == ["bela"], "of a collection that became an heir's, nothing stays its former owner's"
    assert left == 0, "no upload is left over"
