"""Django system checks of the sign-in settings, and of the groups that settings name."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.core import checks
from django.core.checks import CheckMessage, Error, register
from django.db import DatabaseError

from chatui.accounts.people import named_groups
from chatui.accounts.sign_in_rules.sign_in_file import EVERYBODY, sign_in_file
from chatui.env import environment
from chatui.models import Passkey, User
from chatui.prompts import operators


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
def named_groups_exist(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """What a setting says of a group that does not exist counts for nobody. Of back ends and limits of answers other checks say so."""
    try:
        missing = [naming for naming in named_groups.missing() if naming.setting not in (named_groups.BACK_ENDS, named_groups.LIMITS)]
    except DatabaseError:
        return []  # not migrated yet, or down: other checks report that
    known = {named_groups.SIGN_IN: "chatui.W052", named_groups.FACTOR: "chatui.W054"}
    words = "{}: there is no group {!r}, so {}."
    return [
        checks.Warning(words.format(naming.setting, naming.group, naming.effect), id=known.get(naming.setting, "chatui.W058"))
        for naming in missing
    ]


@register()
def group_instructions_are_right(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """A mistake would leave somebody without the instructions that they are to be under: it is an error."""
    return [Error(f"CHATUI_GROUP_INSTRUCTIONS_FILE: {problem}.", id="chatui.E053") for problem in operators.of_groups().problems]


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
