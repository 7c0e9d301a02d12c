"""The user account, and what is recorded about its creation and closing. No two accounts may have names that look alike.

It is recorded that one person created or changed another's account. The four-eyes rule needs it: if a second person must approve, such a
pair does not count as two people. A closed account has a row that says when, by whom and why it was closed, until it is reopened or erased.
A one-time code lets a person at the console create the first account.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.models import AbstractUser, Group, UserManager
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from chatui.models.keys import Keyed, Row
from chatui.skeletons import folded_skeleton, skeleton

LOOKS_TAKEN = _("An account with this name, or with one that looks like it, already exists.")
SKELETONS = {"name_skeleton": skeleton, "folded_name_skeleton": folded_skeleton}
"""The columns for finding look-alike names, each with the function that computes it."""


class SkeletonField(models.TextField):  # type: ignore[type-arg]
    """A skeleton of the user name: the same for names that look alike. The column updates itself on every save, and is unique."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs | {"unique": True, "editable": False})

    def pre_save(self, model_instance: models.Model, add: bool) -> str:
        """The name may have been changed since the row was read."""
        value = SKELETONS[self.attname](str(getattr(model_instance, "username", "")))
        setattr(model_instance, self.attname, value)
        return value


class UserQuerySet(QuerySet["User"]):
    """Updates the columns for look-alike names together with the names."""

    def update(self, **kwargs: Any) -> int:
        """Update the skeletons, too, when names are changed in bulk."""
        if "username" in kwargs:
            kwargs |= {column: of(str(kwargs["username"])) for column, of in SKELETONS.items()}
        return super().update(**kwargs)


class PersonManager(UserManager.from_queryset(UserQuerySet)):  # type: ignore[misc]
    """Creates accounts, and refuses a name that looks like another account's."""

    use_in_migrations = False

    def _create_user(self, username: str, email: str | None, password: str | None, **extra_fields: Any) -> User:
        # createsuperuser shows this message, where it would otherwise fail with the database's error.
        check_lookalikes(self.model.normalize_username(username))
        user: User = super()._create_user(username, email, password, **extra_fields)
        return user

    def create_superuser(self, username: str, email: str | None = None, password: str | None = None, **extra_fields: Any) -> User:
        """As in Django, but every password is checked: Django checks only one that is typed, and whoever types it may insist."""
        if password is not None:
            validate_password(password, self.model(username=username, email=email or ""))
        user: User = super().create_superuser(username, email, password, **extra_fields)
        return user

    def _create_user_object(self, username: str, email: str | None, password: str | None, **extra_fields: Any) -> User:
        user: User = super()._create_user_object(username, email, _form(password) if password else password, **extra_fields)
        return user


class User(Keyed, AbstractUser):
    """Django's user with a UUIDv7 key. A custom model since the first migration, so that it can be extended."""

    name_skeleton = SkeletonField()
    folded_name_skeleton = SkeletonField()
    language = models.CharField(_("language"), max_length=20, blank=True, default="", db_default="")
    """The language of the pages, a code of ``chatui.site.languages``; empty: the one that the browser requests."""
    time_zone = models.CharField(max_length=64, blank=True, default="", db_default="")
    """An IANA name; empty: UTC."""
    theme = models.CharField(max_length=5, blank=True, default="", db_default="")
    """Light or dark; empty: as their system."""
    choice = models.CharField(max_length=260, blank=True, default="", db_default="")
    """The model of a new conversation; empty: the operator's default."""
    effort = models.CharField(max_length=8, blank=True, default="", db_default="")
    """The reasoning effort of a new conversation; empty: the operator's default."""
    instructions = models.TextField(blank=True, default="", db_default="")
    """The person's preferences for all conversations, which rank below the operator's instructions; nobody else sees them."""
    finds_documents = models.BooleanField(default=False, db_default=False)
    """Whether their search includes the documents that they sent."""
    sessions_ended_at = models.DateTimeField(null=True, blank=True, editable=False)
    """When all sessions were last ended, which also ends a sign-in that began earlier."""
    sign_in_news = models.TextField(blank=True, default="", db_default="", editable=False)
    """Changes to their sign-in methods that they have not been told yet, one per line (``accounts.sign_in_notices``)."""
    rests_since = models.DateTimeField(null=True, blank=True, editable=False)
    """Since when a provider's operator has not admitted them, so that their keys and share links rest until they are admitted again; NULL:
    they are admitted."""
    is_heir = models.BooleanField(default=False, db_default=False, editable=False)
    """Whether it is the one account that receives the conversations of closed ones."""

    objects: ClassVar[PersonManager] = PersonManager()

    class Meta(AbstractUser.Meta):
        constraints = [models.UniqueConstraint(fields=["is_heir"], condition=Q(is_heir=True), name="one_heir")]

    def group_names(self) -> frozenset[str]:
        """The names of the groups that the person is in. Runs one query."""
        return frozenset(self.groups.values_list("name", flat=True))

    def validate_unique(self, exclude: Collection[str] | None = None) -> None:
        """Check that no other account's name looks like this one. Called by forms and ``full_clean``."""
        super().validate_unique({*(exclude or ()), *SKELETONS})
        if "username" not in (exclude or ()):
            check_lookalikes(self.username, self)

    def set_password(self, raw_password: str | None) -> None:
        """Set the password in normalized form, so that it is the same however a keyboard composes accented letters."""
        super().set_password(_form(raw_password) if raw_password else raw_password)

    def check_password(self, raw_password: str | None) -> bool:
        """Check the normalized password, then the password as typed: old hashes were stored without normalizing."""
        form = _form(raw_password or "")
        return super().check_password(form) or (form != raw_password and super().check_password(raw_password))

    async def acheck_password(self, raw_password: str | None) -> bool:
        form = _form(raw_password or "")
        return await super().acheck_password(form) or (form != raw_password and await super().acheck_password(raw_password))


def check_lookalikes(name: str, account: User | None = None) -> None:
    """Raise ValidationError if the name looks like that of an account other than ``account``. With an account, the error is of its field
    ``username``, as ``full_clean`` expects; without one, a form says itself which field it is about."""
    alike = Q(name_skeleton=skeleton(name)) | Q(folded_name_skeleton=folded_skeleton(name))
    others = User.objects.filter(alike)
    if (others.exclude(pk=account.pk) if account else others).exists():
        raise ValidationError({"username": LOOKS_TAKEN} if account else LOOKS_TAKEN, code="unique")


def _form(password: str) -> str:
    return unicodedata.normalize("NFKC", password)


class AccountChange(Row):
    """One change. It has no foreign keys, so that a chain through a third account counts after that account is deleted. ``what`` is plain
    text."""

    changer_id = models.UUIDField()
    changed_id = models.UUIDField()
    what = models.CharField(max_length=200)
    at = models.DateTimeField(auto_now_add=True)

    class Meta(Row.Meta):
        indexes = [models.Index(fields=["changer_id", "at"], name="account_change_by_changer")]


class GroupChange(Row):
    """Somebody changed a group, and with it what everybody may do who is in it, or joins it later. ``changer_id``: as in AccountChange."""

    changer_id = models.UUIDField()
    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta(Row.Meta):
        indexes = [models.Index(fields=["changer_id", "at"], name="group_change_by_changer")]


class ClosingCause(models.TextChoices):
    """Why an account was closed. Requests from other servers cannot close the accounts of people who manage this site."""

    STAFF = "staff", "by staff"
    OPERATOR = "operator", "by the operator"
    OWN = "own", "by the account's owner"
    PROVISIONING = "provisioning", "by the directory"
    LOGOUT = "logout", "by the sign-in service"

    @property
    def is_from_outside(self) -> bool:
        """Whether another server requested it."""
        return self in (ClosingCause.PROVISIONING, ClosingCause.LOGOUT)


class ClosedAccount(Row):
    """The record of a closed account."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="closed_account")
    closed_at = models.DateTimeField(auto_now_add=True)
    cause = models.CharField(max_length=16, choices=ClosingCause)
    source = models.CharField(max_length=40, blank=True)
    """The key of the provider that requested it; empty for other causes."""
    by_name = models.CharField(max_length=150, blank=True)
    """Who closed it, if that was somebody else."""
    is_going = models.BooleanField(default=False, db_default=False)
    """Whether it is being transferred and erased, so that it cannot be reopened; the next purge continues an interrupted erasure."""


class FirstAccountCode(models.Model):
    """The SHA-256 hash of a code that the server printed when it started. Each process prints its own; using one deletes them all."""

    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
