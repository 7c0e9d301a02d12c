"""Passkeys in a real browser with Chromium's virtual authenticator: adding, signing in, the second step, removing."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import CDPSession, Page, expect

from tests.browser.accessibility import axe
from tests.browser.test_accounts import sign_in, sign_out
from tests.browser.test_language import fits
from tests.browser.visits import PHONE, Visits
from tests.support.served import Server

pytestmark = pytest.mark.browser

_DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


HOME = re.compile(r"^\w+://[^/]+/$")
"""A pattern such as **/ is also that of the page for signing in."""


class Device:
    """The virtual authenticator of a page's browser."""

    def __init__(self, page: Page) -> None:
        self._session: CDPSession = page.context.new_cdp_session(page)
        self._session.send("WebAuthn.enable")
        self._id = self._session.send("WebAuthn.addVirtualAuthenticator", {"options": _DEVICE})["authenticatorId"]

    def knows_the_person(self, is_so: bool) -> None:
        self._session.send("WebAuthn.setUserVerified", {"authenticatorId": self._id, "isUserVerified": is_so})

    def passkeys(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._session.send("WebAuthn.getCredentials", {"authenticatorId": self._id})["credentials"]
        return found


def opened(visits: Visits, server: Server, *, offers: bool = False, **options: Any) -> Page:
    """The sign-in page at ``localhost``, where passkeys work. ``offers``: the browser offers them by itself (conditional UI), and the
    virtual authenticator accepts immediately."""
    page = visits.open(server, path="about:blank", base_url=server.url.replace("127.0.0.1", "localhost"), own=True, **options)
    if not offers:
        page.context.add_init_script("PublicKeyCredential.isConditionalMediationAvailable = () => Promise.resolve(false)")
    page.goto("/sign-in/")
    return page


def save_picture(page: Page, directory: Path, name: str) -> None:
    page.screenshot(path=directory / f"{name}.png", full_page=True, animations="disabled", caret="hide")


def check_appearance(page: Page, directory: Path, name: str) -> None:
    """Check that axe finds no violation in light, dark and forced colours, and take screenshots of each."""
    for number, look in enumerate(axe.LOOKS):
        page.emulate_media(**look)
        assert axe.complaints(page, axe.COLOURS if number else None) == []
        save_picture(page, directory, f"{name}-{('light', 'dark', 'forced')[number]}")
    page.emulate_media(color_scheme="light", forced_colors="none")


def add_passkey(page: Page, name: str) -> None:
    """Add a passkey with the keyboard alone."""
    page.goto("/sign-in/passkeys/new/")
    expect(page.get_by_label("Passkey name")).to_be_focused()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type(name)
    page.keyboard.press("Enter")


def test_a_passkey_is_added_signs_in_alone_and_is_removed(demo: Server, visits: Visits, tmp_path: Path) -> None:
    page = opened(visits, demo)
    device = Device(page)
    sign_in(page, "petra")
    page.wait_for_url(HOME)
    page.goto("/sign-in/ways/")
    page.get_by_role("link", name="Add a passkey").click()
    check_appearance(page, tmp_path, "new")
    add_passkey(page, "Petra's <laptop>")
    expect(page.locator(".recovery-codes li")).to_have_count(10)
    assert [each["rpId"] for each in device.passkeys()] == ["localhost"]
    page.get_by_role("link", name="I have saved them").click()
    expect(page.get_by_text("Petra's <laptop>", exact=True)).to_be_visible()
    expect(page.get_by_text("never used")).to_be_visible()

    add_passkey(page, "Another")
    expect(page.get_by_role("alert")).to_have_text("This device already has one of your passkeys.")
    save_picture(page, tmp_path, "taken")

    page.goto("/")
    sign_out(page)
    button = page.get_by_role("button", name="Use a passkey")
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/$"))
    expect(page.get_by_role("button", name="Account: petra")).to_be_visible()

    page.goto("/sign-in/ways/")
    expect(page.get_by_text("last used on").first).to_be_visible()
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("Petra's <laptop>", exact=True)).to_have_count(0)
    page.goto("/")
    sign_out(page)
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_role("alert").first).to_contain_text("This passkey did not work.")
    sign_in(page, "petra")
    expect(page.get_by_role("button", name="Account: petra")).to_be_visible()


@pytest.mark.extended
def test_after_the_password_a_passkey_is_asked_for_and_what_fails_is_told_in_words(demo: Server, visits: Visits, tmp_path: Path) -> None:
    page = opened(visits, demo, **PHONE)
    device = Device(page)
    sign_in(page, "pavel")
    page.wait_for_url(HOME)
    add_passkey(page, "Phone")
    expect(page.locator(".recovery-codes li")).to_have_count(10)
    page.context.clear_cookies()
    page.goto("/sign-in/")
    sign_in(page, "pavel")
    expect(page.get_by_role("heading", name="One more step")).to_be_visible()
    fits(page, 360)
    check_appearance(page, tmp_path, "step")
    device.knows_the_person(False)
    button = page.get_by_role("button", name="Use a passkey")
    button.click()
    expect(page.get_by_role("alert")).to_have_text("No passkey was chosen, or it took too long. Please try again.")
    expect(button).to_be_enabled()
    expect(button).to_be_focused()
    save_picture(page, tmp_path, "cancelled")
    device.knows_the_person(True)
    button.click()
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    page.goto("/sign-in/ways/")
    fits(page, 360)
    save_picture(page, tmp_path, "ways-phone")


@pytest.mark.extended
def test_the_browser_offers_a_passkey_beside_the_name(demo: Server, visits: Visits) -> None:
    page = opened(visits, demo, offers=True)
    expect(page.get_by_label("Username")).to_have_attribute("autocomplete", "username webauthn")
    Device(page)
    sign_in(page, "paula")
    page.wait_for_url(HOME)
    add_passkey(page, "Laptop")
    expect(page.locator(".recovery-codes li")).to_have_count(10)
    page.context.clear_cookies()
    page.goto("/sign-in/")
    expect(page.get_by_role("button", name="Account: paula")).to_be_visible()
