"""``manage.py check`` messages about the file of CHATUI_SIGN_IN_FILE."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.models import Group
from django.core import checks
from django.core.checks import CheckMessage, Error, register
from django.db import DatabaseError

from chatui.accounts.sign_in_rules.sign_in_file import EVERYBODY, sign_in_file
from chatui.env import environment
from chatui.models import Passkey, User


@register()
def sign_in_file_is_right(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """A mistake would leave a provider out, or close passwords to more people than was meant: it is an error."""
    return [Error(f"CHATUI_SIGN_IN_FILE: {problem}", id="chatui.E050") for problem in sign_in_file().problems]


@register()
def secrets_can_be_read(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Without its secret a client is refused by its provider."""
    return [
        Error(f"CHATUI_SIGN_IN_FILE: the client_secret_file of {provider.key!r} cannot be read.", id="chatui.E051")
        for provider in sign_in_file().providers
        if provider.client_secret_file is not None and not provider.client_secret_file.is_file()
    ]


@register()
def groups_exist(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Groups of the tables should exist: none is made by what a provider says."""
    named = {name for provider in sign_in_file().providers for name in provider.managed}
    try:
        unknown = sorted(named - set(Group.objects.values_list("name", flat=True))) if named else []
    except DatabaseError:
        return []  # not migrated yet, or down: other checks report that
    return [checks.Warning(f"CHATUI_SIGN_IN_FILE: there is no group {name!r}, so nobody joins it.", id="chatui.W052") for name in unknown]


@register()
def second_factor_groups_exist(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """A group that does not exist demands a second factor of nobody."""
    named = set(environment().second_factor_groups)
    try:
        unknown = sorted(named - set(Group.objects.values_list("name", flat=True))) if named else []
    except DatabaseError:
        return []
    words = "CHATUI_SECOND_FACTOR_GROUPS: there is no group {!r}, so nobody needs a second factor for it."
    return [checks.Warning(words.format(name), id="chatui.W054") for name in unknown]


@register()
def passkeys_are_for_this_host(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Browsers offer a passkey only at the host that it was made for, so after a move none of the old ones works."""
    hosts = {urlsplit(origin).hostname or "" for origin in environment().origins}
    try:
        elsewhere = Passkey.objects.exclude(site__in=hosts).count() if hosts else 0
    except DatabaseError:
        return []
    words = "{} passkeys were made for another host than those of CHATUI_ORIGINS, and work no more."
    return [checks.Warning(words.format(elsewhere), id="chatui.W057")] if elsewhere else []


@register()
def emergency_accounts_exist(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Where passwords are off for all others, an account must be left that can sign in while a provider is down."""
    file = sign_in_file()
    if file.passwords == EVERYBODY:
        return []
    try:
        is_there = any(person.has_usable_password() for person in User.objects.filter(username__in=file.emergency_accounts, is_active=True))
    except DatabaseError:
        return []
    words = "CHATUI_SIGN_IN_FILE: no emergency account can sign in; while a provider is down, nobody can."
    return [] if is_there else [checks.Warning(words, id="chatui.W053")]


@register()
def mails_name_an_address(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """A link in a mail begins with what the operator says, never with what a request says."""
    if not environment().mail_url or environment().origins:
        return []
    return [checks.Warning("CHATUI_MAIL_URL: without CHATUI_ORIGINS nobody can have a link for a new password sent.", id="chatui.W055")]
