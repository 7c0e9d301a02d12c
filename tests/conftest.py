"""Shared test configuration: isolated settings, faster Django, test order, and a plain reason for each skipped test."""

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
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import hypothesis
import pytest
from _pytest.mark.expression import Expression

from chatui.site import catalogues
from tests.support import places
from tests.support.cases import ROUNDS, example_count
from tests.support.deployments import prepared
from tests.tools import chromium

pytest_plugins = ["tests.bytecode", "tests.interrupts", "tests.reporting"]

# Set by the person who runs the tests. Every other CHATUI_… variable belongs to their own deployment and must not reach a test.
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
# The cases of this test are long pieces of work, for each of which a server of its own is started.
SPREAD = "tests/chatui/operations/canary/test_runs.py::test_every_planted_leak_is_found_out_with_its_place"
# These wait for leases, timers and other processes most of the time, so that many of them can run at once. The longest are first.
WAITING = (
    "tests/services/test_canary.py",
    "tests/chatui/operations/canary/test_runs.py",
    "tests/operating/",
    "tests/processes/",
    "tests/services/",
    "tests/upgrades/",
    "tests/chatui/operations/",
    "tests/chatui/live/",
)
# The longest of the others, which need a processor. They start first, so that the run does not end by waiting for one of them.
LONG = (
    "tests/browser/accessibility/",
    "tests/llama/",
    "tests/canary/leaks/test_stored.py",
    "tests/canary/",
    "tests/attacks/",
)
_OF_A_MODULE = re.compile(r"^pytestmark = .+$", re.MULTILINE)
SERVICES = ("CHATUI_TEST_DATABASE_URL", "CHATUI_TEST_REDIS_URL")

# Not in pyproject.toml: without the plugin (-p no:django) pytest would reject it as an unknown option.
os.environ["DJANGO_SETTINGS_MODULE"] = "chatui.settings"
_DATA = tempfile.TemporaryDirectory(prefix="chatui-tests-")
for _name in [name for name in os.environ if name.startswith("CHATUI_") and name not in OF_TESTS]:
    del os.environ[_name]
os.environ["CHATUI_DATA_DIR"] = _DATA.name
# What make run has fetched changes no test: those that need the vocabulary name it.
os.environ.setdefault("TIKTOKEN_ENCODINGS_BASE", f"{_DATA.name}/no-vocabulary")
# Some machines disable bytecode files. Each of the hundred or so servers would then compile the whole product again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# A scripted model answer must not be played a second time to generate a title. The tests of titles turn titles on.
os.environ["CHATUI_TITLES"] = "false"
# Nor does a test wait for the demo to write as slowly as a model does.
os.environ["CHATUI_DEMO_TOKENS_PER_SECOND"] = "0"
# Each test process counts (for example wrong passwords) in its own Redis database. Redis has 16 of them.
if (_worker := os.environ.get("PYTEST_XDIST_WORKER", "")) and (_redis := os.environ.get("CHATUI_TEST_REDIS_URL")):
    os.environ["CHATUI_TEST_REDIS_URL"] = urlsplit(_redis)._replace(path=f"/{int(_worker.removeprefix('gw')) % 16}").geturl()


# No deadline and no check of speed: the time of an example depends more on the machine than on the code. The examples are always the
# same, so that a failure comes from the change under test; CHATUI_TEST_NEW_EXAMPLES generates new ones, to look for faults.
hypothesis.settings.register_profile(
    "chatui",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    max_examples=example_count(100),
    derandomize=not os.environ.get("CHATUI_TEST_NEW_EXAMPLES"),
)
hypothesis.settings.load_profile("chatui")


@pytest.fixture(autouse=True, scope="session")
def _catalogues() -> None:
    """Compile the translations, as ``make runtime`` does, so that they are also there when pytest is started directly."""
    catalogues.compile_stale()


@pytest.fixture(scope="session")
def chromium_path() -> Path:
    """The path of Chromium. Only tests marked ``browser`` request it, and they are skipped where it is missing."""
    found = chromium.find()
    assert found, chromium.why_not()
    return found


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The directory with larger data sets that are not in the repository; tests that need it are skipped without it."""
    named = os.environ.get("CHATUI_SHARED_DIR")
    place = Path(named) if named else places.ROOT.parent / "shared"
    if not place.is_dir():
        pytest.skip("The larger data sets are not part of the repository; CHATUI_SHARED_DIR can name a directory that has them.")
    return place


@contextmanager
def _cheap_passwords() -> Iterator[None]:
    """Hash passwords cheaply: tests create many people, and each production hash takes a second. Set once per session, because setting
    it for each test took as long as many of the tests."""
    from django.test import override_settings

    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


@contextmanager
def _short_sign_ins() -> Iterator[None]:
    """Django's test client signs a new browser in through an empty session that it saves, reads, copies, deletes and saves: a dozen
    statements before most page tests. Creating one session with the right content has the same result."""
    from django.conf import settings
    from django.contrib import auth
    from django.http import HttpRequest
    from django.test import Client

    whole: Any = vars(Client.__mro__[1])["_login"]

    def login(self: Any, user: Any, backend: str | None = None) -> None:
        if settings.SESSION_COOKIE_NAME in self.cookies:
            whole(self, user, backend)
            return
        http, session = HttpRequest(), import_module(settings.SESSION_ENGINE).SessionStore()
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
    """Only real servers serve static files. Hashed names would need a collected copy. The middleware that serves them is async only:
    each request of Django's test client would pass through three threads and take half as long again."""
    from django.conf import settings
    from django.test import override_settings

    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    middleware = [name for name in settings.MIDDLEWARE if not name.startswith("servestatic.")]
    with override_settings(STORAGES={**settings.STORAGES, "staticfiles": plain}, MIDDLEWARE=middleware):
        yield


@contextmanager
def _page_contexts_only() -> Iterator[None]:
    """Django's test client copies the context of every rendered template, even of each included icon. The context of the page is enough."""
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
    """Start every test process with a copy of one migrated database, because running all migrations takes seconds. Django still runs
    ``migrate`` on the copy, which fails if the copy has other migrations."""
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
    """After a test that commits, empty only the tables that have rows, including the one whose rows the database refuses to delete.

    Django reads the whole schema and empties every table, which took longer than many of these tests.
    """
    from django.test import TransactionTestCase

    from tests.chatui.audit_log import triggers

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _: triggers.empty_tables())
        yield


@pytest.fixture(autouse=True, scope="session")
def _quick_django(request: pytest.FixtureRequest) -> Iterator[None]:
    """Make Django faster for tests. One fixture for all changes: pytest's own overhead per fixture and test exceeds their cost."""
    if not request.config.pluginmanager.hasplugin("django"):
        yield
        return
    request.getfixturevalue("django_test_environment")
    changes = (_cheap_passwords, _short_sign_ins, _without_static_files, _page_contexts_only, _migrated_once, _emptied_where_there_are_rows)
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
    """Do not import modules in which ``-m`` cannot select any test. If it selects only marked tests, these are the modules that name no
    mark (most of them); otherwise those whose ``pytestmark`` is deselected (a third). Folders of only such modules are ignored too,
    with their conftest."""
    if not config.option.markexpr:
        return None
    if collection_path.is_dir():
        modules = list(collection_path.rglob("test_*.py"))
        return True if modules and not any(_may_hold_wanted(module, config) for module in modules) else None
    return True if collection_path.match("test_*.py") and not _may_hold_wanted(collection_path, config) else None


@cache
def _may_hold_wanted(module: Path, config: pytest.Config) -> bool:
    expression = config.option.markexpr
    marks = frozenset(re.findall(r"\w+", expression)) - {"and", "not", "or"}
    if not may_be_selected(expression, frozenset(), frozenset()):
        return _names_a_mark(module, config)
    found = _OF_A_MODULE.search(module.read_text(encoding="utf-8"))
    of_all = marks & set(re.findall(r"pytest\.mark\.(\w+)", found[0])) if found else frozenset()
    return may_be_selected(expression, of_all, marks)


@cache
def may_be_selected(marks_option: str, of_all: frozenset[str], marks: frozenset[str]) -> bool:
    """Whether ``marks_option`` can select a test that has the marks ``of_all`` and any of the other ``marks``, which are those it names."""
    expression, others = Expression.compile(marks_option), sorted(marks - of_all)
    every = (of_all.union(names) for count in range(len(others) + 1) for names in combinations(others, count))
    return any(expression.evaluate(_is_one_of(names)) for names in every)


def _is_one_of(names: frozenset[str]) -> Any:
    def asked(name: str, /, **_: object) -> bool:
        return name in names

    return asked


def _names_a_mark(module: Path, config: pytest.Config) -> bool:
    text = module.read_text(encoding="utf-8")
    return "mostly_slow(" in text or any(f"mark.{line.partition(':')[0]}" in text for line in config.getini("markers"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip, with a reason, what this machine cannot run, and start with the tests that take longest."""
    order = (*WAITING, *LONG)
    items.sort(key=lambda item: next((place for place, start in enumerate(order) if item.nodeid.startswith(start)), len(order)))
    marks = {line.partition(":")[0] for line in config.getini("markers")} - {"asyncio"}  # its plugin adds this one
    marked = {item.path for item in items if any(mark.name in marks for mark in item.iter_markers())}
    if silent := sorted(str(path) for path in marked if not _names_a_mark(path, config)):
        raise pytest.UsageError(f"These modules have marked tests and name no mark, so that -m would pass them over: {silent}")
    reasons = {"browser": None if chromium.find() else chromium.why_not(), "services": _no_services()}
    for item in items:
        for marker, reason in reasons.items():
            if reason and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish() -> None:
    """Freeze the objects that exist by now: they live until the end, and scanning them repeatedly took an eighth of the test time. A
    collection first would free too little to be worth its time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Restore a function that Channels' test client replaces with a no-op while it waits. If two clients wait at once and end in a
    different order than they began, the no-op stays, and in all later tests no connection would be closed."""
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
    """With ``--dist loadfile``, distribute two queues: what waits, and what needs a processor.

    ``xdist_group`` marks do not work: pytest-xdist 3.8 writes them into test ids, which pytest 9.2 computes, so that they are lost.
    """
    if config.getvalue("dist") != "loadfile":
        return None
    from tests.two_queues import TwoQueues

    return TwoQueues(config, log)


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
