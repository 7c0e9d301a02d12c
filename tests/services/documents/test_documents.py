"""Documents on PostgreSQL: searches use the index and find passages with their page, and only their owner's."""

import psycopg
import pytest

from tests.services.databases import answer_of
from tests.services.databases import database as database
from tests.services.databases import deployment as deployment
from tests.support.served import Deployment

pytestmark = pytest.mark.services

ASK = """
import json
from django.db import transaction
from chatui.documents.reading import TextPart
from chatui.models import Conversation, DocumentPassage, User
from chatui.store import documents, passages, search_words
from chatui.store.passages import SearchedBranch
from tests.chatui.store.uploads import uploaded_with
from tests.support.messages import add_documents
files, branches = {}, {}
for name, word in (("ada", "green tea"), ("bela", "cocoa")):
    person = User.objects.get(username=name)
    parts = [TextPart(f"page {n}", f"{'Words of no interest. ' * 40} harvest{n}.") for n in range(1, 20)]
    parts[11] = TextPart("page 12", f"The price of {word} fell in \\u00dcbersee. \\u7dd1\\u8336\\u306e\\u4fa1\\u683c\\u3002")
    row = Conversation.objects.create(owner=person)
    with transaction.atomic():
        files[name] = uploaded_with(person, f"{name}.pdf", *parts, kind="pdf")
        add_documents(row, files[name], use="search")
    branches[name] = SearchedBranch(row.pk, row.messages.order_by("-position").first().pk)
    passages.index(files[name].content_id)
def found(name, asked): return [[each.name, each.label] for each in passages.find(branches[name], asked, "", 3)]
def own(name, asked):
    query = search_words.query(asked)
    return [passage.label for passage, _ in passages.find_in_own_files(User.objects.get(username=name).pk, query, 5, 1.0)]
asked = {text: found("ada", text)[:1] for text in ("price tea", "UBERSEE", "\\u8336\\u306e\\u4fa1", "harvest17", "cocoa", "' & ( | : *")}
owned = {text: own("ada", text) for text in ("price tea", "price cocoa")}
before = DocumentPassage.objects.count()
documents.delete(files["ada"])
print("ANSWER" + json.dumps([asked, owned, found("ada", "price"), before, DocumentPassage.objects.count()]))
"""


def test_passages_are_found_as_over_sqlite_and_go_with_their_file(deployment: Deployment) -> None:
    results, owned, after, before, left = answer_of(deployment, ASK)
    here = [["ada.pdf", "page 12"]]
    assert results == {
        "price tea": here,
        "UBERSEE": here,
        "茶の価": here,
        "harvest17": [["ada.pdf", "page 17"]],
        "cocoa": [],
        "' & ( | : *": [],
    }
    assert owned == {"price tea": ["page 12"], "price cocoa": []}, "all words must match, and only in one's own documents"
    assert after == [] and (before, left) == (38, 19)


def test_a_word_is_looked_up_in_the_index(database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("SET enable_seqscan = off")
        plan = connection.execute(
            "EXPLAIN SELECT id FROM chatui_documentpassage "
            "WHERE array_to_tsvector(string_to_array(terms, ' ')) @@ '''0000000001tea'':*'::tsquery LIMIT 10"
        ).fetchall()
    assert any("Index Scan" in line for (line,) in plan), plan
