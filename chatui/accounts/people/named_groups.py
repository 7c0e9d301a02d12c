"""The groups that settings name. A setting has no effect where its group does not exist, so missing groups are reported."""

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
    said = {
        FACTOR: (env.second_factor_groups, "nobody needs a second factor for it"),
        "CHATUI_SHARE_GROUPS": (env.share_groups, "nobody may share for being in it"),
        "CHATUI_SUMMARY_GROUPS": (env.summary_groups, "nobody gets summaries for being in it"),
        "CHATUI_GROUP_INSTRUCTIONS_FILE": (operators.of_groups().texts, "nobody is under its instructions"),
        LIMITS: (env.group_answers_at_once, "this limit is nobody's"),
        "CHATUI_TOOLS": ((name for names in env.tools.values() for name in names), "nobody is offered a tool for being in it"),
        BACK_ENDS: ((name for spec in configured.base(env) for name in spec.groups), "nobody can use a back end for being in it"),
        SIGN_IN: ((name for provider in sign_in_file().providers for name in provider.managed), "nobody joins it"),
    }
    for setting, (names, effect) in said.items():
        yield from (GroupReference(setting, name, effect) for name in sorted(set(names)))


def settings_that_name(group: str) -> list[str]:
    """The variables that name this group."""
    return [naming.setting for naming in group_references() if naming.group == group]


def why_not_new(staff: User, name: str) -> str:
    """Why this member of staff cannot make a group of that name, in a sentence; empty where they can.

    The name must not equal that of another group when case is ignored: the two would be mistaken for each other.
    """
    if not name.isprintable() or Group.objects.filter(name__iexact=name).exists():
        return gettext("A group with this name already exists, or the name has invisible characters.")
    if not may_fill(staff, name):
        return gettext("A sign-in service adds people to the group of this name, so only somebody who may change accounts can create it.")
    return ""


def may_fill(staff: User, name: str) -> bool:
    """Whether they may create a group of that name, considering its members: a sign-in service adds people to a group that it manages,
    so creating that group gives them its permissions. Only staff who may change accounts may do that.
    """
    return SIGN_IN not in settings_that_name(name) or staff.has_perm("chatui.change_user")


def missing() -> list[GroupReference]:
    """The references to groups that do not exist. One statement if any group is named."""
    named = list(group_references())
    there = set(Group.objects.filter(name__in={naming.group for naming in named}).values_list("name", flat=True)) if named else set()
    return [naming for naming in named if naming.group not in there]


def log_missing() -> None:
    """Log missing groups when a process starts."""
    try:
        for naming in missing():
            log.warning("%s names the group %r, which does not exist: %s", naming.setting, naming.group, naming.effect)
    except DatabaseError as error:
        log.warning("whether the groups of the settings exist is not known (%s)", type(error).__name__)
