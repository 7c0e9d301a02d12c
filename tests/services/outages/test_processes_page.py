"""The page of the system with several processes: one that is killed falls silent, one that ends is gone, and without Redis it says so."""

import re
import signal
import time
from pathlib import Path

import httpx
import pytest

from tests.services.databases import own_database
from tests.services.redis_server import Redis
from tests.support.served import Deployment

pytestmark = pytest.mark.services

MOST_SECONDS = 120


def states(client: httpx.Client) -> tuple[str, list[str]]:
    """The sentence over the page, and the state of each process."""
    page = re.sub(r"\s+", " ", client.get("/manage/system/", timeout=60).text)
    sentence = re.search(r'role="status">(.*?)</p>', page)
    assert sentence, page
    return sentence[1].strip(), re.findall(r'</bdi> <span class="manage-badge[^>]*> ([^<]+)</span>', page)


def until(client: httpx.Client, sentence: str, *expected: str) -> None:
    end = time.monotonic() + MOST_SECONDS
    while (found := states(client)) != (sentence, list(expected)):
        assert time.monotonic() < end, found
        time.sleep(0.5)


def test_a_process_that_is_killed_falls_silent_and_one_that_ends_is_gone(tmp_path: Path) -> None:
    redis = Redis(tmp_path)
    with own_database() as address:
        deployment = Deployment(tmp_path / "data", CHATUI_DATABASE_URL=address, CHATUI_REDIS_URL=redis.url, CHATUI_SECRET_KEY="x" * 50)
        try:
            first, second, third = (deployment.start() for _ in range(3))
            deployment.make_people(root=(True, ["change_storedbackend", "view_storedbackend"]))
            client = first.sign_in("root")
            until(client, "All 3 processes are ready.", "Ready", "Ready", "Ready")
            third.stop()
            until(client, "All 2 processes are ready.", "Ready", "Ready")
            second.stop(signal.SIGKILL)
            until(client, "1 of 2 processes are silent or serve no pages.", "Silent", "Ready")
            redis.stop()
            alone = "The only process is ready. Redis does not answer, so only the process that made this page is shown."
            until(client, alone, "Ready, but limited")
        finally:
            deployment.stop()
            redis.stop()
