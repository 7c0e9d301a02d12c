"""The model menu has a search field only if there are many models; otherwise nothing of it is loaded."""

from __future__ import annotations

import pytest

from chatui.models.user import User
from tests.chatui.conftest import signed_in
from tests.support.several import Configure
from tests.support.several import configure as configure

FILE = '[[backend]]\nname="a"\nkind="chat"\nurl="http://127.0.0.1:9"\nmodels=[{}]\n'


@pytest.mark.django_db
@pytest.mark.parametrize(("count", "has_search"), [(3, False), (20, False), (21, True), (600, True)])
def test_the_search_appears_only_with_many_models_and_all_are_listed(configure: Configure, ada: User, count: int, has_search: bool) -> None:
    configure(FILE.format(",".join(f'"org/model-{number}"' for number in range(count))))
    page = signed_in(ada).get("/").content.decode()
    assert page.count('<option value="a/org/model-') == count
    assert ("model-search.js" in page, "model-search.css" in page, 'placeholder="Search models"' in page) == (has_search,) * 3
