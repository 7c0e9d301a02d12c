"""``manage.py scim_token KEY``: creates or revokes the token with which a provider's directory provisions accounts (SCIM)."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatui.accounts.sign_in_settings import provider_of
from chatui.audit_log.record import SHELL
from chatui.lifecycle import scim_tokens


class Command(BaseCommand):
    """Exit codes: 0 done, 1 there is no such provider in the file, or no token to revoke."""

    help = "Create a SCIM token for a provider, replacing its previous one. It is shown once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("key", metavar="KEY", help="key of the provider in the file of CHATUI_SIGN_IN_FILE")
        parser.add_argument("--revoke", action="store_true", help="revoke the token instead")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["revoke"]:
            if not scim_tokens.revoke(SHELL, options["key"]):
                raise CommandError("There is no token of this provider.")
            self.stdout.write("Revoked.")
            return
        provider = provider_of(options["key"])
        if provider is None:
            raise CommandError("There is no such provider in the file of CHATUI_SIGN_IN_FILE.")
        self.stdout.write(scim_tokens.create(SHELL, provider))
