"""Closing accounts and revoking rights on PostgreSQL, where two concurrent transactions do not see each other's changes."""

from pathlib import Path

import pytest

from tests.services.databases import answer_of, own_database
from tests.support.served import Deployment

pytestmark = pytest.mark.services

SIGN_IN_FILE = """
[[provider]]
key = "company"
name = "Example Ltd"
issuer = "https://login.example.org"
client_id = "chatui"
who_may_enter = "everybody"
groups = {"One" = "people", "Two" = "people"}
"""
AT_ONCE = r"""
import json, threading
from django.contrib.auth.models import Group, Permission
from django.db import connection
from chatui.accounts.sign_in_settings import provider_of
from chatui.audit_log.record import SHELL
from chatui.lifecycle import closing
from chatui.models import ProvisionedGroup, User
from chatui.models.user import ClosingCause
from chatui.lifecycle import scim_groups, scim_people

errors = []

def together(*steps):
    barrier = threading.Barrier(len(steps))
    def run(step):
        try:
            connection.ensure_connection()
            barrier.wait()
            step()
        except closing.CannotCloseError:
            pass
        except Exception as error:
            errors.append(repr(error))
        finally:
            connection.close()
    threads = [threading.Thread(target=run, args=[step]) for step in steps]
    for thread in threads: thread.start()
    for thread in threads: thread.join(60)

two = [User.objects.create_user(name, password="x", is_staff=True) for name in ("first", "second")]
for person in two:
    person.user_permissions.add(Permission.objects.get(codename="change_user"))
left = []
for _ in range(5):
    together(*(lambda person=person: closing.close_account(person, ClosingCause.STAFF, SHELL) for person in two))
    left.append(User.objects.filter(pk__in=[person.pk for person in two], is_active=True).count())
    for person in two:
        closing.reopen_account(person, SHELL)

ours = Group.objects.create(name="people")
company = provider_of("company")
kept = []
for number in range(5):
    ada = scim_people.create(SHELL, company, {"userName": f"ada{number}", "externalId": f"00u{number}"})
    for name in ("One", "Two"):
        scim_groups.create(SHELL, company, {"displayName": name, "members": [{"value": str(ada.pk)}]})
    assert ada.user.groups.count() == 1
    together(*(lambda row=row: scim_groups.delete(SHELL, company, str(row.pk)) for row in ProvisionedGroup.objects.all()))
    kept.append(ada.user.groups.count())
print("ANSWER" + json.dumps([left, kept, errors]))
"""


def test_concurrent_closings_leave_one_admin_and_concurrent_group_deletions_revoke_a_right(tmp_path: Path) -> None:
    """One of the last two admins stays, and a right ends with the last of the two groups that granted it."""
    file = tmp_path / "sign-in.toml"
    file.write_text(SIGN_IN_FILE, encoding="utf-8")
    with own_database() as address:
        deployment = Deployment(tmp_path, CHATUI_DATABASE_URL=address, CHATUI_SIGN_IN_FILE=str(file))
        left, remaining, errors = answer_of(deployment, AT_ONCE)
    assert (left, remaining, errors) == ([1] * 5, [0] * 5, [])
