"""Logs the errors of a running turn without their messages, which may quote a transcript."""

from __future__ import annotations

import logging
import traceback
from uuid import UUID


def log_without_content(log: logging.Logger, turn_id: UUID, error: Exception) -> None:
    """Log an exception without its message, which may quote a transcript."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    log.error("turn %s failed: %s\n%s", turn_id, type(error).__name__, frames)
