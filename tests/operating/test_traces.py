"""Traces of a server process: requests and turns are exported without content, and the remaining spans at exit."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from chatui.env import BASE_DIR
from chatui.observability import tracing
from tests.chatui.observability.peer import attributes_of, collecting, hangs
from tests.support import environment, stub
from tests.support.served import PASSWORD, START_SECONDS, Deployment, LiveSocket, Server
from tests.support.system_checks import said

SECRET, WORDS = "zymurgy", "quixotry"
ANSWER = stub.plays(stub.chunk(reasoning_content=SECRET) + stub.chunk("stop", content=WORDS) + stub.DONE)


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    deployment = Deployment(tmp_path, CHATUI_BACKEND_MODEL="tiny", CHATUI_BACKEND_KIND="chat", CHATUI_DRAIN_SECONDS="5")
    yield deployment
    deployment.stop()


async def ask(server: Server, name: str) -> None:
    client = server.sign_in(name)
    async with asyncio.timeout(60), LiveSocket(server, client) as socket:
        await socket.send("send", client_id=str(uuid4()), text=f"What is {SECRET}?", effort="low")
        await socket.until("response.completed", "response.failed")
    assert client.get(f"/search/?q={SECRET}").status_code == 200
    assert client.get(f"/nowhere/{SECRET}/").status_code == 404


@pytest.mark.served
@pytest.mark.parametrize("tells", [False, True])
async def test_requests_and_turns_are_exported_without_content_and_the_last_ones_at_exit(deployment: Deployment, tells: bool) -> None:
    deployment.make_people(ada_lovelace=(False, []))
    with collecting() as peer:
        async with stub.running(ANSWER) as model:
            on = {"CHATUI_TRACES_URL": peer.url, "CHATUI_TRACES_HEADER": "X-Key: hunter2-of-traces"}
            server = deployment.start(CHATUI_BACKEND_URL=model.url, CHATUI_TRACES_TO_MODEL_SERVERS=str(tells), **on)
            await ask(server, "ada_lovelace")
            deployment.stop()
            [model_request] = [request for request in model.requests if request.method == "POST"]
        spans = {span.name: span for span in peer.spans}
        raw, headers = peer.raw, peer.requests[0][1]
    assert "hunter2" not in server.console and headers["x-key"] == "hunter2-of-traces"
    assert {"turn", "sampling", "POST /sign-in/", "GET /search/", "GET"} <= spans.keys(), spans.keys()
    assert (
        attributes_of(spans["turn"])["chatui.turn.state"] == "completed" and attributes_of(spans["GET"])["http.response.status_code"] == 404
    )
    assert attributes_of(spans["POST /sign-in/"]) == {
        "http.request.method": "POST",
        "http.route": "/sign-in/",
        "http.response.status_code": 302,
    }
    for content in (SECRET, WORDS, "ada_lovelace", PASSWORD, "?q"):
        assert content.encode() not in raw, content
    assert ("traceparent" in model_request.headers) == tells
    assert not tells or spans["sampling"].span_id.hex() in model_request.headers["traceparent"]


@pytest.mark.served
async def test_a_collector_that_hangs_neither_slows_an_answer_nor_the_end_of_the_process(deployment: Deployment) -> None:
    deployment.make_people(ada=(False, []))
    with collecting(hangs) as peer:
        server = deployment.start(CHATUI_TRACES_URL=peer.url)
        await ask(server, "ada")
        server.process.terminate()
        assert server.process.wait(START_SECONDS) == 0, "it ends by itself, though the collector hangs for ever"


def wrong(monkeypatch: pytest.MonkeyPatch, **values: object) -> list[str]:
    environment.change(monkeypatch, {"traces_url": "http://127.0.0.1:4318/v1/traces", "traces_header": "", **values})
    return [message.msg for message in said("E060")]


@pytest.mark.django_db
def test_an_address_without_the_packages_is_an_error_with_the_command_that_installs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert wrong(monkeypatch) == []

    def none_of_it(name: str) -> None:
        if name.startswith("opentelemetry"):
            raise ModuleNotFoundError(name)

    monkeypatch.setattr(tracing, "find_spec", none_of_it)
    [error] = wrong(monkeypatch)
    assert error.endswith(tracing.INSTALL) and tracing.INSTALL in (BASE_DIR / "docs/operating/traces.md").read_text(encoding="utf-8")
    assert (BASE_DIR / "requirements-traces.txt").is_file()
    assert wrong(monkeypatch, traces_url="") == [], "without traces, nothing needs to be installed"


@pytest.mark.parametrize(
    "values",
    [
        {"traces_url": "127.0.0.1:4318"},
        {"traces_url": "http://127.0.0.1:4318"},
        {"traces_url": "http://ada:hunter2@127.0.0.1:4318/v1/traces"},
        {"traces_url": "http://[::1/v1/traces"},
        {"traces_url": "grpc://127.0.0.1:4317/v1/traces"},
        {"traces_header": "hunter2"},
        {"traces_header": "X-Key: hunter2\r\nX-Other: 1"},
    ],
)
@pytest.mark.django_db
def test_what_cannot_be_sent_to_is_an_error_without_its_value(values: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    [error] = wrong(monkeypatch, **values)
    assert "CHATUI_TRACES_" in error and "hunter2" not in error
