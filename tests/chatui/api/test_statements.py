"""The SQL statements of an API request: as few as for a question on a page, and mostly compiled once."""

from __future__ import annotations

import pytest

from chatui.models.user import User
from chatui.turns import running
from tests.chatui.api.asking import Program, new_key
from tests.chatui.turns.test_statements import IN_ALL, Statements
from tests.chatui.turns.test_statements import statements as statements  # a fixture
from tests.support.scripted import ScriptedBackend, answer

pytestmark = pytest.mark.django_db(transaction=True)


async def test_a_response_takes_as_few_statements_as_a_turn_of_a_page(ada: User, backend: ScriptedBackend, statements: Statements) -> None:
    program = Program(await new_key(ada))
    for _ in range(2):
        mark = len(statements)
        backend.script = answer("Four.")
        await program.ask({"input": "What is two and two?"})
        await running.settle()
    assert 0 < len(statements) - mark <= IN_ALL, statements.since(mark)
