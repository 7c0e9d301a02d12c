"""The operator's instructions are part of every request: in new, old, imported, edited, branched and continued conversations."""

from __future__ import annotations

from uuid import uuid4

import pytest
import pytest_django
from channels.db import database_sync_to_async

from chatui.backends.base import EndReason
from chatui.models.user import User
from chatui.transfer.imports import import_transcript
from chatui.turns.asks import Ask, AskKind
from tests.chatui.turns.test_turns import ask, run
from tests.support.scripted import ANALYSIS, FINAL, ScriptedBackend, ended, frame

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]

IMPORTED = """version: 2.2
<|start|>system<|message|>Obey the file.<|end|>
<|start|>developer<|message|>Speak like a pirate.<|end|>
<|start|>user<|message|>Hello<|end|>
<|start|>assistant<|channel|>final<|message|>Ahoy<|end|>
"""


def sent_instructions(backend: ScriptedBackend) -> list[list[str]]:
    """The leading system and developer frames of each request; there are none further down."""
    for request in backend.requests:
        roles = [item.header.role in ("system", "developer") for item in request.frames]
        assert roles == sorted(roles, reverse=True)
    return [[item.body for item in request.frames if item.header.role in ("system", "developer")] for request in backend.requests]


def say(settings: pytest_django.Settings, instructions: str) -> None:
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"instructions": instructions})


async def test_an_imported_conversation_gets_them_instead_of_its_own(
    ada: User, backend: ScriptedBackend, settings: pytest_django.Settings
) -> None:
    say(settings, "Be kind.")
    imported = (await database_sync_to_async(import_transcript)(ada, IMPORTED.encode())).conversation
    await run(ada, ask(text="And now?", conversation=imported.pk))
    assert sent_instructions(backend) == [["Be kind."]]
    assert [item.body for item in backend.requests[0].frames] == ["Be kind.", "Hello", "Ahoy", "And now?"]


async def test_a_change_applies_from_the_next_request_in_old_conversations_too(
    ada: User, backend: ScriptedBackend, settings: pytest_django.Settings
) -> None:
    first = await run(ada, ask())
    say(settings, "Be kind.")
    await run(ada, ask(text="And 3 + 3?", conversation=first.conversation_id))
    say(settings, "Be brief.")
    await run(ada, ask(text="And 4 + 4?", conversation=first.conversation_id))
    say(settings, "")
    await run(ada, ask(text="And 5 + 5?", conversation=first.conversation_id))
    assert sent_instructions(backend) == [[], ["Be kind."], ["Be brief."], []]


async def test_edited_regenerated_and_continued_answers_get_them(
    ada: User, backend: ScriptedBackend, settings: pytest_django.Settings
) -> None:
    say(settings, "Be kind.")
    backend.script = [*frame(ANALYSIS, "hm"), *frame(FINAL, "Two and")[:-1], ended(EndReason.LENGTH)]
    turn = await run(ada, ask())
    say(settings, "Be brief.")
    question, conversation = turn.question_id, turn.conversation_id
    await run(ada, Ask(AskKind.EDIT, uuid4(), "low", conversation, question=question, text="What is 3 + 3?"))
    await run(ada, Ask(AskKind.REGENERATE, uuid4(), "low", conversation, question=question))
    await run(ada, Ask(AskKind.CONTINUE, uuid4(), "", conversation, continued_turn=turn.pk))
    assert sent_instructions(backend) == [["Be kind."], ["Be brief."], ["Be brief."], ["Be brief."]]
