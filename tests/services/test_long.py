"""Long conversations and long lists on PostgreSQL: the same windows as on SQLite, and every statement uses an index."""

import re

import pytest

from tests.browser.conversation.long_talks import make_long_talk
from tests.services.databases import answer_of
from tests.services.databases import database as database
from tests.services.databases import deployment as deployment
from tests.support.served import Deployment

pytestmark = pytest.mark.services

EXCHANGES = 2_000
WALK = """
import json
from django.db import connection
from django.test.utils import CaptureQueriesContext
from chatui.display import windows
from chatui.display.conversation_list import shown_list
from chatui.models import Conversation, Message, User
from chatui.store import transcripts
ada = User.objects.get(username="ada")
row = Conversation.objects.get(title="A long talk")
def numbers(shown): return [int(each.question.text.split()[1][:-1]) for each in shown.exchanges]
with CaptureQueriesContext(connection) as statements:
    end = windows.latest(row)
above = windows.earlier(row, Message.objects.get(pk=end.earlier))
middle = windows.around(row, Message.objects.get(pk={answer!r}))
below = windows.later(row, Message.objects.get(pk=middle.later))
first = row.messages.get(position=0)
plans = []
for each in statements.captured_queries:
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off")  # tables as small as these are read whole otherwise
        cursor.execute("EXPLAIN " + each["sql"])
        plans.append(chr(10).join(line for (line,) in cursor.fetchall()))
Conversation.objects.bulk_create([Conversation(owner=ada, title=str(number)) for number in range(200)])
page, titles = shown_list(ada), []
while True:
    titles += [link.title for link in page.conversations]
    if not page.next_cursor: break
    page = shown_list(ada, start=page.next_cursor)
print("ANSWER" + json.dumps({{
    "windows": [numbers(shown) for shown in (end, above, middle, below)], "titles": titles, "plans": plans,
    "leaf": transcripts.deepest(row, first).position,
}}))
"""


def test_windows_and_pages_are_the_same_and_no_statement_reads_a_whole_conversation(deployment: Deployment) -> None:
    _, answer = make_long_talk(deployment, "ada", EXCHANGES, shown=1_000)
    deployment.manage("shell", "--no-imports", "-c", "from django.db import connection; connection.cursor().execute('ANALYZE')")
    result = answer_of(deployment, WALK.format(answer=answer))
    end, above, middle, below = result["windows"]
    assert end == list(range(EXCHANGES - 19, EXCHANGES + 1)) and above == list(range(EXCHANGES - 39, EXCHANGES - 19))
    assert 1_000 in middle and below == list(range(middle[-1] + 1, middle[-1] + 21))
    assert result["leaf"] == 2 * EXCHANGES - 1
    assert sorted(result["titles"]) == sorted(["A long talk", *map(str, range(200))])
    assert [plan for plan in result["plans"] if "chatui_message_pkey" in plan], "the premise: plans name the indexes that they use"
    slow = [plan for plan in result["plans"] if re.search(r"Seq Scan on chatui_(message|turn)|chatui_(message|turn)_conversation_id", plan)]
    assert not slow, slow[0]
