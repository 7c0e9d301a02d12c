"""Rows of messages: their frames, what is replaced in their text, and the branch above them."""

import pytest

from chatui.models.conversation import Conversation
from chatui.models.message import Author, Message
from chatui.models.user import User
from chatui.store import transcripts
from renderer.frames import Frame, Header
from renderer.ocml import document
from tests.chatui.store.long_conversations import long_conversation
from tests.support.cost import cost
from tests.support.messages import add_message

QUESTION, ANSWER, HIDDEN = Header("user"), Header("assistant", channel="final"), Header("user", channel="analysis")


def say(row: Conversation, above: Message | None, header: Header) -> Message:
    return add_message(row, above, Frame(header, "Why?"), Author.PERSON)


@pytest.mark.django_db
def test_the_visible_questions_above_a_message_are_counted(conversation: Conversation) -> None:
    first = say(conversation, None, QUESTION)
    answer = say(conversation, first, ANSWER)
    second = say(conversation, say(conversation, answer, HIDDEN), QUESTION)
    say(conversation, answer, QUESTION)
    counted = [transcripts.questions_from(message.pk) for message in (first, answer, second, say(conversation, second, ANSWER))]
    assert counted == [1, 1, 2, 2], "those of other branches and hidden ones are none"


@pytest.mark.django_db
def test_the_frame_of_a_row_that_was_just_written_is_the_one_that_is_stored_until_its_text_changes(
    conversation: Conversation,
) -> None:
    message = add_message(conversation, None, Frame(Header("user"), "Hello"), Author.PERSON)
    assert transcripts.frame_of(message) == document.parse_frame(message.text)
    message.text = document.dump_frame(Frame(Header("user"), "Bye"))
    assert transcripts.frame_of(message).body == "Bye"


@pytest.mark.slow
@pytest.mark.django_db
def test_messages_a_model_cannot_see_are_not_read(ada: User) -> None:
    leaf = transcripts.active_leaf(long_conversation(ada, 4_000), ada)
    assert leaf is not None
    whole = cost(lambda: transcripts.prompt_messages(leaf.pk, 10_000_000))
    assert 20 < len(transcripts.prompt_messages(leaf.pk, 2000)) < 100
    assert whole / cost(lambda: transcripts.prompt_messages(leaf.pk, 2000)) > 5


@pytest.mark.django_db
def test_reasoning_before_an_answer_is_not_read_again(conversation: Conversation) -> None:
    last = None
    for _ in range(2):
        for header in (QUESTION, Header("assistant", channel="analysis"), ANSWER):
            last = say(conversation, last, header)
    assert last is not None and len(transcripts.branch(conversation, last)) == 6, "the premise: it is stored"
    rows = transcripts.prompt_messages(last.pk, 1_000_000)
    assert [row.role for row in rows] == ["user", "assistant"] * 2 and not any("analysis" in row.text for row in rows)
