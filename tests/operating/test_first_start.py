"""The first start in an empty directory collects the static files, creates the database, and serves."""

import re
import shutil
from pathlib import Path

import httpx
import pytest

from tests.support.served import NewDeployment

pytestmark = pytest.mark.served


@pytest.mark.extended
def test_a_start_in_an_empty_directory_serves_pages_with_their_style_sheets(tmp_path: Path) -> None:
    deployment = NewDeployment(tmp_path)
    shutil.rmtree(tmp_path)
    try:
        server = deployment.start()
        page = httpx.get(f"{server.url}/setup/", trust_env=False)
        sheets = re.findall(r'href="(/static/[^"]+\.css)"', page.text)
        assert page.status_code == 200 and sheets and server.first_account_code
        for sheet in sheets:
            assert httpx.get(server.url + sheet, trust_env=False).status_code == 200
    finally:
        deployment.stop()
