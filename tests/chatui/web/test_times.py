"""A moment is written in one form on every page, in the language and the time zone of the person who reads it."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone, translation

from chatui.models.conversation import Conversation
from chatui.models.message import Author
from chatui.models.user import User
from renderer.frames import Frame, Header
from tests.chatui.conftest import OPENING, make_person, signed_in
from tests.chatui.web.manage.test_manage import failed_turn, text_of
from tests.support.messages import add_message, open_branch

pytestmark = pytest.mark.django_db

DAYS = {"en": "%-d %b %Y", "de": "%d.%m.%Y"}
ZONES = {"Asia/Kolkata": "UTC+5:30", "America/Phoenix": "UTC-7"}
MAY = ("view_hidden_channels", "view_any_conversation", "view_storedbackend", "view_user")
TIME = re.compile(r"""<time datetime="([^"]*T[^"]*)"(?:\s+title="([^"]*)")?\s*>(.*?)</time>""", re.DOTALL)
CLOCK = re.compile(r"(?<![\d:+-])\d{1,2}:\d\d(?::\d\d)?(?![\d:])")


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """The language and time zone of a request stay with the thread."""
    yield
    translation.activate("en")
    timezone.deactivate()


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("language", DAYS)
def test_a_moment_is_written_alike_on_every_page(language: str, zone: str, ada: User) -> None:
    staff = make_person("staff", *MAY, staff=True)
    client, (turn, _) = signed_in(staff), [failed_turn(ada) for _ in range(2)]
    answer = Frame(Header("assistant", channel="final"), "An answer")
    stored = add_message(turn.conversation, turn.question, answer, Author.MODEL, turn_id=turn.pk)
    open_branch(turn.conversation, ada, stored)
    debug = f"/c/{turn.conversation_id}/debug/"
    assert client.post(f"{debug}open/", OPENING).status_code == 302
    for field in ("archived_at", "deleted_at"):
        talk = failed_turn(staff).conversation
        Conversation.objects.filter(pk=talk.pk).update(**{field: timezone.now() - timedelta(hours=1)})
    User.objects.filter(pk=staff.pk).update(language=language)
    # One has chosen the zone, the other has it from the browser.
    User.objects.filter(pk=staff.pk, language="en").update(time_zone=zone)
    client.cookies["chatui_zone"] = zone
    pages = {
        debug: {"short", "seconds"},
        "/manage/conversations/?since=2020-01-01&q=ada": {"short"},
        "/manage/failures/": {"short"},
        f"/manage/failures/{turn.pk}/": {"short"},
        "/archived/": {"day"},
        "/bin/": {"day"},
    }
    for path, expected in pages.items():
        page = text_of(client, path)
        found = set()
        for at, title, text in TIME.findall(page):
            moment = datetime.fromisoformat(at).astimezone(ZoneInfo(zone))
            day = moment.strftime(DAYS[language])
            forms = {
                "day": day,
                "short": f"{day}, {moment:%H:%M} {ZONES[zone]}",
                "seconds": f"{day}, {moment:%H:%M:%S} {ZONES[zone]}",
            }
            form = next((name for name, form in forms.items() if form == text.strip()), text)
            assert form != "day" or title == forms["short"], (path, title)
            found.add(form)
        assert found == expected, path
        words = re.sub(r"<(script|template)\b.*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)
        assert all(words[clock.end() :].startswith(f" {ZONES[zone]}") for clock in CLOCK.finditer(words)), path
