"""The scripted answers: what they hide stays hidden and what they show arrives, through the product's real backends."""

import asyncio
import random
from typing import Any

import pytest

from chatui.backends import registry
from chatui.backends.base import Endpoint, SampleRequest
from chatui.operations.canary import answers
from chatui.operations.canary.answers import SERVERS
from chatui.operations.canary.peer import CanaryServer
from chatui.operations.canary.scripts import Planter, Script
from chatui.operations.canary.watch import Canary
from renderer.frames import Frame, Header
from renderer.harmony.vocabulary import Vocabulary, VocabularyError
from tests.support.sampling import PATIENT, Outcome, outcome

BAIT = "bcdflbcdflbcdf"


SOME = 80
"""Of the shapes, and of the labels with an answer of their own; ``make attack`` plays all of them through a whole deployment."""


class Played:
    """Every script of one server, sampled once, with what was planted in it."""

    def __init__(self, kind: str, vocabulary: Vocabulary) -> None:
        self.hidden, self.visible = Canary(), Canary()
        self.scripts = SERVERS[kind].scripts(planter(kind, vocabulary, self.hidden, self.visible))
        with CanaryServer(("127.0.0.1", 0), {kind: self.scripts}) as peer:
            peer.release()
            self.outcomes = {script.name: asyncio.run(sampled(peer.url(kind), kind, script, vocabulary)) for script in self.scripts}


def planter(kind: str, vocabulary: Vocabulary, hidden: Canary, visible: Canary) -> Planter:
    return Planter(kind, hidden, visible, BAIT, random.Random(11), SOME, lambda: vocabulary)


async def sampled(url: str, kind: str, script: Script, vocabulary: Vocabulary) -> Outcome:
    request = SampleRequest((Frame(Header("user"), "What is hidden?"),), model=script.name)
    needed: dict[str, Any] = {"vocabulary": lambda: vocabulary} if kind.startswith("harmony") else {}
    backend = registry.KINDS[SERVERS[kind].kind](Endpoint(url, limits=PATIENT), **needed)
    try:
        return await outcome(backend, request)
    finally:
        await backend.aclose()


@pytest.fixture(scope="module", params=["chat", "responses", "harmony", "chat-shapes", "responses-shapes", "harmony-shapes"])
def played(request: pytest.FixtureRequest, vocabulary: Vocabulary) -> Played:
    return Played(request.param, vocabulary)


@pytest.mark.slow
def test_nothing_that_a_script_hides_becomes_visible(played: Played) -> None:
    assert {name: found for name, done in played.outcomes.items() if (found := played.hidden.found(done.visible))} == {}
    assert not any(BAIT in done.visible for done in played.outcomes.values())


@pytest.mark.slow
def test_everything_that_a_script_shows_arrives(played: Played) -> None:
    for script in played.scripts:
        assert all(marker in played.outcomes[script.name].visible for marker in script.shows), script.name


@pytest.mark.slow
def test_the_product_takes_the_hidden_text_in_where_it_could_leak_from_there(played: Played) -> None:
    """A server whose hidden fields were simply not read would test nothing."""
    for name, done in played.outcomes.items():
        if name.startswith("ids with"):
            # A label that is none of an assistant's ends the sample. That the text would be shown without it is tested below.
            assert done.error and "calls what it sends something else" in done.error.detail
            continue
        details = done.error.detail if done.error else ""
        headers = " ".join(str(finished.frame.header) for finished in done.finished)
        assert played.hidden.found(done.hidden, details, headers), name


@pytest.mark.slow
def test_ids_without_a_label_are_shown(vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "LABELS", {"nothing": {}})
    hidden = Canary()
    script, *_ = answers.harmony_shapes(planter("harmony", vocabulary, hidden, Canary()))
    with CanaryServer(("127.0.0.1", 0), {"harmony": [script]}) as peer:
        peer.release()
        done = asyncio.run(sampled(peer.url("harmony"), "harmony", script, vocabulary))
    assert hidden.found(done.visible) == ["harmony: ids with the label nothing"]


@pytest.mark.slow
def test_every_script_has_a_name_of_its_own_and_an_end(played: Played) -> None:
    assert len({script.name for script in played.scripts}) == len(played.scripts)
    for script in played.scripts:
        done = played.outcomes[script.name]
        assert (done.error is None) or set(script.ends) & {"failed", "interrupted"} or not script.ends, script.name


@pytest.mark.parametrize("kind", ["harmony", "harmony-shapes"])
def test_without_the_vocabulary_nothing_is_planted_that_must_arrive(kind: str) -> None:
    def missing() -> Vocabulary:
        raise VocabularyError("it is not on this machine")

    visible = Canary()
    with pytest.raises(VocabularyError):
        SERVERS[kind].scripts(Planter(kind, Canary(), visible, BAIT, random.Random(11), SOME, missing))
    assert not visible.planted


def test_requests_without_the_secret_path_are_not_answered() -> None:
    import httpx

    script = Script("one", (b"hello",), content_type="text/plain")
    with CanaryServer(("127.0.0.1", 0), {"chat": [script]}) as peer:
        peer.release()
        url = peer.url("chat")
        origin = url.rsplit("/", 2)[0]
        assert httpx.post(f"{url}/v1/chat/completions", json={"model": "one"}, trust_env=False).text == "hello"
        assert httpx.get(f"{url}/v1/models", trust_env=False).json()["data"][0]["id"] == "one"
        for other in (f"{origin}/chat", f"{origin}/{'0' * 32}/chat", origin):
            assert httpx.post(f"{other}/v1/chat/completions", json={"model": "one"}, trust_env=False).status_code == 404
            assert httpx.get(f"{other}/v1/models", trust_env=False).status_code == 404
