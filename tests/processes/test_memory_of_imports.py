"""A process that serves pages and answers imports nothing that only rare paths need: it would take the memory of every deployment."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest

from tests.processes.told_modules import MODULES_FILE
from tests.support.served import Deployment, LiveSocket

WAITING = {
    "redis": "the client of Redis waits for CHATUI_REDIS_URL: 7 MB",
    "webauthn": "the ceremonies of passkeys wait for the first of them: 3 MB",
    "jsonschema_rs": "the checker of schemas waits for a call of a tool, or an answer with a form: 3 MB",
    "joserfc": "the reader of tokens waits for a sign-in with a provider: 1 MB",
    "cryptography": "encryption waits for files with a key, programs, passkeys and providers: 6 MB",
    "OpenSSL": "the TLS of Twisted is not used: a proxy ends it: 6 MB",
    "autobahn.twisted.wamp": "WAMP is not spoken: 1 MB, and cryptography",
    "autobahn.wamp.message": "the same: 2 MB, with cbor2",
    "segno": "what draws codes for authenticators waits for a second factor: 1 MB",
    "click": "the command line of httpx is not used: 4 MB with rich and pygments, where these are installed",
    "rich": "see there",
    "structlog": "log lines are written by ourselves: 2 MB",
    "openai_harmony": "the second reader has a process of its own",
    "opentelemetry": "traces wait for CHATUI_TRACES_URL",
    "chatui.migrations.0001_initial": "migrations run in a process of their own: 23 MB",
}
"""What a process that serves has not imported after an ordinary page and turn, and why it waits."""


async def _ask(deployment: Deployment) -> None:
    server = deployment.start()
    client = server.sign_in("ada")
    assert client.get("/").status_code == 200
    async with asyncio.timeout(60), LiveSocket(server, client) as socket:
        await socket.send("send", client_id=str(uuid4()), text="Hello", effort="low")
        await socket.until("response.completed")


@pytest.mark.served
def test_a_page_and_a_turn_import_nothing_that_only_rare_paths_need(tmp_path: Path) -> None:
    told = tmp_path / "modules"
    # With a variable that Python reads at its start, as a forked process would have what tests import.
    deployment = Deployment(tmp_path, **{"PYTHONHASHSEED": "0", MODULES_FILE: str(told)})
    deployment.program = ("-m", "tests.processes.told_modules")
    deployment.make_people(ada=(False, []))
    try:
        asyncio.run(_ask(deployment))
    finally:
        deployment.stop()
    imported = set(told.read_text(encoding="utf-8").split())
    assert {"daphne.server", "autobahn.twisted.websocket", "chatui.turns.running", "chatui.urls"} <= imported, "the premise"
    assert not {name: why for name, why in WAITING.items() if name in imported}
