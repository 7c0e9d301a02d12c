"""``manage.py check`` reports mistakes in all model servers; mistakes on the admin pages do not keep the server from starting."""

from typing import Any, NoReturn

import pytest
from django.contrib.auth.models import Group
from django.core.checks import ERROR
from django.db import DatabaseError

from chatui.env import environment
from chatui.model_servers import configured
from chatui.models.model_servers import StoredBackend
from tests.support.environment import change
from tests.support.several import Configure
from tests.support.several import configure as configure
from tests.support.system_checks import said

pytestmark = pytest.mark.django_db

ONE = '[[backend]]\nname="small"\nurl="http://127.0.0.1:9"\n'


def problems() -> list[tuple[str | None, str]]:
    return [(message.id, message.msg) for message in said()]


def test_a_correct_configuration_has_no_messages(configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", "k")
    monkeypatch.setenv("CHATUI_KEY_ACME", "http://127.0.0.1:9 k")
    Group.objects.create(name="readers")
    configure(ONE + 'groups=["readers"]\nkey_env="THE_KEY"\n', titles=True, title_model="small/tiny")
    StoredBackend.objects.create(name="a", url="http://127.0.0.1:9/v1", key_name="ACME", summaries="model", summarizer="small")
    assert problems() == []


@pytest.mark.parametrize(
    ("text", "values", "identity", "words"),
    [
        ("[[backend]\n", {}, "chatui.E010", "the file is not TOML"),
        ('[[backend]]\nname="a"\nurl="x"\n', {}, "chatui.E010", "[[backend]] a: url must begin with"),
        (ONE + ONE, {}, "chatui.E010", "the name is given twice"),
        (ONE, {"backend_url": "http://127.0.0.1:9"}, "chatui.W010", "CHATUI_BACKEND_URL is ignored"),
        (ONE + 'key_env="NO_SUCH"\n', {}, "chatui.E011", "the variable NO_SUCH holds no key"),
        (ONE + 'key_file="no-such"\n', {}, "chatui.E011", "no-such cannot be read"),
        (ONE + 'key_name="NO_SUCH"\n', {}, "chatui.E011", "cannot be used: there is no key NO_SUCH"),
        (ONE + 'summaries="model"\nsummarizer="other"\n', {}, "chatui.E012", "there is no model server 'other'"),
        (None, {"backend_model": "a\nb"}, "chatui.E013", "CHATUI_BACKEND_MODEL"),
        (None, {"backend_key": "sk-1 sk-2"}, "chatui.E014", "CHATUI_BACKEND_KEY holds more than one word"),
        (ONE + 'groups=["readers"]\n', {}, "chatui.W015", "there is no group 'readers'"),
        (ONE + 'kind="harmony"\n', {}, "chatui.W016", "fetch_vocabulary"),
        (ONE + "summary_review=true\n", {}, "chatui.W022", "summary_review does nothing any more"),
        (ONE, {"titles": True, "title_model": "other/tiny"}, "chatui.W070", "there is no model server 'other/tiny'"),
    ],
)
def test_mistakes_outside_the_admin_pages_are_errors(
    text: str | None, values: dict[str, Any], identity: str, words: str, configure: Configure
) -> None:
    configure(text, **values)
    assert any(found == identity and words in sentence for found, sentence in problems()), problems()
    assert "sk-" not in repr(problems())


@pytest.mark.parametrize(
    ("row", "identity", "words"),
    [
        ({"url": "nowhere"}, "chatui.W011", "Model server 'a': url must begin with"),
        ({"url": "http://a", "kind": "chatt"}, "chatui.W011", "did you mean 'chat'"),
        ({"url": "http://a", "idle_seconds": 0.0}, "chatui.W011", "idle_seconds"),
        ({"url": "http://a", "name": "small"}, "chatui.W012", "also configured outside Administration"),
        ({"url": "http://a", "key_name": "ACME"}, "chatui.W013", "bound to another origin"),
        ({"url": "http://a", "key_name": "NONE"}, "chatui.W013", "there is no key NONE"),
        ({"url": "http://a", "summaries": "model", "summarizer": "other"}, "chatui.W014", "there is no model server 'other'"),
    ],
)
def test_mistakes_on_the_admin_pages_are_warnings_so_that_the_server_starts(
    row: dict[str, Any], identity: str, words: str, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHATUI_KEY_ACME", "http://b sk-7261")
    configure(ONE)
    StoredBackend.objects.create(**({"name": "a"} | row))
    assert [found for found, _ in problems()] == [identity] and words in problems()[0][1]
    assert all(message.level < ERROR for message in said())
    assert "sk-7261" not in repr(problems())


def test_mistakes_in_disabled_rows_are_ignored(configure: Configure) -> None:
    StoredBackend.objects.create(name="a", url="nowhere", is_enabled=False)
    assert problems() == []


def test_before_the_first_migration_there_are_no_messages(configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> NoReturn:
        raise DatabaseError("no such table")

    monkeypatch.setattr(configured, "rows", fail)
    assert problems() == []


def test_another_environment_is_another_model_server_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    values: dict[str, Any] = {"backend_url": "http://one.example/", "backend_idle_seconds": 20.0}
    change(monkeypatch, values)
    before = [configured.of_environment(environment()) for _ in range(2)]
    assert before[0] is before[1], "it is checked once"
    values |= {"backend_url": "http://two.example/", "backend_idle_seconds": 30.0}
    after = configured.of_environment(environment())
    assert (before[0].url, after.url) == ("http://one.example/", "http://two.example/")
    assert (before[0].idle_seconds, after.idle_seconds) == (20.0, 30.0)
