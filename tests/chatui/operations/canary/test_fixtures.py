"""A run's rows in the database: created together, removed together, and never mistaken for anybody else's."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import Group
from django.contrib.sessions.models import Session
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chatui.model_servers import connected
from chatui.models.audit import AttemptWarning
from chatui.models.conversation import Conversation
from chatui.models.model_servers import StoredBackend
from chatui.models.user import User
from tests.support.canary import secrets_of_operator
from tests.support.canary_runs import BACKENDS, choice, made, new_run, remove, remove_left_over
from tests.support.environment import change
from tests.support.new_process import begin_anew

pytestmark = pytest.mark.django_db


def counts() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (User, Group, StoredBackend, Conversation, AttemptWarning))


def set_age(run: str, **ago: float) -> None:
    User.objects.filter(username__startswith=run).update(date_joined=timezone.now() - timedelta(**ago))


def test_only_the_people_of_a_run_may_use_its_back_ends() -> None:
    fixture = made()
    row = StoredBackend.objects.get()
    assert row.name == f"{fixture.run}-chat" and row.model_names.splitlines() == ["fields", "paused"] and not row.key_name
    members = User.objects.filter(groups__in=row.groups.all())
    assert set(members) == {fixture.owner, fixture.stranger, fixture.trusted}
    assert not fixture.trusted.has_usable_password() and fixture.trusted.get_all_permissions() == {"chatui.view_hidden_channels"}
    for person in (fixture.owner, fixture.stranger):
        assert not person.is_staff and not person.is_superuser and not person.get_all_permissions()
        assert person.check_password(fixture.password)


def test_everything_of_a_run_is_removed_and_nothing_else() -> None:
    neighbour, group = made(), Group.objects.create(name="readers")
    before = counts()
    fixture = made()
    fixture.owner.groups.add(group)
    Conversation.objects.create(owner=fixture.owner, title="Planted")
    AttemptWarning.objects.create(person_name=fixture.owner.get_username(), day=timezone.now().date(), attempts=5)
    for guests in (fixture, neighbour):
        sign_in = {"username": guests.owner.get_username(), "password": guests.password}
        assert Client().post(reverse("sign_in"), sign_in).status_code == 302  # and the response with the cookie is lost
    remove(fixture.run)
    assert counts() == before and User.objects.filter(pk=neighbour.owner.pk).exists()
    assert Session.objects.get().get_decoded()[SESSION_KEY] == str(neighbour.owner.pk)
    remove(fixture.run)
    assert counts() == before


def test_rows_are_made_all_or_none() -> None:
    before = counts()
    fixture = made()
    with pytest.raises(IntegrityError), transaction.atomic():
        made({"responses": BACKENDS["chat"]}, fixture.run)
    remove(fixture.run)
    assert counts() == before


def test_what_a_run_left_that_died_is_removed_after_an_hour() -> None:
    before = counts()
    old = made()
    set_age(old.run, hours=1, minutes=1)
    assert remove_left_over() == 1
    assert counts() == before


def test_a_run_that_may_still_go_on_is_left_alone() -> None:
    young = made()
    set_age(young.run, minutes=59)
    assert remove_left_over() == 0
    assert User.objects.filter(pk=young.owner.pk).exists()


@pytest.mark.parametrize("name", ["canary-lovers", "canary-", "canary-ABCDEFGHIJKLMNOP", "canary-abcdefghijklmnop-2", "canaries"])
def test_a_group_of_real_people_that_is_called_like_a_bird_is_left_alone(name: str) -> None:
    group = Group.objects.create(name=name)
    person = User.objects.create_user(f"{name}-owner")
    person.groups.add(group)
    set_age(name, days=30)
    assert remove_left_over() == 0
    assert User.objects.filter(pk=person.pk).exists() and Group.objects.filter(pk=group.pk).exists()


def test_a_person_who_is_called_like_one_of_a_run_but_is_not_of_its_group_is_left_alone() -> None:
    run = new_run()
    person = User.objects.create_user(f"{run}-owner")
    remove(run)
    assert User.objects.filter(pk=person.pk).exists()


def test_a_back_end_that_is_summarized_names_its_summarizer_in_the_same_run() -> None:
    fixture = made({"summarized": ("http://127.0.0.1:9/", ("thinker", "copier"))})
    row = StoredBackend.objects.get()
    assert (row.summaries, row.summarizer) == ("model", f"{fixture.run}-summarized/copier")
    begin_anew(connected)
    assert connected.spec_of(row.name).summarizer == choice(fixture.run, "summarized", "copier"), (
        "and it is a spec that the product accepts"
    )


def test_the_owner_of_a_run_is_in_the_groups_whose_members_get_what_is_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = tmp_path / "groups.toml"
    place.write_text('[groups]\nsworn = "One."\ncareful = "Two."\nghosts = "Boo."\n')
    demanding = {"second_factor_groups": ["careful"]}
    change(monkeypatch, {"share_groups": ["sharers", "gone"], "summary_groups": ["summed"], "group_instructions_file": place} | demanding)
    for name in ("sharers", "summed", "sworn", "careful", "others"):
        Group.objects.create(name=name)
    fixture = made()
    assert set(fixture.owner.groups.values_list("name", flat=True)) == {fixture.run, "sharers", "summed", "sworn"}
    for person in (fixture.stranger, fixture.trusted):
        assert person.groups.get().name == fixture.run, "somebody without a permission reads none of it"
    remove(fixture.run)
    assert Group.objects.filter(name__in=("sharers", "summed", "sworn")).count() == 3


def test_each_line_of_what_groups_are_told_is_a_secret_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = tmp_path / "groups.toml"
    lines = ("Never name the price of marmalade in here.", "", "Short.", "Call the harbour master by his first name.")
    place.write_text('[groups]\nsworn = """' + "\n".join(lines) + '"""\n')
    change(
        monkeypatch,
        {"group_instructions_file": place, "instructions": "Speak of cheese to nobody at all.\nNor of the moon, which is made of it."},
    )
    found = secrets_of_operator()
    assert found["instructions of the group sworn"] == lines[0] and found["instructions of the group sworn, line 4"] == lines[3]
    assert found["instructions, line 2"] == "Nor of the moon, which is made of it." and not set(found.values()) & {"", "Short."}
