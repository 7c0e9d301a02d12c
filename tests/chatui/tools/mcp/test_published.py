"""Published MCP servers as peers: from PyPI and npm, over stdio and HTTP, of both protocol versions."""

import asyncio
import time
from typing import Any

import pytest

from tests.support import published_servers as published
from tests.support.mcp_calls import Turn, listed, new_conversation
from tests.support.tool_calls import RefusedError

pytestmark = [pytest.mark.served, pytest.mark.slow]


def run(tool: str, seconds: float = 60, /, *, server: dict[str, Any], **arguments: Any) -> Any:
    """What a call of the tool returns, as the server lists it; a failure is a value."""

    async def body() -> Any:
        async with Turn.confirmed(tool, **server) as turn:
            return await turn.called(seconds, **arguments)

    return asyncio.run(body())


@pytest.mark.extended
def test_the_pypi_time_server_over_stdio() -> None:
    command = [published.python(), "-m", "mcp_server_time"]
    assert listed(tools=["get_current_time"], command=command).offers["get_current_time"].name == "demo_get_current_time"
    result = run("get_current_time", server={"command": command}, timezone="Asia/Seoul")
    assert result["timezone"] == "Asia/Seoul" and result["datetime"].endswith("+09:00")


def test_a_server_of_the_official_package_over_stdio() -> None:
    assert run("add", server={"command": [published.python(), published.DEMO]}, a=2, b=3) == {"result": 5}


@pytest.mark.extended
def test_a_program_of_the_official_package_gets_no_variables_of_ours_and_may_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATUI_BACKEND_KEY", "not for tools")
    server = {"command": [published.python(), published.DEMO]}
    variables = run("variables", server=server)["result"]
    assert "PATH" in variables and "CHATUI_BACKEND_KEY" not in variables
    assert_failed(run("fail", server=server))


def assert_failed(found: object) -> None:
    assert isinstance(found, RefusedError) and "failed" in str(found)


@pytest.mark.extended
def test_each_conversation_has_a_program_of_the_official_package() -> None:
    async def body() -> list[Any]:
        one, two = new_conversation(), new_conversation()
        async with Turn.confirmed("keep", sessions="conversation", command=[published.python(), published.DEMO]) as turn:
            return [await turn.called(60, each, word=word) for word, each in (("a", one), ("b", two), ("c", one))]

    assert [each["result"] for each in asyncio.run(body())] == [["a"], ["b"], ["a", "c"]]


@pytest.mark.extended
def test_each_conversation_has_a_session_with_the_npm_reference_server() -> None:
    """After a restart it answers 400, not 404, to a session that it does not know."""

    async def body(port: int, turns: list[Any]) -> list[Any]:
        async with Turn.confirmed("echo", sessions="conversation", url=f"http://127.0.0.1:{port}/mcp") as server:
            return [await server.called(60, turn, message="hello") for turn in turns]

    one: Any = new_conversation()
    two: Any = new_conversation()
    with published.listening([*published.everything(), "streamableHttp"], port_as="variable") as port:
        assert all("hello" in reply for reply in asyncio.run(body(port, [one, two, one])))
    known, others = (next(iter(turn.sessions.stored.values())) for turn in (one, two))
    assert known != others
    with published.listening([*published.everything(), "streamableHttp"], port_as="variable") as port:
        other: Any = new_conversation()
        asyncio.run(body(port, [other]))
        # As if the server had been started again at the same port.
        other.sessions.stored = dict.fromkeys(other.sessions.stored, known)
        replies = asyncio.run(body(port, [other, other]))
    assert any(getattr(reply, "note", "") and "hello" in reply.value for reply in replies)


@pytest.mark.extended
def test_a_server_of_the_official_package_over_http_without_sessions() -> None:
    with published.listening([published.python(), published.DEMO]) as port:
        server = {"url": f"http://127.0.0.1:{port}/mcp"}
        assert listed(tools=["add"], **server).offers["add"].parameters["required"] == ["a"]
        assert run("add", server=server, a=2) == {"result": 3}
        assert_failed(run("fail", server=server))
        started = time.monotonic()
        assert isinstance(run("sleep", 2, server=server, seconds=60), TimeoutError)
        assert time.monotonic() - started < 50, "before the tool ends"


@pytest.mark.extended
def test_the_npm_reference_server_over_stdio() -> None:
    assert "hällo" in run("echo", server={"command": [*published.everything(), "stdio"]}, message="hällo")


@pytest.mark.extended
def test_the_npm_reference_server_over_http_with_sessions() -> None:
    with published.listening([*published.everything(), "streamableHttp"], port_as="variable") as port:
        server = {"url": f"http://127.0.0.1:{port}/mcp"}
        assert "hällo" in run("echo", server=server, message="hällo")
        assert "5" in run("get-sum", server=server, a=2, b=3)
