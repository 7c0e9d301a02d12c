"""``manage.py purge``: permanently removes data whose retention time is over. Run it daily."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from chatui.accounts import sessions
from chatui.audit_log import aggregation
from chatui.audit_log.record import SHELL, record
from chatui.env import environment
from chatui.lifecycle import closed_accounts
from chatui.lifecycle import erasure as lifecycle_erasure
from chatui.store import erasure, hidden_text
from chatui.turns import temporary

_ALL = 1_000_000


class Command(BaseCommand):
    """The audit log is kept: it contains no text of conversations. The run is recorded there before anything is removed."""

    help = (
        "Permanently remove old deleted conversations, hidden text older than CHATUI_HIDDEN_DAYS, and expired sessions; "
        "hand over and erase old closed accounts if CHATUI_CLOSED_ACCOUNTS requires it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The retention time of the bin, in days."""
        days = environment().bin_days
        parser.add_argument("--days", type=int, default=days, help=f"days to keep a deleted conversation (CHATUI_BIN_DAYS: {days})")
        parser.add_argument("--heir", metavar="NAME", help="only choose the account that gets conversations of closed ones; '': none")
        parser.add_argument("--vacuum", action="store_true", help="SQLite: rewrite the database file afterwards")

    def handle(self, *args: Any, **options: Any) -> None:
        """Remove the data, and print what was removed."""
        if options["heir"] is not None:
            self._choose_heir(options["heir"])
            return
        aggregation.close_expired(_ALL)
        before = timezone.now() - timedelta(days=options["days"])
        count = erasure.count_expired(before)
        old = hidden_text.too_old()
        hidden = f"; hidden text stored before {old:%Y-%m-%d %H:%M}" if old else ""
        record("retention run", SHELL, detail=f"conversations deleted before {before:%Y-%m-%d %H:%M}: {count}{hidden}")
        removed = erasure.erase_expired(before)
        erasure.sweep()
        if done := hidden_text.forget_old():
            self.stdout.write(f"{done.capitalize()}.")
        temporary.end_overdue()
        self._erase_closed_accounts()
        call_command("clearsessions")
        sessions.delete_ended()
        warning = lifecycle_erasure.wipe(vacuum=options["vacuum"])
        self.stdout.write(f"Removed {removed} conversations. {warning}".strip())

    def _choose_heir(self, name: str) -> None:
        try:
            closed_accounts.choose_heir(SHELL, name)
        except closed_accounts.NoHeirError:
            raise CommandError("There is no such open account.") from None
        self.stdout.write("This account is the heir now." if name else "No account is the heir now.")

    def _erase_closed_accounts(self) -> None:
        try:
            for account in closed_accounts.apply_retention(SHELL):
                transferred = f" after {account.handed_over} conversations were handed over" if account.handed_over else ""
                self.stdout.write(f"Erased a closed account{transferred}.")
        except closed_accounts.NoHeirError:
            self.stderr.write("No account is the heir (purge --heir NAME): closed accounts were left unchanged.")
