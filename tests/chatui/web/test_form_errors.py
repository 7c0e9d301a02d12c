"""What a form refuses: it says so on its page, and nothing is stored. A row is an address, what is sent, and words of the page.

Whoever sends it may do everything; who may not is refused before, which tests/canary/surface/test_matrix.py has.
"""

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chatui.models.conversation import Conversation
from chatui.models.user import User
from tests.chatui.conftest import PASSWORD, confirmed, signed_in

pytestmark = pytest.mark.django_db

KEY = {"name": "A job", "formats": ["responses"], "per_minute": "60", "lasts": "90"}
NEW_PASSWORD = {"old_password": PASSWORD, "new_password1": "a long enough password", "new_password2": "a long enough password"}
OPENING = "/c/{conversation}/debug/open/"

FORMS: dict[str, tuple[str, list[dict[str, Any]], str]] = {
    "a setting": (
        "/settings/",
        [
            {"name": "Ada", "language": "xx"},
            {"name": "Ada", "time_zone": "../../etc/passwd"},
            {"name": "Ada", "time_zone": "Europe/Atlantis"},
            {"name": "Ada", "theme": "purple"},
            {"name": "Ada", "choice": "somebody-elses"},
            {"name": "Ada", "effort": "most"},
            {"name": "x" * 151},
            {"name": "Ada", "instructions": "x" * 4001},
        ],
        "field-wrong",
    ),
    "a folder without a name": ("/folders/new/", [{"name": ""}, {"name": " \u3000 "}], "required"),
    "a folder with an invisible name": ("/folders/new/", [{"name": "\x1b"}], "field-wrong"),
    "a folder with a long name": ("/folders/new/", [{"name": "x" * 61}], "at most 60"),
    "a folder with long instructions": ("/folders/new/", [{"name": "Work", "instructions": "x" * 4001}], "at most 4000"),
    "a key": (
        "/keys/",
        [
            KEY | {"formats": []},
            KEY | {"formats": ["raw"]},
            KEY | {"name": "\u200b"},
            KEY | {"lasts": "7000"},
            KEY | {"per_minute": "0"},
            KEY | {"models": ["nothing"]},
        ],
        "field-wrong",
    ),
    "a key that asks in no way": ("/keys/", [KEY | {"formats": []}], '<a href="#id_formats">'),
    "an answer format": ("/format/", [{"schema": text} for text in ("[]", '{"type": "nothing"}', " ")], "field-wrong"),
    "a short password": ("/password/", [NEW_PASSWORD | {"new_password1": "short"}], '<a href="#id_new_password1">'),
    "another password": ("/password/", [NEW_PASSWORD | {"new_password2": "another long password"}], '<a href="#id_new_password2">'),
    "a group": ("/manage/groups/", [{"name": name} for name in ("", "  ", "READERS", "a\u202eb", "x" * 151)], "field-wrong"),
    "an invitation": ("/manage/people/invite/", [{"people": "Nora", "days": days} for days in ("0", "31", "-1", "x")], "field-wrong"),
    "a limit": (
        "/manage/limits/",
        [{"what": "limit"} | sent for sent in ({}, {"day_turns": "-1"}, {"day_turns": "9" * 30}, {"day_turns": "x"}, {"group": "999"})],
        "",
    ),
    "a debug view": (
        OPENING,
        [{}, {"reason": "short"}, {"reason": " " * 10}, {"reason": "a fault was reported", "minutes": "525600"}, {"minutes": "15"}],
        "of 10 to 180 characters",
    ),
    "an export of ratings": ("/ratings/", [{}, {"format": "pdf"}, {"format": "harmony", "since": "never"}], ""),
}
FILTERS = {
    "/audit/": ["since=never", "conversation=x", "until=2026-13-01", "code=a%00b", "way=%0a", "person=a%00b"],
    "/usage/everybody/": ["since=x", "by=text", "since=2026-02-01&until=2026-01-01", "since=0001-01-01"],
}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_says_what_is_wrong_and_nothing_is_stored(name: str, root: User, conversation: Conversation) -> None:
    Group.objects.create(name="readers")
    path, forms, words = FORMS[name]
    client = confirmed(signed_in(root))
    for sent in forms:
        with CaptureQueriesContext(connection) as asked:
            answer = client.post(path.format(conversation=conversation.pk), sent)
        page = answer.content.decode()
        assert answer.status_code in (200, 400) and words in page and "<form" in page, sent
        assert not [query["sql"] for query in asked if query["sql"].startswith(("INSERT", "UPDATE", "DELETE"))], sent


@pytest.mark.parametrize("path", FILTERS)
def test_a_filter_that_cannot_be_read_is_explained_in_the_form(path: str, root: User) -> None:
    for query in FILTERS[path]:
        answer = signed_in(root).get(f"{path}?{query}")
        assert answer.status_code == 400 and "field-problem" in answer.content.decode(), query
