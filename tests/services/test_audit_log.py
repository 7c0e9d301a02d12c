"""The audit log on PostgreSQL: it refuses changes, concurrent writers create one chain, and changes past the triggers are detected."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.services.databases import own_database
from tests.support.deployments import process
from tests.support.served import Deployment

pytestmark = pytest.mark.services

WRITE = """
from chatui.audit_log.record import SHELL, Visitor, record
for _ in range(25):
    record("test", SHELL, detail="for a reason")
"""


class Team:
    """A deployment's database, with direct access that bypasses the product."""

    def __init__(self, deployment: Deployment, address: str) -> None:
        self.deployment = deployment
        self.database = psycopg.connect(address, autocommit=True)

    def verify(self, *arguments: str) -> tuple[int, str]:
        done = process.run(["manage.py", "audit", "verify", *arguments], self.deployment.environment)
        return done.returncode, done.stdout

    def sql(self, *statements: str) -> None:
        """Run statements as the owner of the table, who can disable the triggers."""
        for statement in statements:
            self.database.execute(statement)  # type: ignore[call-overload]


@pytest.fixture
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    """A new database with a hundred lines, which four processes wrote concurrently."""
    with own_database() as address:
        deployment = Deployment(tmp_path_factory.mktemp("data"), CHATUI_DATABASE_URL=address)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: deployment.manage("shell", "--no-imports", "-c", WRITE), range(4)))
        team = Team(deployment, address)
        yield team
        team.database.close()


CHANGES = [
    "UPDATE chatui_auditevent SET detail = 'x' WHERE number = 3",
    "UPDATE chatui_auditevent SET detail = detail",
    "DELETE FROM chatui_auditevent WHERE number = 100",
    "DELETE FROM chatui_auditevent",
    "TRUNCATE chatui_auditevent",
    "TRUNCATE chatui_user, chatui_auditevent CASCADE",
    "INSERT INTO chatui_auditevent SELECT * FROM chatui_auditevent WHERE number = 3 ON CONFLICT (id) DO UPDATE SET detail = 'x'",
    (
        "INSERT INTO chatui_auditevent (id, number, at, code, action, way, actor_name, owner_name, address, detail, previous_hash, hash) "
        "VALUES (gen_random_uuid(), 0, now(), '', 'x', 'x', '', '', '', '', '', '')"
    ),
]


def test_concurrent_writers_make_one_chain_and_changes_past_the_triggers_are_detected(team: Team) -> None:
    """One test for all, because creating the database takes longer than the checks."""
    code, output = team.verify()
    assert code == 0 and "The log is intact: 100 lines." in output, output
    recorded_head = team.deployment.manage("audit", "head").split()

    for statement in CHANGES:
        with pytest.raises(psycopg.errors.IntegrityConstraintViolation, match="append-only"):
            team.sql(statement)
    assert team.verify(*recorded_head)[0] == 0

    counted = team.deployment.manage("audit", "counts", "--by", "day").split("\t")
    assert counted[1] == "100\n"
    exported = team.deployment.manage("audit", "export", "--until", "2099-01-01").splitlines()
    assert len(exported) == 101, "the hundred lines and that of the export itself"

    team.sql("ALTER TABLE chatui_auditevent DISABLE TRIGGER ALL")
    code, output = team.verify(*recorded_head)
    assert code == 1 and output.count("The database does not refuse changes to the log") == 3
    team.sql("UPDATE chatui_auditevent SET actor_name = 'somebody' WHERE number = 7", "ALTER TABLE chatui_auditevent ENABLE TRIGGER ALL")
    code, output = team.verify(*recorded_head)
    assert code == 1 and output.startswith("Line 7: It does not match its hash")
    team.sql(
        "ALTER TABLE chatui_auditevent DISABLE TRIGGER ALL",
        "DELETE FROM chatui_auditevent WHERE number > 90",
        "ALTER TABLE chatui_auditevent ENABLE TRIGGER ALL",
    )
    assert "Line 100: It was noted but does not exist" in team.verify(*recorded_head)[1]
