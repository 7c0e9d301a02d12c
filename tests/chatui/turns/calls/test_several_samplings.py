"""A turn of several samplings with tool replies between them is one turn for users and in the database."""

from dataclasses import replace

import pytest

from chatui.backends.base import BackendError, EndReason
from chatui.codes import ProductCode
from chatui.models.user import User
from renderer.frame_kinds import SUMMARY
from renderer.frames import Terminator
from tests.support import offering
from tests.support.page import answered, conversation_of, shape
from tests.support.scripted import ANALYSIS, CALL, FINAL, PREAMBLE, ScriptedBackend, answer, ended, frame

pytestmark = pytest.mark.django_db(transaction=True)

CALLS = [*frame(ANALYSIS, "I look it up"), *frame(CALL, "{}", Terminator.CALL), ended(EndReason.TOOL_CALLS)]


def lookup() -> dict[str, int]:
    """Counts the available items."""
    return {"found": 4}


@pytest.fixture(autouse=True)
def _offered(monkeypatch: pytest.MonkeyPatch) -> None:
    offering.offer(monkeypatch, lookup)


async def test_a_reply_is_stored_and_the_same_turn_samples_again(ada: User, backend: ScriptedBackend) -> None:
    backend.script, backend.following = CALLS, [answer("There are four.")]
    turn = await answered(ada)
    assert (turn.state, turn.error_code) == ("completed", "")
    stored = await conversation_of(turn)
    assert shape(stored) == [
        ("user", ""),
        ("assistant", "analysis"),
        ("assistant", "commentary"),
        ("assistant", "commentary"),
        ("tool", "commentary"),
        ("assistant", "analysis"),
        ("assistant", "final"),
    ]
    assert [message.parent_id for message in stored[1:]] == [message.pk for message in stored[:-1]], "one branch"
    assert [message.is_visible for message in stored] == [True, False, False, True, False, False, True]
    assert [(message.author, message.name) for message in stored[3:5]] == [("product", "tool_activity"), ("product", "functions.lookup")]


async def test_the_tokens_of_all_samplings_are_added_up(ada: User, backend: ScriptedBackend) -> None:
    backend.script, backend.following = CALLS, [answer()]
    turn = await answered(ada)
    assert (turn.input_tokens, turn.output_tokens, turn.model) == (20, 40, "scripted-model")


async def test_a_server_failure_in_the_second_sampling_keeps_what_was_stored(ada: User, backend: ScriptedBackend) -> None:
    broken = [*frame(FINAL, "There")[:-1], BackendError(ProductCode.TIMEOUT)]
    backend.script, backend.following = CALLS, [broken]
    turn = await answered(ada)
    assert (turn.state, turn.error_code) == ("failed", ProductCode.TIMEOUT)
    stored = await conversation_of(turn)
    assert shape(stored)[-2:] == [("tool", "commentary"), ("assistant", "final")] and not stored[-1].is_complete


@pytest.mark.parametrize("channel", ["commentary", "final", None])
async def test_a_turn_with_only_visible_preambles_has_no_answer(ada: User, backend: ScriptedBackend, channel: str | None) -> None:
    backend.script = [*frame(ANALYSIS, "a plan first"), *frame(replace(PREAMBLE, channel=channel), "I will look."), ended()]
    turn = await answered(ada)
    assert (await conversation_of(turn))[-1].is_visible, "the premise: people see the preamble"
    assert (turn.state, turn.error_code) == ("failed", ProductCode.ONLY_THINKING)


async def test_a_summary_of_an_earlier_sampling_is_known_if_it_comes_again(ada: User, backend: ScriptedBackend) -> None:
    """The prompt leaves it out, and servers call the reasoning itself a summary."""
    backend.script = [*frame(SUMMARY, "The user wants a count."), *CALLS]
    backend.following = [CALLS, answer("There are four.")]
    await answered(ada)
    assert [[text.strip() for text in request.thoughts] for request in backend.requests] == [
        [],
        *[["The user wants a count.", "I look it up"]] * 2,
    ]
