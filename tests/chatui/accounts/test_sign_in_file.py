"""The operator's file: mistakes are reported without quoting a value, and never make the product more permissive."""

from pathlib import Path
from typing import Any

import pytest

from chatui.accounts.sign_in_settings import EMERGENCY, EVERYBODY
from tests.support import sign_in_file

GOOD = """
passwords = "emergency"
emergency_accounts = ["rescue"]

[[provider]]
key = "company"
name = "Example Ltd"
issuer = "https://login.example.org/realms/staff"
client_id = "chatui"
client_secret_file = "secret"
enter_groups = ["/chat"]
groups = { "/chat" = "people", "0d1c-44" = ["people", "debuggers"] }
"""


def parsed(text: str, directory: Path) -> Any:
    (path := directory / "sign-in.toml").write_text(text)
    return sign_in_file.read(path)


def test_a_valid_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s3cret\n")
    (path := tmp_path / "sign-in.toml").write_text(GOOD)
    file = sign_in_file.read(path)
    assert file.problems == () and file.passwords == EMERGENCY and file.emergency_accounts == ("rescue",)
    provider = file.providers[0]
    assert provider.secret() == "s3cret" and provider.managed_groups == {"people", "debuggers"}
    assert provider.groups_for(frozenset({"0d1c-44", "nobody"})) == {"people", "debuggers"}


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("https://login.example.org/realms/staff", "http://login.example.org", "issuer must be an https address"),
        ("https://login", "https://user:hush@login", "issuer must be an https address"),
        ('enter_groups = ["/chat"]', "", "say who may enter"),
        ('key = "company"', 'key = "Com pany"', "key: string should match"),
        ('name = "Example Ltd"', 'name = "Example Ltd"\nrole_superuser = "hush"', "there is no key 'role_superuser'"),
        ('client_secret_file = "secret"', 'client_secret_file = "secret"\nscopes = ["profile"]', "scopes must be a list"),
        ('client_secret_file = "secret"', 'client_secret_file = "secret"\nsession_hours = true', "session_hours must be a whole number"),
        ("[[provider]]", "[[providers]]", "there is no table or key 'providers'; did you mean 'provider'?"),
    ],
)
def test_a_mistake_omits_the_provider(old: str, new: str, problem: str, tmp_path: Path) -> None:
    assert old in GOOD
    file = parsed(GOOD.replace(old, new), tmp_path)
    assert file.providers == () and problem in file.problems[0] and "hush" not in str(file.problems)


@pytest.mark.parametrize(
    ("text", "passwords"),
    [
        ("", EVERYBODY),
        ('passwords = "everybody"', EVERYBODY),
        ('passwords = "emergncy"', EMERGENCY),
        ("passwords = true", EMERGENCY),
        ("passwords = [", EMERGENCY),
        ('passwords = "emergency"', EMERGENCY),
    ],
)
def test_a_mistake_never_enables_passwords(text: str, passwords: str, tmp_path: Path) -> None:
    file = parsed(text, tmp_path)
    assert file.passwords == passwords and bool(file.problems) == (text not in ("", 'passwords = "everybody"'))


def test_an_unreadable_file_disables_passwords(tmp_path: Path) -> None:
    assert sign_in_file.read(tmp_path / "none").passwords == EMERGENCY and sign_in_file.read(tmp_path / "none").problems


def test_a_repeated_provider_is_reported_and_ignored(tmp_path: Path) -> None:
    table = GOOD[GOOD.index("[[") :]
    file = parsed(GOOD + table, tmp_path)
    assert len(file.providers) == 1 and "twice" in file.problems[0]
