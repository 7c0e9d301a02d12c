"""How people come to be connected: invitations, and who may count as one."""

from django.contrib.auth.models import Group

from chatui.accounts import invitations
from chatui.audit_log.record import Visitor
from chatui.models.user import User
from chatui.permissions import four_eyes


def invite(inviter: User, group: Group | None = None, days: int = 7) -> str:
    """Make an invitation. Returns its path, ``/invitation/ID/TOKEN/``."""
    return invitations.create(Visitor(inviter, "192.0.2.1", "shell"), days=days, group=group, note="")


def are_linked(one: User, other: User) -> bool:
    """Whether one of them may have power over the other's account, so that the two do not count as two people."""
    return four_eyes.are_linked(one, other)
