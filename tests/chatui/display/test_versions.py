"""Versions of an answer: those one can switch to, from any author, without hidden text."""

from typing import Any

import pytest
from channels.db import database_sync_to_async

from chatui.display import versions
from chatui.display.conversation import shown_exchange
from chatui.display.versions import shown_versions
from chatui.models.conversation import Conversation
from chatui.models.message import Author, Message
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.turns.asks import AskKind
from renderer.frames import Frame, Header
from tests.chatui.conftest import signed_in
from tests.chatui.turns.test_continue import SECRET, ask_and_continue, continuation_steps, cut_answer
from tests.support.messages import add_message
from tests.support.scripted import ANALYSIS, FINAL, ScriptedBackend, answer, ended, frame
from tests.support.turns import ask, run

pytestmark = pytest.mark.django_db(transaction=True)


@database_sync_to_async
def shown(turn: Turn) -> Any:
    return shown_versions(turn.conversation, Message.objects.get(pk=turn.question_id))


@database_sync_to_async
def page(person: User, turn: Turn) -> str:
    response = signed_in(person).get(f"/c/{turn.conversation_id}/messages/{turn.question_id}/answers/")
    assert response.status_code == 200
    return response.content.decode()


@database_sync_to_async
def switchable(turn: Turn) -> tuple[int, str | None]:
    """The number of versions that the page shows at this turn's answer, and the previous one."""
    answer = shown_exchange(turn.conversation, Turn.objects.get(pk=turn.pk)).answer
    assert answer and answer.siblings
    return answer.siblings.count, answer.siblings.previous_id


def texts(found: Any) -> list[tuple[int, str]]:
    return [(each.index, "".join(map(str, each.answer.parts[-1].blocks)) if each.answer.parts else "") for each in found.versions]


async def regenerated(person: User, backend: ScriptedBackend, count: int) -> Turn:
    backend.script = answer("Answer 1.", SECRET)
    first = turn = await run(person, ask())
    for number in range(2, count + 1):
        backend.script = answer(f"Answer {number}.", SECRET)
        turn = await run(person, ask(AskKind.REGENERATE, "", conversation=first.conversation_id, question=first.question_id))
    return turn


async def test_the_newest_comes_first_with_its_model_and_no_hidden_text(ada: User, backend: ScriptedBackend) -> None:
    turn = await regenerated(ada, backend, 2)
    found = await shown(turn)
    assert [index for index, _ in texts(found)] == [2, 1] and found.count == 2
    assert ["Answer 2." in text or "Answer 1." in text for _, text in texts(found)] == [True, True]
    assert [each.answer.model for each in found.versions] == ["scripted-model"] * 2
    assert await switchable(turn) == (2, found.versions[1].message_id), "the same versions, by the same keys"
    html = await page(ada, turn)
    assert SECRET not in html and html.index("Answer 2.") < html.index("Answer 1.")
    assert await Message.objects.filter(text__contains=SECRET).acount() == 2, "the premise"


async def test_a_cut_answer_and_its_continuation_are_two_versions(ada: User, backend: ScriptedBackend) -> None:
    *_, turn = await ask_and_continue(ada, backend, cut_answer(), continuation_steps())
    found = await shown(turn)
    assert [index for index, _ in texts(found)] == [2, 1]
    whole, cut = (text for _, text in texts(found))
    assert "two are four." in whole and "Two and" in cut and "four" not in cut
    assert await switchable(turn) == (2, found.versions[1].message_id)
    assert SECRET not in await page(ada, turn)


async def test_an_attempt_without_an_answer_shows_its_outcome(ada: User, backend: ScriptedBackend) -> None:
    first = await regenerated(ada, backend, 1)
    backend.script = [*frame(ANALYSIS, SECRET), ended()]
    failed = await run(ada, ask(AskKind.REGENERATE, "", conversation=first.conversation_id, question=first.question_id))
    found = await shown(failed)
    assert texts(found)[0] == (2, "") and found.versions[0].answer.notice is not None
    html = await page(ada, failed)
    assert "wrote no answer" in html and SECRET not in html


def test_imported_answers_are_versions_up_to_the_next_question(ada: User, conversation: Conversation) -> None:
    def stored(parent: Message | None, header: Header, text: str) -> Message:
        author = Author.PERSON if header.role == "user" else Author.IMPORT
        return add_message(conversation, parent, Frame(header, text), author)

    user = Header("user")
    question = stored(None, user, "What is 2 + 2?")
    first = stored(stored(question, ANALYSIS, SECRET), FINAL, "Four.")
    stored(stored(first, user, "And twice that?"), FINAL, "Eight.")
    stored(question, FINAL, "4")
    found = shown_versions(conversation, question)
    assert [(index, "Four." in text, "Eight" in text) for index, text in texts(found)] == [(2, False, False), (1, True, False)]
    assert SECRET not in repr(found)


async def test_only_the_newest_are_read_and_the_page_says_so(ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "MAX_VERSIONS", 2)
    turn = await regenerated(ada, backend, 3)
    found = await shown(turn)
    assert found.count == 3 and [index for index, _ in texts(found)] == [3, 2]
    assert "Of 3 versions, the newest 2 are shown." in await page(ada, turn)


async def test_an_answer_or_a_foreign_question_has_no_versions(ada: User, bela: User, backend: ScriptedBackend) -> None:
    turn = await regenerated(ada, backend, 2)
    final = await Message.objects.filter(turn=turn, is_visible=True).afirst()
    assert final is not None

    def status(person: User, message: object) -> int:
        return signed_in(person).get(f"/c/{turn.conversation_id}/messages/{message}/answers/").status_code

    ask_for = database_sync_to_async(status)
    assert await ask_for(ada, turn.question_id) == 200
    assert [await ask_for(ada, final.pk), await ask_for(bela, turn.question_id), await ask_for(bela, final.pk)] == [404] * 3
