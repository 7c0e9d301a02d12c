"""The audit log in a browser: warnings and their badge, filters, pages, downloads; and the notice to a conversation's owner."""

import csv
import io
from collections.abc import Iterator
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.conftest import LOOK
from tests.browser.test_phone import fits
from tests.browser.visits import PHONE, Visits
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment that notifies owners, and in which two attempts cause a warning."""
    deployment = Deployment(tmp_path_factory.mktemp("audit"), CHATUI_TELL_OWNERS="true", CHATUI_ALERT_ATTEMPTS="2")
    try:
        deployment.start()
        deployment.make_people(ada=(False, []), bela=(False, []), sam=(True, []), grace=(True, LOOK))
        yield deployment
    finally:
        deployment.stop()


@pytest.fixture(scope="module")
def server(deployment: Deployment) -> Server:
    return deployment.servers[0]


def lines(page: Page) -> list[str]:
    return page.locator(".audit-lines tbody tr .audit-what").all_inner_texts()


def attempts_by(name: str, server: Server, visits: Visits, times: int) -> None:
    visits.allow("status of 403")
    page = visits.open(server, name, f"/c/{uuid4()}/debug/")
    for _ in range(times - 1):
        page.reload()
    expect(page.get_by_text("E-PERM-VISIBILITY")).to_be_visible()


def test_staff_are_warned_read_filter_acknowledge_and_take_the_log_away(server: Server, visits: Visits) -> None:
    attempts_by("bela", server, visits, 2)
    page = visits.open(server, "grace")
    page.get_by_role("button", name="Account: grace, 1 warning").click()
    page.get_by_role("link", name="Administration Waiting: 1").click()
    page.get_by_role("link", name="Audit log", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Audit log")
    warning = page.get_by_role("region", name="Warning")
    expect(warning).to_contain_text("bela tried to open hidden channels without permission 2 times")

    warning.get_by_role("link", name="bela").click()
    (line,) = lines(page)
    assert "E-PERM-VISIBILITY" in line and "so far 1 more" in line
    page.get_by_label("Who", exact=True).fill("nobody")
    page.get_by_role("button", name="Apply filter").click()
    expect(page.get_by_text("No matching lines.")).to_be_visible()
    page.get_by_role("link", name="Show all lines").click()

    page.get_by_role("region", name="Warning").get_by_role("button", name="Acknowledge").click()
    expect(page.get_by_role("region", name="Warning")).to_have_count(0)
    assert "acknowledge warning" in lines(page)[0]

    page.get_by_text("Refused attempts in the last 30 days").click()
    row = page.locator(".audit-tallies tbody tr", has_text="bela")
    expect(row.locator(".audit-count")).to_have_text("2")
    row.get_by_role("link", name="bela").click()
    assert len(lines(page)) == 1

    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text(encoding="utf-8"))))
    assert [row["code"] for row in rows] == ["E-PERM-VISIBILITY"] and download.value.suggested_filename.endswith(".csv")
    page.goto("/audit/")
    assert lines(page)[0].startswith("audit export")


def test_an_owner_is_told_puts_the_notice_away_and_finds_it_in_the_list(server: Server, visits: Visits) -> None:
    chat = Chat(visits.open(server, "ada"))
    chat.ask_and_wait("Hello!")
    chat.settle()
    staff = visits.open(server, "grace", chat.page.url + "debug/")
    staff.get_by_label("Reason").fill("A complaint about this answer")
    staff.get_by_role("button", name="Open the debug view").click()
    expect(staff.locator(".debug-bar")).to_contain_text("recorded")
    expect(staff.get_by_role("button", name="Open the debug view")).to_have_count(0)

    phone = visits.open(server, "ada", chat.page.url, **PHONE)
    notice = phone.get_by_role("complementary", name="Notice")
    expect(notice).to_contain_text("A member of staff opened the hidden channels of this conversation on ")
    assert "grace" not in notice.inner_text() and "complaint" not in notice.inner_text()
    fits(phone)
    notice.get_by_role("button", name="Dismiss this notice").tap()
    expect(notice).to_have_count(0)
    phone.goto("/access-notices/")
    expect(phone.get_by_role("listitem")).to_have_count(1)
    fits(phone)
    expect(phone.get_by_role("listitem").get_by_role("link")).to_have_attribute("href", chat.page.url.removeprefix(server.url))


@pytest.mark.extended
def test_requests_that_another_site_causes_are_recorded_as_such_without_a_warning(server: Server, visits: Visits) -> None:
    visits.allow("status of 403|elsewhere.test|NotSameOrigin")
    address = f"{server.url}/c/{uuid4()}/debug/"
    page = visits.open(server, "ada")
    html = f'<a href="{address}">Look at this</a><img src="{address}" alt="">'
    page.route("http://elsewhere.test/", lambda route: route.fulfill(body=html, content_type="text/html"))
    for _ in range(4):
        page.goto("http://elsewhere.test/")
        page.get_by_role("link", name="Look at this").click()
        expect(page.get_by_text("E-PERM-VISIBILITY")).to_be_visible()
    reader = visits.open(server, "grace", "/audit/?person=ada")
    expect(reader.locator(".audit-lines tbody tr").filter(has_text="another site's link")).to_have_count(1)
    expect(reader.get_by_role("region", name="Warning").filter(has_text="ada")).to_have_count(0)
    reader.goto("/audit/?way=another+site%27s+page")
    expect(reader.locator(".audit-lines tbody tr").first).to_contain_text("not signed in")
    page.goto(address)
    page.reload()
    reader.goto("/audit/")
    expect(reader.get_by_role("region", name="Warning").filter(has_text="ada")).to_contain_text("permission 2 times")
