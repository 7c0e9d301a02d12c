"""A process that serves pages and answers does not import what only rare paths need, which would cost every deployment memory."""

import asyncio
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from tests.processes.imported_modules import MODULES_FILE
from tests.support import stub
from tests.support.places import ROOT
from tests.support.served import Deployment, LiveSocket
from tests.support.stub import DONE, chunk

WAITING = {
    "redis": "only with CHATUI_REDIS_URL: 7 MB",
    "webauthn": "only for passkeys: 3 MB",
    "OpenSSL": "only for passkeys, and not for Twisted, which speaks no TLS here: 6 MB",
    "jsonschema_rs": "only for tool calls and answers in a format: 3 MB",
    "joserfc": "only for sign-in with a provider: 1 MB",
    "segno": "only for the QR code of a second factor: 1 MB",
    "structlog": "never: the product formats its own log lines: 2 MB",
    "openai_harmony": "never: the second reader runs in its own process",
    "opentelemetry": "only with CHATUI_TRACES_URL",
    "httpcore": "only for models that read the web, and for tool servers: 1 MB",
    "chatui.tools.server_registry": "only with CHATUI_TOOLS_FILE: 1 MB",
    "chatui.documents.inside.worker": "never: files are read in processes of their own",
    "chatui.migrations.0001_squashed_0065_separation_proofs": "never: they run in their own process, and /readyz lists only names: 23 MB",
    "yaml": "only for documents in OpenChatML and OpenAPI: 1 MB",
}
"""The modules that a server process has not imported after an ordinary page and turn, and when it does import them."""


ANSWER = chunk(reasoning_content="They greet me.") + chunk(content="Good *morning*!") + chunk("stop") + DONE


async def _ask(deployment: Deployment) -> None:
    async with asyncio.timeout(240), stub.running(stub.plays(ANSWER)) as model:
        server = deployment.start(CHATUI_BACKEND_URL=model.url, CHATUI_BACKEND_MODEL="stub")
        client = server.sign_in("ada")
        pages = [await asyncio.to_thread(client.get, path) for path in ("/", "/readyz")]
        assert [page.status_code for page in pages] == [200, 200]
        async with LiveSocket(server, client) as socket:
            await socket.send("send", client_id=str(uuid4()), text="Hello", effort="low")
            await socket.until("response.completed")


@pytest.mark.served
def test_a_page_and_a_turn_import_nothing_that_only_rare_paths_need(tmp_path: Path) -> None:
    listing = tmp_path / "modules"
    # PYTHONHASHSEED forces a new interpreter: a forked process would already have the imports of the tests.
    deployment = Deployment(tmp_path, **{"PYTHONHASHSEED": "0", MODULES_FILE: str(listing)})
    deployment.program = ("-m", "tests.processes.imported_modules")
    deployment.make_people(ada=(False, []))
    try:
        asyncio.run(_ask(deployment))
    finally:
        deployment.stop()
    imported = set(listing.read_text(encoding="utf-8").split())
    assert {"daphne.server", "autobahn.twisted.websocket", "chatui.turns.running", "chatui.urls"} <= imported, "the premise"
    assert not {name: why for name, why in WAITING.items() if name in imported}


def test_what_twisted_does_without_is_there_for_passkeys() -> None:
    code = "import sys, chatui.live.reactor; assert 'OpenSSL' not in sys.modules; import webauthn; assert sys.modules['OpenSSL'].SSL"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
