"""The second reader is never on the live path: a whole turn over token ids neither imports nor starts it."""

import subprocess
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pytest
from django.urls import get_resolver

from chatui.backends import registry
from chatui.backends.base import Endpoint
from chatui.model_servers import connected
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.turns import running
from renderer.harmony.vocabulary import Vocabulary
from tests.chatui.backends.wire import VLLM, ids_of, sse, vllm
from tests.support import stub
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.sampling import PATIENT

pytestmark = pytest.mark.served

ANSWER = "<|channel|>analysis<|message|>Two and two.<|end|><|start|>assistant<|channel|>final<|message|>Four.<|return|>"
FORBIDDEN = ("chatui.operations.second_", "openai_harmony")


class Refusal:
    """An import finder that finds nothing, and raises for modules of the second reader."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        if name.startswith(FORBIDDEN):
            raise AssertionError(f"{name} was imported on the live path")


@pytest.fixture
def _refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("a process was started on the live path")

    get_resolver().url_patterns  # noqa: B018 -- a server has them from its start, with the pages that start the doctor
    for name in [name for name in sys.modules if name.startswith(FORBIDDEN)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Refusal(), *sys.meta_path])
    monkeypatch.setattr(subprocess.Popen, "__init__", refused)


@pytest.mark.usefixtures("_refused")
@pytest.mark.django_db(transaction=True)
async def test_a_whole_turn_over_token_ids_goes_without_the_second_reader(
    ada: User, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = sse(vllm(*ids_of(vocabulary, ANSWER), finish="stop")) + stub.DONE
    async with stub.running(stub.plays(answer), **VLLM) as server:
        backend = registry.build(Endpoint(server.url, model="tiny", limits=PATIENT), kind="harmony-vllm", vocabulary=lambda: vocabulary)
        monkeypatch.setattr(connected, "backend", lambda *_: backend)
        async with BrowserSocket(ada) as socket:
            await socket.send_message("What is 2 + 2?")
            accepted = (await socket.until("chatui:accepted"))[-1]
            await socket.send("subscribe", conversation=accepted["conversation"])
            events = await socket.until(*ENDS, "chatui:idle", timeout=30)
            await running.settle()
        await backend.aclose()
        assert isinstance(server.posted["prompt"], list), "the premise: the question went in token ids"
    turn = await Turn.objects.aget()
    assert (turn.state, await turn.messages.acount()) == ("completed", 2), events
    assert not [name for name in sys.modules if name.startswith(FORBIDDEN)]


@pytest.mark.usefixtures("_refused")
def test_an_import_and_a_start_would_be_noticed() -> None:
    with pytest.raises(AssertionError, match="imported"):
        import chatui.operations.second_reader  # noqa: F401
    with pytest.raises(AssertionError, match="started"):
        subprocess.run(["true"], check=False)
