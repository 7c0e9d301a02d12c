"""Settings are documented, checked and safe by default."""

import os
import re
import socket
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.conf import settings
from pydantic import ValidationError

from chatui.env import BASE_DIR, Environment
from tests.support.environment import change
from tests.support.system_checks import said


def test_every_variable_is_documented_with_its_meaning_and_none_that_does_not_exist() -> None:
    page = (BASE_DIR / "docs" / "settings.md").read_text(encoding="utf-8")
    documented = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `CHATUI_")}
    assert documented == {f"CHATUI_{name.upper()}" for name in Environment.model_fields}


def test_each_default_that_is_a_number_a_word_or_a_choice_of_two_is_documented_as_it_is() -> None:
    page = (BASE_DIR / "docs" / "settings.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `CHATUI_(\w+)` \| ([^|]*) \|", page, re.MULTILINE))
    fields = {name.upper(): field.default for name, field in Environment.model_fields.items()}
    defaults = {name: f"`{default:g}`" for name, default in fields.items() if type(default) in (int, float)}
    defaults |= {name: f"`{default}`".lower() for name, default in fields.items() if isinstance(default, bool)}
    defaults |= {name: f"`{default}`" for name, default in fields.items() if isinstance(default, str) and default}
    assert len(defaults) > 40, "the premise"
    assert {name: told[name] for name, default in defaults.items() if told[name] != default} == {}


def test_lists_are_read_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATUI_HOSTS", "chat.example.org, localhost ,")
    assert Environment.of(os.environ).hosts == ["chat.example.org", "localhost"]


def test_a_value_of_the_wrong_kind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATUI_BACKEND_IDLE_SECONDS", "soon")
    with pytest.raises(ValidationError):
        Environment.of(os.environ)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAIL_URL", "smtp://mailer:hunter2/more@mail.example.org"),
        ("MAIL_URL", "smtp://mailer:hunter2@[mail.example.org"),
        ("SEARCH", "hunter2"),
    ],
)
def test_the_error_for_an_invalid_setting_quotes_no_value(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"CHATUI_{name}", value)
    with pytest.raises(ValidationError) as error:
        Environment.of(os.environ)
    assert name.lower() in str(error.value) and "hunter2" not in str(error.value)


@pytest.mark.slow
def test_a_command_names_each_invalid_setting_and_shows_no_traceback(tmp_path: Path) -> None:
    wrong = {"CHATUI_DRAIN_SECONDS": "soon", "CHATUI_FILE_KEY": "hunter2"}
    environment = os.environ | {"CHATUI_DATA_DIR": str(tmp_path)} | wrong
    done = subprocess.run(
        [sys.executable, "manage.py", "serve"], cwd=BASE_DIR, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr and "hunter2" not in done.stderr
    assert {line.split(":")[0] for line in done.stderr.splitlines()} == wrong.keys()


def test_the_secret_key_is_made_once_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    first = Environment(data_dir=tmp_path / "data").signing_key()
    assert len(first) > 50 and Environment(data_dir=tmp_path / "data").signing_key() == first
    assert stat.S_IMODE((tmp_path / "data" / "secret_key").stat().st_mode) == 0o600


def test_processes_that_start_together_have_one_secret_key_also_without_links_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(place: Path) -> str:
        return Environment(data_dir=place).signing_key()

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(made, [tmp_path / "one"] * 8))) == 1
    assert [each.name for each in (tmp_path / "one").iterdir()] == ["secret_key"]

    def refused(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "hardlink_to", refused)
    assert len(made(tmp_path / "two")) > 50 and made(tmp_path / "two") == made(tmp_path / "two")
    assert [each.name for each in (tmp_path / "two").iterdir()] == ["secret_key"]


def test_a_data_directory_is_made_for_its_owner_only_and_one_that_is_there_is_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "data"
    Environment(data_dir=place).make_data_dir()
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    place.chmod(0o750)
    Environment(data_dir=place).make_data_dir()
    assert stat.S_IMODE(place.stat().st_mode) == 0o750


@pytest.mark.slow
def test_a_redis_that_accepts_connections_but_never_answers_blocks_nobody(tmp_path: Path) -> None:
    asks = "import django; django.setup(); from chatui.backends.spec import BackendSpec; "
    asks += "from chatui.model_servers import choice; "
    asks += "print(choice.models_of(BackendSpec(name='a', url='http://127.0.0.1:9')))"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        environment = {"CHATUI_DATA_DIR": str(tmp_path), "CHATUI_REDIS_URL": address, "DJANGO_SETTINGS_MODULE": "chatui.settings"}
        done = subprocess.run(
            [sys.executable, "-c", asks], cwd=BASE_DIR, env=os.environ | environment, capture_output=True, text=True, timeout=30, check=True
        )
    assert done.stdout.strip() == "None" and "TimeoutError" in done.stderr


@pytest.mark.extended
@pytest.mark.slow
def test_other_packages_log_warnings_only_because_their_other_lines_quote_what_they_send(tmp_path: Path) -> None:
    asks = "import django, logging; django.setup(); "
    asks += "print([logging.getLogger(name).getEffectiveLevel() for name in "
    asks += "('chatui.turns', 'renderer', 'django.db.backends', 'websockets.client', 'httpx', 'httpcore.http11', 'autobahn', 'a_package')])"
    environment = {"CHATUI_DATA_DIR": str(tmp_path), "CHATUI_LOG_LEVEL": "DEBUG", "DJANGO_SETTINGS_MODULE": "chatui.settings"}
    done = subprocess.run(
        [sys.executable, "-c", asks], cwd=BASE_DIR, env=os.environ | environment, capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.strip() == "[10, 10, 20, 30, 30, 30, 30, 30]"


def test_the_key_of_a_model_server_comes_from_its_file_and_shows_in_no_repr(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("sk-secret\n")
    assert Environment(backend_key_file=file).key() == "sk-secret"
    assert "sk-secret" not in repr(Environment(backend_key="sk-secret"))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("field", "value", "identity"),
    [
        ("backend_url", "ftp://x", "chatui.E001"),
        ("backend_url", "http://user:password@host/", "chatui.E002"),
        ("backend_key_file", Path("/no/such/file"), "chatui.E003"),
        ("backend_kind", "telepathy", "chatui.E005"),
        ("backend_kind", "harmony", "chatui.W002"),
        ("origins", ["chat.example.org"], "chatui.E004"),
        ("pages_dir", Path("/no/such/directory"), "chatui.W001"),
        ("sign_in_file", Path("/no/such/file"), "chatui.E052"),
        ("tools", {"no_such_tool": ()}, "chatui.W030"),
        ("search", "searxng", "chatui.W033"),
        ("tool_facts", {"no_such_tool": ("private",)}, "chatui.W030"),
    ],
)
def test_manage_py_check_says_what_is_wrong(
    field: str, value: object, identity: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = {"backend_url": "http://127.0.0.1:1"} if field == "backend_kind" else {}
    change(monkeypatch, {"data_dir": tmp_path, **url, field: value})
    found = [message.id for message in said()]
    assert identity in found


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "identity", "nearest"),
    [
        ("CHATUI_BACKEND_ULR", "chatui.E050", "CHATUI_BACKEND_URL"),
        ("CHATUI_HOST", "chatui.E050", "CHATUI_HOSTS"),
        ("CHATUI_COMPANY", "chatui.W050", "docs/settings.md"),
    ],
)
def test_a_misspelt_setting_is_an_error_with_the_nearest_right_name(
    name: str, identity: str, nearest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "x")
    [found] = said()
    assert found.id == identity and nearest in found.msg and name in found.msg


@pytest.mark.django_db
@pytest.mark.parametrize(
    "name", ["CHATUI_BACKEND_SUMMARY_REVIEW", "CHATUI_CLOSED_ACCOUNT_HEIR", "CHATUI_DJANGO_ADMIN", "CHATUI_TOOL_THREADS"]
)
def test_a_setting_of_an_earlier_version_is_a_warning_that_says_it_can_go(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "false")
    [found] = said()
    assert found.id == "chatui.W021" and "does nothing any more and can be removed" in found.msg


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "now"),
    [
        ("CHATUI_ALERT_HOURS", "within 24 hours"),
        ("CHATUI_PYTHON_IDLE_MINUTES", "for 10 minutes"),
        ("CHATUI_PYTHON_INTERPRETERS_OF_PERSON", "at most 2"),
        ("CHATUI_PYTHON_SECONDS", "CHATUI_TOOL_SECONDS"),
    ],
)
def test_a_setting_of_an_earlier_version_that_restricted_something_keeps_everything_from_starting(
    name: str, now: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "1")
    [found] = said()
    assert found.id == "chatui.E063" and found.is_serious() and name in found.msg and now in found.msg


@pytest.mark.django_db
def test_a_variable_that_an_operators_file_names_is_no_misspelt_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATUI_BACKEND_KEY2", "x")
    monkeypatch.setenv("chatui_name", "a setting, in small letters")
    monkeypatch.setenv("CHATUI_KEY_ACME", "https://api.example.org sk-x")
    assert [found.id for found in said()] == ["chatui.E050"]
    (tmp_path / "backends.toml").write_text('[[backend]]\nname = "a"\nurl = "http://127.0.0.1:9"\nkey_env = "CHATUI_BACKEND_KEY2"\n')
    change(monkeypatch, {"backends_file": tmp_path / "backends.toml"})
    assert said() == []


@pytest.mark.django_db
def test_the_defaults_have_nothing_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "ENVIRONMENT", Environment.of(os.environ))
    assert said() == []


@pytest.mark.extended
@pytest.mark.slow
def test_manage_py_check_runs_the_checks(tmp_path: Path) -> None:
    """Django finds checks only in imported modules, and only the app itself imports these."""
    wrong = {
        "CHATUI_DATA_DIR": str(tmp_path),
        "CHATUI_BACKEND_URL": "ftp://x",
        "CHATUI_ACCENT": "red",
        "CHATUI_PAGES_DIR": str(tmp_path / "x"),
    }
    done = subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=BASE_DIR, env=os.environ | wrong, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert [code for code in ("chatui.E001", "chatui.E008", "chatui.W001") if code not in done.stderr] == []
