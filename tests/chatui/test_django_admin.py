"""Django's admin as a repair hatch: absent by default, and otherwise plain rows for superusers, recorded, without hidden text."""

import os
import subprocess
import sys

import pytest
from django.contrib.auth.models import Group, Permission
from django.test import Client
from django.urls import path

import chatui.urls
from chatui.django_admin import site
from chatui.models.audit import AuditEvent
from chatui.models.user import User
from tests.chatui.conftest import PASSWORD, make_person, signed_in

pytestmark = pytest.mark.django_db

urlpatterns = [*chatui.urls.urlpatterns, path("admin/", site.urls)]
handler400, handler403, handler404 = chatui.urls.handler400, chatui.urls.handler403, chatui.urls.handler404
hatch = pytest.mark.urls(__name__)


def test_by_default_the_address_is_not_there_and_the_code_is_not_loaded(root: User) -> None:
    assert signed_in(root).get("/admin/").status_code == Client().get("/admin/login/").status_code == 404
    code = (
        "import sys, django; django.setup(); import chatui.urls as urls; print('chatui.django_admin' in sys.modules, len(urls.urlpatterns))"
    )
    loaded = {}
    for wanted in ("false", "true"):
        environment = os.environ | {"DJANGO_SETTINGS_MODULE": "chatui.settings", "CHATUI_DJANGO_ADMIN": wanted}
        ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=120)
        loaded[wanted] = ran.stdout.split()
    assert (loaded["false"][0], loaded["true"][0]) == ("False", "True")
    assert int(loaded["true"][1]) == int(loaded["false"][1]) + 1


@hatch
def test_it_is_for_superusers_and_shows_rows_without_what_people_wrote(root: User) -> None:
    staff = make_person("staff", "view_user", "change_user", "view_group", staff=True)
    User.objects.filter(pk=staff.pk).update(instructions="Call me CABBAGE.")
    for place in ("", "chatui/user/", f"chatui/user/{staff.pk}/change/"):
        assert signed_in(staff).get(f"/admin/{place}", follow=True).status_code == 403, "permissions open the product's own pages"
    assert Client().get("/admin/")["Location"].startswith("/admin/login/")
    assert Client().get("/admin/login/")["Location"].startswith("/sign-in/")
    client = signed_in(root)
    assert {model.__name__ for model in site._registry} == {"User", "Group", "UsageLimit", "ModelPrice", "Invitation"}
    for model in site._registry:
        assert client.get(f"/admin/{model._meta.app_label}/{model._meta.model_name}/").status_code == 200
    page = client.get(f"/admin/chatui/user/{staff.pk}/change/").content.decode()
    assert 'value="staff"' in page and "CABBAGE" not in page and "md5$" not in page and PASSWORD not in page
    for place in ("add/", f"{staff.pk}/delete/", f"{staff.pk}/password/"):
        client.post(f"/admin/chatui/user/{place}", {"username": "x", "post": "yes", "password1": PASSWORD, "password2": PASSWORD})
    assert User.objects.get(pk=staff.pk).check_password(PASSWORD) and User.objects.count() == 2
    assert client.get("/admin/chatui/user/?_to_field=password").status_code == 400
    assert "trusted-types" not in client.get("/admin/")["Content-Security-Policy"], "its scripts do not support them"


@hatch
def test_its_changes_are_recorded_and_keep_an_account_manager(root: User) -> None:
    client, other = signed_in(root), make_person("other")
    group = Group.objects.create(name="readers")
    right = Permission.objects.get(codename="view_auditevent")
    form = {"username": "other", "email": "", "first_name": "", "last_name": "", "is_staff": "on", "groups": [str(group.pk)]}
    assert client.post(f"/admin/chatui/user/{other.pk}/change/", form).status_code == 302
    assert client.post(f"/admin/auth/group/{group.pk}/change/", {"name": "readers", "permissions": [str(right.pk)]}).status_code == 302
    assert client.post("/admin/chatui/usagelimit/add/", {"day_turns": "3"}).status_code == 302
    assert client.post(f"/admin/auth/group/{group.pk}/delete/", {"post": "yes"}).status_code == 302
    lines = list(AuditEvent.objects.order_by("number").values_list("action", "owner_name", "detail"))
    assert lines == [
        ("account changed", "other", "is staff now"),
        ("account changed", "other", "joined group readers"),
        ("group changed", "group readers", "may now: Read and export the audit log"),
        ("usagelimit created", "", "everybody: day_turns 3"),
        ("group deleted", "group readers", "members: 1, Read and export the audit log"),
    ]
    own = {"username": "root", "email": "", "first_name": "", "last_name": "", "is_staff": "on"}
    page = client.post(f"/admin/chatui/user/{root.pk}/change/", own, follow=True).content.decode()
    assert "Nothing was changed" in page and User.objects.get(pk=root.pk).is_superuser
