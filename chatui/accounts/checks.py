"""Django system checks of the sign-in settings, and of the groups that settings name."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from django.core import checks
from django.core.checks import CheckMessage, Error, register
from django.db import DatabaseError

from chatui import instructions
from chatui.accounts import groups, people
from chatui.accounts.sign_in_settings import EVERYBODY, sign_in_file
from chatui.env import environment
from chatui.models.sign_in import Passkey
from chatui.models.user import User

Check = Callable[..., list[CheckMessage]]


def _with_database(check: Check) -> Check:
    """The check finds nothing if the database is not migrated yet, or down: other checks report that."""

    @wraps(check)
    def run(*values: Any, **kwargs: Any) -> list[CheckMessage]:
        try:
            return check(*values, **kwargs)
        except DatabaseError:
            return []

    return run


@register()
def sign_in_file_is_valid(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Report mistakes in the sign-in file as errors: they could omit a provider, or disable passwords for more people than intended."""
    return [Error(f"CHATUI_SIGN_IN_FILE: {problem}", id="chatui.E050") for problem in sign_in_file().problems]


@register()
def client_secrets_are_readable(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Report unreadable client secrets: the provider would refuse the client."""
    return [
        Error(f"CHATUI_SIGN_IN_FILE: the client_secret_file of {provider.key!r} cannot be read.", id="chatui.E051")
        for provider in sign_in_file().providers
        if provider.client_secret_file is not None and not provider.client_secret_file.is_file()
    ]


@register()
@_with_database
def named_groups_exist(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Report settings that name a missing group, and so have no effect. Other checks cover the settings of model servers and answer
    limits."""
    missing = [reference for reference in groups.missing() if reference.setting not in (groups.BACK_ENDS, groups.LIMITS)]
    known = {groups.SIGN_IN: "chatui.W052", groups.FACTOR: "chatui.W054"}
    words = "{}: there is no group {!r}, so {}."
    return [
        checks.Warning(words.format(reference.setting, reference.group, reference.effect), id=known.get(reference.setting, "chatui.W058"))
        for reference in missing
    ]


@register()
def group_instructions_are_valid(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Report mistakes in the groups' instructions as errors: some people would get no instructions."""
    return [
        Error(f"CHATUI_GROUP_INSTRUCTIONS_FILE: {problem}.", id="chatui.E053") for problem in instructions.group_instructions().problems
    ]


@register()
@_with_database
def passkeys_match_host(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Report a changed host name: browsers offer a passkey only for the host that it was created for, so old passkeys stop working."""
    hosts = {urlsplit(origin).hostname or "" for origin in environment().origins}
    elsewhere = Passkey.objects.exclude(site__in=hosts).count() if hosts else 0
    words = "{} passkeys were created for a host that is not in CHATUI_ORIGINS, and no longer work."
    return [checks.Warning(words.format(elsewhere), id="chatui.W057")] if elsewhere else []


@register()
@_with_database
def emergency_accounts_exist(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Report missing emergency accounts: if passwords are off, somebody must still be able to sign in while a provider is down."""
    file = sign_in_file()
    if file.passwords == EVERYBODY:
        return []
    is_there = any(person.has_usable_password() for person in User.objects.filter(username__in=file.emergency_accounts, is_active=True))
    words = "CHATUI_SIGN_IN_FILE: no emergency account can sign in; while a provider is down, nobody can."
    return [] if is_there else [checks.Warning(words, id="chatui.W053")]


@register()
@_with_database
def heir_is_chosen(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Report a missing heir: closed accounts are then neither handed over nor erased."""
    is_missing = environment().closed_accounts == "hand-over" and people.heir() is None
    words = "CHATUI_CLOSED_ACCOUNTS: no account is the heir, so nothing is handed over. Choose one: manage.py purge --heir NAME."
    return [checks.Warning(words, id="chatui.W059")] if is_missing else []


@register()
def mail_links_have_address(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Report a missing address for links in mails: they use the operator's setting, never the host of a request."""
    if not environment().mail_url or environment().origins:
        return []
    return [checks.Warning("CHATUI_MAIL_URL: without CHATUI_ORIGINS, no password reset links can be mailed.", id="chatui.W055")]
