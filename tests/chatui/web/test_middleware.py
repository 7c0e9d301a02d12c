"""A form needs its token, and signing in stores a session."""

import pytest
from channels.db import database_sync_to_async
from django.conf import settings
from django.contrib.sessions.models import Session
from django.test import AsyncClient

from chatui.models.user import User

pytestmark = pytest.mark.django_db(transaction=True)


async def test_a_form_needs_its_csrf_token_and_the_session_is_stored(ada: User) -> None:
    await database_sync_to_async(_with_password)(ada)
    form = {"username": ada.username, "password": PASSWORD}
    client = AsyncClient(enforce_csrf_checks=True)
    assert (await client.post("/sign-in/", form)).status_code == 403
    assert not await Session.objects.aexists()
    await client.get("/sign-in/")
    token = client.cookies[settings.CSRF_COOKIE_NAME].value
    assert (await client.post("/sign-in/", form | {"csrfmiddlewaretoken": token})).status_code == 302
    assert settings.SESSION_COOKIE_NAME in client.cookies and await Session.objects.aexists()


PASSWORD = "an unlikely horse battery"


def _with_password(person: User) -> None:
    person.set_password(PASSWORD)
    person.save()
