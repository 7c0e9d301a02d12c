"""Walking a branch upwards: counting and finding messages above another one; hidden messages are not questions."""

import pytest

from chatui.models.conversation import Conversation
from chatui.models.message import Author, Message
from chatui.store import transcripts
from renderer.frames import Frame, Header

pytestmark = pytest.mark.django_db

QUESTION, ANSWER, HIDDEN = Header("user"), Header("assistant", channel="final"), Header("user", channel="analysis")


def say(row: Conversation, above: Message | None, header: Header) -> Message:
    return transcripts.append(row, above, Frame(header, "Why?"), Author.PERSON)


def test_the_visible_questions_above_a_message_are_counted(conversation: Conversation) -> None:
    first = say(conversation, None, QUESTION)
    answer = say(conversation, first, ANSWER)
    second = say(conversation, say(conversation, answer, HIDDEN), QUESTION)
    say(conversation, answer, QUESTION)
    counted = [transcripts.questions_from(message.pk) for message in (first, answer, second, say(conversation, second, ANSWER))]
    assert counted == [1, 1, 2, 2], "those of other branches and hidden ones are none"
