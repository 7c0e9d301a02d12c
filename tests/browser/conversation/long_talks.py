"""Writes long conversations directly into a deployment's database, which is faster than asking thousands of questions."""

import json
from collections.abc import Mapping, Sequence

from tests.support.served import Deployment

_MAKE = """
from datetime import timedelta
from uuid import uuid4
from django.db import transaction
from django.utils import timezone
from chatui.models import ActiveLeaf, Conversation, Message, Turn, User
from chatui.models.keys import new_key
ada = User.objects.get(username={name!r})
row = Conversation.objects.create(owner=ada, title={title!r})
keys = [new_key() for _ in range({exchanges} * 2)]
def message(place):
    role, channel = ("assistant", "final") if place % 2 else ("user", "")
    words = f"Answer {{place // 2 + 1}}. " + "It has a few lines.\\n\\n" * 3 if place % 2 else f"Question {{place // 2 + 1}}?"
    return Message(id=keys[place], conversation=row, parent_id=keys[place - 1] if place else None, position=place,
        text=f"<|start|>{{role}}" + (f"<|channel|>{{channel}}" if channel else "") + f"<|message|>{{words}}<|end|>", role=role,
        channel=channel, terminator="<|end|>", is_visible=True, author="model" if place % 2 else "person")
with transaction.atomic():
    Message.objects.bulk_create([message(place) for place in range(len(keys))], batch_size=500)
    Turn.objects.bulk_create([Turn(conversation=row, question_id=key, asked_by=ada, client_id=uuid4(), state="completed",
        lease_until=timezone.now() - timedelta(days=1), effort="low") for key in keys[::2]], batch_size=500)
    for turn in Turn.objects.filter(conversation=row):
        Message.objects.filter(parent_id=turn.question_id).update(turn=turn)
    ActiveLeaf.objects.create(conversation=row, person=ada, message_id=keys[-1])
print("made", row.pk, keys[{shown} * 2 - 1])
"""


def make_long_talk(deployment: Deployment, name: str, exchanges: int, shown: int = 1, title: str = "A long talk") -> tuple[str, str]:
    """A conversation with "Question 1?", "Answer 1.", and so on. Returns its address and the id of the answer number ``shown``."""
    printed = deployment.manage("shell", "--no-imports", "-c", _MAKE.format(name=name, exchanges=exchanges, shown=shown, title=title))
    _, conversation, answer = printed.strip().splitlines()[-1].split()
    return f"/c/{conversation}/", answer


_SAY = """
import json
from chatui.models import Conversation, User
from chatui.models.message import Author
from renderer.frames import Frame, Header
from tests.support.messages import add_message, open_branch
ada = User.objects.get(username={name!r})
for title, texts in json.loads({talks!r}):
    row = Conversation.objects.create(owner=ada, title=title)
    last = None
    for place, text in enumerate(texts):
        header, author = (Header("assistant", channel="final"), Author.MODEL) if place % 2 else (Header("user"), Author.PERSON)
        last = add_message(row, last, Frame(header, text), author)
    open_branch(row, ada, last)
    print("made", row.pk)
"""


def make_talk(deployment: Deployment, name: str, *texts: str, title: str = "A talk") -> str:
    """A conversation of these questions and answers in turn, which a search finds. Returns its address."""
    [address] = make_talks(deployment, name, {title: texts})
    return address


def make_talks(deployment: Deployment, name: str, talks: Mapping[str, Sequence[str]]) -> list[str]:
    """Several of them by title, in one process. Returns their addresses."""
    printed = deployment.manage("shell", "--no-imports", "-c", _SAY.format(name=name, talks=json.dumps(list(talks.items()))))
    return [f"/c/{line.split()[1]}/" for line in printed.splitlines() if line.startswith("made ")]
