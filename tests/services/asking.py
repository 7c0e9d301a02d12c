"""A deployment of two processes whose model asks the person, itself or through a tool's server."""

import json
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.browser.tools.test_forms import PROGRAM, ScriptedModel, called, said
from tests.services.databases import own_database
from tests.support.served import Deployment

QUESTION = {"questions": [{"question": "Whose cake is it?"}]}
CALLS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "Bake a cake.": [("ask_person", QUESTION)],
    "Order a shirt.": [("shop_order", {})],
    "Bake two cakes.": [("ask_person", QUESTION), ("ask_person", QUESTION)],
}
"""What the model calls, one after the other, for each question; for any other it calls nothing."""


class Model(ScriptedModel):
    """Calls what the last question is for, and then says what it was told. ``asked``: the questions and replies of each request."""

    asked: list[list[str]] = []

    def chunks(self, messages: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        self.asked.append([each["content"] for each in messages if each["role"] in ("user", "tool")])
        at = max(at for at, each in enumerate(messages) if each["role"] == "user")
        text, replies = messages[at]["content"], [each["content"] for each in messages[at:] if each["role"] == "tool"]
        calls = CALLS.get(text, [])[len(replies) :]
        return called(calls[0]) if calls else said(f"Told: {' '.join([text, *replies])}")


@contextmanager
def asking(at: Path) -> Iterator[Deployment]:
    """``at``: an empty directory."""
    (at / "shop.py").write_text(PROGRAM)
    command = json.dumps([sys.executable, str(at / "shop.py")])
    (at / "tools.toml").write_text(f'[[mcp]]\nname = "shop"\ncommand = {command}\ntools = ["order"]\nspeaks_to_person = true\n')
    peer = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=peer.serve_forever, daemon=True).start()
    with own_database() as address:
        deployment = Deployment(
            at,
            CHATUI_DATABASE_URL=address,
            CHATUI_REDIS_URL=os.environ["CHATUI_TEST_REDIS_URL"],
            CHATUI_BACKEND_URL=f"http://127.0.0.1:{peer.server_port}/v1",
            CHATUI_TOOLS_FILE=str(at / "tools.toml"),
            CHATUI_TOOLS="ask_person,shop_order",
            CHATUI_TOOLS_WITHOUT_APPROVAL="shop_order",
        )
        try:
            deployment.start()
            deployment.start()
            deployment.manage("tools", "--confirm", "shop_order")
            deployment.make_people(ada=(False, []), bela=(False, []))
            yield deployment
        finally:
            deployment.stop()
            peer.shutdown()
            peer.server_close()
