"""``manage.py canary`` against a team's deployment: its back ends are there in every process, and nothing leaks from either."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.services.test_many_processes import deployment as deployment
from tests.support.deployments import rows
from tests.support.places import ROOT
from tests.support.served import Deployment

pytestmark = [pytest.mark.services, pytest.mark.timeout(900)]


@pytest.mark.parametrize("number", [0, 1])
def test_it_is_clean_through_each_process_and_leaves_nothing(number: int, deployment: Deployment) -> None:
    before = rows.counts(deployment.environment)
    command = [
        sys.executable,
        "manage.py",
        "canary",
        "--json",
        "--seconds",
        "700",
        "--shapes",
        "41"[number],
        "--url",
        deployment.servers[number].url,
    ]
    done = subprocess.run(command, cwd=ROOT, env=deployment.environment, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    assert (done.returncode, report["findings"], report["problems"]) == (0, [], []), done.stdout + done.stderr
    after = rows.counts(deployment.environment)
    assert {name for name in after if after[name] != before[name]} == {"chatui.AuditEvent"}
