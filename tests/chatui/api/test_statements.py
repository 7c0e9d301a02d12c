"""The SQL statements of an API request: as few as for a question on a page, and mostly compiled once."""

from __future__ import annotations

import pytest

from chatui.models.user import User
from chatui.turns import running
from tests.chatui.api.asking import Program, new_key
from tests.chatui.turns.test_statements import Statements, listed, named
from tests.chatui.turns.test_statements import statements as statements  # a fixture
from tests.support.scripted import ScriptedBackend, answer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]

ASKED = """
SELECT apikey: the key and its owner
BEGIN
SELECT turn: it has not asked this before
INSERT conversation
SELECT apikey: it still exists
SELECT user: the owner; how many answers are being written for them
INSERT message: the question
INSERT searchentry: its words
INSERT activeleaf: the branch that is open
INSERT turn
INSERT programanswer: what the request said besides
"""
ANSWERED = """
BEGIN
SELECT message: the turn is still ours, and locked; the next free position
INSERT message: what the model has written
INSERT searchentry: its words
UPDATE activeleaf: the open branch moves on
UPDATE turn: how it has ended
INSERT usageentry: what it took
UPDATE usagecount: what its owner has used
UPDATE conversation: answered just now
"""


async def test_a_response_sends_exactly_these_statements(ada: User, backend: ScriptedBackend, statements: Statements) -> None:
    program = Program(await new_key(ada))
    for _ in range(2):
        mark = len(statements)
        backend.script = answer("Four.")
        await program.ask({"input": "What is two and two?"})
        await running.settle()
    assert [named(sql) for sql in statements[mark:]] == [*listed(ASKED), *listed(ANSWERED)]
