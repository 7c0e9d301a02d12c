"""Two processes that start at the same moment in one data directory whose static files have to be collected."""

import concurrent.futures
import re
import time
from pathlib import Path

import httpx
import pytest

from tests.services.databases import own_database
from tests.support.served import Deployment, Server

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.faults]


def test_neither_disturbs_the_other_nor_one_that_already_serves(tmp_path: Path) -> None:
    with own_database() as address:
        deployment = Deployment(tmp_path, CHATUI_DATABASE_URL=address, CHATUI_SECRET_KEY="x" * 50)
        deployment.program = ("-m", __name__)
        try:
            first = deployment.start()
            sheet = re.findall(r'href="(/static/[^"]+css)"', httpx.get(f"{first.url}/", follow_redirects=True).text)[0]
            (tmp_path / "static.collected").write_text("of another version")
            others = [Server(deployment.environment, deployment.program) for _ in range(2)]
            deployment.servers += others
            with concurrent.futures.ThreadPoolExecutor() as threads, httpx.Client(base_url=first.url, trust_env=False) as browser:
                started = [threads.submit(other.wait_until_healthy) for other in others]
                served = []
                while not all(each.done() for each in started):
                    served.append(browser.get(sheet).status_code)
                    time.sleep(0.1)
                assert [each.exception() for each in started] == [None, None]
            assert set(served) == {200}
            for server in deployment.servers:
                assert httpx.get(f"{server.url}{sheet}").status_code == 200
                assert "Traceback" not in server.console
        finally:
            deployment.stop()


if __name__ == "__main__":  # manage.py that compresses only the kind of file that is asked for
    import os
    import sys

    from django.core.management import execute_from_command_line
    from servestatic.compress import Compressor

    os.environ["DJANGO_SETTINGS_MODULE"] = "chatui.settings"
    Compressor.should_compress = lambda self, name: name.endswith(".css")  # type: ignore[method-assign]
    execute_from_command_line(sys.argv)
