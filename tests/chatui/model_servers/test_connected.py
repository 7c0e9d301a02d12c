"""The wire format chosen for a server is logged at startup, in the background, without waiting, and without the key."""

import asyncio
import logging

import pytest

from chatui.backends.spec import BackendSpec
from chatui.model_servers.connected import announce
from tests.support import stub
from tests.support.served import free_port
from tests.support.several import Configure, constant_answer
from tests.support.several import configure as configure

pytestmark = pytest.mark.served


async def lines_for(spec: BackendSpec, caplog: pytest.LogCaptureFixture) -> list[str]:
    caplog.set_level(logging.INFO)
    thread = announce(spec)
    assert thread is not None
    await asyncio.to_thread(thread.join)
    return [record.getMessage() for record in caplog.records if "wire format" in record.getMessage()]


async def test_the_chosen_format_is_one_line_also_where_the_server_names_no_models(
    configure: Configure, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", "sk-7261")
    async with stub.running(constant_answer("x")) as server:
        (line,) = await lines_for(BackendSpec(name="a", url=server.url, key_env="THE_KEY"), caplog)
    assert line.startswith("wire format chat chosen for the model server at 127.0.0.1:") and "HTTP 404" in line
    assert "sk-7261" not in caplog.text


async def test_a_server_that_is_down_is_one_line_too_and_nothing_is_chosen(configure: Configure, caplog: pytest.LogCaptureFixture) -> None:
    (line,) = await lines_for(BackendSpec(name="a", url=f"http://127.0.0.1:{free_port()}"), caplog)
    assert line.startswith("no wire format chosen yet for model server a (E-X-BACKEND-UNREACHABLE)")


async def test_a_dead_address_does_not_keep_the_others_from_being_asked(configure: Configure, caplog: pytest.LogCaptureFixture) -> None:
    dead = f"http://127.0.0.1:{free_port()}"
    async with stub.running(constant_answer("x")) as server:
        chosen, failed = await lines_for(BackendSpec(name="a", url=dead, more_urls=(server.url,)), caplog)
    assert chosen.startswith("wire format chat chosen for the model server at 127.0.0.1:")
    assert failed.startswith("no wire format chosen yet for model server a (address 1 of 2, E-X-BACKEND-UNREACHABLE)")


async def test_a_server_with_a_configured_format_is_not_queried(configure: Configure) -> None:
    assert announce(BackendSpec(name="a", url="http://127.0.0.1:9", kind="chat")) is None
