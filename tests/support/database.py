"""The database between the product and its tables: which statements it gets, and those that it refuses, delays or leaves unconfirmed."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from chatui.database import pools
from chatui.database.base import PageConnections
from chatui.usage import limits
from tests.support import constants

Seen = Callable[[BaseDatabaseWrapper, str], None]


def watch(monkeypatch: pytest.MonkeyPatch, seen: Seen) -> None:
    """Call ``seen`` before each statement of any thread, including transaction control, with its connection and its text."""
    for name in ("execute", "executemany"):
        monkeypatch.setattr(CursorWrapper, name, _watched(getattr(CursorWrapper, name), seen))


def _watched(send: Callable[..., Any], seen: Seen) -> Callable[..., Any]:
    def sent(cursor: Any, sql: str, params: Any = None) -> Any:
        seen(cursor.db, sql)
        return send(cursor, sql, params)

    return sent


def page_connections(*kinds: Callable[[], object]) -> PageConnections:
    """The connections of a process's pages, each opened in its own way, in this order."""
    left = list(kinds)
    return PageConnections(lambda: left.pop(0)())  # type: ignore[arg-type, return-value]


class Statements(list[str]):
    """Every statement of a turn, including transaction control, but none that is sent for all turns together."""

    def since(self, mark: int) -> str:
        """The statements after a mark, for a failing test to show."""
        return "\n".join(statement[:160] for statement in self[mark:])


def only_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on nothing is done that is done for all turns together: no lease is renewed, nothing that admins set is read again."""
    async_to_sync(pools.reaper.run)(int)  # what an earlier test's process still looks for is over
    limits.oldest()
    constants.change(monkeypatch, remembered_seconds=float("inf"), lease_tick_seconds=3600.0)


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> Statements:
    found = Statements()
    only_turns(monkeypatch)
    watch(monkeypatch, lambda _, sql: found.append(sql))
    return found


@dataclass
class _Fault:
    """What happens to the next statements that match ``of``."""

    of: re.Pattern[str]
    times: float
    error: BaseException
    is_unconfirmed: bool = False


@dataclass
class Database:
    """A database with faults. A statement is named by a pattern of its beginning, without quotes: ``UPDATE chatui_turn SET state``."""

    met: list[str] = field(default_factory=list)
    """The statements that met a fault, in order."""
    _faults: list[_Fault] = field(default_factory=list)
    _held: list[tuple[re.Pattern[str], threading.Event]] = field(default_factory=list)
    _actions: list[tuple[re.Pattern[str], Callable[[], object]]] = field(default_factory=list)
    _later: list[tuple[re.Pattern[str], Callable[[], object]]] = field(default_factory=list)
    _unconfirmed: dict[BaseDatabaseWrapper, BaseException] = field(default_factory=dict)
    _committing: dict[BaseDatabaseWrapper, Callable[[], object]] = field(default_factory=dict)

    def refuse(self, statement: str, error: BaseException | None = None, *, times: float = 1) -> None:
        """Refuse the next ``times`` such statements; by default as a database that is locked for a moment."""
        self._faults.append(_Fault(re.compile(statement), times, error or OperationalError("database is locked")))

    def lose_confirmation(self, statement: str, *, times: float = 1) -> None:
        """Commit the next transactions with such a statement, and lose the connection before the product hears of it."""
        lost = OperationalError("server closed the connection unexpectedly")
        self._faults.append(_Fault(re.compile(statement), times, lost, is_unconfirmed=True))

    @contextmanager
    def holding(self, statement: str) -> Iterator[None]:
        """Let such statements wait until the block ends."""
        held = (re.compile(statement), threading.Event())
        self._held.append(held)
        try:
            yield
        finally:
            self._held.remove(held)
            held[1].set()

    def before(self, statement: str, action: Callable[[], object]) -> None:
        """Do this once, in the same transaction, before the next such statement: what another process did at that moment."""
        self._actions.append((re.compile(statement), action))

    def after_commit(self, statement: str, action: Callable[[], object]) -> None:
        """Do this once, after the next transaction with such a statement, before the product hears that it is committed."""
        self._later.append((re.compile(statement), action))

    def recover(self) -> None:
        """From now on nothing is refused or lost."""
        self._faults.clear()

    def gets(self, connection: BaseDatabaseWrapper, sql: str) -> None:
        text = sql.replace('"', "")
        for pattern, released in list(self._held):
            if pattern.match(text):
                released.wait(60)
        for entry in [each for each in self._actions if each[0].match(text)]:
            self._actions.remove(entry)
            self.met.append(text)
            entry[1]()
        for entry in [each for each in self._later if each[0].match(text)]:
            self._later.remove(entry)
            self._committing[connection] = entry[1]
        for fault in self._faults:
            if fault.times > 0 and fault.of.match(text):
                fault.times -= 1
                self.met.append(text)
                if not fault.is_unconfirmed:
                    raise fault.error
                self._unconfirmed[connection] = fault.error

    def committed(self, connection: BaseDatabaseWrapper) -> None:
        self._committing.pop(connection, lambda: None)()
        if error := self._unconfirmed.pop(connection, None):
            raise error


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Database:
    found, commit = Database(), BaseDatabaseWrapper.commit

    def committed(connection: BaseDatabaseWrapper) -> None:
        commit(connection)
        found.committed(connection)

    watch(monkeypatch, found.gets)
    monkeypatch.setattr(BaseDatabaseWrapper, "commit", committed)
    return found
