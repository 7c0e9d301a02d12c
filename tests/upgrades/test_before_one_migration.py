"""Databases from before the migrations became one: the last state continues as it is, and every other state is refused."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest

from chatui.database import versions
from tests.services.databases import own_database
from tests.support.deployments import process
from tests.support.served import Deployment, NewDeployment
from tests.upgrades.before_one_migration import FIRST, LAST_STEP, Database

pytestmark = pytest.mark.slow
Create = Callable[..., Database]
_CHECKS = """
from chatui.display import readiness, system
print(system.waiting(), readiness.on_disk() <= readiness.applied(), system.system().answers)
"""


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.services)])
def create(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Create]:
    """Creates databases, without tables or with those of this version."""
    with ExitStack() as stack:

        def create(*, is_empty: bool) -> Database:
            kind, place = NewDeployment if is_empty else Deployment, tmp_path / uuid4().hex
            if request.param == "sqlite":
                return Database(kind(place))
            address = stack.enter_context(own_database(is_empty=is_empty))
            return Database(kind(place, CHATUI_DATABASE_URL=address, CHATUI_SECRET_KEY="x" * 50))

        yield create


@pytest.fixture
def old(create: Create) -> Database:
    database = create(is_empty=True)
    database.build()
    return database


@pytest.fixture
def new(create: Create) -> Database:
    return create(is_empty=False)


def refusal(database: Database, *arguments: str) -> str:
    done = process.run(["manage.py", *arguments], database.deployment.environment)
    assert done.returncode == 1
    return done.stderr


def test_the_last_state_continues_unchanged(old: Database, new: Database) -> None:
    schema, rows, manage = old.schema(), old.rows(), old.deployment.manage
    assert sum(map(len, schema.values())) > 200 and "zymurgy" in repr(rows["chatui_message"])
    manage("migrate", "chatui", FIRST)
    after = old.rows()
    [added] = set(after["django_migrations"]) - set(rows["django_migrations"])
    assert FIRST in added
    assert old.schema() == schema and after | {"django_migrations": []} == rows | {"django_migrations": []}

    manage("migrate")  # the later migrations as well
    counts = {table: len(each) for table, each in old.rows().items()}
    lost = {table for table, each in rows.items() if counts.get(table, 0) < len(each)}
    assert lost == set()
    assert manage("shell", "--no-imports", "--command", _CHECKS).split() == ["()", "True", str(len(rows["chatui_turn"]))]
    assert "[ ]" not in manage("showmigrations") and "The log is intact" in manage("audit", "verify")
    assert old.schema() == new.schema(), "that of a database of this version"


@pytest.mark.parametrize(
    ("later", "last", "commits"),
    [
        ("name > '0064' OR name = '0001_squashed_0065_separation_proofs'", "0063_state_words", [LAST_STEP]),
        ("name > '0052' OR name LIKE '0001_squashed_%'", "0051_ends_of_frames", [LAST_STEP]),
        ("name > '0034' OR name LIKE '0001_squashed_%'", "0033_temporary", ["0051_ends_of_frames", LAST_STEP]),
    ],
    ids=["between", "before the first one migration", "older"],
)
def test_another_state_is_refused_and_stays_as_it_is(old: Database, later: str, last: str, commits: list[str]) -> None:
    old.query(f"DELETE FROM django_migrations WHERE app = 'chatui' AND ({later})")
    schema, rows = old.schema(), old.rows()
    for command in (["migrate"], ["serve", "--port", "0"]):
        said = refusal(old, *command)
        assert f"CommandError: This database is at {last}, from which this version cannot continue: run python manage.py migrate" in said
        assert re.findall(r"commit ([0-9a-f]{8}) \(or the last one that has chatui/migrations/(\w+)\.py\)", said) == [
            (dict(versions._LAST_WITH)[step], step) for step in commits
        ]
        assert "Traceback" not in said
    assert (old.schema(), old.rows()) == (schema, rows)


@pytest.mark.extended
def test_the_way_back_leaves_no_table_and_can_be_gone_again(new: Database) -> None:
    schema = new.schema()
    new.deployment.manage("migrate", "chatui", "zero")
    assert [table for table in new.rows() if table.startswith("chatui_")] == []
    new.deployment.manage("migrate")
    assert new.schema() == schema
