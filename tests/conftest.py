"""What all tests share: settings of their own, and reasons in plain sentences for what is left out."""

from __future__ import annotations

import gc
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import hypothesis
import pytest
from _pytest.mark.expression import Expression

from chatui.languages import catalogues
from tests.support import places
from tests.support.cases import ROUNDS, example_count
from tests.support.deployments import prepared
from tests.tools import chromium

pytest_plugins = ["tests.bytecode", "tests.reporting"]

# Said by whoever runs the tests; every other CHATUI_… variable is a setting of their own product and must not reach a test.
OF_TESTS = {
    "CHATUI_CACHE_DIR",
    "CHATUI_CHROMIUM",
    "CHATUI_SHARED_DIR",
    "CHATUI_TEST_DATABASE_URL",
    "CHATUI_TEST_LONG",
    "CHATUI_TEST_NEW_EXAMPLES",
    "CHATUI_TEST_REDIS_URL",
    "CHATUI_TEST_SHAPES",
    "CHATUI_TEST_STATES",
}
TOGETHER = ("tests/llama/", "tests/browser/accessibility/")
# These take minutes: they begin first, in this order, so that the end does not wait for one of them.
LONG = (
    "tests/chatui/canary/test_runs.py",
    "tests/browser/accessibility/",
    "tests/llama/",
    "tests/canary/leaks/test_stored.py",
    "tests/services/test_canary.py",
    "tests/operating/",
    "tests/processes/",
    "tests/services/",
    "tests/canary/",
    "tests/upgrades/",
    "tests/attacks/",
)
_OF_A_MODULE = re.compile(r"^pytestmark = .+$", re.MULTILINE)
SERVICES = ("CHATUI_TEST_DATABASE_URL", "CHATUI_TEST_REDIS_URL")

# Not in pyproject.toml: without the plugin (-p no:django) that setting would be an unknown one, and an error.
os.environ["DJANGO_SETTINGS_MODULE"] = "chatui.settings"
_DATA = tempfile.TemporaryDirectory(prefix="chatui-tests-")
for _name in [name for name in os.environ if name.startswith("CHATUI_") and name not in OF_TESTS]:
    del os.environ[_name]
os.environ["CHATUI_DATA_DIR"] = _DATA.name
# Some machines want no bytecode kept. Each of some hundred servers would then compile the whole product anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# A script is for the answer; it is not to be played a second time as its own title. The tests of titles ask for them.
os.environ["CHATUI_TITLES"] = "false"
# What one process of the tests counts in Redis, such as wrong passwords, is not what another counts. Redis has 16 databases.
if (_worker := os.environ.get("PYTEST_XDIST_WORKER", "")) and (_redis := os.environ.get("CHATUI_TEST_REDIS_URL")):
    os.environ["CHATUI_TEST_REDIS_URL"] = urlsplit(_redis)._replace(path=f"/{int(_worker.removeprefix('gw')) % 16}").geturl()


# No deadline: how long one example takes says more of the machine than of the code. Always the same examples, so that a change is judged
# by what it changes; new ones each time for whoever looks for faults.
hypothesis.settings.register_profile(
    "chatui", deadline=None, max_examples=example_count(100), derandomize=not os.environ.get("CHATUI_TEST_NEW_EXAMPLES")
)
hypothesis.settings.load_profile("chatui")


@pytest.fixture(autouse=True, scope="session")
def _catalogues() -> None:
    """Translations as the product reads them: make runtime compiles them, and whoever starts pytest alone has them, too."""
    catalogues.compile_stale()


@pytest.fixture(scope="session")
def chromium_path() -> Path:
    """The browser. Only tests marked ``browser`` ask for it, and they run only where there is one."""
    found = chromium.find()
    assert found, chromium.why_not()
    return found


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """A directory with larger data sets that are not part of the repository; tests that need it are left out without it."""
    named = os.environ.get("CHATUI_SHARED_DIR")
    place = Path(named) if named else places.ROOT.parent / "shared"
    if not place.is_dir():
        pytest.skip("The larger data sets are not part of the repository; CHATUI_SHARED_DIR can name a directory that has them.")
    return place


@contextmanager
def _cheap_passwords() -> Iterator[None]:
    """Many people are made, and a hash as the product makes it takes a second each. Once for all: to set it for each test cost as much as
    many a test."""
    from django.test import override_settings

    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


@contextmanager
def _short_sign_ins() -> Iterator[None]:
    """Django's test client signs a new browser in through an empty session, which it saves, reads, copies, deletes and saves: a dozen
    statements before most of the tests of a page. One session with what is to be in it is the same."""
    from django.conf import settings
    from django.contrib import auth
    from django.contrib.sessions.backends.db import SessionStore
    from django.http import HttpRequest
    from django.test import Client

    whole: Any = vars(Client.__mro__[1])["_login"]

    def login(self: Any, user: Any, backend: str | None = None) -> None:
        if settings.SESSION_COOKIE_NAME in self.cookies:
            whole(self, user, backend)
            return
        http, session = HttpRequest(), SessionStore()
        session[auth.SESSION_KEY] = user._meta.pk.value_to_string(user)
        session[auth.BACKEND_SESSION_KEY] = backend or user.backend
        session[auth.HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.create()
        http.session = session
        auth.user_logged_in.send(sender=type(user), request=http, user=user)
        self._set_login_cookies(http)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "_login", login)
        yield


@contextmanager
def _without_static_files() -> Iterator[None]:
    """Static files are for real servers. Names with hashes need a collected copy. And the middleware that serves them knows only the event
    loop: each request of Django's test client would go through three threads, and take half as long again."""
    from django.conf import settings
    from django.test import override_settings

    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    middleware = [name for name in settings.MIDDLEWARE if not name.startswith("servestatic.")]
    with override_settings(STORAGES={**settings.STORAGES, "staticfiles": plain}, MIDDLEWARE=middleware):
        yield


@contextmanager
def _noted_pages() -> Iterator[None]:
    """Django's test client keeps a copy of what each template was given, for each icon that a page includes. The page's own is enough."""
    from django.template.base import Template
    from django.template.context import Context
    from django.test.signals import template_rendered

    def rendered(self: Template, context: Context) -> str:
        if context.template is self:
            template_rendered.send(sender=self, template=self, context=context)
        return self.nodelist.render(context)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Template, "_render", rendered)
        yield


@contextmanager
def _migrated_once() -> Iterator[None]:
    """Every process of the tests begins with a copy of one migrated database: to run all migrations costs seconds. Django still runs
    ``migrate`` over the copy, which fails where it is of other migrations."""
    from django.db.backends.sqlite3.creation import DatabaseCreation

    create: Any = vars(DatabaseCreation)["_create_test_db"]

    def copied(self: DatabaseCreation, *args: Any, **options: Any) -> str:
        name: str = create(self, *args, **options)
        if not Path(name).exists():
            shutil.copyfile(prepared.migrated(), name)
        return name

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DatabaseCreation, "_create_test_db", copied)
        yield


@contextmanager
def _emptied_where_there_are_rows() -> Iterator[None]:
    """Tests that commit empty the tables in which they left rows, also the one whose rows the database refuses to delete.

    Django's own way reads the whole schema, and empties every table: that took longer than many of these tests.
    """
    from django.test import TransactionTestCase

    from tests.chatui.audit_log import triggers

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _: triggers.empty_tables())
        yield


@pytest.fixture(autouse=True, scope="session")
def _quick_django(request: pytest.FixtureRequest) -> Iterator[None]:
    """Django as the tests use it, in one fixture: what pytest asks of each, before each test, is more than it does."""
    if not request.config.pluginmanager.hasplugin("django"):
        yield
        return
    request.getfixturevalue("django_test_environment")
    changes = (_cheap_passwords, _short_sign_ins, _without_static_files, _noted_pages, _migrated_once, _emptied_where_there_are_rows)
    with ExitStack() as stack:
        for change in changes:
            stack.enter_context(change())
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Load the settings, which makes pytest-django set Django up before any test is imported."""
    if config.pluginmanager.hasplugin("django"):
        from django.conf import settings

        settings.DATABASES  # noqa: B018 -- reading one setting loads them all


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Modules none of whose tests can be wanted are not even imported: where only marked tests are wanted, those that name no mark, which
    are most of them; and else those marked as a whole with what is not wanted, which are a third. Nor is what a folder of such modules
    sets up for them."""
    if not config.option.markexpr:
        return None
    if collection_path.is_dir():
        modules = list(collection_path.rglob("test_*.py"))
        return True if modules and not any(_may_hold_wanted(module, config) for module in modules) else None
    return True if collection_path.match("test_*.py") and not _may_hold_wanted(collection_path, config) else None


@cache
def _may_hold_wanted(module: Path, config: pytest.Config) -> bool:
    wanted = config.option.markexpr
    marks = frozenset(re.findall(r"\w+", wanted)) - {"and", "not", "or"}
    if not may_be_wanted(wanted, frozenset(), frozenset()):
        return _names_a_mark(module, config)
    found = _OF_A_MODULE.search(module.read_text(encoding="utf-8"))
    of_all = marks & set(re.findall(r"pytest\.mark\.(\w+)", found[0])) if found else frozenset()
    return may_be_wanted(wanted, of_all, marks)


@cache
def may_be_wanted(wanted: str, of_all: frozenset[str], marks: frozenset[str]) -> bool:
    """Whether a test could be wanted that has the marks ``of_all`` and any others of ``marks``, those that the wish names."""
    expression, others = Expression.compile(wanted), sorted(marks - of_all)
    every = (of_all.union(names) for count in range(len(others) + 1) for names in combinations(others, count))
    return any(expression.evaluate(_is_one_of(names)) for names in every)


def _is_one_of(names: frozenset[str]) -> Any:
    def asked(name: str, /, **_: object) -> bool:
        return name in names

    return asked


def _names_a_mark(module: Path, config: pytest.Config) -> bool:
    text = module.read_text(encoding="utf-8")
    return any(f"mark.{line.partition(':')[0]}" in text for line in config.getini("markers"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out, with the reason, what this machine cannot run; and begin with what takes longest."""
    items.sort(key=lambda item: next((place for place, start in enumerate(LONG) if item.nodeid.startswith(start)), len(LONG)))
    marks = {line.partition(":")[0] for line in config.getini("markers")}
    marked = {item.path for item in items if any(mark.name in marks for mark in item.iter_markers())}
    if silent := sorted(str(path) for path in marked if not _names_a_mark(path, config)):
        raise pytest.UsageError(f"These modules have marked tests and name no mark, so that -m would pass them over: {silent}")
    reasons = {"browser": None if chromium.find() else chromium.why_not(), "services": _no_services()}
    for item in items:
        for marker, reason in reasons.items():
            if reason and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish() -> None:
    """What is there by now stays until the end. To walk over all of it again and again took an eighth of the time of the tests, and to look
    once for the little of it that could go takes more than it is worth."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Channels' test client puts a function that does nothing in the place of this one while it waits. Where two wait at once, and end in
    another order than they began, that one would stay for every test behind, and no connection be closed any more."""
    if (channels_db := sys.modules.get("channels.db")) is not None:
        from django.db import close_old_connections

        channels_db.close_old_connections = close_old_connections  # type: ignore[attr-defined]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Repeat the races and faults in their long form."""
    if ROUNDS > 1 and metafunc.definition.get_closest_marker("faults"):
        metafunc.fixturenames.append("_round")
        metafunc.parametrize("_round", range(ROUNDS))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``--dist loadfile``, keep together not only what one module sets up, but also what shares llama.cpp.

    Groups by mark are no way: pytest-xdist 3.8 writes them into the ids of tests, which pytest 9.2 computes, so that they are lost.
    """
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    scheduling = LoadFileScheduling(config, log)
    scheduling._split_scope = shared
    return scheduling


def shared(nodeid: str) -> str:
    """Which tests one process runs together: those of a module, or of a directory that shares a server."""
    path = nodeid.partition("::")[0]
    return next((directory for directory in TOGETHER if path.startswith(directory)), path)


def _no_services() -> str | None:
    """Why tests against PostgreSQL and Redis cannot run; None if both answer."""
    for name in SERVICES:
        address = urlsplit(os.environ.get(name, ""))
        if not address.hostname:
            return "PostgreSQL and Redis are used only when CHATUI_TEST_DATABASE_URL and CHATUI_TEST_REDIS_URL name them."
        try:
            socket.create_connection(
                (address.hostname, address.port or (5432 if "postgres" in address.scheme else 6379)), timeout=3
            ).close()
        except OSError as error:
            return f"{name} names a server that does not answer: {error.strerror or error}."
    return None
