"""``manage.py canary`` against a team's deployment: every process has the canary's model servers, and none leaks anything."""

import json
import os
from pathlib import Path

import pytest

from tests.services.test_many_processes import deployment as deployment
from tests.support.deployments import process, rows
from tests.support.served import Deployment
from tests.support.shortened_canary import ONE_IN
from tests.support.shortened_canary import SETTING as BEGINNINGS

pytestmark = [pytest.mark.services, pytest.mark.timeout(900)]


ALL = os.environ.get("CHATUI_TEST_SHAPES") == "all"


@pytest.mark.parametrize("number", [0, 1] if ALL else [1])
def test_the_canary_is_clean_through_each_process_and_leaves_nothing(number: int, deployment: Deployment, tmp_path: Path) -> None:
    before = rows.counts(deployment.environment)
    shortened = {BEGINNINGS: str(tmp_path / "beginnings"), ONE_IN: "" if ALL else "40"}
    options = ("--json", "--seconds", "700", "--shapes", "4" if ALL else "1", "--url", deployment.servers[number].url)
    done = process.run(["-m", "tests.support.shortened_canary", "canary", *options], deployment.environment | shortened)
    report = json.loads(done.stdout)
    assert (done.returncode, report["findings"], report["problems"]) == (0, [], []), done.stdout + done.stderr
    after = rows.counts(deployment.environment)
    assert {name for name in after if after[name] != before[name]} == {"chatui.AuditEvent"}
