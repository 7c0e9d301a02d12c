"""The operator's file: mistakes are reported without quoting a value, and never make the product more permissive."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatui.accounts.sign_in_settings import EMERGENCY, EVERYBODY, parsed, read_file

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


def test_a_valid_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s3cret\n")
    (path := tmp_path / "sign-in.toml").write_text(GOOD)
    file = read_file(path)
    assert file.problems == () and file.passwords == EMERGENCY and file.emergency_accounts == ("rescue",)
    provider = file.providers[0]
    assert provider.secret() == "s3cret" and provider.managed_groups == {"people", "debuggers"}
    assert provider.groups_for(frozenset({"0d1c-44", "nobody"})) == {"people", "debuggers"}


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("https://login.example.org/realms/staff", "http://login.example.org", "issuer: Value error, must be an https address"),
        ("https://login", "https://user:hush@login", "issuer: Value error, must be an https address"),
        ('enter_groups = ["/chat"]', "", "say who may enter"),
        ('key = "company"', 'key = "Com pany"', "key: String should match"),
        ('name = "Example Ltd"', 'name = "Example Ltd"\nrole_superuser = "hush"', "role_superuser: Extra inputs are not permitted"),
        ('client_secret_file = "secret"', 'client_secret_file = "secret"\nscopes = ["profile"]', "scopes: Value error"),
        ("[[provider]]", "[[providers]]", "providers: unknown setting"),
    ],
)
def test_a_mistake_omits_the_provider(old: str, new: str, problem: str) -> None:
    assert old in GOOD
    file = parsed(GOOD.replace(old, new), Path("/"))
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
def test_a_mistake_never_enables_passwords(text: str, passwords: str) -> None:
    file = parsed(text, Path("/"))
    assert file.passwords == passwords and bool(file.problems) == (text not in ("", 'passwords = "everybody"'))


def test_an_unreadable_file_disables_passwords(tmp_path: Path) -> None:
    assert read_file(tmp_path / "none").passwords == EMERGENCY and read_file(tmp_path / "none").problems


def test_a_repeated_provider_is_reported_and_ignored() -> None:
    table = GOOD[GOOD.index("[[") :]
    file = parsed(GOOD + table, Path("/"))
    assert len(file.providers) == 1 and "twice" in file.problems[0]
