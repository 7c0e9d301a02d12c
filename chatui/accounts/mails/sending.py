"""Sends mail in the background: no page waits for a mail server, and one that is down breaks nothing."""

from __future__ import annotations

import logging
from functools import partial
from smtplib import SMTPException

from django.core.mail import EmailMessage
from django.db import transaction

from chatui.accounts.mails.background_queue import BackgroundQueue
from chatui.env import environment

log = logging.getLogger(__name__)

_behind = BackgroundQueue("account-mail")


def is_on() -> bool:
    """Whether the operator has configured a server for outgoing mail."""
    return bool(environment().mail_url)


def send_later(address: str, subject: str, body: str) -> None:
    """Send it once the transaction is committed; nothing is sent where there is no address or no server."""
    if address and is_on():
        transaction.on_commit(partial(_behind.submit, _send, address, subject, body))


def wait() -> None:
    """Until all that was handed over before is sent, or has failed."""
    _behind.wait()


def _send(address: str, subject: str, body: str) -> None:
    try:
        EmailMessage(" ".join(subject.split()), body, environment().mail_from or None, [address]).send()
    except (OSError, SMTPException, ValueError) as error:
        # Only the kind: the words of these errors quote addresses.
        log.error("a mail about an account could not be sent (%s)", type(error).__name__)
