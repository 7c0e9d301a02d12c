"""``manage.py tools``: lists the tools of tool servers, shows what has changed in them, and confirms them."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from chatui.env import environment
from chatui.json_schemas import UnusableError
from chatui.models.user import User
from chatui.tools import confirmations, server_registry
from chatui.tools.server_registry import Review, ReviewState
from renderer.characters import safe_for_terminal


class Command(BaseCommand):
    """Exit codes: 0 done, 1 something could not be confirmed, or with --check, something differs from its confirmation."""

    help = "List the tools of CHATUI_TOOLS_FILE, show what has changed, and confirm them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("names", metavar="NAME", nargs="*", help="names of tools (default: all)")
        parser.add_argument("--diff", action="store_true", help="show the definition that models get, and what has changed")
        parser.add_argument("--confirm", action="store_true", help="confirm the named tools as they are now")
        parser.add_argument("--check", action="store_true", help="exit with 1 if a tool differs from its confirmed definition")
        parser.add_argument("--as", metavar="ACCOUNT", dest="person", help="read what servers offer with this account's own sign-ins there")
        parser.add_argument("--withdraw", action="store_true", help="withdraw the confirmation of the named tools")

    def handle(self, *args: Any, **options: Any) -> None:
        env = environment()
        if env.tools_file is None:
            raise CommandError("CHATUI_TOOLS_FILE is not set.")
        try:
            confirmations.take_over(env.data_dir)
        except UnusableError as error:
            raise CommandError(str(error)) from None
        person = _account(options["person"]) if options["person"] else None
        tools, problems = asyncio.run(server_registry.reviewed(env.tools_file, confirmations.stored(), person))
        for problem in problems:
            self.stderr.write(safe_for_terminal(problem))
        named = [each for each in tools if not options["names"] or each.name in options["names"]]
        if missing := set(options["names"]) - {each.name for each in named}:
            raise CommandError(f"There is no tool {', '.join(sorted(map(safe_for_terminal, missing)))}.")
        for each in named:
            self._show(each, with_diff=options["diff"] or options["confirm"])
        if options["confirm"] or options["withdraw"]:
            self._change(named, options)
        elif options["check"] and (problems or any(each.state is not ReviewState.CONFIRMED for each in named)):
            raise CommandError("Not all tools match their confirmed definitions.")

    def _show(self, review: Review, *, with_diff: bool) -> None:
        when = f"{review.confirmed_at:%Y-%m-%d %H:%M} UTC" if review.confirmed_at else ""
        when += f", by {review.confirmed_by}" if review.confirmed_by else ""
        what = f" ({review.problem or when})" if review.problem or when else ""
        self.stdout.write(f"{review.name}: {review.state}{safe_for_terminal(what)}")
        if with_diff and review.state is not ReviewState.CONFIRMED:
            for line in review.diff():
                self.stdout.write(f"    {safe_for_terminal(line)}")

    def _change(self, named: list[Review], options: dict[str, Any]) -> None:
        if not options["names"]:
            raise CommandError("Name the tools to confirm or withdraw.")
        if unusable := [each.name for each in named if each.offer is None and not options["withdraw"]]:
            raise CommandError(f"{unusable[0]} cannot be confirmed.")
        with transaction.atomic():
            for each in named:
                if options["withdraw"]:
                    confirmations.withdraw(each.name)
                elif each.offer is not None:
                    confirmations.confirm(each.offer)
        word = "withdrawn" if options["withdraw"] else "confirmed"
        self.stdout.write(f"{word.capitalize()}: {', '.join(each.name for each in named)}")


def _account(name: str) -> UUID:
    found: UUID | None = User.objects.filter(username=name, is_active=True).values_list("pk", flat=True).first()
    if found is None:
        raise CommandError(f"There is no open account {safe_for_terminal(name)}.")
    return found
