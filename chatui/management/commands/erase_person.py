"""``manage.py erase_person NAME``: permanently erases an account and all data of its person. Recorded in the audit log."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatui.audit_log.record import SHELL
from chatui.lifecycle import closing
from chatui.lifecycle.erasure import contents_of, erase
from chatui.models.user import User
from renderer.characters import safe_for_terminal


class Command(BaseCommand):
    """Exit codes: 0 erased (or only counted, with --dry-run), 1 there is no such account, it is the heir, or it was not confirmed."""

    help = "Erase a person: account, conversations, search index, share links, sessions, debug requests. Cannot be undone."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="account name")
        parser.add_argument("--dry-run", action="store_true", help="only list what would be erased")
        parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
        parser.add_argument("--vacuum", action="store_true", help="SQLite: rewrite the database file afterwards")

    def handle(self, *args: Any, **options: Any) -> None:
        person = User.objects.filter(username=options["name"]).first()
        if person is None:
            raise CommandError("There is no such account.")
        if person.is_heir:
            raise CommandError(f"Not erased: {closing.HEIR}.")
        self.stdout.write(f"{safe_for_terminal(person.get_username())}: {contents_of(person)}")
        if options["dry_run"]:
            return
        if not options["yes"] and not self._is_confirmed(person.get_username()):
            raise CommandError("Nothing was erased.")
        erased = erase(SHELL, person, vacuum=options["vacuum"])
        self.stdout.write(f"Erased. {erased.warning}".strip())

    def _is_confirmed(self, name: str) -> bool:
        self.stdout.write("This cannot be undone. Type the name of the account to erase it: ", ending="")
        self.stdout.flush()
        try:
            return input() == name
        except EOFError:
            return False
