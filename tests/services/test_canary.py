"""``manage.py canary`` against a team's deployment: its back ends are there in every process, and nothing leaks from either."""

from __future__ import annotations

import json
import os

import pytest

from tests.services.test_many_processes import deployment as deployment
from tests.support.deployments import process, rows
from tests.support.served import Deployment

pytestmark = [pytest.mark.services, pytest.mark.timeout(900)]


ALL = os.environ.get("CHATUI_TEST_SHAPES") == "all"


@pytest.mark.parametrize("number", [0, 1] if ALL else [1])
def test_it_is_clean_through_each_process_and_leaves_nothing(number: int, deployment: Deployment) -> None:
    before = rows.counts(deployment.environment)
    options = ("--json", "--seconds", "700", "--shapes", "4" if ALL else "1", "--url", deployment.servers[number].url)
    done = process.run(["manage.py", "canary", *options], deployment.environment)
    report = json.loads(done.stdout)
    assert (done.returncode, report["findings"], report["problems"]) == (0, [], []), done.stdout + done.stderr
    after = rows.counts(deployment.environment)
    assert {name for name in after if after[name] != before[name]} == {"chatui.AuditEvent"}
