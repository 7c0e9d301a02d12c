"""``manage.py close_account NAME``: closes an account, or reopens it with ``--reopen``. Recorded in the audit log."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatui.audit_log.record import SHELL
from chatui.lifecycle import closing
from chatui.models.user import ClosingCause, User


class Command(BaseCommand):
    """Exit codes: 0 done, or there was nothing to do; 1 there is no such account, or it is the heir."""

    help = "Close an account and end its sessions, sockets, answers, API keys, invitations and debug views. Erases nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="account name")
        parser.add_argument("--reopen", action="store_true", help="open a closed account again")

    def handle(self, *args: Any, **options: Any) -> None:
        person = User.objects.filter(username=options["name"]).first()
        if person is None:
            raise CommandError("There is no such account.")
        if options["reopen"]:
            was_open = "It was open." if person.is_active else "It is being erased."
            self.stdout.write("Opened." if closing.reopen_account(person, SHELL) else was_open)
        else:
            try:
                is_new = closing.close_account(person, ClosingCause.OPERATOR, SHELL)
            except closing.CannotCloseError as error:
                raise CommandError(f"Not closed: {error.why}.") from None
            self.stdout.write("Closed." if is_new else "It was closed.")
