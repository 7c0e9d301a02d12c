"""The digest of a line of the audit log, computed from its columns alone, as anybody can who has only the file."""

import hashlib
import json
from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from chatui.audit_log.record import HASHED_COLUMNS
from chatui.models.audit import AuditEvent


def digest(event: AuditEvent) -> str:
    """Of a row, in hexadecimal."""
    return digest_of(getattr(event, column) for column in HASHED_COLUMNS)


def digest_of(values: Iterable[object]) -> str:
    """From the values of ``HASHED_COLUMNS``."""
    return hashlib.sha256(json.dumps([_plain(value) for value in values]).encode()).hexdigest()


def _plain(value: object) -> object:
    match value:
        case None:
            return ""
        case datetime():
            return value.isoformat()
        case UUID():
            return str(value)
        case _:
            return value
