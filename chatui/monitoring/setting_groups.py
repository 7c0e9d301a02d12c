"""The headings for settings, each with the documentation page that explains them."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext_noop as noop


@dataclass(frozen=True, slots=True)
class SettingGroup:
    """A group of settings. ``prefixes``: the prefixes of the names, in lower case and without ``CHATUI_``. ``page``: the file of the
    documentation."""

    heading: str
    page: str
    prefixes: tuple[str, ...]


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
        noop("Accounts and signing in"), "docs/accounts.md", ("sign_in_", "mail_", "second_factor_", "closed_account", "close_own_")
    ),
    SettingGroup(noop("Pages and appearance"), "docs/settings.md", ("pages_", "name", "language", "mark", "accent")),
    SettingGroup(
        noop("Model servers and answers"),
        "docs/back-ends.md",
        ("backend", "title", "max_", "group_answers_", "group_instructions_", "demo_", "instructions", "summary_"),
    ),
    SettingGroup(noop("Hidden channels and audit"), "docs/operating.md", ("debug_", "four_eyes_", "alert_", "tell_owners", "hidden_days")),
    SettingGroup(noop("Tools"), "docs/tools.md", ("tool", "search", "browser_", "python_")),
    SettingGroup(noop("Files"), "docs/files.md", ("file_", "files_")),
    SettingGroup(noop("Sharing and deleting"), "docs/settings.md", ("share_", "bin_")),
    SettingGroup(noop("Usage and programs"), "docs/usage.md", ("currency", "usage_", "api")),
)


def group_of(name: str) -> SettingGroup | None:
    """The group of a setting, by its longest matching prefix; None if there is none."""
    fitting = [(len(start), number) for number, group in enumerate(GROUPS) for start in group.prefixes if name.startswith(start)]
    return GROUPS[max(fitting)[1]] if fitting else None
