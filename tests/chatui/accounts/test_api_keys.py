"""A key works until it is revoked, expires or its owner's account is closed; invalid keys are counted; no key is stored."""

import contextlib
import zlib
from datetime import timedelta
from importlib import import_module

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from chatui.accounts import api_keys, key_admission
from chatui.accounts.api_keys import NewKeyOptions
from chatui.audit_log.record import Visitor
from chatui.guesses import MustWaitError
from chatui.limits import ThrottledError
from chatui.models.audit import AuditEvent
from chatui.models.programs import ApiKey
from chatui.models.user import User
from chatui.permissions.access import NotFoundError

pytestmark = pytest.mark.django_db

ADDRESS = "192.0.2.9"


def create_key(person: User, **options: object) -> api_keys.CreatedKey:
    choices: dict[str, object] = {"name": "A script", "for_responses": True, "for_chat": True} | options
    return api_keys.create(Visitor(person, ADDRESS, "page"), NewKeyOptions(**choices))  # type: ignore[arg-type]


def test_a_new_key_works_and_the_day_of_its_last_use_is_stored(ada: User) -> None:
    key = create_key(ada)
    live = key_admission.admit(key.text, ADDRESS)
    assert live.owner == ada and live.prefix == key.text[:11] and key.text not in repr(live) and key.text not in repr(key)
    assert ApiKey.objects.get().last_used_on == timezone.now().date()


def test_neither_the_database_nor_the_audit_log_contains_the_key(ada: User) -> None:
    key = create_key(ada)
    api_keys.revoke_own(Visitor(ada, ADDRESS, "page"), ApiKey.objects.get().pk)
    secret = key.text[12:]
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            assert secret not in repr(cursor.fetchall()), table
    lines = list(AuditEvent.objects.order_by("number").values_list("action", "detail"))
    assert lines == [("make API key", f"{key.text[:11]}, for 90 days"), ("revoke API key", key.text[:11])]


@pytest.mark.parametrize("ending", ["revoked", "expired", "account closed"])
def test_an_ended_key_is_refused_and_the_attempt_is_recorded_with_its_prefix(ending: str, ada: User) -> None:
    key = create_key(ada)
    live = key_admission.admit(key.text, ADDRESS)
    assert key_admission.is_still_valid(live), "the premise"
    match ending:
        case "revoked":
            api_keys.revoke_own(Visitor(ada, ADDRESS, "page"), ApiKey.objects.get().pk)
        case "expired":
            ApiKey.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
        case "account closed":
            User.objects.filter(pk=ada.pk).update(is_active=False)
    with pytest.raises(key_admission.KeyRefusedError):
        key_admission.admit(key.text, ADDRESS)
    assert not key_admission.is_still_valid(live)
    line = AuditEvent.objects.order_by("number").last()
    assert line is not None and (line.action, line.detail, line.way) == ("API key refused", f"{key.text[:11]}, {ending}", "program")


@pytest.mark.parametrize("days", [-2, 2])
def test_a_machine_with_a_wrong_clock_neither_shortens_nor_extends_a_key(days: int, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    right = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: right + timedelta(days=days))
    key = create_key(ada, days=30)
    ends = ApiKey.objects.get().expires_at
    assert ends is not None and abs(ends - right - timedelta(days=30)) < timedelta(minutes=1)
    live = key_admission.admit(key.text, ADDRESS)
    for hours, is_valid in ((1, True), (-1, False)):
        ApiKey.objects.update(expires_at=right + timedelta(hours=hours))
        with contextlib.nullcontext() if is_valid else pytest.raises(key_admission.KeyRefusedError):
            key_admission.admit(key.text, ADDRESS)
        with contextlib.nullcontext() if is_valid else pytest.raises(key_admission.KeyRefusedError):
            key_admission.admit_again(live, ADDRESS)
        assert key_admission.is_still_valid(live) == bool(key_admission.valid_among([live.id])) == is_valid
        assert api_keys.keys_of(ada).exists() == is_valid


def test_wrong_keys_are_limited_and_a_right_one_from_the_same_address_is_not(ada: User) -> None:
    key = create_key(ada)
    for _ in range(21):
        with pytest.raises(key_admission.KeyRefusedError):
            key_admission.admit(key_admission.new(), ADDRESS)
    with pytest.raises(MustWaitError):
        key_admission.admit(key_admission.new(), ADDRESS)
    assert key_admission.admit(key.text, ADDRESS).owner == ada


def test_a_key_with_the_right_prefix_and_another_secret_is_refused(ada: User) -> None:
    key, other = create_key(ada).text, key_admission.new()
    body = key[:12] + other[12:-8]
    forged = body + f"{zlib.crc32(body.encode()):08x}"
    assert key_admission.prefix_of(forged) == key[:11], "the premise: it is found"
    with pytest.raises(key_admission.KeyRefusedError):
        key_admission.admit(forged, ADDRESS)


def test_a_key_has_a_limit_of_requests_per_minute(ada: User) -> None:
    key = create_key(ada, per_minute=2)
    key_admission.admit(key.text, ADDRESS)
    key_admission.admit(key.text, ADDRESS)
    with pytest.raises(ThrottledError):
        key_admission.admit(key.text, ADDRESS)
    assert key_admission.admit(create_key(ada).text, ADDRESS), "another key of the same person is counted separately"


def test_a_person_has_a_limited_number_of_keys(ada: User, bela: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_keys, "MAX_KEYS", 1)
    create_key(ada)
    with pytest.raises(api_keys.TooManyKeysError):
        create_key(ada)
    assert create_key(bela)
    with pytest.raises(NotFoundError):
        api_keys.revoke_own(Visitor(bela, ADDRESS, "page"), ApiKey.objects.get(owner=ada).pk)
    api_keys.revoke_own(Visitor(ada, ADDRESS, "page"), ApiKey.objects.get(owner=ada).pk)
    assert create_key(ada)


def test_the_database_refuses_a_key_without_any_api_format(ada: User) -> None:
    create_key(ada)
    for wrong in ({"for_responses": False, "for_chat": False}, {"per_minute": 0}):
        with pytest.raises(IntegrityError), transaction.atomic():
            ApiKey.objects.update(**wrong)


@pytest.mark.parametrize("text", ["", "cu_", "Bearer x", "cu_aaaaaaaa_" + "a" * 51, "cu_aaaaaaaa_\u0000" + "a" * 50])
def test_a_text_that_is_not_a_key_is_not_looked_up(text: str) -> None:
    assert key_admission.prefix_of(text) is None


def test_the_upgrade_lets_keys_that_were_limited_to_no_format_use_the_new_one(ada: User) -> None:
    for formats in ({}, {"for_chat": False}, {"for_responses": False}):
        create_key(ada, **formats)
    assert not ApiKey.objects.filter(for_messages=True).exists(), "the premise: nobody is given it"
    import_module("chatui.migrations.0076_messages_format")._allow(apps, connection.schema_editor())
    row = ApiKey.objects.get(for_messages=True)
    assert (row.for_responses, row.for_chat, row.formats) == (True, True, "Responses · Chat Completions · Messages")
