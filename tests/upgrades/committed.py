"""The list of migrations that were committed, with their SHA-256: somebody's database has been through them, so they never change.

``python -m tests.upgrades.committed`` adds the new ones to ``committed.txt``.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from tests.support.places import ROOT

LIST = Path(__file__).with_name("committed.txt")
MIGRATIONS = ROOT / "chatui" / "migrations"


def names() -> list[str]:
    """The names of all migrations, the oldest first."""
    return sorted(path.stem for path in MIGRATIONS.glob("[0-9]*.py"))


def digest(name: str) -> str:
    """SHA-256 of a migration, in hexadecimal."""
    return sha256((MIGRATIONS / f"{name}.py").read_bytes()).hexdigest()


def listed() -> dict[str, str]:
    """What the list says: the digest of each migration in it."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


def main() -> None:
    """Add what is not in the list; what is there stays as it is."""
    known = listed()
    lines = [f"{known.get(name) or digest(name)}  {name}\n" for name in sorted({*known, *names()})]
    LIST.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
