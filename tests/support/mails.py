"""Mails about accounts, which are sent behind the page: at once, or all before the test looks."""

from typing import Any

import pytest

from chatui.accounts import mail
from chatui.accounts.mail import BackgroundQueue


def queue(name: str, *seconds: float) -> BackgroundQueue:
    """A queue of jobs with a thread of its own. ``seconds``: how long a process that ends waits for it."""
    return BackgroundQueue(name, *seconds)


def all_sent() -> None:
    """Wait until all mails so far are sent or have failed."""
    mail.wait()


class _Nothing:
    """A connection that nobody closes, and a transaction that is committed at once."""

    def close(self) -> None:
        pass

    def on_commit(self, work: Any) -> None:
        work()


def send_at_once(patch: pytest.MonkeyPatch) -> None:
    """From now on, what happens behind a page happens within its request."""
    from chatui.accounts import password_links  # needs Django, which a queue alone does not

    patch.setattr(password_links, "connection", _Nothing())
    patch.setattr(BackgroundQueue, "submit", lambda _, work, *values: work(*values))
    patch.setattr(mail, "transaction", _Nothing())
