"""Decides who may create share links, which links can be read, and who gets summaries of a model's hidden reasoning.

Only the links of people who may still share can be read.
"""

from __future__ import annotations

from datetime import timedelta

from django.db.models import F, Q, QuerySet

from chatui.database import connections
from chatui.env import environment
from chatui.models.shares import ShareLink
from chatui.models.user import User
from chatui.permissions.access import existing


def may_share(person: User | None) -> bool:
    """Whether this person may create share links. Otherwise, links that they created before cannot be read. At most one statement."""
    if person is None or not person.is_active or environment().share_max_days == 0:
        return False
    named = environment().share_groups
    return not named or person.groups.filter(name__in=named).exists()


def share_link(token: str) -> ShareLink:
    """The share link with that token. Whoever has the token may read it, without signing in. Raises NotFoundError if there is none, it has
    expired or was revoked, its conversation or its creator is gone, sharing is off, or its creator may no longer share."""
    return existing(_readable().select_related("conversation", "leaf").filter(token=token).first())


def own_share_links(user: User) -> QuerySet[ShareLink]:
    """The person's valid share links, the newest first.

    Links that nobody can read because the person may no longer share are included, so that they can be revoked.
    """
    return _live_links().filter(created_by=user).select_related("conversation").order_by("-created_at")


def _readable() -> QuerySet[ShareLink]:
    """The links of people who may share, and may still enter. Checked at each request, so that their links stop working as soon as they no
    longer may."""
    named = environment().share_groups
    found = _live_links().filter(created_by__rests_since=None)
    if not named:
        return found
    return found.filter(created_by__in=User.groups.through.objects.filter(group__name__in=named).values("user"))


def _live_links() -> QuerySet[ShareLink]:
    most = environment().share_max_days
    found = ShareLink.objects.filter(
        Q(expires_at=None) | Q(expires_at__gt=connections.now()), revoked_at=None, conversation__deleted_at=None
    )
    found = found.filter(created_by__is_active=True, conversation__owner=F("created_by"), conversation__temporary_until=None)
    # If the operator shortens the limit later, it also applies to older links.
    return found if most < 0 else found.filter(created_at__gt=connections.after(-timedelta(days=most))) if most else found.none()


def may_have_summaries(person: User) -> bool:
    """Whether this person's turns get reasoning summaries, if the model server supports them. At most one statement."""
    named = environment().summary_groups
    return not named or person.groups.filter(name__in=named).exists()
