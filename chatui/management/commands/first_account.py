"""``manage.py first_account``: prints a new one-time code for the first account."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from chatui.accounts.sign_in import new_code


class Command(BaseCommand):
    """For operators who did not see the code that the server printed."""

    help = "Print a one-time code for the first account."

    def handle(self, *args: Any, **options: Any) -> None:
        code = new_code()
        if code is None:
            raise CommandError("An account already exists.")
        self.stdout.write(code)
