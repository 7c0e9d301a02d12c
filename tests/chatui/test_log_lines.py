"""Log lines for people and for programs: the product's own fields, and nothing that another package attaches."""

import asyncio
import json
import logging
import sys
from contextvars import copy_context
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from twisted.python.failure import Failure

from chatui.observability.request_ids import request_id
from tests.support.log_lines import formatter


def record(message: str, **extra: Any) -> logging.LogRecord:
    return logging.getLogger("chatui.x").makeRecord("chatui.x", logging.INFO, "x.py", 1, message, (), None, extra=extra)


def test_a_line_of_a_process_that_is_ending_is_formatted_although_nothing_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    line, text = record("not closed", turn="1"), formatter()
    monkeypatch.setattr(sys, "meta_path", None)
    assert text.format(line) == "not closed turn=1" and line.msg == "not closed"


async def test_a_line_of_daphne_about_a_task_is_short_and_shows_none_of_its_insides() -> None:
    async def application(scope: str) -> None:
        await asyncio.sleep(60)

    task = asyncio.create_task(application("SECRET"), name="SECRET")
    words = "Application instance %r for connection %s took too long to shut down and was killed."
    request = "<WebRequest at 0x7f12 method=GET uri=/c/SECRET/ clientproto=HTTP/1.1>"
    assert "SECRET" in words % (task, request), "the premise"
    line = logging.getLogger("daphne.server").makeRecord("daphne.server", logging.WARNING, "x", 1, words, (task, request), None)
    says = "Application instance 'Task' for connection WebRequest took too long to shut down and was killed."
    assert formatter().format(line) == json.loads(formatter("json").format(line))["event"] == says
    task.cancel()
    plain = record("%s of %d at %s: %s < %s > %s")
    plain.args = ("a word", 3, uuid4(), None, "1", "2")
    assert formatter("json").format(plain).count("a word of 3 at ") == 1, "the twin: words and numbers stay"


def test_a_failure_of_twisted_is_named_by_its_exception() -> None:
    line = record("")
    line.msg = Failure(ValueError("SECRET"))  # type: ignore[assignment] # as Daphne gives it
    assert "SECRET" in str(line.msg), "the premise"
    assert formatter().format(line) == "ValueError"


def raised() -> Any:
    try:
        raise ValueError("SECRET")
    except ValueError:
        return sys.exc_info()


def test_a_line_has_the_id_of_the_request_in_both_forms() -> None:
    def written() -> tuple[str, object]:
        request_id.set("0af9")
        line = record("not closed", turn="1")
        return formatter().format(line), json.loads(formatter("json").format(line))["request"]

    assert copy_context().run(written) == ("not closed request=0af9 turn=1", "0af9")
    assert formatter().format(record("not closed", turn="1")) == "not closed turn=1"


def test_fields_stand_behind_the_sentence_and_in_the_object() -> None:
    line = record("turn ended", turn="1", seconds=1.5, code="", cause='HTTP 401, "x"\nINFO forged', request="SECRET", input_tokens=None)
    formatted = formatter(form="%(levelname)s %(name)s: %(message)s").format(line)
    assert (
        formatted.startswith("INFO chatui.x: turn ended turn=1 ")
        and "seconds=1.5" in formatted
        and "SECRET" not in formatted
        and "\n" not in formatted
    )
    found = json.loads(formatter("json").format(line))
    assert found.pop("time").endswith("+00:00")
    assert found == {
        "level": "INFO",
        "logger": "chatui.x",
        "event": "turn ended",
        "turn": "1",
        "seconds": 1.5,
        "cause": 'HTTP 401, "x"\nINFO forged',
    }


def test_an_object_is_one_line_and_quotes_no_exception_and_no_token() -> None:
    line = record("Not Found: /s/abc-DEF/")
    line.exc_info = raised()
    text = formatter("json").format(line)
    found = json.loads(text)
    assert "\n" not in text and "SECRET" not in text and "abc-DEF" not in text
    assert found["event"] == "Not Found: /s/(token)/" and "ValueError" in found["exception"] and "test_log_lines.py" in found["exception"]
    assert json.loads(formatter("json").format(record("two\nlines")))["event"] == "two\nlines"


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["invitation", "password_link"])
def test_the_token_of_a_link_is_not_logged_where_its_form_is_refused(name: str, caplog: pytest.LogCaptureFixture) -> None:
    token = "a" * 48
    address = reverse(name, args=[uuid4(), token])
    assert Client(enforce_csrf_checks=True).post(address).status_code == 403
    lines = [line for line in caplog.records if line.name == "django.security.csrf"]
    assert lines and token in lines[0].getMessage(), "the premise"
    for form in ("text", "json"):
        formatted = formatter(form).format(lines[0])
        assert token not in formatted and "/(token)/" in formatted
