"""Which stored answers a program may read, and which programs may read raw reasoning, with the audit line of each reading.

The answers are its owner's, in conversations that exist, and if it is so limited only those of its own key.
"""

from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from chatui.audit_log.record import Visitor
from chatui.models.audit import AuditEvent
from chatui.models.conversation import Conversation
from chatui.models.programs import ApiKey, ProgramAnswer
from chatui.models.user import User
from chatui.permissions import programs
from chatui.permissions.access import NotFoundError
from chatui.permissions.programs import answer_of
from tests.support.environment import change
from tests.support.turns import ask, store

pytestmark = pytest.mark.django_db


def key_of(person: User, name: str) -> ApiKey:
    return ApiKey.objects.create(owner=person, name=name, prefix=name, digest=name, made_by_name=person.username)


@pytest.fixture
def key(ada: User) -> ApiKey:
    return key_of(ada, "wiki")


@pytest.fixture
def answer(ada: User, key: ApiKey) -> ProgramAnswer:
    return ProgramAnswer.objects.create(turn=store(ada, ask()).turn, key=key)


def test_a_program_reads_its_owners_answer_with_any_key_or_only_with_that_key(ada: User, key: ApiKey, answer: ProgramAnswer) -> None:
    other, own = key_of(ada, "blog"), ProgramAnswer.objects.create(turn=store(ada, ask()).turn)
    assert answer_of(ada, answer.pk, None) == answer_of(ada, answer.pk, key.pk) == answer
    assert answer_of(ada, own.pk, None) == own, "its key was deleted"
    for found, only in ((answer, other), (own, key)):
        with pytest.raises(NotFoundError):
            answer_of(ada, found.pk, only.pk)


def test_nobody_reads_somebody_elses_answer_or_one_that_does_not_exist(ada: User, bela: User, answer: ProgramAnswer) -> None:
    for person, wanted in ((bela, answer.pk), (ada, uuid4()), (ada, answer.turn.pk)):
        with pytest.raises(NotFoundError):
            answer_of(person, wanted, None)


ENDS: dict[str, Callable[[User], object]] = {
    "it is not stored": lambda bela: ProgramAnswer.objects.update(is_kept=False),
    "it is in the bin": lambda bela: Conversation.objects.update(deleted_at=timezone.now() - timedelta(days=1)),
    "the conversation is somebody else's": lambda bela: Conversation.objects.update(owner=bela),
    "the account is deactivated": lambda bela: User.objects.update(is_active=False),
}


@pytest.mark.parametrize("how", ENDS)
def test_an_answer_is_read_until(how: str, ada: User, bela: User, key: ApiKey, answer: ProgramAnswer) -> None:
    ENDS[how](bela)
    for person in (ada, bela):
        for only_key in (None, key.pk):
            with pytest.raises(NotFoundError):
                answer_of(person, answer.pk, only_key)


def test_the_line_of_a_reading_says_which_key_read_which_conversation(grace: User) -> None:
    own = Conversation.objects.create(owner=grace)
    programs.record_reading(Visitor(grace, "192.0.2.7", "program"), own.pk, "ck_1a2b")
    line = AuditEvent.objects.get()
    assert (line.action, line.detail, line.way, line.actor, line.owner_name) == (
        "raw reasoning to program",
        "ck_1a2b",
        "program",
        grace,
        "grace",
    )
    assert (line.conversation_id, line.code, line.address) == (own.pk, "", "192.0.2.7")


def test_only_keys_of_people_who_see_hidden_channels_without_approval_read_any(
    hank: User, ada: User, sam: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [programs.may_read(person) for person in (hank, sam, ada)] == [True, False, False]
    change(monkeypatch, {"debug_approval": True})
    assert not programs.may_read(hank), "nobody could approve each reading"
