"""``manage.py purge``: permanently removes data whose retention time is over. ``serve`` starts it once a day."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from asyncio.subprocess import DEVNULL
from datetime import timedelta
from typing import Any

from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connection
from django.utils import timezone

from chatui.accounts import sessions
from chatui.audit_log import aggregation
from chatui.audit_log.record import PRODUCT, SHELL, Visitor, record
from chatui.database import connections, file_locks, pools
from chatui.database.faults import DatabaseBusyError, Refused
from chatui.display import system
from chatui.env import environment
from chatui.lifecycle import closed_accounts
from chatui.lifecycle import erasure as lifecycle_erasure
from chatui.store import assistants, collections, erasure, hidden_text, reindexing, saved_prompts
from chatui.turns import temporary

log = logging.getLogger(__name__)

_ALL = 1_000_000
WRONG_CLOCK = 3
"""The exit code if nothing was removed because the clock of this machine is not the database's."""
REFUSED = 4
"""The exit code if the database refused to remove some things, and all others were removed."""
LOOK_SECONDS = 600.0
"""How often a serving process looks whether a purge is due."""


_tasks: set[asyncio.Task[None]] = set()


def begin() -> None:
    """Start to purge daily, and to index older messages again after an upgrade, on the running event loop."""
    task = asyncio.get_running_loop().create_task(_daily(), name="purge")
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


async def _daily() -> None:
    """Purge once a day while this process serves, in a process of its own: its memory is freed, and its work delays no page."""
    is_clock_right = True
    while True:
        try:
            is_due = environment().purge_daily and await pools.reaper.run_or_busy(system.purge_is_due)
            was_right, is_clock_right = is_clock_right, not is_due or await pools.reaper.run_or_busy(connections.is_clock_right)
            if was_right and not is_clock_right:
                log.error("nothing was purged: the clock of this machine differs from the database's by more than five minutes")
            code = await _ended("purge", "--if-due") if is_due and is_clock_right else 0
            if code == REFUSED:
                log.error("the daily purge could not remove everything; the next one tries again")
            elif code:
                log.error("the daily purge failed (exit code %d); it is tried again in an hour", code)
            if await pools.reaper.run_or_busy(reindexing.is_due) and (code := await _ended("reindex")):
                log.error("indexing older messages again failed (exit code %d); it is continued in ten minutes", code)
        except (DatabaseBusyError, DatabaseError, OSError) as error:
            log.warning("the daily purge could not begin (%s)", type(error).__name__)
        await asyncio.sleep(LOOK_SECONDS)


async def _ended(*command: str) -> int:
    child = await asyncio.create_subprocess_exec(sys.executable, sys.argv[0], *command, stdout=DEVNULL)
    return await child.wait()


class Command(BaseCommand):
    """The audit log is kept: it contains no text of conversations. The run is recorded there before anything is removed."""

    help = (
        "Permanently remove old deleted conversations, hidden text older than CHATUI_HIDDEN_DAYS, and expired sessions; "
        "hand over and erase old closed accounts if CHATUI_CLOSED_ACCOUNTS requires it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        days = environment().bin_days
        parser.add_argument("--days", type=int, default=days, help=f"days to keep a deleted conversation (CHATUI_BIN_DAYS: {days})")
        parser.add_argument("--heir", metavar="NAME", help="only choose the account that gets conversations of closed ones; '': none")
        parser.add_argument("--if-due", action="store_true", help="do nothing if there was a run within the last day")
        parser.add_argument("--vacuum", action="store_true", help="SQLite: rewrite the database file afterwards")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["heir"] is not None:
            self._choose_heir(options["heir"])
            return
        with file_locks.alone(connection, file_locks.PURGING) as is_alone:
            if not is_alone:
                self.stdout.write("Another process purges now.")
            elif not options["if_due"] or system.purge_is_due():
                self._purge(options["days"], PRODUCT if options["if_due"] else SHELL, vacuum=options["vacuum"])

    def _purge(self, days: int, visitor: Visitor, *, vacuum: bool) -> None:
        _check_clock()
        started = time.monotonic()
        before = timezone.now() - timedelta(days=days)
        count = erasure.count_expired(before)  # first: a database without our tables ends the command, and has refused nothing
        refused = Refused()
        with refused.one("counts of the audit log"):
            aggregation.close_expired(_ALL)
        old = hidden_text.too_old()
        hidden = f"; hidden text stored before {old:%Y-%m-%d %H:%M}" if old else ""
        record(system.PURGE, visitor, detail=f"conversations deleted before {before:%Y-%m-%d %H:%M}: {count}{hidden}")
        removed = erasure.erase_expired(before, refused)
        assistants.erase_expired(before, refused)
        collections.erase_expired(before, refused)
        saved_prompts.erase_expired(before, refused)
        erasure.sweep(refused)
        if done := hidden_text.forget_old(refused=refused):
            self.stdout.write(f"{done.capitalize()}.")
        ended = temporary.end_overdue(refused=refused)
        accounts = self._erase_closed_accounts(visitor, refused)
        expired = Session.objects.filter(expire_date__lt=timezone.now()).count()
        with refused.one("sessions"):
            call_command("clearsessions")
            sessions.delete_ended()
        warning = lifecycle_erasure.wipe(vacuum=vacuum)
        found = f"conversations: {removed}, temporary chats: {ended}, sessions: {expired}, closed accounts: {accounts}"
        left = f"refused by the database: {refused.count}" if refused.count else ""
        record(system.PURGE_ENDED, visitor, detail="; ".join(filter(None, (f"{time.monotonic() - started:.1f} s", found, left, done))))
        self.stdout.write(f"Removed {removed} conversations. {warning}".strip())
        if refused.count:
            raise CommandError(
                f"The database refused to remove something {refused.count} times; the log says what. The next purge tries again.",
                returncode=REFUSED,
            )

    def _choose_heir(self, name: str) -> None:
        try:
            closed_accounts.choose_heir(SHELL, name)
        except closed_accounts.NoHeirError:
            raise CommandError("There is no such open account.") from None
        self.stdout.write("This account is the heir now." if name else "No account is the heir now.")

    def _erase_closed_accounts(self, visitor: Visitor, refused: Refused) -> int:
        count = 0
        try:
            for handed_over in closed_accounts.apply_retention(visitor, refused):
                count += 1
                transferred = f" after {handed_over} conversations were handed over" if handed_over else ""
                self.stdout.write(f"Erased a closed account{transferred}.")
        except closed_accounts.NoHeirError:
            self.stderr.write("No account is the heir (purge --heir NAME): closed accounts were left unchanged.")
        return count


def _check_clock() -> None:
    """A machine whose clock is fast would find everything in the bins too old, and all sessions ended."""
    error = connections.clock_error()
    if abs(error) <= connections.MOST_CLOCK_ERROR:
        return
    way = "behind" if error < timedelta(0) else "ahead of"
    by = timedelta(seconds=round(abs(error).total_seconds()))
    raise CommandError(
        f"Nothing was purged: the clock of this machine is {by} {way} that of the database. Correct the one that is wrong.",
        returncode=WRONG_CLOCK,
    )
