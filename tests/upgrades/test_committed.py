"""A committed migration is never edited, renamed or removed, because databases have applied it."""

from __future__ import annotations

from tests.upgrades.committed import digest, listed, names


def test_no_committed_migration_was_changed() -> None:
    assert listed()
    there = {name: digest(name) for name in names()}
    changed = [name for name, known in listed().items() if there.get(name) != known]
    assert changed == [], "undo the change, and make a separate migration"


def test_new_migrations_are_numbered_after_committed_ones() -> None:
    new = sorted(set(names()) - set(listed()))
    assert not new or new[0] > max(listed()), "number it after those in tests/upgrades/committed.txt"
