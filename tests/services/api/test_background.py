"""Background responses that one process writes, followed through another."""

import json
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.chatui.api.deployed import MAKE_KEY
from tests.services.databases import own_database
from tests.support.served import Deployment, Server

pytestmark = pytest.mark.services

ASKED = {"input": "What is two and two?", "background": True}


class Two(Deployment):
    """Two processes, and an API key that works with both."""

    key = ""

    def client(self, server: Server) -> httpx.Client:
        return httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {self.key}"}, timeout=60, trust_env=False, verify=False)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    with own_database() as address:
        redis = os.environ["CHATUI_TEST_REDIS_URL"]
        two = Two(tmp_path_factory.mktemp("data"), CHATUI_DATABASE_URL=address, CHATUI_REDIS_URL=redis, CHATUI_DEMO_TOKENS_PER_SECOND="160")
        two.make_people(ada=(False, []))
        found = re.search(r"key=(\S+)", two.manage("shell", "--no-imports", "-c", MAKE_KEY))
        assert found
        two.key = found[1]
        try:
            two.start()
            two.start()
            yield two
        finally:
            two.stop()


def events(client: httpx.Client, answer_id: str, after: int | None = None) -> Iterator[dict[str, Any]]:
    query = "" if after is None else f"&starting_after={after}"
    with client.stream("GET", f"/v1/responses/{answer_id}?stream=true{query}") as response:
        assert response.status_code == 200, response.read()
        for line in response.iter_lines():
            if line.startswith("data: {"):
                yield json.loads(line.removeprefix("data: "))


def start_response(client: httpx.Client) -> str:
    model = client.get("/v1/models").json()["data"][0]["id"]
    return str(client.post("/v1/responses", json=ASKED | {"model": model}).json()["id"])


def test_a_stream_goes_through_any_process_from_its_beginning_or_from_where_it_broke(two: Two) -> None:
    with two.client(two.servers[0]) as writes, two.client(two.servers[1]) as follows:
        answer_id = start_response(writes)
        received = list(events(follows, answer_id))
        assert [event["sequence_number"] for event in received] == list(range(len(received))) and len(received) > 20
        assert (received[0]["type"], received[-1]["type"]) == ("response.created", "response.completed")
        assert list(events(writes, answer_id)) == received, "the same events as from the process that writes it"
        assert list(events(follows, answer_id, after=9)) == received[10:]
        assert list(events(follows, answer_id, after=len(received))) == []
        whole = follows.get(f"/v1/responses/{answer_id}").json()
        assert [item["content"] for item in received[-1]["response"]["output"] if item["type"] == "message"] == [
            item["content"] for item in whole["output"] if item["type"] == "message"
        ]


def test_what_is_written_is_read_through_another_process_with_all_text_so_far(two: Two) -> None:
    """With the lines of its summary, in the order of the items at its end, and without a word of the reasoning."""
    writing = two.start(CHATUI_DEMO_TOKENS_PER_SECOND="20")  # so slowly that a busy machine, too, reads parts of it
    asked = ASKED | {"input": "Please compare trains and buses.", "reasoning": {"summary": "auto", "effort": "high"}}
    with two.client(writing) as writes, two.client(two.servers[1]) as follows:
        model = writes.get("/v1/models").json()["data"][0]["id"]
        answer_id = str(writes.post("/v1/responses", json=asked | {"model": model}).json()["id"])
        seen: list[dict[str, Any]] = []
        while not seen or seen[-1]["status"] in ("queued", "in_progress"):
            seen.append(follows.get(f"/v1/responses/{answer_id}").json())
            time.sleep(0.3)
    *parts, whole = seen
    (answer,) = (item for item in whole["output"] if item["type"] == "message")
    texts = [item["content"][0]["text"] for part in parts for item in part["output"] if item["type"] == "message"]
    assert len(set(texts)) > 2 and all(answer["content"][0]["text"].startswith(text) for text in texts)
    lines = [part["text"] for item in whole["output"] if item["type"] == "reasoning" for part in item["summary"]]
    so_far = [[line["text"] for item in part["output"] if item["type"] == "reasoning" for line in item["summary"]] for part in parts]
    assert len(lines) > 1 and any(so_far) and all(lines[: len(some)] == some for some in so_far)
    order = [item["id"] for item in whole["output"]]
    assert all([item["id"] for item in part["output"]] == order[: len(part["output"])] for part in parts)
    assert "large on a bad one" not in json.dumps(seen), "words of its reasoning"


def test_two_readers_that_leave_and_come_back_miss_nothing(two: Two) -> None:
    with two.client(two.servers[0]) as writes, two.client(two.servers[1]) as follows:
        answer_id = start_response(writes)
        received: list[dict[str, Any]] = []
        while not received or received[-1]["type"] != "response.completed":
            through = (follows, writes)[len(received) // 7 % 2]
            for event in events(through, answer_id, after=len(received) - 1 if received else None):
                received.append(event)
                if len(received) % 7 == 0:
                    break  # the connection is closed
        assert [event["sequence_number"] for event in received] == list(range(len(received)))


def test_the_stream_of_a_busy_process_waits_until_it_answers(two: Two) -> None:
    """A process that stands still for some seconds is not taken for one that has nothing to stream."""
    writing = two.servers[0].process
    with two.client(two.servers[0]) as writes, two.client(two.servers[1]) as follows:
        answer_id = start_response(writes)
        writing.send_signal(signal.SIGSTOP)
        goes_on = threading.Timer(4, writing.send_signal, (signal.SIGCONT,))
        goes_on.start()
        try:
            heard = list(events(follows, answer_id))
        finally:
            goes_on.join()
        assert [event["sequence_number"] for event in heard] == list(range(len(heard)))
        assert heard[-1]["type"] == "response.completed"


def test_what_nobody_has_recorded_is_read_as_a_whole(two: Two) -> None:
    with two.client(two.servers[0]) as writes, two.client(two.servers[1]) as follows:
        model = writes.get("/v1/models").json()["data"][0]["id"]
        answer_id = writes.post("/v1/responses", json={"input": "What is two and two?", "model": model}).json()["id"]
        refused = follows.get(f"/v1/responses/{answer_id}?stream=true")
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "stream_not_available")


def test_a_process_that_dies_ends_the_streams_through_the_other_without_a_false_end(two: Two) -> None:
    dying = two.start(CHATUI_DEMO_TOKENS_PER_SECOND="20")
    with two.client(dying) as writes, two.client(two.servers[1]) as follows:
        answer_id = start_response(writes)
        received = []
        for event in events(follows, answer_id):
            received.append(event)
            if event["type"] == "response.output_text.delta" and dying.process.poll() is None:
                dying.process.send_signal(signal.SIGKILL)
                dying.process.wait()
                died = time.monotonic()
        assert time.monotonic() - died < 300, "the stream is over"
        assert "response.completed" not in {event["type"] for event in received}
        assert [event["sequence_number"] for event in received] == list(range(len(received)))
