"""The message catalogue that a page loads for its scripts."""

from __future__ import annotations

import pytest
from django.test import Client

from chatui.models.user import User
from chatui.web.middleware import catalogue_of
from tests.support.places import ROOT
from tests.tools.messages import domains, modules

MADE = ROOT / "static" / "js" / "language" / "catalogues"


@pytest.mark.parametrize(
    ("asks", "named"), [("de-DE,de;q=0.9", "de"), ("ko", "ko"), ("zh-CN", "zh-hans"), ("en", ""), ("fr", ""), ("x/../y", "")]
)
@pytest.mark.django_db
def test_a_page_loads_its_languages_catalogue_before_its_scripts(asks: str, named: str, ada: User) -> None:
    client = Client(headers={"accept-language": asks})
    client.force_login(ada)
    page = client.get("/").content.decode()
    catalogues = [name for name in ("de", "ko", "zh-hans") if f"js/language/catalogues/{name}" in page]
    assert catalogues == ([named] if named else [])
    if named:
        assert page.index("language/catalogues/") < page.index("js/chat"), "the page's own script says sentences as soon as it runs"


def test_every_catalogue_is_loaded_for_its_language() -> None:
    names = {path.stem for path in MADE.glob("*.js")}
    assert names == {modules.path_of(code).stem for code in domains.TRANSLATED} >= {"de", "ko", "zh-hans"}
    assert {catalogue_of(name) for name in names} == {f"js/language/catalogues/{name}.js" for name in names}
    assert catalogue_of("en") == catalogue_of("../words") == catalogue_of("") == ""
