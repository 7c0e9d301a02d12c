"""The logs and metrics of a server process: one line per turn, and metrics whose names the page and the dashboard know."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.chatui.api.deployed import key_at
from tests.support import stub
from tests.support.served import Deployment, LiveSocket, Server

pytestmark = pytest.mark.served
SECRET = "zymurgy"
ANSWER = stub.plays(stub.chunk("stop", content="An answer.") + stub.DONE)
REFUSAL = stub.responds("401 Unauthorized", json.dumps({"error": {"message": SECRET, "code": "invalid_api_key"}}).encode())


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    deployment = Deployment(tmp_path, CHATUI_METRICS_TOKEN="token", CHATUI_LOG_FORMAT="json", CHATUI_BACKEND_MODEL="tiny")
    yield deployment
    deployment.stop()


def lines(server: Server, event: str) -> list[dict[str, Any]]:
    parsed = [json.loads(line) for line in server.console.splitlines() if line.startswith("{")]
    assert all({"time", "level", "logger", "event"} <= line.keys() for line in parsed)
    return [line for line in parsed if line["event"] == event]


def scraped(server: Server) -> dict[str, float]:
    answer = httpx.get(f"{server.url}/metrics", headers={"Authorization": "Bearer token"}, trust_env=False)
    families = text_string_to_metric_families(answer.text)
    return {f"{sample.name}{sorted(sample.labels.values())}": sample.value for family in families for sample in family.samples}


async def ask(socket: LiveSocket) -> None:
    await socket.send("send", client_id=str(uuid4()), text=f"What is {SECRET}?", effort="low")
    await socket.until("response.completed", "response.failed")


async def test_a_turn_a_failing_server_a_sign_in_and_an_error_page_are_told_once_and_counted(deployment: Deployment) -> None:
    deployment.make_people(ada=(False, []))
    async with stub.running(REFUSAL) as model:
        server = deployment.start(CHATUI_BACKEND_URL=model.url)
        client = server.sign_in("ada")
        async with asyncio.timeout(60), LiveSocket(server, client) as socket:
            await ask(socket)
        page = client.get(f"/c/{uuid4()}/")
        measured = scraped(server)
    [turn], [failure], [sign_in] = lines(server, "turn ended"), lines(server, "a model server failed"), lines(server, "sign-in")
    assert (turn["state"], turn["cause"], turn["backend"]) == ("failed", failure["cause"], failure["backend"])
    assert (failure["status"], failure["code"], failure["level"]) == ("401", turn["code"], "WARNING") and failure["seconds"] < 60
    assert (sign_in["outcome"], sign_in["way"]) == ("signed in", "page") and "ada" not in json.dumps(sign_in)
    numbers = re.findall(r"\b[0-9a-f]{16}\b", page.text)
    assert any(line["request"] in numbers for line in lines(server, "error page") if line["view"] == "conversation")
    assert SECRET not in server.console
    backend, code = turn["backend"], turn["code"]
    assert measured[f"chatui_turns_ended_total{sorted([backend, 'failed', code])}"] == 1
    assert measured[f"chatui_model_server_errors_total{sorted([backend, code, '401'])}"] == 1
    assert measured[f"chatui_turn_seconds_count{[backend]}"] == 1 and measured["chatui_queue_seconds_count[]"] == 1
    assert measured["chatui_sign_ins_total['signed in']"] == 1 and measured["chatui_error_pages_total['404', 'E-X-NOT-FOUND']"] == 1
    assert measured["chatui_database_seconds_count['writes']"] > 1


def test_each_line_from_the_start_on_is_an_object_and_what_a_scanner_asks_is_one(deployment: Deployment) -> None:
    deployment.environment["PYTHONWARNINGS"] = "ignore"
    server = deployment.start()
    for path, headers in (("/no-such-page", {}), ("/sign-in/", {"Host": "scanner.example.org"})):
        known = len(server.console.splitlines())
        assert httpx.get(server.url + path, headers=headers, trust_env=False).status_code in (404, 400)
        httpx.get(f"{server.url}/healthz", trust_env=False)
        [line] = server.console.splitlines()[known:]
        assert (json.loads(line)["event"], json.loads(line)["level"]) == ("error page", "INFO")
    found = [json.loads(line) for line in server.console.splitlines() if line.strip()]
    assert all({"time", "level", "logger", "event"} <= line.keys() for line in found)
    for words in ("Chat is at http://", "Answers come from ", "the code for the first one: "):
        assert sum(words in line["event"] for line in found) == 1


async def test_an_answer_is_counted_with_its_first_token_and_the_page_that_waits_for_it(deployment: Deployment) -> None:
    deployment.make_people(ada=(False, []))
    server = deployment.start()
    client = server.sign_in("ada")
    async with asyncio.timeout(60), LiveSocket(server, client) as socket:
        await ask(socket)
        measured = scraped(server)
    [turn] = lines(server, "turn ended")
    assert turn["state"] == "completed" and "code" not in turn and turn["seconds"] >= 0
    assert measured[f"chatui_first_token_seconds_count{[turn['backend']]}"] == 1 and measured["chatui_sockets[]"] == 1
    assert measured["chatui_http_request_duration_seconds_count['1xx', 'socket']"] == 1
    assert measured["chatui_http_request_duration_seconds_count['2xx', 'page']"] >= 1
    assert measured["chatui_event_loop_lag_seconds_count[]"] >= 1 and measured["chatui_ready[]"] == 1


GIVEN = "0aF.9_z:-" + 55 * "x"


@pytest.mark.parametrize("trusted", ["127.0.0.1", "192.0.2.1"])
async def test_a_request_has_one_id_from_its_proxy_to_the_model_server(deployment: Deployment, tmp_path: Path, trusted: str) -> None:
    deployment.make_people(ada=(False, []))
    async with stub.running(ANSWER) as model:
        server = deployment.start(CHATUI_BACKEND_URL=model.url, CHATUI_BACKEND_KIND="chat", CHATUI_TRUSTED_PROXIES=trusted)
        client = server.sign_in("ada")
        key = await asyncio.to_thread(key_at, tmp_path)
        async with asyncio.timeout(60), LiveSocket(server, client) as socket:
            for _ in range(2):
                await ask(socket)
        page = client.get(f"/c/{uuid4()}/", headers={"X-Request-ID": GIVEN})
        asked = {"model": "tiny", "messages": [{"role": "user", "content": SECRET}]}
        sent = {"Authorization": f"Bearer {key}", "X-Request-ID": GIVEN[1:]}
        async with httpx.AsyncClient(trust_env=False, timeout=60) as program:
            reply = await program.post(f"{server.url}/v1/chat/completions", json=asked, headers=sent)
        received = [request.headers["x-request-id"] for request in model.requests if request.method == "POST"]
    assert reply.status_code == 200, reply.text
    of_page, of_program = page.headers["X-Request-ID"], reply.headers["x-request-id"]
    assert ((of_page, of_program) == (GIVEN, GIVEN[1:])) == (trusted == "127.0.0.1"), "only a trusted proxy gives an id"
    assert f'<code class="incident">{of_page}</code>' in page.text
    assert [line["request"] for line in lines(server, "error page")] == [of_page]
    turns = lines(server, "turn ended")
    assert [line["request"] for line in turns] == [turns[0]["turn"], turns[1]["turn"], of_program]
    assert {each.rpartition(".")[0] for each in received} == {line["request"] for line in turns}, "those of titles are those of their turns"
    assert len(set(received)) == len(received), "each is asked under an id of its own"
    assert lines(server, "sign-in")[0]["request"] not in ("", *(line["request"] for line in turns))
