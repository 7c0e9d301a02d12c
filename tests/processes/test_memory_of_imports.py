"""A process that serves pages and answers does not import what only rare paths need, which would cost every deployment memory."""

from __future__ import annotations

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
    "jsonschema_rs": "only for tool calls and answers in a format: 3 MB",
    "joserfc": "only for sign-in with a provider: 1 MB",
    "cryptography": "only for encrypted files, API clients, passkeys and providers: 6 MB",
    "OpenSSL": "never: a proxy terminates TLS, not Twisted: 6 MB",
    "autobahn.twisted.wamp": "never: WAMP is not used: 1 MB, and cryptography",
    "autobahn.wamp.message": "never: WAMP is not used: 2 MB, with cbor2",
    "segno": "only for the QR code of a second factor: 1 MB",
    "click": "never: the command line of httpx is not used: 4 MB with rich and pygments, where these are installed",
    "rich": "never: see click",
    "structlog": "never: the product formats its own log lines: 2 MB",
    "openai_harmony": "never: the second reader runs in its own process",
    "opentelemetry": "only with CHATUI_TRACES_URL",
    "httpcore": "only for models that read the web, and for tool servers: 1 MB",
    "chatui.tools.server_registry": "only with CHATUI_TOOLS_FILE: 1 MB",
    "chatui.documents.inside.worker": "never: files are read in processes of their own",
    "pycparser": "never: what Autobahn compiled is used as it is: 1 MB with cffi",
    "chatui.migrations.0001_squashed_0051_ends_of_frames": "never: they run in their own process, and /readyz lists only names: 23 MB",
    "prometheus_client": "only with CHATUI_METRICS_TOKEN: 1 MB",
    "yaml": "only for documents in OpenChatML and OpenAPI: 1 MB",
    "chatui.backends.responses.backend": "only for servers of the Responses API",
    "chatui.transfer.other_products": "only for imports",
    "chatui.web.manage": "only with the first request of such a page, as all rare pages: 4 MB together",
    "chatui.web.debug": "as above",
    "chatui.web.scim": "as above",
    "chatui.operations.doctor": "as above",
}
"""The modules that a server process has not imported after an ordinary page and turn, and when it does import them."""


ANSWER = chunk(reasoning_content="They greet me.") + chunk(content="Good *morning*!") + chunk("stop") + DONE


async def _ask(deployment: Deployment) -> None:
    async with asyncio.timeout(60), stub.running(stub.plays(ANSWER)) as model:
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


FRAMES = """
import sys
from autobahn.websocket import USES_NVX
from autobahn.websocket.utf8validator import Utf8Validator
from autobahn.websocket.xormasker import create_xor_masker

def verdict(data):
    validator = Utf8Validator()
    validator.reset()
    return validator.validate(data)[:2]

texts = ["", "a", "grüß", "漢字 " * 50, "🙂"]
datas = [text.encode() for text in texts] + [b"\\xff", "ü".encode()[:1], b"a\\xc0\\x80", b"\\xed\\xa0\\x80"]
print(USES_NVX, [verdict(data) for data in datas])
print([bytes(create_xor_masker(b"\\x01\\x82\\x00\\xff", len(data)).process(data)) for data in datas])
print("pycparser" in sys.modules, file=sys.stderr)
"""


def _printed(prelude: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", prelude + FRAMES]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)


@pytest.mark.slow
def test_frames_are_unmasked_and_validated_as_with_the_declarations_that_are_left_out() -> None:
    plain, whole = _printed("import chatui.live.plain_daphne"), _printed("")
    assert whole.stdout.startswith("True [(True, True)"), "the premise: the compiled functions are used"
    assert (plain.stdout, plain.stderr.strip(), whole.stderr.strip()) == (whole.stdout, "False", "True")
