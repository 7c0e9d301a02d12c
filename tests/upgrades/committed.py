"""The list of committed migrations with their SHA-256 digests. They never change, because existing databases have applied them.

``python -m tests.upgrades.committed`` adds the new ones to ``committed.txt``.
"""

from hashlib import sha256
from pathlib import Path

from tests.support.places import ROOT

LIST = Path(__file__).with_name("committed.txt")
MIGRATIONS = ROOT / "chatui" / "migrations"


def names() -> list[str]:
    """The names of all migrations, oldest first."""
    return sorted(path.stem for path in MIGRATIONS.glob("[0-9]*.py"))


def digest(name: str) -> str:
    """The hexadecimal SHA-256 of a migration's file."""
    return sha256((MIGRATIONS / f"{name}.py").read_bytes()).hexdigest()


def listed() -> dict[str, str]:
    """The digest of each migration in the list, by name."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


def main() -> None:
    """Add new migrations to the list, and leave its entries unchanged."""
    known = listed()
    lines = [f"{known.get(name) or digest(name)}  {name}\n" for name in sorted({*known, *names()})]
    LIST.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
