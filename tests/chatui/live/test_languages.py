"""Events to a group contain no text in one viewer's language: only codes, or HTML with a lang attribute."""

import pytest

from chatui.codes import ProductCode
from chatui.models.user import User
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.scripted import FINAL, ScriptedBackend, frame

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    ("path", "language", "edit", "retry"),
    [
        ("/ws/?language=de", "de", "Bearbeiten", "Erneut versuchen"),
        ("/ws/?language=zh-hans", "zh-hans", "编辑", "重试"),
        ("/ws/", "en", "Edit", "Retry"),
        ("/ws/?language=xx", "en", "Edit", "Retry"),
        ("/ws/?language=../../de&language=%FF", "en", "Edit", "Retry"),
    ],
)
async def test_html_for_a_group_is_in_the_asking_pages_language_and_marked_with_it(
    path: str, language: str, edit: str, retry: str, ada: User, backend: ScriptedBackend
) -> None:
    backend.script = frame(FINAL, "Half of")[:-1]
    async with BrowserSocket(ada, path=path) as socket:
        await socket.send_message()
        events = await socket.until(*ENDS)
    (created,) = [event for event in events if event["type"] == "response.created"]
    assert (created["language"], events[-1]["language"]) == (language, language)
    assert edit in str(created["html"]) and retry in str(events[-1]["html"])


async def test_a_refusal_is_a_code_without_text(ada: User, backend: ScriptedBackend) -> None:
    async with BrowserSocket(ada, path="/ws/?language=de") as socket:
        await socket.send_message(" ")
        refused = (await socket.until("chatui:refused"))[-1]
    assert set(refused) == {"type", "client_id", "code"} and refused["code"] == ProductCode.EMPTY
