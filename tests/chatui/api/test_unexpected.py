"""Unexpected errors: a locked or unreachable database, and bugs of our own. The client gets an error object, the log the details."""

import asyncio
import json
import sqlite3
from math import inf

import pytest
from django.db import DataError, InterfaceError, OperationalError

from chatui.accounts import key_admission
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.turns.slots import slots
from chatui.turns.streams.program import ProgramStream
from tests.chatui.api.asking import Program, json_of
from tests.support.database import Database
from tests.support.database import database as database
from tests.support.limits import limit, set_limits
from tests.support.scripted import FINAL, ScriptedBackend, frame

RESTART_SECONDS = limit("chatui.api", "RESTART_SECONDS")

pytestmark = pytest.mark.django_db(transaction=True)

ASKED = {"input": "?", "messages": [{"role": "user", "content": "?"}]}
SECRET = "the row said marmalade"
PATHS = ("/v1/responses", "/v1/chat/completions")


def wrong_sql() -> OperationalError:
    """An SQL error that no retry cures."""
    cause = sqlite3.OperationalError("no such column: marmalade")
    cause.sqlite_errorcode = sqlite3.SQLITE_ERROR
    error = OperationalError(SECRET)
    error.__cause__ = cause
    return error


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("error", [OperationalError("database is locked"), InterfaceError("connection already closed")])
async def test_an_unavailable_database_is_not_logged_as_a_bug(
    path: str, error: Exception, key: str, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    database.refuse("SELECT ", error, times=inf)
    response = await Program(key).post(path, ASKED)
    assert database.met
    assert response.status_code == 503 and response.headers["Retry-After"] and json_of(response)["error"]["code"] == "server_busy"
    assert type(error).__name__ in caplog.text and "the database could not be used" in caplog.text
    assert "django.request" not in {line.name for line in caplog.records}, "nobody gets a mail about it"


@pytest.mark.parametrize("path", PATHS)
async def test_a_process_that_ends_asks_programs_to_try_again(path: str, key: str, ada: User) -> None:
    slots().close()
    response = await Program(key).post(path, ASKED)
    assert (response.status_code, response.headers["Retry-After"]) == (503, str(RESTART_SECONDS))
    assert json_of(response)["error"]["code"] == "server_busy"
    assert not await Turn.objects.aexists(), "nothing is stored that no process would answer"


@pytest.mark.parametrize("error", [wrong_sql(), DataError(SECRET), StopAsyncIteration(SECRET), TimeoutError(SECRET), RuntimeError(SECRET)])
async def test_an_unexpected_error_is_an_error_object_and_a_traceback(
    error: Exception, key: str, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    database.refuse("INSERT INTO chatui_turn ", error, times=inf)
    response = await Program(key).post("/v1/responses", ASKED)
    returned = json_of(response)["error"]
    assert (
        response.status_code == 500
        and (returned["type"], returned["code"]) == ("server_error", "server_error")
        and response.headers["X-Request-ID"] in returned["message"]
    )
    assert type(error).__name__ in caplog.text and "tests/support/database.py" in caplog.text, "with its traceback"
    assert "django.request" in {line.name for line in caplog.records}, "Django mails it to the administrators"
    assert "marmalade" not in caplog.text + response.content.decode()  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("error", "code"), [(RuntimeError(SECRET), "server_error"), (OperationalError("database is locked"), "server_busy")]
)
async def test_a_stream_that_fails_midway_ends_with_an_error_event(
    path: str,
    error: Exception,
    code: str,
    key: str,
    backend: ScriptedBackend,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The status was sent before: a client that ignores the error takes a partial answer for the whole."""
    backend.script = [*frame(FINAL, "Some words")[:-1], asyncio.Event()]
    reads = ProgramStream.next

    async def breaks(stream: ProgramStream) -> object:
        event = await reads(stream)
        if type(event).__name__ == "MoreProgramText":
            raise error
        return event

    monkeypatch.setattr(ProgramStream, "next", breaks)
    events = await Program(key).stream(dict(ASKED), path)
    errors = [event["error"] for event in events if event.get("error")]
    assert errors[0]["code"] == code and "marmalade" not in json.dumps(events) + caplog.text
    assert path == "/v1/chat/completions" or events[-1]["type"] == "response.failed"
    assert ("RuntimeError" in caplog.text) is (code == "server_error")
    async with asyncio.timeout(30):
        while not backend.closed:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("error", "least_checks", "code"), [(OperationalError("database is locked"), 2, "server_busy"), (wrong_sql(), 1, "server_error")]
)
async def test_a_key_that_cannot_be_checked_stays_valid_for_a_while(
    error: Exception, least_checks: int, code: str, key: str, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: list[object] = []

    def fails(*given: object) -> object:
        checks.append(given)
        raise error

    set_limits(monkeypatch, "chatui.api", CHECK_SECONDS=0.05, GRACE_SECONDS=0.5)
    monkeypatch.setattr(key_admission, "is_still_valid", fails)
    backend.script = [*frame(FINAL, "Some words")[:-1], asyncio.Event()]
    events = await Program(key).stream(dict(ASKED))
    assert [event["error"]["code"] for event in events if event.get("error")] == [code]
    assert len(checks) >= least_checks
