"""Tools that a Responses server runs itself: the request, the line users read, what stays hidden, and the sources."""

from dataclasses import replace
from itertools import chain
from typing import Any

import pytest

from chatui.backends import registry
from chatui.backends.base import Endpoint
from chatui.backends.hosted_tools import MAX_SOURCES, HostedTools
from chatui.backends.separation import Separation
from renderer.events import Assembler, FrameText
from renderer.frame_kinds import is_tool_line
from renderer.gate import Audience, may_see, show
from tests.backends.responses import added, done, message, text
from tests.chatui.backends.wire import BEGUN, ended, message_event, then
from tests.support import stub
from tests.support.raw_answers import over_responses
from tests.support.sampling import PATIENT, outcome, sample_request

SEARCH = {"type": "web_search"}
SECRET = "RAW-COT-SECRET"


def hosted() -> HostedTools:
    return HostedTools((SEARCH,))


def visible_frames(*events: dict[str, Any], tools: HostedTools | None) -> tuple[list[tuple[str, str]], str]:
    """The visible frames, each marked "line" or "text", and all hidden text."""
    assembler = Assembler()
    raws = chain(*over_responses(events, hosted=tools, separation=Separation.STRUCTURED))
    frames = [finished.frame for raw in raws if (finished := assembler.feed(raw))]
    shown = [frame for frame in frames if may_see(frame.header, Audience.END_USER)]
    hidden = "".join(frame.body for frame in frames if frame not in shown)
    return [("line" if is_tool_line(frame.header) else "text", show(frame, Audience.END_USER)) for frame in shown], hidden


def answer(*annotations: dict[str, Any], item_id: str = "m", **more: Any) -> list[dict[str, Any]]:
    part = {"type": "output_text", "text": "It rains.", "annotations": list(annotations)}
    return [message(item_id, **more), text("It rains.", item_id), done("message", item_id, role="assistant", content=[part], **more)]


def cites(url: object, title: object = "A page") -> dict[str, Any]:
    return {"type": "url_citation", "url": url, "title": title, "start_index": 0, "end_index": 8}


@pytest.mark.parametrize(
    ("kind", "action", "line"),
    [
        ("web_search_call", {"type": "search", "query": SECRET}, "Searching the web"),
        ("web_search_call", {"type": "open_page", "url": SECRET}, "Reading a web page"),
        *(("web_search_call", {"type": step}, "Reading a web page") for step in ("open", "find", "find_in_page")),
        ("web_search_call", "open_page", "Searching the web"),
        ("mcp_call", {"type": "open_page"}, "Using a tool of the model server"),
        ("image_generation_call", None, "Making a picture at the model server"),
        ("code_interpreter_call", None, "Running code at the model server"),
        ("file_search_call", None, "Searching files of the model server"),
        ("mcp_call", None, "Using a tool of the model server"),
        ("tool_of_next_year_call", {"type": SECRET}, "Using a tool of the model server"),
    ],
)
def test_people_read_one_line_in_our_words_and_staff_find_the_details(kind: str, action: Any, line: str) -> None:
    item = {"action": action, "code": SECRET, "name": SECRET, "arguments": SECRET, "queries": [SECRET], "output": SECRET}
    tools = hosted()
    shown, hidden = visible_frames(added(kind, "t", **item), done(kind, "t", **item), *answer(), tools=tools)
    assert shown == [("line", line), ("text", "It rains.")]
    assert SECRET in hidden
    assert tools.kinds == [kind]


@pytest.mark.parametrize("kind", ["web_search_call", "mcp_call", "reasoning", "mcp_list_tools", SECRET])
def test_without_such_tools_nothing_is_announced(kind: str) -> None:
    shown, _ = visible_frames(added(kind, "t"), done(kind, "t", query=SECRET), *answer(cites("https://a.test/")), tools=None)
    assert shown == [("text", "It rains.")]


@pytest.mark.parametrize(
    "kind", ["function_call", "custom_tool_call", "computer_call", "local_shell_call", "mcp_list_tools", "mcp_approval_request"]
)
def test_calls_the_server_does_not_run_are_not_announced(kind: str) -> None:
    tools = hosted()
    shown, _ = visible_frames(added(kind, "t", name="x"), done(kind, "t", name="x"), *answer(), tools=tools)
    assert [one for one in shown if one[0] == "line"] == [] and tools.kinds == []


def test_a_line_comes_before_the_answer_and_never_within_it() -> None:
    opening, _, ended_message = answer()
    shown, _ = visible_frames(opening, text("It "), added("web_search_call", "t"), text("rains."), ended_message, tools=hosted())
    assert [kind for kind, _ in shown] == ["text", "line"]


def test_many_calls_give_few_lines() -> None:
    calls = [added("web_search_call", f"t{number}") for number in range(200)]
    shown, _ = visible_frames(*calls, *answer(), tools=hosted())
    assert len(shown) == 31


def test_cited_pages_are_sources_without_duplicates() -> None:
    tools = hosted()
    visible_frames(
        *answer(cites("https://a.test/x", "  A\npage "), cites("https://a.test/x"), cites("http://b.test/", "\u202eB")), tools=tools
    )
    assert tools.sources == {"https://a.test/x": "A page", "http://b.test/": "B"}


@pytest.mark.parametrize(
    "annotation",
    [
        cites("javascript:alert(1)"), cites("data:text/html,x"), cites("/c/1/"), cites("https://"), cites("https://ada:secret@a.test/"),
        cites("https://a.test/\u202e"), cites("https://a.test/" + "x" * 3000), cites(7), cites(None), cites("https://[::1"),
        {"type": "file_citation", "url": "https://a.test/"}, {"url": "https://a.test/"},
    ],
)  # fmt: skip
def test_nothing_else_is_a_source(annotation: dict[str, Any]) -> None:
    tools = hosted()
    visible_frames(*answer(annotation), tools=tools)
    assert tools.sources == {}


def test_the_number_of_sources_is_limited() -> None:
    tools = hosted()
    visible_frames(*answer(*(cites(f"https://a.test/{number}", "x" * 9999) for number in range(500))), tools=tools)
    assert len(tools.sources) == MAX_SOURCES and {len(title) for title in tools.sources.values()} == {200}


@pytest.mark.parametrize("labels", [{"role": "tool"}, {"phase": "commentary"}, {"phase": "secret"}, {"channel": "analysis"}])
def test_hidden_text_cites_nothing(labels: dict[str, Any]) -> None:
    tools = hosted()
    events = answer(cites("https://a.test/", SECRET))
    for event in (events[0], events[-1]):
        event["item"].update(labels)
    visible_frames(*events, tools=tools)
    assert tools.sources == {}


async def test_tools_are_sent_as_configured_and_only_if_requested() -> None:
    async with stub.running(then(BEGUN, message_event("Hi"), ended())) as server:
        backend = registry.build(Endpoint(server.url, limits=PATIENT), kind="responses")
        code = {"type": "code_interpreter", "container": {"type": "auto"}}
        await outcome(backend, replace(sample_request("Hello!"), hosted=HostedTools((SEARCH, code))))
        with_tools = server.posted
        await outcome(backend, sample_request("Hello!"))
        await backend.aclose()
    assert with_tools["tools"] == [SEARCH, code] and "include" not in with_tools
    assert "tools" not in server.posted


def test_a_tool_is_announced_as_soon_as_it_begins_and_only_once() -> None:
    for times in (1, 2):
        begun, _ = over_responses([added("web_search_call", "t")] * times, hosted=hosted(), separation=Separation.STRUCTURED)
        assert [event.text for event in begun if isinstance(event, FrameText)] == ["Searching the web"]


def test_a_type_that_is_no_text_is_no_tool() -> None:
    tools = hosted()
    items: list[dict[str, Any]] = [{}, {"type": 5}, {"type": "web_search"}, {"type": None}]
    events = [{"type": f"response.output_item.{at}", "item": item} for item in items for at in ("added", "done")]
    shown, _ = visible_frames(*events, ENDED, tools=tools)
    assert not shown and not tools.kinds


def test_the_annotations_of_the_whole_message_count_more_than_earlier_ones() -> None:
    tools = hosted()
    again = done("message", "m", role="assistant", content=[{"type": "output_text", "text": "It rains.", "annotations": []}])
    visible_frames(*answer(cites("https://a.test/")), again, tools=tools)
    assert (tools.sources, tools.kinds) == ({}, ["annotations"])


# Citations of a lying Responses server: hidden text in titles and addresses, and sources for text that ends up hidden.


URL = "https://pages.test/secret"
ENDED = {"type": "response.completed", "response": {"status": "completed"}}


def cites_secretly(url: object, title: object = SECRET) -> dict[str, Any]:
    return {"type": "url_citation", "url": url, "title": title}


def item(text: str, *annotations: object, item_id: str = "m", **more: Any) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": list(annotations)}
    return {"id": item_id, "type": "message", "role": "assistant", "content": [part], **more}


def message_events(words: str, *annotations: object, item_id: str = "m") -> list[dict[str, Any]]:
    whole = {"type": "response.output_item.done", "item": item(words, *annotations, item_id=item_id)}
    return [message(item_id), text(words, item_id), whole]


def sources(*events: dict[str, Any]) -> dict[str, str]:
    tools = HostedTools(({"type": "web_search"},))
    over_responses(events, hosted=tools)
    return tools.sources


def test_an_answer_relabelled_at_its_end_has_no_sources() -> None:
    other = [
        *message_events("It rains.", cites_secretly(URL)),
        *message_events("It is dry.", cites_secretly("https://pages.test/dry", "Dry"), item_id="n"),
    ]
    last = item("It rains.", cites_secretly(URL), channel="analysis")
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
    assert sources(*message_events(words, cites_secretly(URL)), ENDED) == {}


def test_an_answer_whose_text_came_before_its_item_has_sources() -> None:
    begun, piece, whole = message_events("It rains.", cites_secretly(URL, "Rain"))
    assert list(sources(piece, begun, whole, ENDED)) == [URL]


def test_text_after_a_call_has_no_sources() -> None:
    call = {"type": "function_call", "id": "c", "call_id": "c", "name": "f", "arguments": "{}"}
    before = [{"type": "response.output_item.added", "item": call}, {"type": "response.output_item.done", "item": call}]
    assert sources(*before, *message_events("It rains.", cites_secretly(URL)), ENDED) == {}


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
    assert SECRET not in str(sources(*message_events("It rains.", cites_secretly("https://pages.test/1", leak)), ENDED))


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
    assert sources(*message_events("It rains.", cites_secretly(f"https://pages.test/?q={leak}", "Rain")), ENDED) == {}


def test_ordinary_pages_are_accepted() -> None:
    pages = {
        "https://docs.test/think?tag=analysis#final": "Thinking, fast and slow",
        "https://docs.test/a%20b/%E2%82%AC": "Analysis of rain – the final report",
        "https://docs.test/x?y=%3Cb%3E&z=1|2": "Using <think> tags?",
    }
    found = sources(*message_events("It rains.", *(cites_secretly(url, title) for url, title in pages.items())), ENDED)
    assert list(found) == list(pages)
    assert list(found.values())[:2] == list(pages.values())[:2]


@pytest.mark.parametrize("kind", ["\x00_call", "\ud800_call", "x" * 500 + "_call", "a\nb_call"])
def test_an_unknown_tool_type_is_stored_as_a_safe_word(kind: str) -> None:
    tools = HostedTools(({"type": "web_search"},))
    tools.used(kind)
    tools.used(kind)
    assert tools.kinds == ["other"]


def test_citations_prove_tool_use_even_if_hidden_or_unreported() -> None:
    tools = HostedTools(({"type": "web_search"},))
    over_responses([*message_events("analysisThe person wants rain.", cites_secretly(URL)), ENDED], hosted=tools)
    assert (tools.kinds, tools.sources) == (["annotations"], {})
