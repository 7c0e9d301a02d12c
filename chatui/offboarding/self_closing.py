"""Closes a person's own account at their request."""

from __future__ import annotations

from chatui.audit_log.record import Visitor
from chatui.models.accounts.closed_account import Cause
from chatui.offboarding.closing import close_account
from chatui.permissions.access import person_of


def close_own(visitor: Visitor) -> None:
    """Close the visitor's own account. The caller must have verified their identity. Raises CannotCloseError like ``close_account``."""
    close_account(person_of(visitor), Cause.OWN, visitor)
