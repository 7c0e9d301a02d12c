"""The keys that the operator gives to each machine: for sessions and second factors, for sealed texts, and for files.

A machine with another one would sign everybody out, lock out second factors, and store what the others cannot read. The database has a
digest of each, recorded by the first start: later ones of a machine with other keys are refused. A new key whose predecessor the machine
still has, in ``…_KEYS_BEFORE``, takes its place by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from chatui.audit_log.record import PRODUCT, SHELL, Visitor, lock, record
from chatui.env import environment
from chatui.models.machine_keys import MachineKey
from chatui.program import command

ACTION = "machine key replaced"


class OtherKeysError(Exception):
    """This machine has other keys than the database recorded. The text says what to do."""


@dataclass(frozen=True, slots=True)
class OwnKey:
    """A key of this machine, as digests."""

    name: str
    setting: str
    """Where the operator sets it."""
    digest: str
    before: frozenset[str] = field(default_factory=frozenset)
    """The digests of earlier ones, which still open what they sealed."""
    recorded: str | None = None
    """What the database has; None if nothing."""
    recorded_at: datetime | None = None

    @property
    def is_same(self) -> bool:
        return self.digest == self.recorded

    @property
    def differs(self) -> bool:
        """Whether what was stored with the recorded key could not be read here. Files that were stored without a key can."""
        return self.recorded is not None and not self.is_same and self.recorded not in self.before and bool(self.recorded)


def own() -> list[OwnKey]:
    """The keys of this machine, and what the database recorded of each."""
    rows = {row.name: row for row in MachineKey.objects.all()}
    return [
        OwnKey(name, setting, digest, before, row.digest if row else None, row.recorded_at if row else None)
        for name, setting, digest, before in _own()
        for row in [rows.get(name)]
    ]


def _own() -> Iterator[tuple[str, str, str, frozenset[str]]]:
    env = environment()
    secret = env.signing_key()
    where = "CHATUI_SECRET_KEY" if env.secret_key else f"the file {env.data_dir / 'secret_key'}, or CHATUI_SECRET_KEY"
    keys: list[tuple[str, str, str, list[str]]] = [
        ("secret_key", where, secret, []),
        ("sealing_key", "CHATUI_SEALING_KEY, if they have one", env.sealing_key or secret, env.sealing_keys_before),
        ("file_key", "CHATUI_FILE_KEY, if they have one", env.file_key, env.file_keys_before),
    ]
    for name, setting, key, before in keys:
        yield name, setting, _digest(name, key), frozenset(_digest(name, each) for each in before)


def _digest(name: str, key: str) -> str:
    """A digest by which a key is recognized. Like the sealed texts beside it, it lets whoever reads it try guesses, and betrays no more."""
    return salted_hmac(f"chatui.machine_keys.{name}", "", secret=key, algorithm="sha256").hexdigest() if key else ""


def require() -> None:
    """Record the keys of this machine, or those that take the place of recorded ones.

    Raises:
        OtherKeysError: the database recorded other ones. Nothing was recorded.
    """
    if all(key.is_same for key in own()):
        return
    with transaction.atomic():
        lock()  # machines may start together
        keys = own()
        if others := [key for key in keys if key.differs]:
            raise OtherKeysError(sentence(others))
        _store(keys, PRODUCT)


def accept() -> list[str]:
    """Record the keys of this machine, whatever was recorded. Returns the names of those that took the place of others."""
    with transaction.atomic():
        lock()
        return _store(own(), SHELL)


def forget() -> None:
    """Let the next start record its keys: a backup is restored, perhaps on a machine that has new ones."""
    MachineKey.objects.all().delete()


def sentence(others: list[OwnKey]) -> str:
    """What to do on a machine with other keys."""
    settings = "; ".join(dict.fromkeys(key.setting for key in others))
    return (
        f"This machine has another {' and '.join(key.name for key in others)} than the one that the database recorded. Give it those of "
        f"the other machines ({settings}). If all machines get a new one, or the old one is lost, run "
        f"{command('machine_keys --accept')} once (docs/scaling.md, Keys)."
    )


def _store(keys: list[OwnKey], visitor: Visitor) -> list[str]:
    replaced = [key.name for key in keys if key.recorded is not None and not key.is_same]
    for key in keys:
        if not key.is_same:
            MachineKey.objects.update_or_create(name=key.name, defaults={"digest": key.digest, "recorded_at": timezone.now()})
    for name in replaced:
        record(ACTION, visitor, detail=name)
    return replaced
