"""The settings in force, for Administration: under headings, each with the documentation page that explains them, and with where each comes
from. For a secret, it is shown only whether it is set."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as noop

from chatui.env import Environment, environment


@dataclass(frozen=True, slots=True)
class SettingGroup:
    """A group of settings."""

    heading: str
    page: str
    """The file of the documentation."""
    prefixes: tuple[str, ...]
    """The prefixes of the names, in lower case and without ``CHATUI_``."""


GROUPS = (
    SettingGroup(
        noop("Installation"),
        "docs/settings.md",
        (
            *("data_dir", "secret_", "sealing_", "file_key", "debug", "hosts", "origins", "trusted_", "database_", "redis_", "drain_"),
            *("service_worker", "metrics_", "traces_", "log_"),
        ),
    ),
    SettingGroup(
        noop("Accounts and signing in"),
        "docs/accounts.md",
        ("sign_in_", "mail_", "second_factor_", "closed_account", "close_own_", "key_rest_"),
    ),
    SettingGroup(noop("Pages and appearance"), "docs/settings.md", ("pages_", "name", "language", "mark", "accent")),
    SettingGroup(
        noop("Model servers and answers"),
        "docs/back-ends.md",
        ("backend", "title", "max_", "group_answers_", "group_instructions_", "demo_", "instructions", "summary_"),
    ),
    SettingGroup(
        noop("Hidden channels and audit"), "docs/operating/debug-views.md", ("debug_", "four_eyes_", "alert_", "tell_owners", "hidden_days")
    ),
    SettingGroup(noop("Tools"), "docs/tools.md", ("tool", "search", "browser_", "python_")),
    SettingGroup(noop("Files"), "docs/files.md", ("file_", "files_")),
    SettingGroup(noop("Sharing and deleting"), "docs/settings.md", ("share_", "bin_", "purge_")),
    SettingGroup(noop("Usage and programs"), "docs/usage.md", ("currency", "usage_", "api", "group_api_")),
)


def group_of(name: str) -> SettingGroup | None:
    """The group of a setting, by its longest matching prefix; None if there is none."""
    fitting = [(len(start), number) for number, group in enumerate(GROUPS) for start in group.prefixes if name.startswith(start)]
    return GROUPS[max(fitting)[1]] if fitting else None


_SECRET = re.compile(r"(^|_)(key|keys|token|password|secret)(_|$)")
_IN_ADDRESS = re.compile(r"(?s)(?<=://).*@")
"""Matches up to the last "@": a password may contain one, or a slash or a space, even if unencoded."""
_IN_QUERY = re.compile(r"(?i)(?<![a-z])([\w-]*(?:key|token|pass|passwd|password|secret|sig|signature|auth|credential|code)s?)=[^&\s]+")
_SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting in force."""

    name: str
    value: str
    """As text; empty for secrets and unset settings."""
    meaning: str
    is_secret: bool
    is_set: bool
    """Whether it is set in the environment."""
    has_value: bool

    @property
    def sentence(self) -> str:
        """The meaning, in the language of the page."""
        return gettext(self.meaning)


def search(words: str) -> list[tuple[SettingGroup, list[Setting]]]:
    """The settings that contain all these words in their name, value or meaning, by group. Values of secrets are not searched."""
    wanted = words.casefold().split()
    named: dict[str, list[Setting]] = {}
    for setting in settings_in_force():
        text = f"{setting.name} {setting.value} {setting.meaning} {setting.sentence}".casefold()
        if all(word in text for word in wanted):
            group = group_of(setting.name.removeprefix("CHATUI_").lower()) or GROUPS[0]
            named.setdefault(group.heading, []).append(setting)
    return [(group, named[group.heading]) for group in GROUPS if group.heading in named]


def settings_in_force() -> list[Setting]:
    """All settings, those that are set first. The content of a file named .env is loaded into the environment when the process starts."""
    set_names = {name.upper() for name in os.environ}
    found = [_setting(environment(), name, set_names) for name in Environment.model_fields]
    return sorted(found, key=lambda setting: not setting.is_set)


def _setting(env: Environment, name: str, set_names: set[str]) -> Setting:
    field, value = Environment.model_fields[name], getattr(env, name)
    variable = f"CHATUI_{name.upper()}"
    # Fails closed: a name that sounds like a secret counts as one, except names of files and numbers.
    sounds_secret = bool(_SECRET.search(name)) and not name.endswith("_file") and not isinstance(value, int | float)
    is_secret = field.repr is False or sounds_secret
    has_value = value not in ("", None, [], {})
    shown = "" if is_secret or not has_value else _IN_QUERY.sub(r"\1=…", _IN_ADDRESS.sub("…@", _text(value)))[:_SHOWN_CHARS]
    return Setting(variable, shown, field.description or "", is_secret, variable in set_names, has_value)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, Mapping):
        return ",".join(f"{name}={'|'.join(each) if isinstance(each, tuple) else each}" for name, each in value.items())
    if isinstance(value, list):
        return ",".join(str(each) for each in value)
    return str(value)
