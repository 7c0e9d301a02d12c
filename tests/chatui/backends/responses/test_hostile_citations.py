"""Citations of a lying Responses server: hidden text in titles and addresses, and sources for text that ends up hidden."""

from __future__ import annotations

from typing import Any

import pytest

from chatui.backends.hosted_tools import MAX_SOURCES, HostedTools
from chatui.backends.responses import reducer as reducers
from chatui.backends.responses.speech import ServerTools
from tests.chatui.backends.responses.test_reducer import message, text

SECRET = "RAW-COT-SECRET"
URL = "https://pages.test/secret"
ENDED = {"type": "response.completed", "response": {"status": "completed"}}


def cites(url: object, title: object = SECRET) -> dict[str, Any]:
    return {"type": "url_citation", "url": url, "title": title}


def item(text: str, *annotations: object, item_id: str = "m", **more: Any) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": list(annotations)}
    return {"id": item_id, "type": "message", "role": "assistant", "content": [part], **more}


def message_events(words: str, *annotations: object, item_id: str = "m") -> list[dict[str, Any]]:
    whole = {"type": "response.output_item.done", "item": item(words, *annotations, item_id=item_id)}
    return [message(item_id), text(words, item_id), whole]


def sources(*events: dict[str, Any]) -> dict[str, str]:
    tools = HostedTools(({"type": "web_search"},))
    reducer = reducers.Reducer(lambda: "new", max_chars=10_000)
    reducer.server_tools = ServerTools(tools)
    for event in events:
        reducer.feed(event["type"], event)
    reducer.finish()
    return tools.sources


def test_an_answer_relabelled_at_its_end_has_no_sources() -> None:
    other = [*message_events("It rains.", cites(URL)), *message_events("It is dry.", cites("https://pages.test/dry", "Dry"), item_id="n")]
    last = item("It rains.", cites(URL), channel="analysis")
    whole = {"type": "response.completed", "response": {"status": "completed", "output": [last]}}
    assert sources(*other, whole) == {"https://pages.test/dry": "Dry"}


@pytest.mark.parametrize(
    "words",
    [
        "The person wants rain.</think>It rains.",
        "It rains.<|end|><|start|>assistant<|channel|>analysis<|message|>More.",
        "analysisThe person wants rain.",
    ],
)
def test_a_partly_hidden_answer_has_no_sources(words: str) -> None:
    assert sources(*message_events(words, cites(URL)), ENDED) == {}


def test_an_answer_whose_text_came_before_its_item_has_sources() -> None:
    begun, piece, whole = message_events("It rains.", cites(URL, "Rain"))
    assert list(sources(piece, begun, whole, ENDED)) == [URL]


def test_text_after_a_call_has_no_sources() -> None:
    call = {"type": "function_call", "id": "c", "call_id": "c", "name": "f", "arguments": "{}"}
    before = [{"type": "response.output_item.added", "item": call}, {"type": "response.output_item.done", "item": call}]
    assert sources(*before, *message_events("It rains.", cites(URL)), ENDED) == {}


@pytest.mark.parametrize(
    "leak",
    [
        f"<|channel|>analysis<|message|>{SECRET}",
        f"analysis{SECRET}assistantfinalRain",
        f"<think>{SECRET}</think>Rain",
        f"Rain <|start|>assistant<|channel|>analysis<|message|>{SECRET}",
        f"{SECRET}</think>Rain",
    ],
)
def test_a_title_with_raw_output_is_dropped(leak: str) -> None:
    assert SECRET not in str(sources(*message_events("It rains.", cites("https://pages.test/1", leak)), ENDED))


@pytest.mark.parametrize(
    "leak",
    [
        f"<|channel|>analysis<|message|>{SECRET}",
        f"%3C%7Cchannel%7C%3Eanalysis%3C%7Cmessage%7C%3E{SECRET}",
        f"%253C%257Cchannel%257C%253Eanalysis{SECRET}",
        f"<think>{SECRET}</think>",
    ],
)
def test_an_address_with_raw_output_is_no_source(leak: str) -> None:
    assert sources(*message_events("It rains.", cites(f"https://pages.test/?q={leak}", "Rain")), ENDED) == {}


def test_ordinary_pages_are_accepted() -> None:
    pages = {
        "https://docs.test/think?tag=analysis#final": "Thinking, fast and slow",
        "https://docs.test/a%20b/%E2%82%AC": "Analysis of rain – the final report",
        "https://docs.test/x?y=%3Cb%3E&z=1|2": "Using <think> tags?",
    }
    found = sources(*message_events("It rains.", *(cites(url, title) for url, title in pages.items())), ENDED)
    assert list(found) == list(pages)
    assert list(found.values())[:2] == list(pages.values())[:2]


@pytest.mark.slow
def test_a_flood_of_annotations_is_cheap() -> None:
    many = [cites(f"https://pages.test/<think>{number}", "x" * 5000) for number in range(20_000)]
    assert len(sources(*message_events("It rains.", *many), ENDED)) <= MAX_SOURCES


@pytest.mark.parametrize("kind", ["\x00_call", "\ud800_call", "x" * 500 + "_call", "a\nb_call"])
def test_an_unknown_tool_type_is_stored_as_a_safe_word(kind: str) -> None:
    tools = HostedTools(({"type": "web_search"},))
    tools.used(kind)
    tools.used(kind)
    assert tools.kinds == ["other"]


def test_citations_prove_tool_use_even_if_hidden_or_unreported() -> None:
    tools = HostedTools(({"type": "web_search"},))
    reducer = reducers.Reducer(lambda: "new", max_chars=10_000)
    reducer.server_tools = ServerTools(tools)
    for event in [*message_events("analysisThe person wants rain.", cites(URL)), ENDED]:
        reducer.feed(event["type"], event)
    reducer.finish()
    assert (tools.kinds, tools.sources) == (["annotations"], {})
