"""Problems with a new password are shown at the field where it was typed."""

from __future__ import annotations

import pytest

from chatui.accounts.forms import FirstAccountForm, LinkedPasswordForm, PasswordForm
from chatui.audit_log.record import Visitor
from chatui.models.user import User
from tests.chatui.conftest import PASSWORD

pytestmark = pytest.mark.django_db


def test_every_form_shows_a_short_password_at_the_first_field(ada: User) -> None:
    visitor = Visitor(ada, "127.0.0.1", "page")
    new = {"new_password1": "short", "new_password2": "short"}
    first = FirstAccountForm({"username": "new", "password1": "short", "password2": "short", "code": "x"})
    changed = PasswordForm(ada, new | {"old_password": PASSWORD}, visitor=visitor)
    linked = LinkedPasswordForm(ada, new)
    assert "password1" in first.errors and "password2" not in first.errors
    for form in (changed, linked):
        assert set(form.errors) == {"new_password1"}


def test_different_passwords_are_shown_at_the_second_field(ada: User) -> None:
    form = LinkedPasswordForm(ada, {"new_password1": "a long enough password", "new_password2": "another long password"})
    assert set(form.errors) == {"new_password2"}
