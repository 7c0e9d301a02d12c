"""People, conversations and a scripted model server for the tests of the Django side."""

import time
from collections.abc import AsyncIterator, Callable, Iterator
from io import StringIO

import django
import pytest

# A conftest named on the command line is loaded before pytest-django sets up Django, and models cannot be imported before that.
django.setup()

from django.contrib.auth.models import Permission
from django.core.cache import cache
from django.core.management import call_command
from django.db import OperationalError
from django.test import Client
from django.utils import translation

from chatui.audit_log.record import Visitor
from chatui.database.faults import Outages, outages
from chatui.database.writer import writer
from chatui.model_servers import configured, connected, proofs
from chatui.models.audit import AuditEvent, CountedLine
from chatui.models.conversation import Conversation
from chatui.models.tools import ToolSetting
from chatui.models.user import User
from chatui.observability.request_ids import request_id
from chatui.tools import rules
from chatui.turns import running
from chatui.usage import limits
from chatui.wire.bus import PROCESS
from tests.support.new_process import begin_anew
from tests.support.scripted import ScriptedBackend
from tests.support.vocabulary import rank_file as rank_file
from tests.support.vocabulary import vocabulary as vocabulary

PASSWORD = "correct horse battery"
OPENING = {"reason": "a fault was reported", "minutes": "15"}
"""The data of the form that opens a debug view."""


def make_person(name: str, *permissions: str, staff: bool = False) -> User:
    person = User.objects.create_user(name, password=PASSWORD, is_staff=staff)
    if permissions:
        person.user_permissions.set(Permission.objects.filter(codename__in=permissions))
        assert person.user_permissions.count() == len(permissions)
    return person


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No language, throttle, outage, limit, row of a model server or pending write left over from another test."""
    translation.deactivate()
    Outages.__init__(outages)  # there was none
    begin_anew(connected, proofs, rules)
    with monkeypatch.context() as patch:  # what is in the database is read later, and only where a test has one
        patch.setattr(configured, "rows", database_is_away)
        patch.setattr(ToolSetting.objects, "prefetch_related", database_is_away)
        connected.specs()
        rules.rules()
    cache.clear()
    limits.clear_cache()
    request_id.set("")
    yield
    writer.drain(5)


@pytest.fixture
def ada(db: None) -> User:
    """An end user who owns the conversation."""
    return make_person("ada")


@pytest.fixture
def bela(db: None) -> User:
    """Another end user."""
    return make_person("bela")


@pytest.fixture
def sam(db: None) -> User:
    """Staff without any of our permissions."""
    return make_person("sam", staff=True)


@pytest.fixture
def grace(db: None) -> User:
    """Staff who may see hidden channels, of anybody's conversation."""
    return make_person("grace", "view_hidden_channels", "view_any_conversation", "view_auditevent", staff=True)


@pytest.fixture
def hank(db: None) -> User:
    """Staff who may see hidden channels of his own conversations only."""
    return make_person("hank", "view_hidden_channels", staff=True)


@pytest.fixture
def vera(db: None) -> User:
    """A second person with the same permissions as grace, but for the audit log."""
    return make_person("vera", "view_hidden_channels", "view_any_conversation", staff=True)


@pytest.fixture
def root(db: None) -> User:
    """A superuser."""
    return User.objects.create_superuser("root", password=PASSWORD)


def signed_in(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def output_of(command: str, *arguments: object) -> str:
    """What a command prints."""
    printed = StringIO()
    call_command(command, *map(str, arguments), stdout=printed, stderr=printed)
    return printed.getvalue()


def database_is_away(*_: object, **__: object) -> None:
    raise OperationalError("the server closed the connection")


def disk_is_full(*_: object, **__: object) -> None:
    """Takes the place of what writes a line of the audit log."""
    raise OSError("no space left")


def refuse_log(patch: pytest.MonkeyPatch, refuse: Callable[..., None] = disk_is_full) -> None:
    """From now on the database stores no line of the audit log, and no count of repetitions."""
    for table in (AuditEvent, CountedLine):
        patch.setattr(table, "save", refuse)


def visitor(person: User | None, way: str = "page", address: str = "192.0.2.7") -> Visitor:
    """Who asks for something, as the audit log names them."""
    return Visitor(person, address, way)


def confirmed(client: Client) -> Client:
    """As after the page that asks people to confirm who they are, with everything that it can ask for."""
    session = client.session
    session["shown_at"], session["shown_with_factor"] = time.time(), True
    session.save()
    return client


@pytest.fixture
def conversation(ada: User) -> Conversation:
    """Ada's conversation, still empty."""
    return Conversation.objects.create(owner=ada, title="Ada's conversation")


@pytest.fixture
async def backend(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ScriptedBackend]:
    """A model server that plays a test's script. Turns that the test left running are ended."""
    scripted = ScriptedBackend()
    monkeypatch.setattr(connected, "backend", lambda choice="": scripted)
    yield scripted
    for key in running.known():
        await running.stop(running.TurnPlace(key, PROCESS))  # a failed test may have left one that waits forever
    await running.settle()
