"""Context use: how full the model's context is, as reported by a turn and as stored."""

import pytest
from channels.db import database_sync_to_async

from chatui.backends.base import BackendError, ContextUse, EndReason, SampleEnded, Usage
from chatui.codes import ProductCode
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.store import context_use
from tests.chatui.conftest import signed_in
from tests.support.browser_socket import ENDS, BrowserSocket
from tests.support.scripted import FINAL, ScriptedBackend, Step, frame

pytestmark = pytest.mark.django_db(transaction=True)


def ending(**options: object) -> list[Step]:
    return [*frame(FINAL, "Four."), SampleEnded(EndReason.STOP, Usage(10, 20), "m", **options)]  # type: ignore[arg-type]


async def ended(ada: User) -> tuple[dict[str, object], str]:
    """The last event of one turn, and the page afterwards."""
    async with BrowserSocket(ada) as socket:
        await socket.send_message()
        conversation = (await socket.until("chatui:accepted"))[-1]["conversation"]
        await socket.send("subscribe", conversation=conversation)
        event = (await socket.until(*ENDS))[-1]
    page = await database_sync_to_async(lambda: signed_in(ada).get(f"/c/{conversation}/").content.decode())()
    return event, page


async def test_context_use_is_in_the_end_event_and_on_the_page(ada: User, backend: ScriptedBackend) -> None:
    backend.script = ending(context=ContextUse(8192, 5000), turns_left_out=12)
    event, page = await ended(ada)
    assert (event["context"], event["left_out"]) == (60, 12)
    assert 'data-context="60"' in page and 'data-left-out="12"' in page
    turn = await Turn.objects.aget()
    assert (turn.context_size, turn.context_used) == (8192, 5000)


async def test_unknown_context_use_is_not_shown(ada: User, backend: ScriptedBackend) -> None:
    backend.script = ending()
    event, page = await ended(ada)
    assert "context" not in event and "left_out" not in event
    assert "data-context=" not in page and "data-left-out=" not in page


async def test_e_x_context_full_an_answer_that_filled_the_context_can_be_continued(ada: User, backend: ScriptedBackend) -> None:
    backend.script = [
        *frame(FINAL, "It begins")[:-1],
        SampleEnded(EndReason.LENGTH, Usage(10, 20), "m", context=ContextUse(100, 100), is_context_full=True),
    ]
    event, page = await ended(ada)
    assert (event["type"], event["code"], event["context"]) == ("response.incomplete", "E-X-CONTEXT-FULL", 100)
    notice = page.partition('class="notice notice-incomplete"')[2].partition("<answer-row")[0]
    assert ProductCode.CONTEXT_FULL.sentence in notice and 'data-action="continue"' in notice


async def test_e_x_question_too_long_gives_its_length_and_the_limit(ada: User, backend: ScriptedBackend) -> None:
    backend.script = [BackendError(ProductCode.QUESTION_TOO_LONG, "SECRET", context=ContextUse(1000, 4000))]
    event, page = await ended(ada)
    question = len("What is 2 + 2?")
    sentence = f"{ProductCode.QUESTION_TOO_LONG.sentence} It has {question} characters; about {question // 4} would fit."
    assert event["code"] == "E-X-QUESTION-TOO-LONG" and "context" not in event
    assert sentence in str(event["html"]) and sentence in page and "SECRET" not in page and "data-context=" not in page


async def test_context_use_is_rounded_to_coarse_steps() -> None:
    shown = {context_use.percent(ContextUse(1000, used)) for used in range(1100)}
    assert shown == {None, *range(5, 101, 5)}
    assert context_use.percent(None) is None
