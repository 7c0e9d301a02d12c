"""The states of the pages for staff: the debug view, the audit log and Administration."""

from playwright.sync_api import Page, expect

from tests.browser.accessibility.states import State, each, press, unfold, visible_at
from tests.browser.accessibility.world import World


def searched(world: World, page: Page) -> None:
    page.get_by_role("searchbox").fill("heading")
    page.keyboard.press("Enter")
    expect(page.locator(".debug-search-count")).to_contain_text(" of ")


def reason_refused(world: World, page: Page) -> None:
    page.locator("form").last.evaluate("form => { form.noValidate = true; }")
    page.get_by_label("Reason").fill("no")
    page.get_by_role("button", name="Request the debug view").click()
    expect(page.locator("#debug-reason-problem")).to_be_visible()


def server_tested(world: World, page: Page) -> None:
    page.get_by_label("Address").fill(world.model.url)
    page.get_by_role("button", name="Test", exact=True).click()
    expect(page.locator("#test-heading")).to_be_visible(timeout=40_000)


def invite_refused(world: World, page: Page) -> None:
    page.locator("form").last.evaluate("form => { form.noValidate = true; }")
    page.get_by_role("button", name="Create links").click()
    expect(page.locator(".field-wrong").first).to_be_visible()


def account_refused(world: World, page: Page) -> None:
    page.locator("form").last.evaluate("form => { form.noValidate = true; }")
    page.get_by_role("button", name="Create account").click()
    expect(page.locator(".field-wrong").first).to_be_visible()


def first_person(world: World, page: Page) -> None:
    page.get_by_role("link", name="bela", exact=True).or_(page.get_by_role("link", name="ada", exact=True)).first.click()
    expect(page.locator(".manage-part").first).to_be_visible()


def first_group(world: World, page: Page) -> None:
    page.get_by_role("link", name="guides", exact=True).click()
    expect(page.locator(".manage-part").first).to_be_visible()


def first_failure(world: World, page: Page) -> None:
    page.locator("#latest ~ .manage-list a code").first.click()
    expect(page.locator(".manage-figures")).to_be_visible()


def closing(world: World, page: Page) -> None:
    first_person(world, page)
    page.get_by_role("link", name="Close this account…").click()
    expect(page.locator(".button-danger")).to_be_visible()


def invited(world: World, page: Page) -> None:
    page.get_by_label("Whom to invite").fill("somebody@example.org")
    page.get_by_role("button", name="Create links").click()
    expect(page.locator(".manage-link")).to_be_visible()


STATES = (
    State("debug opt-in", "grace", "{versions}debug/"),
    State("debug reason refused", "grace", "{versions}debug/", reason_refused),
    State("debug waiting", "grace", "{cut}debug/"),
    State("debug frames", "grace", "{everything}debug/", unfold),
    State("debug search", "grace", "{everything}debug/", searched),
    State("debug compare", "grace", "{everything}debug/compare/"),
    State("debug raw", "grace", "{everything}debug/raw/"),
    State("debug prompt", "grace", "{prompt}"),
    State("debug tokens", "grace", "{tokens}"),
    State("debug requests", "vera", "/debug/requests/", visible_at(".manage-row")),
    State("own debug requests", "grace", "/debug/requests/"),
    State("access notice", "ada", "{everything}", visible_at(".access-notice")),
    State("audit log", "grace", "/audit/", each(visible_at(".audit-warning"), unfold)),
    State("audit log filtered", "grace", "/audit/?person=grace", unfold),
    State("audit log without lines", "grace", "/audit/?person=nobody", visible_at(".audit-none")),
    State("everybodys usage", "grace", "/usage/everybody/", visible_at(".usage-table")),
    State("everybodys usage refused", "grace", "/usage/everybody/?since=x", visible_at(".field-wrong")),
    State("administration", "grace", "/manage/", visible_at(".manage-card")),
    State("administration people", "grace", "/manage/people/", visible_at(".manage-row")),
    State("administration invitations", "grace", "/manage/people/?show=invited"),
    State("administration invite", "grace", "/manage/people/invite/"),
    State("administration invite refused", "grace", "/manage/people/invite/", invite_refused),
    State("administration person", "grace", "/manage/people/", first_person),
    State("administration closing", "grace", "/manage/people/", closing),
    State("administration invited", "grace", "/manage/people/invite/", invited),
    State("administration no people", "grace", "/manage/people/?q=nobody"),
    State("administration debuggers", "grace", "/manage/people/?show=debug"),
    State("administration servers", "grace", "/manage/servers/", visible_at(".manage-part")),
    State("administration server", "grace", "/manage/servers/writer/"),
    State("administration kept server", "grace", "/manage/servers/added/", unfold),
    State("administration server settings", "grace", "/manage/servers/added/settings/", unfold),
    State("administration server refused", "grace", "/manage/servers/added/settings/", each(press("Test"), visible_at(".field-wrong"))),
    State("administration server tested", "grace", "/manage/servers/", server_tested),
    State("administration tools", "grace", "/manage/tools/", visible_at(".manage-part")),
    State("administration tool", "grace", "/manage/tools/browser/"),
    State("administration tool servers", "grace", "/manage/tools/tool-servers/"),
    State("administration connect a tool server", "grace", "/manage/tools/connect-server/"),
    State("administration search engine", "grace", "/manage/tools/web-search/"),
    State("administration groups", "grace", "/manage/groups/", visible_at(".manage-row")),
    State("administration group", "grace", "/manage/groups/", first_group),
    State("administration failures", "grace", "/manage/failures/?hours=168"),
    State("administration no such failure", "grace", "/manage/failures/?number=0000-0000", visible_at(".manage-problem")),
    State("administration failure", "grace", "/manage/failures/?hours=168", first_failure),
    State("administration conversations", "grace", "/manage/conversations/?q=a", visible_at(".manage-row")),
    State("administration no conversations", "grace", "/manage/conversations/?q=nobody"),
    State("administration looks", "grace", "/manage/looks/", visible_at(".manage-row")),
    State("administration no looks", "grace", "/manage/looks/?who=nobody", visible_at(".manage-row")),
    State("administration settings", "root", "/manage/settings/", visible_at(".manage-row")),
    State("administration settings searched", "root", "/manage/settings/?q=python", visible_at(".manage-row")),
    State("administration no settings", "root", "/manage/settings/?q=nothing-like-it"),
    State("administration system", "root", "/manage/system/", visible_at(".manage-figures")),
    State("administration of everything", "root", "/manage/", visible_at(".manage-card")),
    State("administration limits", "grace", "/manage/limits/", unfold),
    State("administration keys", "grace", "/manage/keys/"),
    State("administration new account refused", "grace", "/manage/people/new/", account_refused),
    State("administration whole person", "grace", "{user}", visible_at("#may-heading")),
    State("administration usage limit", "grace", "{user}limit/"),
    State("administration password link", "grace", "{user}password/"),
    State("administration erasing", "grace", "{user}erase/"),
    State("administration for the wrong person", "vera", "/manage/people/"),
)
