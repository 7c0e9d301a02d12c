"""Questions, and the turns that come of them, of tests that need no page: the one place where these are asked and stored."""

from uuid import uuid4

from channels.db import database_sync_to_async
from django.db import transaction

from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.turns import opening, running, start
from chatui.turns.asks import Ask, AskKind
from chatui.turns.running_turn import RunningTurn
from tests.support.limits import limit

QUESTION = "What is 2 + 2?"


def ask(kind: AskKind = AskKind.SEND, text: str = QUESTION, **fields: object) -> Ask:
    """What a person asks for; ``fields``: as in ``Ask``."""
    return Ask(**({"kind": kind, "client_id": uuid4(), "effort": "medium", "text": text} | fields))  # type: ignore[arg-type]


async def begin(person: User, question: Ask) -> RunningTurn:
    """Ask this, as a page or a program does: it is stored, and its turn is launched."""
    return await running.ask(person, question)


async def run(person: User, question: Ask) -> Turn:
    """The row of such a turn, once it has ended."""
    started = await begin(person, question)
    await running.settle()
    return await Turn.objects.select_related("conversation").aget(pk=started.turn.pk)


prepared = start.prepared
"""The question with its documents, read as the product reads them before it is stored."""


def document_tokens(question: Ask) -> int:
    """How many tokens the documents of a prepared question have."""
    return start.tokens_of(question)


def store(person: User, question: Ask, lease_owner: str = limit("chatui.turns", "OWNER")) -> RunningTurn:
    """Store a question and its turn as the product does, in a transaction; nothing runs it."""
    with transaction.atomic():
        return start.start(person, question, lease_owner)


stored = database_sync_to_async(store)
"""The same for a test with an event loop."""


def loaded(running: RunningTurn) -> RunningTurn:
    """The turn with its branch, and what else a model needs."""
    opening.load_branch(running)
    return running
