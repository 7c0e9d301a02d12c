"""The page of settings in force: grouped, searchable without scripts, and secrets cannot be found by their value."""

import re

import pytest

from chatui.display import settings_in_force
from chatui.env import Environment, environment
from chatui.models.user import User
from tests.chatui.conftest import signed_in
from tests.support.places import ROOT

pytestmark = pytest.mark.django_db


def search_settings(words: str) -> list[str]:
    root = User.objects.create_superuser(f"root-{len(words)}", password="correct horse battery")
    page = signed_in(root).get("/manage/settings/", {"q": words}).content.decode()
    return re.findall(r'<li class="manage-row" id="(CHATUI_\w+)"', page)


def test_every_setting_is_under_one_documented_heading() -> None:
    assert all((ROOT / group.page).is_file() for group in settings_in_force.GROUPS)
    assert sorted(search_settings("")) == sorted(f"CHATUI_{name.upper()}" for name in Environment.model_fields)


def test_the_search_covers_names_descriptions_and_values() -> None:
    assert search_settings("python_memory MIB") == ["CHATUI_PYTHON_MEMORY_MB"]
    assert "CHATUI_SECOND_FACTOR_GROUPS" in search_settings("sign in with a password")
    assert search_settings("no such words at all") == []


def test_a_secret_is_not_found_by_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = environment().model_copy(update={"search_key": "heronheron", "database_url": "postgres://me:lynxlynx@host/name"})
    monkeypatch.setattr(settings_in_force, "environment", lambda: changed)
    assert search_settings("heron") == [] and search_settings("lynx") == []
    assert "CHATUI_SEARCH_KEY" in search_settings("search_key"), "the twin: it is found by its name"


def test_nor_is_a_password_with_a_space(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = environment().model_copy(update={"database_url": "postgres://me:ly nx@heron@host/name", "backend_query": "code=ibisibis"})
    monkeypatch.setattr(settings_in_force, "environment", lambda: changed)
    assert search_settings("nx@") == search_settings("heron") == search_settings("ibis") == []
    assert search_settings("@host/name") == ["CHATUI_DATABASE_URL"], "the twin: the rest of the address is shown"


def test_a_duration_is_no_secret_whatever_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = environment().model_copy(update={"backend_first_token_seconds": 123.0})
    monkeypatch.setattr(settings_in_force, "environment", lambda: changed)
    assert search_settings("first_token 123.0") == ["CHATUI_BACKEND_FIRST_TOKEN_SECONDS"], "a secret is not found by its value"
