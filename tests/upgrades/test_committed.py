"""A committed migration is never edited, renamed or removed, because databases have applied it."""

import subprocess
from importlib import import_module
from pathlib import PurePosixPath

from django.db import migrations

from tests.support.places import ROOT
from tests.upgrades.committed import digest, listed, names

TAKE_AWAY = (migrations.RemoveField, migrations.DeleteModel, migrations.RenameField, migrations.RenameModel)


def test_no_committed_migration_was_changed() -> None:
    assert listed()
    there = {name: digest(name) for name in names()}
    changed = [name for name, known in listed().items() if there.get(name) != known]
    assert changed == [], "undo the change, and make a separate migration"


def test_a_migration_is_listed_with_the_commit_that_adds_it() -> None:
    """Until it is listed, nobody notices if it changes."""
    last = subprocess.run(
        ["git", "ls-tree", "--name-only", "HEAD", "chatui/migrations/"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    committed = {PurePosixPath(line).stem for line in last.stdout.splitlines()}  # none in an unpacked archive, which has no git
    assert sorted(committed.intersection(names()) - set(listed())) == [], "run python -m tests.upgrades.committed, and add it to the commit"


def test_new_migrations_are_numbered_after_committed_ones() -> None:
    new = sorted(set(names()) - set(listed()))
    assert not new or new[0] > max(listed()), "number it after those in tests/upgrades/committed.txt"


def test_a_new_migration_leaves_processes_of_the_release_before_what_they_read_and_write() -> None:
    """They go on while one after another is restarted (docs/operating/upgrade.md). A removal is one of the state alone; the next release
    removes it from the database."""
    for name in sorted(set(names()) - set(listed())):
        for operation in import_module(f"chatui.migrations.{name}").Migration.operations:
            assert not isinstance(operation, TAKE_AWAY), (name, operation, "take it out of the state alone: SeparateDatabaseAndState")
            if isinstance(operation, migrations.AddField) and not operation.field.many_to_many:
                assert operation.field.null or operation.field.has_db_default(), (
                    *(name, operation.name),
                    "processes of the release before insert rows without it: give the field db_default or null=True",
                )
