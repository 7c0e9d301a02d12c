"""What a turn writes in plain SQL, on PostgreSQL: the same as on SQLite."""

import pytest

from tests.services.databases import answer_of
from tests.services.databases import database as database
from tests.services.databases import deployment as deployment
from tests.support.served import Deployment

pytestmark = pytest.mark.services

WRITE = """
import json
from chatui.models import User
from tests.support import written_rows
print("ANSWER" + json.dumps(written_rows.differences(User.objects.get(username="ada"))))
"""


def test_what_is_written_is_read_unchanged(deployment: Deployment) -> None:
    assert answer_of(deployment, WRITE) == []
