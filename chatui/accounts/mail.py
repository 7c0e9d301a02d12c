"""Sends mail in the background: no page waits for a mail server, and a failure is only logged.

A process that shuts down waits only a few seconds for what is still queued.
"""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable
from functools import partial
from queue import Queue
from smtplib import SMTPException
from typing import Any

from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.validators import validate_email
from django.db import transaction

from chatui.env import environment

log = logging.getLogger(__name__)

SHUTDOWN_SECONDS = 5.0
"""How long a process that shuts down waits for its queue. A hanging mail server would take ten seconds for each mail."""


class BackgroundQueue:
    """A queue with its own thread, which starts with the first job. ``name``: the thread's name."""

    def __init__(self, name: str, shutdown_seconds: float = SHUTDOWN_SECONDS) -> None:
        self._name, self._shutdown_seconds = name, shutdown_seconds
        self._lock = threading.Lock()
        self._is_started = False
        self._jobs: Queue[tuple[Callable[..., object], tuple[Any, ...]]] = Queue()

    def submit(self, work: Callable[..., object], *values: Any) -> None:
        """Run ``work`` soon. If it raises, the type of the exception is logged, and the queue continues."""
        with self._lock:
            if not self._is_started:
                # Not an executor: the process could not exit before all of its work is done.
                threading.Thread(target=self._run, name=self._name, daemon=True).start()
                atexit.register(self._wait_at_exit)
                self._is_started = True
        self._jobs.put((work, values))

    def wait(self) -> None:
        """Wait until all submitted work is done or has failed."""
        self._jobs.join()

    def _run(self) -> None:
        while True:
            work, values = self._jobs.get()
            try:
                work(*values)
            except Exception as error:  # noqa: BLE001 - the next job must still run
                # Only the type: the message may quote an address.
                log.error("a background job failed (%s)", type(error).__name__)
            finally:
                self._jobs.task_done()

    def _wait_at_exit(self) -> None:
        done = self._jobs.all_tasks_done
        with done:
            if not done.wait_for(lambda: not self._jobs.unfinished_tasks, self._shutdown_seconds):
                log.error("the process ended before %d mails were sent", self._jobs.unfinished_tasks)


_queue = BackgroundQueue("account-mail")


def is_on() -> bool:
    """Whether the operator has configured a server for outgoing mail."""
    return bool(environment().mail_url)


def can_send_links() -> bool:
    """Whether mail can be sent, and the address for links in it is configured."""
    return is_on() and bool(environment().origins)


def is_address(text: str) -> bool:
    """Whether this is a well-formed e-mail address that a column has room for."""
    try:
        validate_email(text)
    except ValidationError:
        return False
    return len(text) <= 254


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
