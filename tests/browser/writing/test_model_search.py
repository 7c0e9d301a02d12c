"""The choice of six hundred models: a search narrows it, Enter chooses the first, and nothing is sent, lost or cut off; also on a phone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conversation.test_model_choice import model, offers
from tests.browser.visits import Visits
from tests.support.served import Deployment

pytestmark = pytest.mark.browser

NAMES = [f"vendor-{number % 7}/model-{number}" for number in range(600)]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    place: Path = tmp_path_factory.mktemp("many")
    names = ",".join(f'"{name}"' for name in NAMES)
    text = f'[[backend]]\nname="gate"\nlabel="Gateway"\nkind="chat"\nurl="http://127.0.0.1:9"\nmodels=[{names}]\n'
    (place / "backends.toml").write_text(text, encoding="utf-8")
    deployment = Deployment(place, CHATUI_BACKENDS_FILE=str(place / "backends.toml"))
    try:
        deployment.start()
        deployment.make_people(ada=(False, []))
        yield deployment
    finally:
        deployment.stop()


def test_a_search_narrows_six_hundred_models(many: Deployment, visits: Visits, tmp_path: Path) -> None:
    page = visits.open(many.servers[0], "ada")
    search = page.get_by_role("searchbox", name="Search models")
    expect(search).to_be_visible()
    assert len(offers(page)) == 600
    search.fill("vendor-3 model-59")
    narrowed = offers(page)
    assert narrowed == ["vendor-0/model-0", *(name for name in NAMES if "vendor-3" in name and "model-59" in name)]
    assert len(narrowed) > 1, "the premise"
    page.screenshot(path=str(tmp_path / "wide.png"))
    search.press("Enter")
    expect(model(page)).to_be_focused()
    assert model(page).locator("option:checked").inner_text() == narrowed[1], "the first that matches is chosen"
    expect(search).to_have_value("")
    assert len(offers(page)) == 600
    expect(page.locator(".exchange")).to_have_count(0)
    search.fill("no such model")
    assert offers(page) == [narrowed[1]], "what is chosen stays"
    search.press("Escape")
    assert len(offers(page)) == 600
