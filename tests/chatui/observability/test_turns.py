"""The spans of a turn: one for the turn, one for each sampling, one for each tool call, and no content."""

from collections.abc import Iterator

import pytest

from chatui.backends.base import BackendError, SampleRequest
from chatui.codes import Cause, ProductCode
from chatui.models.user import User
from chatui.observability.collector import Collector
from chatui.turns import sampling
from renderer.frames import Frame, Header, Role
from tests.chatui.observability.peer import Peer, attributes_of, collecting
from tests.chatui.turns.calls.calling import answered, call, fails, fetch
from tests.support import offering
from tests.support.limits import set_limits
from tests.support.scripted import ScriptedBackend, answer
from tests.support.spans import send_spans_to
from tests.support.turns import ask, run

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "what-the-model-passed"


@pytest.fixture
def peer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Peer]:
    set_limits(monkeypatch, "chatui.observability", PAUSE_SECONDS=0.05)
    with collecting() as peer:
        sender = Collector(peer.url, {}, 1.0, propagates_to_model_servers=False)
        send_spans_to(sender)
        try:
            yield peer
        finally:
            send_spans_to(None)
            sender.stop(10)


async def test_a_turn_with_calls_is_a_tree_of_spans_without_content(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch, peer: Peer
) -> None:
    offering.offer(monkeypatch, fetch, fails)
    turn, found = await answered(ada, backend, call("fetch", "zebra-call", key=KEY), call("fails", "yak-call", key="x"))
    assert KEY.upper() in str(found), "the premise: content went through this turn"
    got = peer.wait_for(lambda seen: "turn" in {span.name for span in seen})
    by_name = {name: [span for span in got if span.name == name] for name in ("turn", "sampling", "tool call")}
    [whole] = by_name["turn"]
    assert attributes_of(whole) == {
        "chatui.turn.id": str(turn.pk),
        "chatui.conversation.id": str(turn.conversation_id),
        "chatui.backend": backend.name,
        "chatui.turn.state": "completed",
        **({"gen_ai.usage.input_tokens": turn.input_tokens} if turn.input_tokens is not None else {}),
        **({"gen_ai.usage.output_tokens": turn.output_tokens} if turn.output_tokens is not None else {}),
    }
    assert len(by_name["sampling"]) == 2 and len(got) == 5
    assert all(attributes_of(span)["chatui.backend"] == backend.name for span in by_name["sampling"])
    calls = {attributes_of(span)["gen_ai.tool.name"]: attributes_of(span) for span in by_name["tool call"]}
    assert calls["fails"]["chatui.code"] == ProductCode.TOOL_FAILED.value and "chatui.code" not in calls["fetch"]
    assert all(span.parent_span_id == whole.span_id for span in got if span is not whole)
    for content in (KEY, KEY.upper(), "SECRET", "zebra-call", "ada", "Done.", "two and two", *(str(reply) for reply in found.values())):
        assert content.encode() not in peer.raw, content


def refused() -> BackendError:
    error = BackendError(ProductCode.BACKEND, "HTTP 401: what the server said").with_cause(Cause.FAILED, "HTTP 401")
    error.status = "401"
    return error


async def test_a_failing_server_is_recorded_by_its_code_and_status(ada: User, backend: ScriptedBackend, peer: Peer) -> None:
    backend.script = [refused()]
    await run(ada, ask(text="A question"))
    got = peer.wait_for(lambda seen: len(seen) == 2)
    attributes = {span.name: attributes_of(span) for span in got}
    assert attributes["sampling"]["chatui.code"] == attributes["turn"]["chatui.code"] == ProductCode.BACKEND.value
    assert attributes["sampling"]["chatui.model_server.status"] == "401" and attributes["turn"]["chatui.turn.state"] == "failed"
    assert b"what the server said" not in peer.raw


async def test_requests_for_titles_and_summaries_have_spans_of_their_own_without_content(backend: ScriptedBackend, peer: Peer) -> None:
    booked: list[str] = []
    request = SampleRequest((Frame(Header(Role.USER), KEY),))
    for what in ("title", "summary"):
        backend.script = answer("Words of a model")
        words = await sampling.text_of(backend, request, 100, lambda _, model: booked.append(model), what)
        assert words.strip() == "Words of a model", "the premise"
    backend.script = [refused()]
    with pytest.raises(BackendError):
        await sampling.text_of(backend, request, 100, lambda _, model: booked.append(model), "title")
    got = peer.wait_for(lambda seen: len(seen) == 3)
    assert [span.name for span in got] == ["title", "summary", "title"] and len(booked) == 3
    assert all(attributes_of(span)["chatui.backend"] == backend.name for span in got)
    assert (
        attributes_of(got[2])["chatui.code"] == ProductCode.BACKEND.value and attributes_of(got[2])["chatui.model_server.status"] == "401"
    )
    for content in (KEY, "Words of a model", "what the server said"):
        assert content.encode() not in peer.raw, content
