"""Estimates of a turn's tokens from its stored text."""

from uuid import UUID, uuid4

import pytest

from chatui.models.message import Author
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.usage import counting
from renderer.frames import Frame, Header
from tests.support.messages import add_message
from tests.support.scripted import FINAL, REPLY
from tests.support.turns import ask, store

pytestmark = pytest.mark.django_db


@pytest.fixture
def turn(ada: User) -> Turn:
    return store(ada, ask(), "another process").turn


def keep(turn: Turn, header: Header, author: Author, key: UUID | None = None) -> None:
    add_message(turn.conversation, turn.question, Frame(header, "word " * 720), author, turn_id=turn.pk, key=key)


def piece(turn: Turn, frame: UUID) -> None:
    turn.pieces.create(number=turn.pieces.count(), frame=frame, text="word " * 720)


def test_where_the_model_wrote_nothing_nothing_is_spent(turn: Turn) -> None:
    keep(turn, REPLY, Author.PRODUCT)
    keep(turn, REPLY, Author.IMPORT)
    spent = counting.charge_of(turn).spent
    assert spent.is_estimate and spent.tokens == 0


def test_only_what_the_model_wrote_is_output(turn: Turn) -> None:
    keep(turn, FINAL, Author.MODEL)
    before = counting.charge_of(turn).spent
    assert 1000 <= before.output < 1050 and 0 < before.input < 50
    keep(turn, REPLY, Author.PRODUCT)
    keep(turn, REPLY, Author.IMPORT)
    assert counting.charge_of(turn).spent == before


def test_pieces_of_a_frame_that_is_stored_are_not_counted_again(turn: Turn) -> None:
    key = uuid4()
    keep(turn, FINAL, Author.MODEL, key)
    before = counting.charge_of(turn).spent
    piece(turn, key)
    assert counting.charge_of(turn).spent == before
    piece(turn, uuid4())
    assert counting.charge_of(turn).spent.output == before.output + 1000


def test_no_more_is_read_than_a_model_is_sent(turn: Turn, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(turn, FINAL, Author.MODEL)
    monkeypatch.setattr(counting, "SEEN_CHARS", 18)
    assert counting.charge_of(turn).spent.input == 5
