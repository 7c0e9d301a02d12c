"""Permissions count only for active staff, whatever a server for single sign-on or another authentication backend says of an account."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from chatui.audit_log.record import SHELL
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.permissions import access, administration, debug_requests, ratings
from chatui.permissions.access import HiddenViewRefusedError, NotFoundError
from tests.support.environment import change

OTHER = User(username="ada")


def hidden_channels_of_others(person: User) -> bool:
    return access.may_view_hidden(person, Conversation(owner=OTHER))


def own_hidden_channels(person: User) -> bool:
    return access.may_view_hidden(person, Conversation(owner=person))


MAY: list[Callable[[User], object]] = [
    access.can_see_hidden,
    access.can_read_audit,
    access.can_see_failures,
    hidden_channels_of_others,
    own_hidden_channels,
    ratings.can_export_hidden,
    administration.parts_of,
    administration.may_examine,
    administration.may_see_groups,
    administration.may_make_groups,
    lambda person: administration.may_change(person, OTHER),
    lambda person: administration.may_erase(person, OTHER),
]


@pytest.fixture(autouse=True)
def _permit_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("has_perm", "has_perms"):
        monkeypatch.setattr(User, name, lambda self, wanted: True)


@pytest.mark.django_db
@pytest.mark.parametrize("may", MAY)
def test_a_permission_counts_only_for_an_active_account_with_staff_status(may: Callable[[User], object]) -> None:
    assert may(User(username="root", is_staff=True, is_superuser=True)), "the premise"
    assert not may(User(username="root", is_staff=False, is_superuser=True))
    assert not may(User(username="root", is_staff=True, is_superuser=True, is_active=False))


@pytest.mark.parametrize(
    ("reads", "error"),
    [
        (lambda person: access.required(person, access.can_read_audit), NotFoundError),
        (lambda person: administration.require_part(person), NotFoundError),
        (lambda person: ratings.exporter(replace(SHELL, user=person)), NotFoundError),
        (lambda person: debug_requests.pending_requests(replace(SHELL, user=person)), NotFoundError),
        (lambda person: access.recheck_hidden(replace(SHELL, user=person), OTHER.pk), HiddenViewRefusedError),
    ],
)
def test_what_only_staff_may_read_is_refused_to_everybody_else(reads: Callable[[User | None], object], error: type[Exception]) -> None:
    for person in (None, User(is_staff=False), User(is_staff=True, is_active=False)):
        with pytest.raises(error):
            reads(person)


def test_requests_are_counted_for_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"debug_approval": True})
    for person in (None, User(is_staff=False), User(is_staff=True, is_active=False)):
        assert debug_requests.count_to_decide(person) is None
