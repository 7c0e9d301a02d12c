"""The groups that settings name. Where such a group does not exist, the setting has no effect, so missing groups are reported."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib.auth.models import Group
from django.db import DatabaseError
from django.utils.translation import gettext

from chatui.accounts.sign_in_rules.sign_in_file import sign_in_file
from chatui.env import environment
from chatui.model_servers import configured
from chatui.models import User
from chatui.prompts import operators

log = logging.getLogger(__name__)

BACK_ENDS, SIGN_IN, FACTOR = "CHATUI_BACKENDS_FILE", "CHATUI_SIGN_IN_FILE", "CHATUI_SECOND_FACTOR_GROUPS"
LIMITS = "CHATUI_GROUP_ANSWERS_AT_ONCE"


@dataclass(frozen=True, slots=True)
class GroupReference:
    """A group that a setting names. ``effect``: the consequence if the group does not exist, in English."""

    setting: str
    group: str
    effect: str


def group_references() -> Iterator[GroupReference]:
    """Each group that a setting names, once for each setting. Reads only the environment and its files."""
    env = environment()
    messages = {
        FACTOR: (env.second_factor_groups, "nobody needs a second factor because of it"),
        "CHATUI_SHARE_GROUPS": (env.share_groups, "it lets nobody create share links"),
        "CHATUI_SUMMARY_GROUPS": (env.summary_groups, "it gives nobody summaries"),
        "CHATUI_GROUP_INSTRUCTIONS_FILE": (operators.group_instructions().texts, "its instructions apply to nobody"),
        LIMITS: (env.group_answers_at_once, "its limit applies to nobody"),
        "CHATUI_TOOLS": ((name for names in env.tools.values() for name in names), "it gives nobody a tool"),
        BACK_ENDS: ((name for spec in configured.operator_backends(env) for name in spec.groups), "it gives nobody access to a back end"),
        SIGN_IN: ((name for provider in sign_in_file().providers for name in provider.managed_groups), "nobody is added to it"),
    }
    for setting, (names, effect) in messages.items():
        yield from (GroupReference(setting, name, effect) for name in sorted(set(names)))


def settings_that_name(group: str) -> list[str]:
    """The names of the environment variables that name this group, themselves or in their files."""
    return [reference.setting for reference in group_references() if reference.group == group]


def problem_with_new_name(staff: User, name: str) -> str:
    """A sentence that says why this member of staff cannot create a group with that name; empty if they can.

    The name must not differ from another group's only in case: people would confuse the two.
    """
    if not name.isprintable() or Group.objects.filter(name__iexact=name).exists():
        return gettext("A group with this name already exists, or the name has invisible characters.")
    if not may_create_named(staff, name):
        return gettext("A sign-in service adds people to the group of this name, so only somebody who may change accounts can create it.")
    return ""


def may_create_named(staff: User, name: str) -> bool:
    """Whether they may create a group with that name, considering who would be in it.

    A sign-in service adds people to the groups that it manages, so creating such a group gives these people its permissions. Only staff who
    may change accounts may do that.
    """
    return SIGN_IN not in settings_that_name(name) or staff.has_perm("chatui.change_user")


def missing() -> list[GroupReference]:
    """The references to groups that do not exist. One statement, or none if no group is named."""
    named = list(group_references())
    there = set(Group.objects.filter(name__in={reference.group for reference in named}).values_list("name", flat=True)) if named else set()
    return [reference for reference in named if reference.group not in there]


def log_missing() -> None:
    """Log missing groups when a process starts."""
    try:
        for reference in missing():
            log.warning("%s names the group %r, which does not exist: %s", reference.setting, reference.group, reference.effect)
    except DatabaseError as error:
        log.warning("the groups that settings name could not be checked (%s)", type(error).__name__)
