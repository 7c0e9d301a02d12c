"""The error for a question that is refused before anything is stored."""

from __future__ import annotations

from datetime import datetime

from renderer.errors import ErrorCode


class AskRefusedError(Exception):
    """The request was refused, and nothing was stored. ``code`` carries the message for the person; ``until`` is when a limit ends (None:
    no limit is reached, or it ends with an answer)."""

    def __init__(self, code: ErrorCode, until: datetime | None = None) -> None:
        super().__init__(code.value)
        self.code = code
        self.until = until
