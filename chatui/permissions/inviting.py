"""Decides who may invite people, and into which groups. Nobody can grant permissions that they lack."""

from __future__ import annotations

from django.contrib.auth.models import Group, Permission

from chatui.models import User

REQUIRED_PERMISSIONS = ("chatui.view_user", "chatui.add_user")


def may_invite(inviter: User, group: Group | None) -> bool:
    """Whether this person may invite people now, into that group if one is given."""
    if not inviter.is_staff or not inviter.has_perms(REQUIRED_PERMISSIONS):
        return False
    given = Permission.objects.filter(group=group) if group else Permission.objects.none()
    names = given.values_list("content_type__app_label", "codename")
    return inviter.is_superuser or {f"{app}.{name}" for app, name in names} <= inviter.get_all_permissions()
