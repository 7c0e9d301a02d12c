"""The administration pages in a browser, used by an admin who has not read the documentation."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import LOOK
from tests.browser.test_phone import fits
from tests.browser.visits import PHONE, Visits
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser

KEEPER = ["view_user", "add_user", "change_user", "view_group", "change_group", "view_storedbackend", "view_usage", *LOOK]
HAPPENED = """
from uuid import uuid4
from datetime import timedelta
from django.contrib.auth.models import Group, Permission
from django.utils import timezone
from chatui.audit_log.record import Visitor
from chatui.models import Conversation, Turn, User
from chatui.models.message import Author
from chatui.permissions import debug_requests
from renderer.frames import Frame, Header
from tests.support.messages import add_message
group = Group.objects.create(name="debuggers")
group.permissions.set(Permission.objects.filter(codename="view_hidden_channels"))
User.objects.filter(username="root").update(is_superuser=True)
ada = User.objects.get(username="ada")
User.objects.create(username="<b>" + "long" * 36, first_name="\\u202eevil")
for code, cause in (("E-X-BACKEND-SETUP", "key-refused: HTTP 401, invalid_api_key"), ("E-X-TIMEOUT", "")):
    talk = Conversation.objects.create(owner=ada, title="Private")
    asked = add_message(talk, None, Frame(Header("user"), "Private"), Author.PERSON)
    Turn.objects.create(conversation=talk, question=asked, asked_by=ada, client_id=uuid4(), state="failed", effort="low",
        lease_until=timezone.now(), choice="demo", error_code=code, error_cause=cause)
grace = User.objects.get(username="grace")
debug_requests.open_debug_view(Visitor(grace, "192.0.2.1", "page"), talk.pk, "an answer broke off in the middle")
"""
PARTS = (
    *(
        f"/manage/{part}/"
        for part in (
            "people",
            "people/invite",
            "people/new",
            "keys",
            "limits",
            "groups",
            "servers",
            "failures",
            "conversations",
            "looks",
            "settings",
            "system",
        )
    ),
    "/debug/requests/",
    "/audit/",
    "/ratings/",
    "/usage/everybody/",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with some events for the administration pages to show."""
    deployment = Deployment(tmp_path_factory.mktemp("managed"))
    try:
        server = deployment.start()
        people = {"ada": (False, []), "bela": (False, []), "kim": (True, KEEPER), "root": (True, []), "grace": (True, LOOK)}
        people["nora"] = (False, [])  # for the test of facts alone: the others get badges
        deployment.make_people(**people)
        deployment.manage("shell", "--no-imports", "-c", HAPPENED)
        yield server
    finally:
        deployment.stop()


def the_parts_are_behind_one_button(page: Page) -> None:
    """Check that the list of the parts takes no room until its button, which names the current part, opens it."""
    menu = page.get_by_role("navigation", name="Administration")
    expect(menu).to_be_hidden()
    opens = page.locator(".manage-open")
    opens.click()
    expect(menu.locator("[aria-current=page]")).to_have_text(opens.inner_text())
    expect(menu.locator("[aria-current=page]")).to_be_in_viewport(ratio=0.9)
    fits(page)
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()


def picture(page: Page, name: str) -> None:
    """Save a screenshot, if a directory for them is configured."""
    if directory := os.environ.get("PICTURES"):
        page.screenshot(path=Path(directory) / f"{name}.png", full_page=True)


def go(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Administration").get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_an_admin_finds_their_way(server: Server, visits: Visits) -> None:
    page = visits.open(server, "kim")
    page.get_by_role("button", name="Account: kim").click()
    page.get_by_role("link", name="Administration").click()
    expect(page.get_by_role("heading", name="Administration")).to_be_visible()

    go(page, "People")
    page.get_by_role("link", name="Invite people").click()
    page.get_by_label("Whom to invite").fill("\n".join(f"person{number}@example.org" for number in range(10)))
    page.get_by_role("button", name="Create links").click()
    expect(page.locator("code.manage-link")).to_have_count(10)
    page.get_by_role("button", name="Copy all links").click()
    expect(page.get_by_role("button", name="Copied").or_(page.get_by_role("button", name="Could not copy"))).to_be_visible()

    for name in ("ada", "bela"):
        go(page, "People")
        page.get_by_label("Name or address").fill(name)
        page.get_by_role("button", name="Search").click()
        page.get_by_role("link", name=name, exact=True).click()
        page.get_by_label("debuggers").check()
        rights = page.get_by_role("region", name="Groups and permissions")
        rights.get_by_text("Details", exact=True).click()
        rights.get_by_label("Staff", exact=True).check()
        rights.get_by_role("button", name="Save").click()
        expect(page.get_by_role("status")).to_have_text(f"The permissions of {name} are changed.")
        expect(page.locator(".manage-row").get_by_text("May debug").first).to_be_visible()

    go(page, "Debug views")
    expect(page.locator(".manage-row")).to_contain_text("an answer broke off in the middle")
    expect(page.locator(".manage-row")).to_contain_text("grace in a conversation of ada")

    go(page, "Failed answers")
    expect(page.get_by_text("Enter the right API key in the settings of the model server")).to_be_visible()
    expect(page.get_by_role("link", name="Debug view of").first).to_be_visible()

    go(page, "People")
    page.get_by_role("link", name="Groups", exact=True).click()
    page.get_by_role("link", name="debuggers", exact=True).click()
    expect(page.get_by_text("would have to set one up at their next sign-in:")).to_be_visible()
    page.get_by_role("button", name="Require a second factor").click()
    expect(page.locator(".manage-done")).to_contain_text("Members of the group debuggers now need a second factor.")
    expect(page.get_by_text("Second factor required", exact=True)).to_be_visible()
    page.wait_for_url(lambda address: "done=" not in address)
    page.reload()
    expect(page.get_by_text("Second factor required", exact=True)).to_be_visible()
    expect(page.locator(".manage-done")).to_have_count(0)  # it is said once

    go(page, "People")
    page.get_by_role("link", name="bela", exact=True).click()
    page.get_by_role("link", name="Close this account…").click()
    expect(page.get_by_text("Its content is kept.")).to_be_visible()
    page.get_by_role("button", name="Close this account").click()
    expect(page.get_by_role("button", name="Reopen this account")).to_be_visible()


def test_all_parts_are_beside_each_page_on_a_small_desktop(server: Server, visits: Visits) -> None:
    page = visits.open(server, "root", "/manage/", viewport={"width": 1280, "height": 800}, locale="de-DE")
    for path in ("/manage/system/", "/debug/requests/", "/audit/", "/ratings/", "/usage/everybody/"):
        page.goto(path)
        menu, main = page.locator(".manage-menu"), page.locator("main")
        expect(menu.get_by_role("link")).to_have_count(14)
        for link in menu.get_by_role("link").all():
            expect(link).to_be_in_viewport(ratio=1)
        beside, content = menu.bounding_box(), main.bounding_box()
        assert beside and content and beside["x"] + beside["width"] <= content["x"] and content["width"] > 900
        expect(menu.locator("[aria-current=page]")).to_have_count(1)
        expect(page.locator("main :focus")).to_have_count(0)  # each is for reading first
        picture(page, f"menu-{path.strip('/').replace('/', '-')}")


def test_every_part_fits_a_phone(server: Server, visits: Visits) -> None:
    page = visits.open(server, "root", "/manage/", **PHONE)
    fits(page)
    picture(page, "overview-360")
    for part in PARTS:
        page.goto(part)
        fits(page)
        picture(page, f"{part.strip('/').replace('/', '-')}-360")
    page.goto("/manage/system/")
    rows = page.locator(".manage-card .manage-figures > div")
    expect(rows.first).to_have_css("border-bottom-style", "solid")
    expect(rows.last).to_have_css("border-bottom-style", "none")  # the card has its own line there
    the_parts_are_behind_one_button(page)
    page.goto("/manage/people/")
    page.get_by_role("link", name="ada", exact=True).click()
    expect(page.get_by_role("heading", name="ada")).to_be_visible()
    fits(page)
    picture(page, "person-360")
