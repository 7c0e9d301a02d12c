"""Search on PostgreSQL: the same results as on SQLite, using the index, whose rows are deleted with their conversations."""

import psycopg
import pytest

from tests.services.databases import answer_of
from tests.services.databases import database as database
from tests.services.databases import deployment as deployment
from tests.support.served import Deployment

pytestmark = pytest.mark.services

FILL = """
from chatui.models import Conversation, User
from renderer.frames import Frame, Header
from tests.support.messages import add_message
ada, bela = (User.objects.get(username=name) for name in ("ada", "bela"))
for owner in (ada, bela):
    row = Conversation.objects.create(owner=owner, title="Talk")
    parent = None
    for number in range(300):
        parent = add_message(row, parent, Frame(Header("user"), f"Cabbage number {number} of {owner.username}"), "person")
    thought = add_message(row, parent, Frame(Header("assistant", channel="analysis"), "walruses"), "model")
    header = Header("assistant", channel="final")
    short = "Mietvertrag \\uc815\\uae30\\ud68c\\uc758\\ub85d\\uc5d0\\uc11c R\\u00e9sum\\u00e9 \\u6771\\u4eac\\u90fd\\u5e81 'quoted' "
    short += "x" * 5000
    final = add_message(row, thought, Frame(header, short), "model")
    add_message(row, final, Frame(header, " ".join(f"w\\u00f6rd{n}" for n in range(70000))), "model")
"""
ASK = """
import json
from chatui.display import search
from chatui.models import User
people = {{person.username: person for person in User.objects.all()}}
def text(hit): return "".join(piece.text for piece in hit.excerpt)
print("ANSWER" + json.dumps([[text(hit) for hit in search.search(people[name], typed).hits] for name, typed in {asks!r}]))
"""
PAGES = """
import json
from chatui.display import search
from chatui.models import User
ada, before, seen = User.objects.get(username="ada"), None, []
while True:
    page = search.search(ada, "cabbage", before)
    seen += ["".join(piece.text for piece in hit.excerpt) for hit in page.hits]
    before = page.before
    if before is None: break
print("ANSWER" + json.dumps(seen))
"""


@pytest.fixture(scope="module", autouse=True)
def _filled(deployment: Deployment) -> None:
    deployment.manage("shell", "--no-imports", "-c", FILL)


def search(deployment: Deployment, *asks: tuple[str, str]) -> list[list[str]]:
    """The results of searches, each by a person's name and what they typed. One process runs all, because starting it takes longest."""
    return answer_of(deployment, ASK.format(asks=asks))  # type: ignore[no-any-return]


FOUND = {
    "cabb 299": 1,
    "CABBAGE": 20,
    "resume": 1,
    "京都": 1,
    "庁": 1,
    "東庁": 0,
    "walruses": 0,
    "wörd77": 1,
    "vertrag": 1,
    "회의": 1,
    "회의록을": 1,
    "정록": 0,
    "cabbage:* | walruses": 0,
    "'quoted' & !x": 0,
    "quoted'": 1,
    "\\ ' \" :* <-> (": 0,
}
"""What people type, and the number of results on the first page."""


def test_each_person_finds_their_own_visible_words_and_no_sign_is_an_operator(deployment: Deployment) -> None:
    asks = [(name, typed) for typed in FOUND for name in ("ada", "bela")]
    for (name, typed), texts in zip(asks, search(deployment, *asks), strict=True):
        other = "bela" if name == "ada" else "ada"
        assert len(texts) == FOUND[typed], (name, typed)
        assert not [text for text in texts if f"of {other}" in text], (name, typed)


def test_results_come_newest_first_and_every_one_once(deployment: Deployment) -> None:
    assert answer_of(deployment, PAGES) == [f"Cabbage number {number} of ada" for number in reversed(range(300))]


def test_the_index_is_used(deployment: Deployment, database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("SET enable_seqscan = off")
        rows = connection.execute(
            "EXPLAIN SELECT id FROM chatui_searchentry WHERE array_to_tsvector(string_to_array(terms, ' ')) @@ '''x'':*'::tsquery"
        ).fetchall()
    assert "chatui_words" in str(rows)


OLD = """
import json
from io import StringIO
from django.core.management import call_command
from chatui.display import search
from chatui.models import Reindexing, SearchEntry, User
from chatui.store import search_words
new = dict(SearchEntry.objects.values_list("pk", "terms"))
for row in SearchEntry.objects.filter(terms__contains=search_words.INNER):
    row.terms = " ".join(term for term in row.terms.split() if search_words.INNER not in term)
    row.save()
ada, out = User.objects.get(username="ada"), StringIO()
before = len(search.search(ada, "vertrag").hits)
Reindexing.objects.create(index="messages", below=2**63 - 1)
call_command("reindex", stdout=out)
after = len(search.search(ada, "vertrag").hits)
print("ANSWER" + json.dumps([before, after, out.getvalue(), new == dict(SearchEntry.objects.values_list("pk", "terms"))]))
"""


def test_rows_of_an_earlier_release_are_indexed_again(deployment: Deployment) -> None:
    before, after, said, is_new = answer_of(deployment, OLD)
    assert (before, after, is_new) == (0, 1, True) and "Indexed 604 " in said


def test_deleted_conversations_leave_no_row_in_the_index(deployment: Deployment, database: str) -> None:
    count = "SELECT count(*) FROM chatui_searchentry"
    with psycopg.connect(database, autocommit=True) as connection:
        before = connection.execute(count).fetchone()
        assert before and before[0] == 604
        deployment.manage(
            "shell", "--no-imports", "-c", "from chatui.models import User; User.objects.get(username='bela').conversations.get().delete()"
        )
        after = connection.execute(count).fetchone()
    assert after and after[0] == 302
    of_bela, of_ada = search(deployment, ("bela", "cabbage"), ("ada", "cabbage"))
    assert of_bela == [] and len(of_ada) == 20
