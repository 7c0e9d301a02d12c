"""A person signs in with a provider in a real browser, under the strict policy, and arrives at the page that they requested."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.visits import Visits
from tests.chatui.accounts.scripted_provider import ScriptedProvider, running
from tests.support.served import Deployment, Server, served

pytestmark = pytest.mark.browser


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    """A provider with which every browser is already signed in."""
    with running() as scripted:
        yield scripted


@pytest.fixture
def server(provider: ScriptedProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The product with this provider, and passwords for emergency accounts."""
    directory = tmp_path_factory.mktemp("single-sign-on")
    table = "\n".join(f"{name} = {json.dumps(value)}" for name, value in provider.table().items())
    config = f'passwords = "emergency"\nemergency_accounts = ["rescue"]\n[[provider]]\n{table}\n'
    (directory / "sign-in.toml").write_text(config, encoding="utf-8")
    deployment = Deployment(directory / "data", CHATUI_SIGN_IN_FILE=str(directory / "sign-in.toml"))
    with served(deployment, "rescue") as server:
        yield server


def test_a_person_signs_in_with_a_provider(provider: ScriptedProvider, server: Server, visits: Visits) -> None:
    page = visits.open(server, None, "/folders/new/")
    expect(page.get_by_label("Password")).to_have_count(0)
    page.get_by_role("button", name="Sign in with Example Ltd").click()
    page.wait_for_url("**/folders/new/")
    page.goto("/")
    Chat(page).ask_and_wait("Hello!")
    page.get_by_role("button", name="Account: ada.l").click()
    page.get_by_role("link", name="Settings").click()
    page.get_by_role("link", name="Sign-in methods").click()
    expect(page.get_by_role("heading", name="Sign-in services")).to_be_visible()
