"""The operator's instructions are part of every request: in new, old, imported, edited, branched and continued conversations."""

import json
from pathlib import Path

import pytest
import pytest_django
from channels.db import database_sync_to_async
from django.contrib.auth.models import Group

from chatui.backends.base import EndReason
from chatui.models.user import User
from tests.chatui.api.asking import Program, json_of, new_key
from tests.chatui.conftest import signed_in
from tests.support.environment import change
from tests.support.page import answered, imported
from tests.support.scripted import ANALYSIS, FINAL, ScriptedBackend, ended, frame

pytestmark = pytest.mark.django_db(transaction=True)

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
    await answered(ada, "And now?", conversation=(await imported(ada, IMPORTED.encode())).pk)
    assert sent_instructions(backend) == [["Be kind."]]
    assert [item.body for item in backend.requests[0].frames] == ["Be kind.", "Hello", "Ahoy", "And now?"]


async def test_a_change_applies_from_the_next_request_in_old_conversations_too(
    ada: User, backend: ScriptedBackend, settings: pytest_django.Settings
) -> None:
    first = await answered(ada)
    say(settings, "Be kind.")
    await answered(ada, "And 3 + 3?", conversation=first.conversation_id)
    say(settings, "Be brief.")
    await answered(ada, "And 4 + 4?", conversation=first.conversation_id)
    say(settings, "")
    await answered(ada, "And 5 + 5?", conversation=first.conversation_id)
    assert sent_instructions(backend) == [[], ["Be kind."], ["Be brief."], []]


# Instructions for a group: they follow the operator's general instructions in each request of a member, and nobody can read them.


KIND, BRIEF = "Be kind to MARMALADE.", "Be brief about LEMONADE."


@pytest.fixture
def _groups(ada: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ada is in both groups of the file, whose order is not alphabetical."""
    place = tmp_path / "groups.toml"
    place.write_text(f'[groups]\nwriters = "{KIND}"\neditors = "{BRIEF}"\nnobody = "Never said."\n')
    change(monkeypatch, {"instructions": "For all.", "group_instructions_file": place})
    ada.groups.set([Group.objects.create(name=name) for name in ("editors", "writers")])


BOTH = [f"For all.\n\n{KIND}\n\n{BRIEF}"]


@pytest.mark.usefixtures("_groups")
async def test_every_kind_of_question_has_them(ada: User, bela: User, backend: ScriptedBackend) -> None:
    backend.script = [*frame(ANALYSIS, "hm"), *frame(FINAL, "Two and")[:-1], ended(EndReason.LENGTH)]
    turn = await answered(ada)
    question, conversation = turn.question_id, turn.conversation_id
    await answered(ada, "What is 3 + 3?", type="edit", conversation=conversation, question=question)
    await answered(ada, "", type="regenerate", conversation=conversation, question=question)
    await answered(ada, "", type="continue", conversation=conversation, turn=turn.pk, effort=None)
    await answered(ada, "And now?", conversation=(await imported(ada, IMPORTED.encode())).pk)
    assert sent_instructions(backend) == [BOTH] * 5
    await answered(bela)
    assert sent_instructions(backend)[-1] == ["For all."]
    await database_sync_to_async(ada.groups.clear)()
    await answered(ada, "And now?", conversation=conversation)
    assert sent_instructions(backend)[-1] == ["For all."], "from the next request on"


@pytest.mark.usefixtures("_groups")
async def test_nobody_reads_them(ada: User, backend: ScriptedBackend) -> None:
    turn = await answered(ada)

    def seen() -> str:
        client, place = signed_in(ada), f"/c/{turn.conversation_id}/"
        paths = (place, f"{place}export/", f"{place}download/", "/download/", "/settings/", "/manage/settings/", "/manage/groups/", "/")
        User.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True)
        bodies = [client.get(path) for path in paths]
        return "".join(str(b"".join(body) if body.streaming else body.content) for body in bodies)  # type: ignore[attr-defined, call-overload]

    text = await database_sync_to_async(seen)()
    assert "MARMALADE" not in text and "LEMONADE" not in text
    assert "CHATUI_GROUP_INSTRUCTIONS_FILE" in text, "the premise: the settings in force were among the pages"


@pytest.mark.usefixtures("_groups")
async def test_an_api_program_has_them_and_cannot_read_them(ada: User, backend: ScriptedBackend) -> None:
    program = Program(await new_key(ada))
    first = await program.ask({"input": "How?", "instructions": "Rhyme."})
    await program.ask({"input": "And why?", "previous_response_id": first["id"]})
    chat = await program.ask({"messages": [{"role": "user", "content": "How?"}]}, "/v1/chat/completions")
    assert [sent[0] for sent in sent_instructions(backend)] == [BOTH[0]] * 3
    assert "> Rhyme." in sent_instructions(backend)[0][1], "the client's instructions are marked as the client's"
    items = json_of(await program.get(f"/v1/responses/{first['id']}/input_items"))
    assert "MARMALADE" not in json.dumps([first, chat, items])
