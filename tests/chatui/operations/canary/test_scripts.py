"""The scripted answers: what they hide stays hidden and what they show arrives, through the product's real backends."""

import httpx
import pytest

from renderer.harmony.vocabulary import Vocabulary, VocabularyError
from tests.support.canary import Canary
from tests.support.canary_runs import BAIT, Played, script, scripts, serving


@pytest.fixture(scope="module", params=["chat", "responses", "harmony", "chat-shapes", "responses-shapes", "harmony-shapes"])
def played(request: pytest.FixtureRequest, vocabulary: Vocabulary) -> Played:
    return Played(request.param, vocabulary)


@pytest.mark.slow
def test_nothing_that_a_script_hides_becomes_visible(played: Played) -> None:
    assert {name: found for name, done in played.outcomes.items() if (found := played.hidden.found(done.visible))} == {}
    assert not any(BAIT in done.visible for done in played.outcomes.values())


@pytest.mark.slow
def test_everything_that_a_script_shows_arrives(played: Played) -> None:
    for each in played.scripts:
        assert all(marker in played.outcomes[each.name].visible for marker in each.shows), each.name


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
def test_ids_without_a_label_are_shown(vocabulary: Vocabulary) -> None:
    played = Played("harmony-shapes", vocabulary, labels={"nothing": {}}, takes=lambda name: name.startswith("ids with"))
    [done] = played.outcomes.values()
    assert played.hidden.found(done.visible) == ["harmony-shapes: ids with the label nothing"]


@pytest.mark.slow
def test_every_script_has_a_name_of_its_own_and_an_end(played: Played) -> None:
    assert len({each.name for each in played.scripts}) == len(played.scripts)
    for each in played.scripts:
        done = played.outcomes[each.name]
        assert (done.error is None) or set(each.ends) & {"failed", "interrupted"} or not each.ends, each.name


@pytest.mark.parametrize("kind", ["harmony", "harmony-shapes"])
def test_without_the_vocabulary_nothing_is_planted_that_must_arrive(kind: str) -> None:
    visible = Canary()
    with pytest.raises(VocabularyError):
        scripts(kind, None, Canary(), visible)
    assert not visible.planted


def test_requests_without_the_secret_path_are_not_answered() -> None:
    with serving("chat", [script("one", b"hello", content_type="text/plain")]) as url:
        origin = url.rsplit("/", 2)[0]
        assert httpx.post(f"{url}/v1/chat/completions", json={"model": "one"}, trust_env=False).text == "hello"
        assert httpx.get(f"{url}/v1/models", trust_env=False).json()["data"][0]["id"] == "one"
        for other in (f"{origin}/chat", f"{origin}/{'0' * 32}/chat", origin):
            assert httpx.post(f"{other}/v1/chat/completions", json={"model": "one"}, trust_env=False).status_code == 404
            assert httpx.get(f"{other}/v1/models", trust_env=False).status_code == 404
