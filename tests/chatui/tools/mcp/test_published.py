"""Published MCP servers as peers: from PyPI and npm, over stdio and HTTP, of both protocol versions."""

import asyncio
import time
from typing import Any

import pytest

from chatui.tools.remote.offers import Listing
from chatui.tools.tool import Noted, ToolError
from tests.support import published_servers as published
from tests.support.mcp_calls import new_conversation, server_of

pytestmark = [pytest.mark.served, pytest.mark.slow]


def run(tool: str, arguments: dict[str, Any], **values: Any) -> tuple[Listing, Any]:
    """List the tools, and call one."""

    async def body() -> tuple[Listing, Any]:
        async with server_of(tools=[tool], **values) as server:
            found = await server.listed()
            assert not found.problems
            return found, await server.call(found.offers[tool], arguments, new_conversation())

    return asyncio.run(body())


@pytest.mark.extended
def test_the_pypi_time_server_over_stdio() -> None:
    command = [published.python(), "-m", "mcp_server_time"]
    found, result = run("get_current_time", {"timezone": "Asia/Seoul"}, command=command)
    assert found.offers["get_current_time"].name == "demo_get_current_time" and result["timezone"] == "Asia/Seoul"
    assert result["datetime"].endswith("+09:00")


def test_a_server_of_the_official_package_over_stdio() -> None:
    assert run("add", {"a": 2, "b": 3}, command=[published.python(), published.DEMO])[1] == {"result": 5}


@pytest.mark.extended
def test_a_program_of_the_official_package_gets_no_variables_of_ours_and_may_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATUI_BACKEND_KEY", "not for tools")
    command = [published.python(), published.DEMO]
    assert "CHATUI_BACKEND_KEY" not in run("variables", {}, command=command)[1]["result"]
    with pytest.raises(ToolError, match="failed"):
        run("fail", {}, command=command)


@pytest.mark.extended
def test_each_conversation_has_a_program_of_the_official_package() -> None:
    async def body() -> list[Any]:
        one, two = new_conversation(), new_conversation()
        async with server_of(tools=["keep"], sessions="conversation", command=[published.python(), published.DEMO]) as server:
            offer = (await server.listed()).offers["keep"]
            return [await server.call(offer, {"word": word}, turn) for word, turn in (("a", one), ("b", two), ("c", one))]

    assert [each["result"] for each in asyncio.run(body())] == [["a"], ["b"], ["a", "c"]]


@pytest.mark.extended
def test_each_conversation_has_a_session_with_the_npm_reference_server() -> None:
    """After a restart it answers 400, not 404, to a session that it does not know."""

    async def body(port: int, turns: list[Any]) -> list[Any]:
        async with server_of(tools=["echo"], sessions="conversation", url=f"http://127.0.0.1:{port}/mcp") as server:
            offer = (await server.listed()).offers["echo"]
            replies = []
            for turn in turns:
                try:
                    replies.append(await server.call(offer, {"message": "hello"}, turn))
                except ToolError as error:
                    replies.append(error)
            return replies

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
    assert any(isinstance(reply, Noted) and "hello" in reply.value for reply in replies)


@pytest.mark.extended
def test_a_server_of_the_official_package_over_http_without_sessions() -> None:
    with published.listening([published.python(), published.DEMO]) as port:
        found, result = run("add", {"a": 2}, url=f"http://127.0.0.1:{port}/mcp")
        assert result == {"result": 3} and found.offers["add"].parameters["required"] == ["a"]
        with pytest.raises(ToolError, match="failed"):
            run("fail", {}, url=f"http://127.0.0.1:{port}/mcp")
        started = time.monotonic()
        with pytest.raises(TimeoutError):
            asyncio.run(asyncio.wait_for(_called(port, "sleep", {"seconds": 60}), 2))
        assert time.monotonic() - started < 50, "before the tool ends"


async def _called(port: int, tool: str, arguments: dict[str, Any]) -> Any:
    async with server_of(tools=[tool], url=f"http://127.0.0.1:{port}/mcp") as server:
        found = await server.listed()
        return await server.call(found.offers[tool], arguments, new_conversation())


@pytest.mark.extended
def test_the_npm_reference_server_over_stdio() -> None:
    _, result = run("echo", {"message": "hällo"}, command=[*published.everything(), "stdio"])
    assert "hällo" in result


@pytest.mark.extended
def test_the_npm_reference_server_over_http_with_sessions() -> None:
    with published.listening([*published.everything(), "streamableHttp"], port_as="variable") as port:
        _, result = run("echo", {"message": "hällo"}, url=f"http://127.0.0.1:{port}/mcp")
        assert "hällo" in result
        _, result = run("get-sum", {"a": 2, "b": 3}, url=f"http://127.0.0.1:{port}/mcp")
        assert "5" in result
