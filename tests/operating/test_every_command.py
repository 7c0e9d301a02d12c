"""Every block of commands in ``docs/operating`` is run by a test, and every command that any page names exists."""

import itertools
import re
import shlex
import shutil
from pathlib import Path

import httpx
import pytest
from django.core.management import get_commands, load_command_class

from tests.operating.from_docs import block, blocks, run_block, scheduled
from tests.support.places import ROOT
from tests.support.served import Deployment

PAGES = "docs/operating"
HERE = "tests/operating/test_every_command.py"
WORST_DAY, POSTGRESQL = "tests/operating/test_worst_day.py", "tests/operating/test_postgresql_backup.py"
FIRST_HOUR = "tests/operating/test_first_hour.py"
MOVING = "tests/operating/test_moving_to_postgresql.py"
UNITS = "tests/operating/test_systemd.py"
TESTED_BLOCKS = {
    "index": [
        ("python3 -m venv chat", f"{FIRST_HOUR}::test_ten_people_chat_and_the_backup_is_restored_elsewhere"),
        ("useradd", f"{FIRST_HOUR}::test_ten_people_chat_and_the_backup_is_restored_elsewhere"),
        ("systemctl daemon-reload", f"{FIRST_HOUR}::test_ten_people_chat_and_the_backup_is_restored_elsewhere"),
        ("apt install nginx certbot", "a certificate authority and a host name that it can reach are not here"),
        ("server {", f"{FIRST_HOUR}::test_ten_people_chat_and_the_backup_is_restored_elsewhere"),
        ("nginx -t", f"{FIRST_HOUR}::test_ten_people_chat_and_the_backup_is_restored_elsewhere"),
        ("chat/bin/chatui backup --new-key", f"{FIRST_HOUR}::test_ten_people_chat_and_the_backup_is_restored_elsewhere"),
        ("install -m 644 backup.pub", f"{FIRST_HOUR}::test_ten_people_chat_and_the_backup_is_restored_elsewhere"),
        ("install -d -o chatui -g chatui -m 700 /var/lib", f"{FIRST_HOUR}::test_ten_people_chat_and_the_backup_is_restored_elsewhere"),
        ("chown chatui:", f"{FIRST_HOUR}::test_ten_people_chat_and_the_backup_is_restored_elsewhere"),
        ("systemctl start chatui-daily.service", f"{FIRST_HOUR}::test_ten_people_chat_and_the_backup_is_restored_elsewhere"),
    ],
    "back-ends/connecting": [
        ("CHATUI_KEY_ACME=", "a key with its origin; tests/chatui/model_servers has keys of both places"),
    ],
    "back-ends/several": [
        ("[[backend]]", "tests/chatui/backends/test_spec.py::test_the_example_in_the_documentation_is_valid"),
    ],
    "operating/audit-log": [
        ("chatui audit verify", f"{HERE}::test_the_audit_log_is_verified_exported_and_counted"),
        ("# every hour", f"{HERE}::test_the_audit_log_is_verified_exported_and_counted"),
    ],
    "operating/backup": [
        ("chatui backup --new-key", f"{WORST_DAY}::test_backed_up_while_served_destroyed_and_restored"),
        ("chatui backup /mnt", f"{WORST_DAY}::test_backed_up_while_served_destroyed_and_restored"),
        ("chatui restore", f"{WORST_DAY}::test_backed_up_while_served_destroyed_and_restored"),
        ("umask 077", f"{POSTGRESQL}::test_a_database_is_dumped_changed_and_restored"),
        ("set -a; . /etc/chatui.env", f"{POSTGRESQL}::test_a_database_is_dumped_changed_and_restored"),
    ],
    "operating/health": [
        ("curl --fail", f"{HERE}::test_the_health_checks_answer_curl"),
    ],
    "operating/https": [
        ("CHATUI_HOSTS=", f"{HERE}::test_behind_a_proxy_the_settings_of_the_page_are_enough"),
        ("location / {", "tests/operating/test_balancer.py::test_while_no_process_can_serve_pages_those_that_live_say_so"),
        (
            "upstream chatui {",
            "tests/operating/test_balancer.py::test_no_page_is_lost_while_a_process_can_serve_it_and_forms_only_at_first",
        ),
        ("proxy_pass http://chatui;", "tests/operating/test_balancer.py::test_while_no_process_can_serve_pages_those_that_live_say_so"),
    ],
    "operating/kubernetes": [
        ("docker build", "there is no cluster here; tests/tools/test_chart.py renders the chart"),
        ("settings:", "values of the chart; tests/tools/test_chart.py renders it with every value"),
        ("externalRules:", "settings of an adapter of Prometheus, which is not here"),
    ],
    "operating/leaks": [
        ("chatui canary", "tests/chatui/operations/canary/test_runs.py::test_a_sound_deployment_is_clean"),
        ("41 4 * * *", "tests/chatui/operations/canary/test_runs.py::test_a_sound_deployment_is_clean"),
    ],
    "operating/metrics": [
        ("scrape_configs:", "settings of Prometheus; tests/operating/test_logs_and_metrics.py reads what it would"),
    ],
    "operating/processes": [
        (
            "chatui serve --workers 4",
            "tests/services/test_workers.py::test_people_at_both_follow_an_answer_and_one_worker_is_killed",
        ),
        ("[Service]", f"{UNITS}::test_a_change_of_a_unit_runs_commands_that_exist"),
        ("systemctl stop chatui.service", f"{MOVING}::test_all_rows_are_moved_and_people_continue_where_they_were"),
    ],
    "operating/ratings": [
        ("chatui ratings", f"{HERE}::test_ratings_are_exported"),
    ],
    "operating/retention": [
        ("chatui erase_person", f"{HERE}::test_a_person_is_erased_after_their_name_was_typed"),
    ],
    "operating/sandboxes": [
        ("abi <abi/4.0>", "a profile of AppArmor, which needs a kernel with it"),
    ],
    "operating/service": [
        ("useradd", f"{HERE}::test_two_pages_give_the_same_commands"),
        ("cat > /usr/local/bin/chatui", f"{FIRST_HOUR}::test_ten_people_chat_and_the_backup_is_restored_elsewhere"),
        ("[Service]", f"{UNITS}::test_a_change_of_a_unit_runs_commands_that_exist"),
        ("cp deploy/systemd", f"{UNITS}::test_systemd_accepts_the_units_without_warnings"),
    ],
    "operating/traces": [
        (".venv/bin/python -m pip install", "tests/operating/test_traces.py has these packages"),
    ],
    "operating/upgrade": [
        ("systemctl start chatui-daily.service", f"{HERE}::test_two_pages_give_the_same_commands"),
        ("for unit in", f"{FIRST_HOUR}::test_ten_people_chat_and_the_backup_is_restored_elsewhere"),
    ],
}
"""Of each page the beginning of each block, in order, and the test that runs it; a sentence with the reason where none can."""
_NAMED = re.compile(r"(?:python )?manage\.py ([^`\n#]*)|(?:^|(?<=[`(]))(?:\w+=\S+ )*(?:[\w./]*bin/)?chatui ([a-z][^`\n#]*)", re.MULTILINE)
WITH_COMMANDS = (*sorted((ROOT / "docs").rglob("*.md")), *(ROOT / f"{name}.md" for name in ("README", "SECURITY", "CONTRIBUTING")))
_OTHER_FORMS = {
    "backup --to": "backup /mnt/elsewhere --to backup.pub",
    "serve --host --port": "serve --host 127.0.0.1 --port 8000",
    "transcript check|convert|show FILE": "transcript check FILE",
    "transcript check": "transcript check FILE",
    "ask": "ask QUESTION",
    "record_backend": "record_backend --backend NAME --out DIR NAME PROMPT",
    "audit": "audit head",
    "transcript": "transcript check FILE",
    "restore": "restore FILE",
    "erase_person": "erase_person NAME",
    "close_account": "close_account NAME",
    "erasures": "erasures export FILE",
    "move_to_postgresql": "move_to_postgresql FILE",
    "ratings": "ratings FILE",
}
"""Placeholders and short forms in sentences, and what would be typed instead."""


def test_each_block_of_the_pages_has_a_test_that_runs_it() -> None:
    pages = [ROOT / "docs/index.md", *sorted((ROOT / "docs").glob("back-ends/*.md")), *sorted((ROOT / "docs").glob("operating/*.md"))]
    names = {page.relative_to(ROOT / "docs").with_suffix("").as_posix() for page in pages}
    assert names >= TESTED_BLOCKS.keys()
    for name in names:
        begun, tested = [found.lstrip() for found in blocks(f"docs/{name}.md")], TESTED_BLOCKS.get(name, [])
        wrong = [found for found, (begins, _) in zip(begun, tested, strict=False) if not found.startswith(begins)]
        assert not wrong and len(begun) == len(tested), (name, wrong or begun[len(tested) :])
    for _, why in itertools.chain(*TESTED_BLOCKS.values()):
        path, mark, name = why.partition("::")
        if mark:
            assert re.search(rf"^(?:async )?def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), why


def test_two_pages_give_the_same_commands() -> None:
    """What the first page does is what the page of the task says, so one test runs both."""
    first, service, upgrade = "docs/index.md", f"{PAGES}/service.md", f"{PAGES}/upgrade.md"
    installing = block(first, "useradd") + "\n".join(block(first, "systemctl daemon-reload").splitlines()[:2])
    assert block(service, "useradd").replace(" && ", "\n").split() == installing.split()
    assert block(upgrade, "systemctl start") == block(first, "systemctl start")
    inner = block(first, "server {").partition("    location / {\n")[2]
    assert [line.strip() for line in block(f"{PAGES}/https.md", "location").splitlines()[1:-1]] == [
        line.strip() for line in inner.splitlines()[:-2]
    ]


def test_every_command_that_a_page_names_exists() -> None:
    """Includes commands within sentences. A command that the argument parser rejects does not work."""
    named = {
        (page.name, command.strip())
        for page in WITH_COMMANDS
        for quoted in re.findall(r"```(?:\w+)?\n.*?^```$|`[^`\n]+`", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        for command in map("".join, _NAMED.findall(quoted))
    }
    assert len(named) > 40, "the premise"
    wrong = []
    for page, command in sorted(named):
        try:
            _parse(command)
        except (SystemExit, KeyError, Exception) as error:  # noqa: BLE001 - each is reported, with its page
            wrong.append(f"{page}: {command!r}: {error!r}")
    assert not wrong, "\n".join(wrong)


def test_pages_name_the_command_of_the_package_or_that_of_a_checkout_in_full() -> None:
    short = re.compile(r"(?<!\.venv/bin/python )manage\.py [a-z]")
    assert [page.name for page in WITH_COMMANDS if short.search(page.read_text(encoding="utf-8"))] == []


def _parse(command: str) -> None:
    command = re.split(r"[|)&;]| \d?>", _OTHER_FORMS.get(command, command).replace("$(cat /mnt/elsewhere/audit-head)", ""))[0]
    name, *arguments = shlex.split(_OTHER_FORMS.get(command.strip(), command))
    numbers = {"9f86d0…": "0" * 64}
    load_command_class(get_commands()[name], name).create_parser("manage.py", name).parse_args(
        [numbers.get(argument, argument) for argument in arguments]
    )


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    deployment = Deployment(tmp_path / "data")
    deployment.make_people(ada=(False, []), bela=(False, []))
    (tmp_path / "elsewhere").mkdir()
    return deployment


@pytest.mark.served
def test_behind_a_proxy_the_settings_of_the_page_are_enough(deployment: Deployment) -> None:
    settings = dict(line.split("=", 1) for line in block(f"{PAGES}/https.md", "CHATUI_HOSTS=").split())
    settings["CHATUI_HOSTS"] += ",127.0.0.1"  # the host name under which the test waits for it
    server = deployment.start(**settings)
    try:
        sent = {"Host": "chat.example.org", "X-Forwarded-For": "192.0.2.7", "X-Forwarded-Proto": "https"}
        page = httpx.get(f"{server.url}/sign-in/", headers=sent)
        assert page.status_code == 200 and "Secure" in page.headers["set-cookie"]
        assert httpx.get(f"{server.url}/sign-in/", headers={**sent, "Host": "other.example.org"}).status_code == 400
    finally:
        server.stop()


@pytest.mark.served
def test_the_audit_log_is_verified_exported_and_counted(deployment: Deployment, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    deployment.manage("close_account", "bela")
    [head] = re.findall(r"^--number \d+ --head [0-9a-f]{64}$", deployment.manage("audit", "head"), re.MULTILINE)
    changed = {"--number 4711 --head 9f86d0…": head, "2026-11-01": "2020-01-01", "2026-11-30": "2999-12-31"}
    printed = run_block(block(f"{PAGES}/audit-log.md", "chatui audit"), deployment.environment, elsewhere, **changed)
    assert printed.count("The log is intact") == 2 and head in printed
    table = (elsewhere / "november.csv").read_text(encoding="utf-8")
    assert table.startswith("number,") and "bela" in table
    hourly, nightly = scheduled(block(f"{PAGES}/audit-log.md", "# every hour"))
    sent = {"logger -n loghost.example.org -t chatui-audit": "tee audit-head"}
    assert "--number" in run_block(hourly, deployment.environment, elsewhere, **sent)
    assert "The log is intact" in run_block(nightly, deployment.environment, elsewhere, **sent)


@pytest.mark.served
def test_a_person_is_erased_after_their_name_was_typed(deployment: Deployment, tmp_path: Path) -> None:
    erasing = block(f"{PAGES}/retention.md", "chatui erase_person")
    run_block(erasing, deployment.environment, tmp_path / "elsewhere", typed="bela\n", NAME="bela")
    assert "bela" not in deployment.manage("shell", "-c", "from chatui.models import User; print(*User.objects.values_list('username'))")


@pytest.mark.served
def test_ratings_are_exported(deployment: Deployment, tmp_path: Path) -> None:
    run_block(block(f"{PAGES}/ratings.md", "chatui ratings"), deployment.environment, tmp_path / "elsewhere")
    assert {path.name for path in (tmp_path / "elsewhere").iterdir()} == {"ratings.jsonl", "examples.jsonl"}


@pytest.mark.served
@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed here.")
def test_the_health_checks_answer_curl(deployment: Deployment, tmp_path: Path) -> None:
    checks = block(f"{PAGES}/health.md", "curl --fail")
    server = deployment.start()
    try:
        run_block(checks, deployment.environment, tmp_path / "elsewhere", **{"http://127.0.0.1:8000": server.url})
    finally:
        server.stop()
