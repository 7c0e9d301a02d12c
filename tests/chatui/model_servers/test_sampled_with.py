"""The operator's sampling settings for a model server are sent to the server, and recorded with the conversation."""

import asyncio
import json

import pytest
from channels.db import database_sync_to_async

from chatui.model_servers import connected
from chatui.models.conversation import Conversation
from chatui.models.user import User
from tests.chatui.model_servers.test_several import ask
from tests.support import stub
from tests.support.several import Configure, constant_answer
from tests.support.several import closing as closing
from tests.support.several import configure as configure
from tests.support.system_checks import said
from tests.support.turns import run

FILE = """
[[backend]]
name = "a"
kind = "chat"
url = "{url}"
models = ["m", "n"]
sampling = {{ temperature = 0.7, top_p = 0.9 }}
model_sampling = {{ "n" = {{ temperature = 0.1 }} }}
"""


@pytest.mark.served
@pytest.mark.django_db(transaction=True)
async def test_sent_settings_are_recorded_unless_the_server_rejects_them(configure: Configure, closing: None, ada: User) -> None:
    async with stub.running(constant_answer("Hello.")) as server:

        async def strict(writer: asyncio.StreamWriter) -> None:
            if "top_p" in server.requests[-1].body:
                await stub.responds("400 Bad Request", json.dumps({"error": {"message": "Unknown field: top_p"}}).encode())(writer)
            else:
                await constant_answer("Hello.")(writer)

        server.answer = strict
        configure(FILE.format(url=server.url))
        await run(ada, ask(choice="a/n"))
    assert server.posted["temperature"] == 0.1 and "top_p" not in server.posted
    row = await database_sync_to_async(Conversation.objects.get)()
    assert row.sampled_with == {"reasoning_effort": "medium", "temperature": 0.1}


@pytest.mark.django_db
def test_sampling_can_be_set_by_variables_and_mistakes_are_errors(configure: Configure) -> None:
    configure(
        backend_url="https://r.example/openai/deployments/gpt",
        backend_query="api-version=2024-10-21",
        backend_key_header="api-key",
        backend_proxy="http://proxy:3128",
        backend_sampling="temperature=0.7, seed=7",
    )
    (spec,) = connected.specs()
    assert spec.sampling_of(None) == {"temperature": 0.7, "seed": 7}
    assert (spec.route.query, spec.route.key_header, spec.route.proxy) == ((("api-version", "2024-10-21"),), "api-key", "http://proxy:3128")
    assert said() == []
    for wrong in (
        {"backend_sampling": "warm"},
        {"backend_query": "key=sk-7261"},
        {"backend_proxy": "ftp://x"},
        {"backend_ca_file": "/none"},
    ):
        configure(**{"backend_url": "https://r.example", **wrong})
        found = said()
        assert [each.id for each in found] in (["chatui.E015"], ["chatui.E016"]), wrong
        assert "7261" not in str(found)
