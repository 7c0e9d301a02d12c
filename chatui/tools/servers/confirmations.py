"""The tool definitions that the operator has confirmed, stored in the data directory. A model is only ever shown these."""

from __future__ import annotations

import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chatui.tools.remote.offer import Offer

FILE = "confirmed_tools.json"
_MAX_BYTES = 10_000_000


class Confirmation(BaseModel):
    """An offer as the operator confirmed it, and the time."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    offer: Offer
    digest: str
    confirmed_at: datetime


class Confirmations(BaseModel):
    """The content of the file. ``tools``: by our names."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int = Field(1, ge=1, le=1)
    tools: dict[str, Confirmation] = Field(default_factory=dict)

    def of(self, offer: Offer) -> Confirmation | None:
        """The confirmation under the name of this offer."""
        return self.tools.get(offer.name)

    def is_confirmed(self, offer: Offer) -> bool:
        """Whether exactly this offer was confirmed."""
        found = self.of(offer)
        return found is not None and found.digest == offer.digest()


class UnreadableError(Exception):
    """The file of confirmations is damaged. The text is for the operator."""


def read(data_dir: Path) -> Confirmations:
    """The confirmations; none if there is no file yet. Entries that do not match their digest are left out.

    Raises:
        UnreadableError: the file is damaged.
    """
    try:
        with (data_dir / FILE).open("rb") as file:
            found = Confirmations.model_validate_json(file.read(_MAX_BYTES))
    except FileNotFoundError:
        return Confirmations()
    except (OSError, ValidationError) as error:
        raise UnreadableError(f"{FILE} in the data directory cannot be read ({type(error).__name__})") from None
    return Confirmations(tools={name: each for name, each in found.tools.items() if each.offer.digest() == each.digest})


def confirmation_stamp(data_dir: Path) -> tuple[int, int]:
    """A value that changes whenever the file does."""
    try:
        status = (data_dir / FILE).stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_ino


def write(data_dir: Path, confirmations: Confirmations) -> None:
    """Replace the file atomically: a process that reads it meanwhile finds either the old one or the new one."""
    handle, path = tempfile.mkstemp(dir=data_dir, prefix=FILE)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(confirmations.model_dump_json(indent=1))
            file.flush()
            os.fsync(file.fileno())
        Path(path).replace(data_dir / FILE)
    except BaseException:
        Path(path).unlink(missing_ok=True)
        raise


def confirm(known: Confirmations, offer: Offer) -> Confirmations:
    """The confirmations with this offer added, replacing any of the same name."""
    made = Confirmation(offer=offer, digest=offer.digest(), confirmed_at=datetime.now(UTC))
    return Confirmations(tools={**known.tools, offer.name: made})
