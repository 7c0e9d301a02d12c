"""Sends mail in the background: no page waits for a mail server, and a failure is only logged."""

from __future__ import annotations

import logging
from functools import partial
from smtplib import SMTPException

from django.core.mail import EmailMessage
from django.db import transaction

from chatui.accounts.mails.background_queue import BackgroundQueue
from chatui.env import environment

log = logging.getLogger(__name__)

_queue = BackgroundQueue("account-mail")


def is_on() -> bool:
    """Whether the operator has configured a server for outgoing mail."""
    return bool(environment().mail_url)


def send_later(address: str, subject: str, body: str) -> None:
    """Send a mail once the transaction is committed. Nothing is sent without an address or a server."""
    if address and is_on():
        transaction.on_commit(partial(_queue.submit, _send, address, subject, body))


def wait() -> None:
    """Wait until all mails submitted so far are sent or have failed."""
    _queue.wait()


def _send(address: str, subject: str, body: str) -> None:
    try:
        EmailMessage(" ".join(subject.split()), body, environment().mail_from or None, [address]).send()
    except (OSError, SMTPException, ValueError) as error:
        # Only the type: the messages of these errors quote addresses.
        log.error("a mail about an account could not be sent (%s)", type(error).__name__)
