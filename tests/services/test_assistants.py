"""Assistants on PostgreSQL: one is changed at the moment at which a conversation begins with it, or takes its newest version."""

import pytest

from tests.services.databases import answer_of
from tests.services.databases import database as database
from tests.services.databases import deployment as deployment
from tests.support.served import Deployment

pytestmark = pytest.mark.services

AT_ONCE = """
import json, threading, time
from uuid import UUID
from django.db import connection, transaction
from chatui.audit_log.record import Visitor
from chatui.display import assistants
from chatui.display.assistants import AssistantText
from chatui.models import Conversation, User
from chatui.models.assistants import AssistantVersion
from tests.support.turns import ask, store
ada = User.objects.get(username="ada")
visitor = Visitor(ada, "", "page")
editor = assistants.create(visitor, AssistantText("Editor", instructions="Answer in Latin."))

def change(words):
    assistants.change(visitor, editor, AssistantText("Editor", instructions=words))
    connection.close()

def while_it_changes(words, work):
    changing = threading.Thread(target=change, args=(words,))
    with transaction.atomic():
        found = work()
        changing.start()
        time.sleep(1)  # enough to remove what nobody is seen to need
    changing.join()
    return found

def taken(key):
    return AssistantVersion.objects.get(conversations=key).instructions

begun = while_it_changes("Answer in verse.", lambda: store(ada, ask(assistant=UUID(editor)), "here")).turn.conversation_id
first = taken(begun)
change("Answer in prose.")
while_it_changes("Answer in song.", lambda: assistants.use_newest(Conversation.objects.get(pk=begun)))
print("ANSWER" + json.dumps([first, taken(begun), sorted(AssistantVersion.objects.values_list("instructions", flat=True))]))
"""


def test_a_conversation_keeps_the_version_it_takes_while_its_assistant_is_changed(deployment: Deployment) -> None:
    assert answer_of(deployment, AT_ONCE) == ["Answer in Latin.", "Answer in prose.", ["Answer in prose.", "Answer in song."]]
