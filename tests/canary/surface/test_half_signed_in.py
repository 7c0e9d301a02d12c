"""Between the password and the second factor, a person counts as anonymous: at every address, on the socket and for the API."""

import re

import pytest
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.auth.models import Group
from django.test import Client

from chatui.accounts import second_factor
from chatui.models.passkeys import Passkey
from chatui.models.programs import ApiKey
from chatui.models.sign_in import RequiredFactor, SecondFactor
from chatui.models.user import User
from tests.canary.asking import ADDRESS, places, rolled_back, whole
from tests.canary.conftest import World
from tests.canary.reviewed import ROUTES
from tests.canary.surface.test_matrix import ask_for
from tests.chatui.conftest import PASSWORD

pytestmark = pytest.mark.django_db

THEIRS = {
    "sign-in/code/",
    "sign-in/code/passkey/",
    "sign-in/passkey/options/<slug:what>/",
    "sign-in/passkeys/new/",
    "sign-in/second-factor/picture.svg",
}
"""The addresses where the second factor is shown or set up."""


def after_password(person: User) -> Client:
    """A browser in which the password was right, and a second factor is required."""
    RequiredFactor.objects.get_or_create(group=Group.objects.get_or_create(name="careful")[0])
    person.groups.add(Group.objects.get(name="careful"))
    client = Client(raise_request_exception=False, REMOTE_ADDR=ADDRESS)
    answer = client.post("/sign-in/", {"username": person.get_username(), "password": PASSWORD})
    assert answer["Location"] == "/sign-in/code/" and "second_step" in client.session, "the premise"
    return client


@pytest.mark.slow
def test_every_address_responds_as_to_an_anonymous_visitor(world: World) -> None:
    values, person = places(world), world.people["both"]
    assert person is not None
    client = after_password(person)
    wrong = []
    for route in ROUTES:
        for ask in route.asks:
            with rolled_back(client):
                response = ask_for(client, ask, values)
                text = whole(response)
            expected = re.sub(r"\D", "", ask.statuses()["anonymous"])
            if route.pattern not in THEIRS and str(response.status_code) != expected:
                wrong.append(f"{ask.method} {ask.path}: a stranger gets {expected}, and they get {response.status_code}")
            if world.canary.found(text):
                wrong.append(f"{ask.method} {ask.path}: hidden text")
    assert not wrong, "\n".join(wrong)
    assert "second_step" in client.session and "_auth_user_id" not in client.session


def test_pages_of_the_second_factor_show_nothing_else_of_the_account(world: World) -> None:
    person = world.people["owner"]
    assert person is not None
    client = after_password(person)
    assert client.get("/sign-in/code/").status_code == 200
    # Once a factor is set up, its secret is shown only to people who have used it.
    Passkey.objects.create(user=person, credential_id=b"x", public_key=b"x", name="a phone of hers", site="localhost")
    page = client.get("/sign-in/code/").content.decode()
    assert "a phone of hers" not in page and client.get("/sign-in/second-factor/picture.svg").status_code == 404
    assert client.get("/sign-in/passkeys/new/").status_code == 302
    assert client.post("/sign-in/passkeys/new/", {"credential": "{}"}).status_code in (302, 404)
    assert client.post("/sign-in/passkey/options/new/").status_code == 404
    Passkey.objects.all().delete()
    client.get("/sign-in/code/")
    for _ in range(3):
        assert client.post("/sign-in/code/", {"code": "000000"}).status_code == 200
    assert not SecondFactor.objects.exclude(confirmed_at=None).exists() and not second_factor.is_on(person)
    assert client.get("/").status_code == 302 and not ApiKey.objects.filter(owner=person, name="mine").exists()


@pytest.mark.asyncio
@pytest.mark.django_db(transaction=True)
async def test_the_socket_and_the_api_do_not_accept_that_session(ada: User) -> None:
    from chatui.asgi import application

    client = await database_sync_to_async(after_password)(ada)
    cookie = f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
    headers = [(b"host", b"localhost:8000"), (b"origin", b"http://localhost:8000"), (b"cookie", cookie.encode())]
    socket = WebsocketCommunicator(application, "/ws/", headers=headers)
    await socket.connect(timeout=30)
    assert "E-X-SIGNED-OUT" in str(await socket.receive_output(10)) or (await socket.receive_output(10))["code"] == 4401
    await socket.disconnect()
    for path in ("/v1/models", "/v1/responses", "/scim/v2/Users"):
        for key in ("", client.cookies[settings.SESSION_COOKIE_NAME].value):
            sent = {"authorization": f"Bearer {key}"} if key else {}
            answer = await database_sync_to_async(client.get)(path, headers=sent)
            assert answer.status_code in (401, 403, 404, 405), (path, answer.status_code)
