"""Error pages: the status that fits, a code, a sentence that says what to do, and how long to wait."""

import re
from typing import Any

import pytest
from django.test import Client

from chatui.models.user import User
from tests.chatui.conftest import signed_in
from tests.support.cases import for_each

pytestmark = pytest.mark.django_db


def text_of(response: Any) -> str:
    """The text of a page, in one line."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode().split("<body", 1)[-1]))


@for_each(
    [
        {"title": "x" * 2_000_000},
        {f"field{number}": "x" for number in range(2000)},
        {"file": [f"{number}" for number in range(1200)]},
    ]
)
def test_a_form_that_is_too_large_to_be_read_is_413_and_says_so(form: dict[str, object]) -> None:
    response = Client().post("/sign-in/", form)
    text = text_of(response)
    assert response.status_code == 413 and "E-X-FORM-TOO-LARGE" in text
    assert "This form is too large, so nothing was done. Go back, shorten it, and send it again." in text
    script = Client(headers={"accept": "application/json"}).post("/sign-in/", form)
    assert (script.status_code, script.json()["code"]) == (413, "E-X-FORM-TOO-LARGE")


def test_a_form_that_is_just_small_enough_is_read() -> None:
    assert Client().post("/sign-in/", {"username": "x" * 1_000_000}).status_code == 200


def test_e_x_wrong_host_an_unknown_host_name_is_refused_and_the_setting_is_named() -> None:
    stranger = Client(headers={"host": "chat.example.net"})
    response = stranger.get("/sign-in/")
    assert response.status_code == 400 and "E-X-WRONG-HOST" in text_of(response)
    assert "Its operator can add the host name to CHATUI_HOSTS." in text_of(response)
    assert "Back to your conversations" not in text_of(response), "the link would lead to the same page"
    assert "chat.example.net" not in response.content.decode()
    assert stranger.get("/v1/models").json()["error"]["message"].endswith("(E-X-WRONG-HOST)")


def test_another_bad_request_does_not_name_a_setting(ada: User) -> None:
    response = signed_in(ada).post("/sign-in/", headers={"content-type": "multipart/form-data; boundary=\n"})
    assert response.status_code == 400 and "E-X-COMMAND" in text_of(response) and "CHATUI_HOSTS" not in text_of(response)


def test_an_address_that_does_not_accept_the_method_is_a_page(ada: User) -> None:
    for client in (Client(), signed_in(ada)):
        response = client.get("/sign-out/")
        assert response.status_code == 405 and "POST" in response["Allow"]
        assert "E-X-NOT-FOUND" in text_of(response) and "Back to your conversations" in text_of(response)


def test_a_script_that_uses_another_method_gets_json(ada: User) -> None:
    response = Client(headers={"accept": "application/json"}).get("/sign-out/")
    assert (response.status_code, response.json()["code"]) == (405, "E-X-NOT-FOUND")


def test_after_a_session_has_ended_in_a_form_the_sign_in_leads_to_a_page(ada: User) -> None:
    client = Client()
    address = client.post("/settings/close/")["Location"]
    assert "next=/settings/close/" in address, "the premise"
    client.force_login(ada)
    assert "Back to your conversations" in text_of(client.get("/settings/close/"))


def test_too_many_requests_of_one_kind_are_told_how_long_to_wait(ada: User, bela: User) -> None:
    client = signed_in(ada)
    for _ in range(6):
        assert client.get("/download/").status_code == 200
    response = client.get("/download/")
    assert response.status_code == 429 and 0 < int(response["Retry-After"]) <= 600
    assert re.search(r"Try again in \d+ minutes\.", text_of(response))
    assert signed_in(bela).get("/download/").status_code == 200


def test_what_to_do_about_an_old_form_is_said_before_the_code(ada: User) -> None:
    client = Client(enforce_csrf_checks=True)
    response = client.post("/sign-in/", headers={"referer": "http://testserver/sign-in/"})
    text = text_of(response)
    assert response.status_code == 403 and "Open the page again" in text
    assert text.index("out of date") < text.index("E-X-COMMAND")


def test_uploads_are_rate_limited(ada: User, bela: User) -> None:
    client = signed_in(ada)
    statuses = [client.post("/import/", {"file": ""}).status_code for _ in range(42)]
    assert statuses == [400] * 40 + [429] * 2, "those that are refused count as well"
    assert client.get("/import/").status_code == 200
    assert signed_in(bela).post("/import/", {"file": ""}).status_code == 400
