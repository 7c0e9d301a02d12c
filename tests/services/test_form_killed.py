"""A process is killed while the model's form waits for the person, who then looks through another process: what they see and can do."""

import asyncio
import json
import os
import re
import signal
from pathlib import Path
from uuid import uuid4

import pytest

from tests.services.databases import own_database
from tests.support import stub
from tests.support.browser_socket import ENDS
from tests.support.served import Deployment, LiveSocket
from tests.support.stub import DONE, SSE_HEAD, Stub, chunk

pytestmark = [pytest.mark.asyncio, pytest.mark.services]


class Asking:
    """Asks the person once, and answers once the history has a reply."""

    server: Stub | None = None

    async def __call__(self, writer: asyncio.StreamWriter) -> None:
        assert self.server is not None
        replies = [message["content"] for message in self.server.posted["messages"] if message["role"] == "tool"]
        if replies:
            writer.write(SSE_HEAD + chunk(content=f"It was told {replies[-1]}") + chunk("stop") + DONE)
        else:
            function = {"name": "ask_person", "arguments": json.dumps({"questions": [{"question": "Whose cake is it?"}]})}
            writer.write(SSE_HEAD + chunk("tool_calls", tool_calls=[{"index": 0, "id": "c1", "function": function}]) + DONE)
        await writer.drain()


async def test_a_form_whose_process_was_killed_is_over_in_another_and_the_answer_can_be_continued(tmp_path: Path) -> None:
    answer = Asking()
    async with stub.running(answer) as model:
        answer.server = model
        with own_database() as address:
            redis = os.environ["CHATUI_TEST_REDIS_URL"]
            services = {"CHATUI_DATABASE_URL": address, "CHATUI_REDIS_URL": redis}
            chats = {"CHATUI_BACKEND_URL": model.url, "CHATUI_BACKEND_MODEL": "stub", "CHATUI_TOOLS": "ask_person"}
            deployment = Deployment(tmp_path, **services, **chats)
            try:
                one, two = [await asyncio.to_thread(deployment.start) for _ in range(2)]
                await asyncio.to_thread(deployment.make_people, ada=(False, []))
                client = await asyncio.to_thread(two.sign_in, "ada")
                async with asyncio.timeout(150), LiveSocket(two, client) as follower:
                    async with LiveSocket(one, client) as asker:
                        await asker.send("send", client_id=str(uuid4()), conversation=None, text="Bake a cake.", effort="low")
                        turn = (await asker.until("chatui:accepted"))[-1]
                        await asker.until("chatui:calls_wait")
                        await follower.send("subscribe", conversation=turn["conversation"])
                        assert (await follower.until("chatui:snapshot"))[-1]["calls_wait"] == 1
                        cards = f"{turn['url']}turns/{turn['turn']}/calls/"
                        shown = (await asyncio.to_thread(client.get, cards)).text
                        assert "The model asks you" in shown and "Whose cake is it?" in shown
                        card = re.findall(r'action="(/c/[^"]+/calls/[^"]+/)"', shown)[0]
                        await asyncio.to_thread(one.stop, signal.SIGKILL)
                    over = (await follower.until("chatui:idle"))[-1]
                    assert (over["turn"], over["state"]) == (turn["turn"], "interrupted"), "told without asking again"
                    page = (await asyncio.to_thread(client.get, turn["url"])).text
                    assert "The answer ended before you answered" in page and "data-form" not in page
                    assert "“Whose cake is it?”" in page, "what was asked is still there"
                    headers = {"accept": "application/json", "x-csrftoken": client.cookies["chatui_csrf"]}
                    sent = {"decision": "send", "field-0": "Bela's"}
                    assert (await asyncio.to_thread(client.post, card, data=sent, headers=headers)).status_code == 409
                    ids = {"conversation": turn["conversation"], "turn": turn["turn"]}
                    await follower.send("continue", client_id=str(uuid4()), **ids)
                    assert (await follower.until("chatui:accepted", "chatui:refused"))[-1]["type"] == "chatui:accepted"
                    assert (await follower.until(*ENDS))[-1]["type"] == "response.completed"
                    assert "It was told" in (await asyncio.to_thread(client.get, turn["url"])).text
            finally:
                await asyncio.to_thread(deployment.stop)
