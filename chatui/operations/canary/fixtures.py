"""The database rows that a canary run adds (three people, their group, their model servers) and removes afterwards."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from django.contrib.auth.models import Group, Permission
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from chatui import instructions
from chatui.audit_log import aggregation
from chatui.env import environment
from chatui.model_servers import proofs, stored
from chatui.models.audit import AttemptWarning
from chatui.models.model_servers import StoredBackend
from chatui.models.sign_in import BegunSession
from chatui.models.usage import UsageEntry
from chatui.models.user import User
from chatui.operations.canary.answers import SERVERS

LEFT_OVER_AFTER = timedelta(hours=1)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_RUN = re.compile(r"canary-[a-z]{16}")
_LAST_POSITION = 32_767
"""After every other model server, so that it is nobody's default."""


@dataclass(frozen=True, slots=True)
class Guests:
    """The owner of the canary's conversations, a stranger, and a person who may see hidden channels, whose account has no password.

    ``run``: the name of this run in everything that it creates.
    """

    run: str
    owner: User
    stranger: User
    trusted: User
    password: str = field(repr=False)


def new_run() -> str:
    """A name for a run."""
    return "canary-" + "".join(secrets.choice(_LETTERS) for _ in range(16))


def choice(run: str, kind: str, model: str) -> str:
    """The model choice with which the owner gets one scripted answer."""
    return f"{run}-{kind}/{model}"


def make(run: str, servers: Mapping[str, tuple[str, Sequence[str]]]) -> Guests:
    """Create all rows of a run, or none. ``servers``: the address and the models of each of ``answers.SERVERS`` that is played."""
    password = secrets.token_urlsafe(24)
    with transaction.atomic():
        group = Group.objects.create(name=run)
        owner, stranger = (User.objects.create_user(f"{run}-{name}", password=password) for name in ("owner", "stranger"))
        trusted = User.objects.create_user(f"{run}-trusted", is_staff=True)
        trusted.user_permissions.add(Permission.objects.get(content_type__app_label="chatui", codename="view_hidden_channels"))
        for person in (owner, stranger, trusted):
            person.groups.add(group)
        owner.groups.add(*_needed())
        for name, (url, models) in servers.items():
            summaries, summarizer = SERVERS[name].summaries
            row = StoredBackend.objects.create(
                name=f"{run}-{name}",
                label="Canary",
                kind=SERVERS[name].kind,
                url=url,
                model_names="\n".join(models),
                summaries=summaries,
                summarizer=summarizer and choice(run, name, summarizer),
                position=_LAST_POSITION,
                first_token_seconds=30,
                idle_seconds=30,
                overall_seconds=120,
            )
            row.groups.add(group)
    return Guests(run, owner, stranger, trusted, password)


def _needed() -> list[Group]:
    """The groups that the owner needs for share links, summaries and group instructions.

    Without staff status, they give no other permission. Groups that require a second factor are left out, because the owner only has a
    password.
    """
    env = environment()
    named = Group.objects.filter(required_factor=None).exclude(name__in=env.second_factor_groups)
    some = [named.filter(name__in=names).first() for names in (env.share_groups, env.summary_groups)]
    return [*filter(None, some), *named.filter(name__in=instructions.group_instructions().texts)]


def remove(run: str) -> None:
    """Remove all rows of a run, with everything that its people own; the audit log stays. Does nothing without rows."""
    with transaction.atomic():
        names = [f"{run}-{name}" for name in ("owner", "stranger", "trusted")]
        for row in StoredBackend.objects.filter(name__startswith=f"{run}-"):
            if spec := stored.spec_of(row):
                proofs.remove_of(proofs.places_of(spec, None), spec.models)
            row.delete()
        AttemptWarning.objects.filter(person_name__in=names).delete()
        people = User.objects.filter(username__in=names, groups__name=run)
        # Not those whose cookies a visitor got: a response can be lost after its session began.
        Session.objects.filter(session_key__in=BegunSession.objects.filter(user__in=people).values("key")).delete()
        for person in people:
            aggregation.close_all_of(person)
        # Usage without a person belongs to nobody.
        UsageEntry.objects.filter(Q(person__in=people) | Q(choice__startswith=f"{run}-")).delete()
        people.delete()
        Group.objects.filter(name=run).delete()


def remove_left_over() -> int:
    """Remove the rows of runs that died more than an hour ago; returns the number of runs."""
    before, removed = timezone.now() - LEFT_OVER_AFTER, 0
    for group in Group.objects.filter(name__startswith="canary-"):
        # The rows of a run are created and removed together, so its accounts show its age.
        if _RUN.fullmatch(group.name) and not User.objects.filter(groups=group, date_joined__gte=before).exists():
            remove(group.name)
            removed += 1
    return removed
