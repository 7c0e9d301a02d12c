"""Each alert of ``deploy/alerts.yml`` fires for its fault, and none on a healthy deployment; docs/faults.md lists them."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.alerts import MINUTES, RULES, Situation, run, verify
from tests.support.places import ROOT

RULE: list[dict[str, Any]] = [rule for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"] for rule in group["rules"]]
PAGE = (ROOT / "docs/faults.md").read_text(encoding="utf-8")
BOTH = ("a", "b")


def constant(name: str, value: float, *labels: str) -> dict[str, str]:
    """A gauge of each process."""
    return {series(name, instance, *labels): f"{value}x{MINUTES}" for instance in BOTH}


def growing(name: str, each: float, *labels: str) -> dict[str, str]:
    """A counter of each process, which grows by ``each`` with each value."""
    return {series(name, instance, *labels): f"0+{each}x{MINUTES}" for instance in BOTH}


def histogram(name: str, seconds: float, *labels: str) -> dict[str, str]:
    """Six observations a minute in each process, all of which took about that long."""
    found = growing(f"{name}_count", 6, *labels)
    for most in ("0.1", "1", "3", "10", "30", "60", "+Inf"):
        found |= growing(f"{name}_bucket", 6 * (seconds <= float(most)), *labels, f'le="{most}"')
    return found


def series(name: str, instance: str, *labels: str) -> str:
    every = ",".join((*labels, 'job="chatui"', f'instance="{instance}"'))
    return f"{name}{{{every}}}"


REQUESTS = "chatui_http_request_duration_seconds"
HEALTHY = {
    **constant("up", 1),
    **constant("process_start_time_seconds", 1000),
    **constant("chatui_turns", 3, 'state="running"'),
    **constant("chatui_turns_alive", 3),
    **constant("chatui_turns_waiting", 0),
    **constant("chatui_database_up", 1),
    **constant("chatui_redis_up", 1),
    **constant("chatui_ready", 1),
    **{
        name: value
        for requirement in ("database", "migrations", "disk", "configuration", "connections", "clock")
        for name, value in constant("chatui_requirement_met", 1, f'requirement="{requirement}"').items()
    },
    **constant("chatui_postgresql_connections", 60),
    **constant("chatui_postgresql_connections_limit", 97),
    **constant("chatui_page_connections", 3),
    **constant("chatui_page_connections_limit", 20),
    **histogram("chatui_database_seconds", 0.1, 'work="writes"'),
    **histogram("chatui_event_loop_lag_seconds", 0.1),
    **histogram("chatui_first_token_seconds", 3, 'backend="local"'),
    **histogram(REQUESTS, 0.1, 'kind="page"', 'status="2xx"'),
    **growing("chatui_turns_ended_total", 6, 'backend="local"', 'state="completed"', 'code=""'),
    **growing("chatui_turns_ended_total", 0, 'backend="local"', 'state="failed"', 'code="E-X-BACKEND"'),
    **growing("chatui_sign_ins_total", 2, 'outcome="signed in"'),
    **growing("chatui_sign_ins_total", 0.1, 'outcome="had to wait"'),
    **growing("chatui_blocked_addresses_total", 0.01, 'kind="password"'),
    **growing("chatui_last_purge_timestamp_seconds", 60),
    **growing("chatui_last_backup_timestamp_seconds", 60),
}


def one(changed: dict[str, str]) -> dict[str, str]:
    """Only of the first process."""
    return {name: value for name, value in changed.items() if 'instance="a"' in name}


def unmet(requirement: str) -> dict[str, str]:
    return constant("chatui_requirement_met", 0, f'requirement="{requirement}"')


def without_database(changed: dict[str, str]) -> dict[str, str]:
    """The rows that a process leaves out are stale: they end."""
    rows = ("chatui_turns{", "chatui_turns_alive", "chatui_postgresql", "chatui_last_")
    processes = {name.rpartition('instance="')[2] for name in changed}
    return changed | {name: "_x60" for name in HEALTHY if name.startswith(rows) and name.rpartition('instance="')[2] in processes}


AWAY = constant("chatui_database_up", 0) | constant("chatui_ready", 0) | unmet("database") | unmet("migrations")
FAILING = histogram(REQUESTS, 1, 'kind="page"', 'status="5xx"')
RESTARTS = {series("process_start_time_seconds", "a"): " ".join(str(1000 + 300 * (minute // 5)) for minute in range(MINUTES))}
FAULTS: list[tuple[str, dict[str, str], str]] = [
    ("nothing", {}, ""),
    ("a process is killed", one(constant("up", 0)), "ProcessAway"),
    ("a process is started again and again", RESTARTS, "ProcessRestarts"),
    ("answers of a dead process stay", constant("chatui_turns_alive", 2), "TurnsLeft"),
    ("PostgreSQL refuses or stalls", without_database(AWAY) | FAILING, "DatabaseAway NotReady PagesFail"),
    ("one of the processes loses PostgreSQL", without_database(one(AWAY)), "DatabaseAway NotReady"),
    ("PostgreSQL is read-only", unmet("database") | constant("chatui_ready", 0), "DatabaseTakesNothing NotReady"),
    (
        "all connections of PostgreSQL are taken",
        unmet("database") | constant("chatui_ready", 0) | constant("chatui_postgresql_connections", 97),
        "DatabaseTakesNothing NotReady DatabaseConnections",
    ),
    (
        "a table is locked, and pages wait",
        constant("chatui_page_connections", 20) | histogram(REQUESTS, 26, 'kind="page"', 'status="2xx"') | unmet("connections"),
        "PageConnections PagesSlow",
    ),
    ("writes are locked", histogram("chatui_database_seconds", 20, 'work="writes"'), "DatabaseSlow"),
    ("Redis refuses or stalls", constant("chatui_redis_up", 0), "RedisAway"),
    ("the disk is full", unmet("disk") | constant("chatui_ready", 0), "DiskFull NotReady"),
    ("an upgrade is not finished", unmet("migrations"), "OtherVersion"),
    (
        "a model server fails",
        growing("chatui_turns_ended_total", 2, 'backend="local"', 'state="failed"', 'code="E-X-BACKEND"'),
        "ModelServerFails",
    ),
    ("a clock is wrong", one(unmet("clock")), "ClockWrong"),
    ("a model server stalls", histogram("chatui_first_token_seconds", 60, 'backend="local"'), "ModelServerSlow"),
    ("no model server is connected", unmet("configuration"), "NoModelServer"),
    ("more questions than slots", one(constant("chatui_turns_waiting", 5)), "PeopleWait"),
    ("a slow machine", histogram("chatui_event_loop_lag_seconds", 1), "EventLoopLate"),
    ("200 people sign in at once", growing("chatui_sign_ins_total", 3, 'outcome="had to wait"'), "SignInsWait"),
    ("somebody guesses", growing("chatui_blocked_addresses_total", 1, 'kind="password"'), "Guessing"),
]


def test_exactly_the_alerts_of_a_fault_fire(tmp_path: Path) -> None:
    situations = [
        Situation(name, HEALTHY | changed, frozenset(f"Chatui{alert}" for alert in firing.split())) for name, changed, firing in FAULTS
    ]
    old = {"chatui_last_purge_timestamp_seconds": "ChatuiPurgeLate", "chatui_last_backup_timestamp_seconds": "ChatuiBackupLate"}
    now = {series(name, "a"): "0+240x375" for name in old}  # the time itself, for 25 hours
    days = [Situation(name, now | {series(name, "a"): "-180000x375"}, frozenset({alert})) for name, alert in old.items()]
    days.append(Situation("a purge and a backup just now", now, frozenset()))
    assert {alert for each in situations + days for alert in each.firing} == {rule["alert"] for rule in RULE}
    verify(situations, tmp_path)
    verify(days, tmp_path, minutes=1500, every=4)


def test_prometheus_accepts_the_rules() -> None:
    assert f"{len(RULE)} rules found" in run("check", "rules", RULES)


def test_each_alert_says_what_it_means_what_to_do_and_which_row_it_is_of() -> None:
    for rule in RULE:
        assert rule["labels"].keys() == {"severity"} and rule["labels"]["severity"] in ("critical", "warning"), rule["alert"]
        assert rule["annotations"].keys() == {"summary", "description", "faults"}, rule["alert"]
        assert all(text.strip().endswith(".") for name, text in rule["annotations"].items() if name != "faults"), rule["alert"]
        for row in re.findall(r"\bF\d+\b", rule["annotations"]["faults"]):
            assert f"\n| {row} | " in PAGE, (rule["alert"], row)


def test_the_page_lists_each_alert_with_its_rows() -> None:
    listed = dict(re.findall(r"^\| `(Chatui\w+)` \| .+ \| (.+) \|$", PAGE, re.MULTILINE))
    assert listed == {rule["alert"]: rule["annotations"]["faults"].removeprefix("docs/faults.md: ") for rule in RULE}


@pytest.mark.parametrize("rule", RULE, ids=lambda rule: str(rule["alert"]))
def test_no_alert_takes_counts_of_the_deployment_once_for_each_process(rule: dict[str, Any]) -> None:
    for name in re.findall(r"\bchatui_(?:turns(?=\{)|turns_alive|postgresql_\w+|last_\w+)", rule["expr"]):
        assert f"max({name}" in rule["expr"]
