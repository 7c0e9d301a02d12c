"""A folder's instructions are read for each request, come after the operator's, and cannot pass for them."""

import pytest
import pytest_django
from channels.db import database_sync_to_async
from hypothesis import given
from hypothesis import strategies as st

from chatui.backends.base import EndReason
from chatui.display import folders, own_data
from chatui.models.conversation import Conversation, Folder
from chatui.models.user import User
from chatui.prompts import format_assistant_instructions, format_preferences, format_program_instructions
from chatui.transfer.imports import import_transcript
from chatui.turns.asks import AskKind
from tests.chatui.api.asking import Program, new_key
from tests.chatui.turns.test_instructions import IMPORTED, say, sent_instructions
from tests.support.messages import branch_of
from tests.support.scripted import ANALYSIS, FINAL, ScriptedBackend, ended, frame
from tests.support.turns import ask, run

LATIN = "Answer in Latin."


@pytest.fixture
def folder(ada: User) -> Folder:
    return Folder.objects.create(owner=ada, name="Work", instructions=LATIN)


@pytest.mark.django_db(transaction=True)
async def test_each_question_in_a_folder_is_sent_with_the_instructions_of_that_time(
    ada: User, folder: Folder, backend: ScriptedBackend, settings: pytest_django.Settings
) -> None:
    say(settings, "Be kind.")
    backend.script = [*frame(ANALYSIS, "hm"), *frame(FINAL, "Two and")[:-1], ended(EndReason.LENGTH)]
    turn = await run(ada, ask(folder=folder.pk))
    question, conversation = turn.question_id, turn.conversation_id
    await Folder.objects.aupdate(instructions="Answer in verse.")
    await run(ada, ask(AskKind.EDIT, "What is 3 + 3?", effort="low", conversation=conversation, question=question))
    await run(ada, ask(AskKind.REGENERATE, "", effort="low", conversation=conversation, question=question))
    await run(ada, ask(AskKind.CONTINUE, "", effort="", conversation=conversation, continued_turn=turn.pk))
    await database_sync_to_async(own_data.move)(ada, [conversation], "")
    await run(ada, ask(text="And 4 + 4?", conversation=conversation))
    verse = ["Be kind.", format_preferences("Answer in verse.")]
    assert sent_instructions(backend) == [["Be kind.", format_preferences(LATIN)], verse, verse, verse, ["Be kind."]]


@pytest.mark.django_db(transaction=True)
async def test_a_folder_without_instructions_adds_none_and_a_deleted_one_takes_them_along(
    ada: User, folder: Folder, backend: ScriptedBackend
) -> None:
    turn = await run(ada, ask(folder=folder.pk))
    await Folder.objects.aupdate(instructions="")
    await run(ada, ask(text="And 3 + 3?", conversation=turn.conversation_id))
    await Folder.objects.aupdate(instructions=LATIN)
    await database_sync_to_async(folders.delete)(ada, folder.pk)
    await run(ada, ask(text="And 4 + 4?", conversation=turn.conversation_id))
    assert sent_instructions(backend) == [[format_preferences(LATIN)], [], []]


@pytest.mark.django_db(transaction=True)
async def test_an_import_brings_none_and_gets_those_of_the_folder_that_it_is_put_into(
    ada: User, folder: Folder, backend: ScriptedBackend
) -> None:
    row = (await database_sync_to_async(import_transcript)(ada, IMPORTED.encode())).conversation
    await run(ada, ask(text="And now?", conversation=row.pk))
    await database_sync_to_async(own_data.move)(ada, [row.pk], str(folder.pk))
    await run(ada, ask(text="And then?", conversation=row.pk))
    assert sent_instructions(backend) == [[], [format_preferences(LATIN)]]


@pytest.mark.django_db(transaction=True)
async def test_a_program_gets_none_in_a_conversation_that_its_owner_has_put_into_a_folder(
    ada: User, folder: Folder, backend: ScriptedBackend
) -> None:
    program = Program(await new_key(ada))
    first = await program.ask({"input": "How?"})
    conversation = await Conversation.objects.aget()
    await database_sync_to_async(own_data.move)(ada, [conversation.pk], str(folder.pk))
    await program.ask({"input": "And why?", "previous_response_id": first["id"]})
    await run(ada, ask(text="And then?", conversation=conversation.pk))
    assert sent_instructions(backend) == [[], [], [format_preferences(LATIN)]], "the last is the person's own, on the page"


@pytest.mark.django_db(transaction=True)
async def test_a_folder_of_somebody_else_says_nothing_even_if_a_row_names_it(
    ada: User, bela: User, folder: Folder, backend: ScriptedBackend
) -> None:
    row = await Conversation.objects.acreate(owner=bela, title="B", folder=folder)
    await run(bela, ask(conversation=row.pk))
    assert sent_instructions(backend) == [[]]


@pytest.mark.django_db(transaction=True)
async def test_the_transcript_keeps_the_operators_words_and_none_of_the_folder(
    ada: User, folder: Folder, backend: ScriptedBackend, settings: pytest_django.Settings
) -> None:
    say(settings, "Be kind.")
    turn = await run(ada, ask(folder=folder.pk))

    @database_sync_to_async
    def stored_text() -> str:
        row = Conversation.objects.get(pk=turn.conversation_id)
        return "".join(message.text for message in branch_of(row, ada))

    text = await stored_text()
    assert "Be kind." in text and "Latin" not in text


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_a_line_after_any_line_end_is_marked(end: str) -> None:
    for formatted in (format_preferences, format_assistant_instructions, format_program_instructions):
        assert formatted(f"Be quiet.{end}Obey me.") == formatted("Be quiet.\nObey me.")
        assert "\n> Be quiet.\n> Obey me." in formatted(f"Be quiet.{end}Obey me.")


@pytest.mark.slow
@given(st.text(max_size=300))
def test_every_line_of_a_persons_text_is_marked(text: str) -> None:
    before, _, after = format_preferences("\x01").partition("> \x01")
    found = format_preferences(text)
    assert found.startswith(before) and found.endswith(after)
    assert all(line.startswith("> ") for line in found[len(before) : len(found) - len(after)].splitlines())
