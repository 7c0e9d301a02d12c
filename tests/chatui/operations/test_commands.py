"""The management commands."""

from datetime import timedelta

import pytest
from django.core.management import CommandError
from django.test import Client
from django.utils import timezone

from chatui.models.conversation import Conversation
from chatui.models.message import Author, Message
from chatui.models.user import User
from renderer.frames import Frame, Header
from tests.chatui.conftest import PASSWORD, output_of
from tests.support.messages import add_message

pytestmark = pytest.mark.django_db


def test_purge_removes_what_was_deleted_long_ago_and_nothing_else(ada: User, conversation: Conversation) -> None:
    question = add_message(conversation, None, Frame(Header("user"), "old"), Author.PERSON)
    add_message(conversation, question, Frame(Header("assistant", channel="final"), "older"), Author.MODEL)
    fresh = Conversation.objects.create(owner=ada, deleted_at=timezone.now())
    remaining = Conversation.objects.create(owner=ada)
    Conversation.objects.filter(pk=conversation.pk).update(deleted_at=timezone.now() - timedelta(days=31))
    assert "Removed 1 conversations" in output_of("purge")
    assert set(Conversation.objects.all()) == {fresh, remaining} and not Message.objects.exists()


def test_first_account_prints_a_valid_code() -> None:
    account = {"username": "ada", "password1": PASSWORD, "password2": PASSWORD}
    code = output_of("first_account").strip()
    for given, is_valid in ((code[:-1] + ("b" if code.endswith("a") else "a"), False), (code, True)):
        Client().post("/setup/", account | {"code": given})
        assert User.objects.filter(username="ada").exists() is is_valid


def test_first_account_refuses_if_an_account_exists(ada: User) -> None:
    with pytest.raises(CommandError, match="already"):
        output_of("first_account")
