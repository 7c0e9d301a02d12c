"""How each message of another product's export is read: what people see of it, what is hidden, and what is counted as left out."""

from collections.abc import Callable
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

import pytest

from chatui.transfer.other_products.conversation_tree import DroppedKind
from renderer.frame_kinds import ANSWER
from renderer.gate import Audience, may_see
from tests.chatui.transfer.other_products.samples import gpt_mapping, gpt_message, read
from tests.support.cases import for_each

BY_NAME = attrgetter("name")
Expected = tuple[list[str], list[str], list[DroppedKind]]
"""The visible texts, the hidden texts, and what was counted."""


def result(exported: Any) -> Expected:
    shown, hidden = list[str](), list[str]()
    for node in exported.nodes:
        for frame in node.frames:
            (shown if may_see(frame.header, Audience.END_USER) else hidden).append(frame.body)
    return shown, hidden, sorted(exported.left_out.elements(), key=BY_NAME)


def shows(text: str, *kinds: DroppedKind) -> Expected:
    return [text], [], sorted(kinds, key=BY_NAME)


def hides(kind: DroppedKind, text: str = "words") -> Expected:
    return [], [text], [kind]


def nothing(*kinds: DroppedKind) -> Expected:
    return [], [], sorted(kinds, key=BY_NAME)


def of_chatgpt(message: Any) -> Any:
    return read({"mapping": {"a": {"message": message, "parent": None}}})


def gpt(role: str = "assistant", **more: Any) -> dict[str, Any]:
    return gpt_message(role, "words", **more)


def without(message: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in message.items() if key != name}


MARKS = ("is_visually_hidden_from_conversation", "is_user_system_message", "is_contextual_answers_message")


@for_each(
    [
        (gpt("user"), shows("words")),
        (gpt(), shows("words")),
        (gpt(channel="final"), shows("words")),
        (gpt("user", channel="final"), hides(DroppedKind.HIDDEN)),
        (gpt(channel="commentary"), hides(DroppedKind.HIDDEN)),
        (gpt(channel="analysis"), hides(DroppedKind.REASONING)),
        (gpt(channel="analysis", recipient="python"), hides(DroppedKind.TOOL_CALL)),
        (gpt(recipient="python"), hides(DroppedKind.TOOL_CALL)),
        (gpt(recipient=None), hides(DroppedKind.TOOL_CALL)),
        (gpt(kind="code"), hides(DroppedKind.TOOL_CALL)),
        (gpt(kind="thoughts"), hides(DroppedKind.REASONING)),
        (gpt(kind="reasoning_recap"), hides(DroppedKind.REASONING)),
        (gpt("user", kind="user_editable_context"), hides(DroppedKind.INSTRUCTIONS)),
        (gpt(kind="model_editable_context"), hides(DroppedKind.INSTRUCTIONS)),
        (gpt("system"), hides(DroppedKind.INSTRUCTIONS)),
        (gpt("tool"), hides(DroppedKind.TOOL_RESULT)),
        (gpt(kind="something_new"), hides(DroppedKind.HIDDEN)),
        *((gpt(metadata={mark: True}), hides(DroppedKind.HIDDEN)) for mark in MARKS),
        *((gpt(metadata={mark: 0}), hides(DroppedKind.HIDDEN)) for mark in MARKS),
        (gpt(metadata=dict.fromkeys(MARKS[:2], False) | {MARKS[2]: None}), shows("words")),
        (gpt(metadata=None), hides(DroppedKind.HIDDEN)),
        (without(gpt(), "metadata"), shows("words")),
        *((gpt(weight=weight), hides(DroppedKind.HIDDEN)) for weight in (0, 0.0, -1, None, "1")),
        (gpt(weight=0.5), shows("words")),
        (without(gpt(), "weight"), shows("words")),
        (gpt("oracle"), nothing(DroppedKind.UNREADABLE)),
        (gpt(kind=""), nothing(DroppedKind.UNREADABLE)),
        (without(gpt(), "author"), nothing(DroppedKind.UNREADABLE)),
        ("words", nothing(DroppedKind.UNREADABLE)),
        (None, nothing()),
    ]
)
def test_a_message_of_chatgpt(message: Any, expected: Expected) -> None:
    assert result(of_chatgpt(message)) == expected


@for_each([("finished_successfully", True), ("", True), (None, True), ("in_progress", False), ("finished_partial_completion", False)])
def test_an_answer_of_chatgpt_is_complete_if_it_was_finished_there(status: Any, is_complete: bool) -> None:
    [node] = of_chatgpt(gpt(status=status)).nodes
    assert node.is_complete == is_complete


def part(kind: str, **more: str) -> dict[str, str]:
    return {"content_type": kind, **more}


@for_each(
    [
        (gpt_message("user", "one", "two", kind="multimodal_text"), shows("one\n\ntwo")),
        (gpt_message("user", part("image_asset_pointer"), "two", kind="multimodal_text"), shows("two", DroppedKind.IMAGE)),
        (gpt_message("user", part("audio_asset_pointer"), "two", kind="multimodal_text"), shows("two", DroppedKind.RECORDING)),
        (gpt_message("user", part("real_time_user_audio_video_asset_pointer"), "x"), shows("x", DroppedKind.RECORDING)),
        (gpt_message("user", part("video_container"), "two"), shows("two", DroppedKind.RECORDING)),
        (gpt_message("user", part("file_pointer"), "two"), shows("two", DroppedKind.FILE)),
        (gpt_message("user", "two", part("image_asset_pointer"), part("x")), shows("two", DroppedKind.IMAGE, DroppedKind.UNKNOWN_PART)),
        (gpt_message("user", part("new", text="secret"), "two"), shows("two", DroppedKind.UNKNOWN_PART)),
        (gpt_message("user", part("audio_transcription", text="spoken"), "two"), shows("spoken\n\ntwo")),
        (gpt_message("tool", part("image_asset_pointer"), "made"), ([], ["made"], [DroppedKind.IMAGE, DroppedKind.TOOL_RESULT])),
        (gpt_message("assistant", part("image_asset_pointer"), "made", weight=0), hides(DroppedKind.HIDDEN, "made")),
        (gpt_message("assistant", "See\ue200cite\ue202turn0\ue201 it\ue202."), shows("See it.", DroppedKind.CITATION)),
        (gpt_message("user", " \n"), nothing()),
    ]
)
def test_the_parts_of_a_message_of_chatgpt(message: Any, expected: Expected) -> None:
    assert result(of_chatgpt(message)) == expected


def test_a_message_of_chatgpt_is_below_its_parent() -> None:
    found = read({"mapping": gpt_mapping(gpt("user"), gpt()) | {"x": {"message": gpt(), "parent": ""}}, "current_node": "n0"})
    assert [(node.key, node.parent) for node in found.nodes] == [("root", None), ("n0", "root"), ("n1", "n0"), ("x", None)]
    assert found.current == "n0"


def test_a_hidden_message_of_chatgpt_is_stored_with_all_of_its_text() -> None:
    names = {"language": "python", "response_format_name": "a-format", "text": "print(1)", "other": 7}
    call = gpt_message("assistant", kind="code", recipient="python", content=names)
    assert result(of_chatgpt(call)) == hides(DroppedKind.TOOL_CALL, "print(1)")
    thoughts = [{"content_type": "thought", "summary": "gist", "content": "whole"}, "bare"]
    thought = gpt_message("assistant", "a part", part("x", text="of a part"), kind="thoughts", content={"thoughts": thoughts})
    assert result(of_chatgpt(thought)) == hides(DroppedKind.REASONING, "a part\n\nof a part\n\ngist\n\nwhole\n\nbare")


def of_open_webui(*messages: Any, **chat: Any) -> Any:
    """A conversation with the messages under one another, each with its place in the list as its key."""
    keys = [str(number) for number in range(len(messages))]
    rows = [message | {"parentId": key and str(int(key) - 1)} for key, message in zip(["", *keys[1:]], messages, strict=True)]
    history: Any = {"messages": dict(zip(keys, rows, strict=True)), "currentId": keys[-1]}
    return read({"title": "outer", "chat": {"history": history, **chat}})


def webui(role: Any = "assistant", content: Any = "words", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


@for_each(
    [
        (webui("user"), shows("words")),
        (webui(), shows("words")),
        *((webui(role), hides(DroppedKind.INSTRUCTIONS)) for role in ("system", "developer")),
        *((webui(role), hides(DroppedKind.TOOL_RESULT)) for role in ("tool", "function")),
        *((webui(role), nothing(DroppedKind.UNREADABLE)) for role in ("", "oracle", None)),
        *((webui(role, hidden=True), hides(DroppedKind.HIDDEN)) for role in ("user", "assistant")),
        *((webui(hidden=mark), hides(DroppedKind.HIDDEN)) for mark in list[Any]([True, "yes", 0, "", []])),
        *((webui(hidden=mark), shows("words")) for mark in (False, None)),
        (webui(visible=False), hides(DroppedKind.REASONING)),
        (webui("user", visible=False), hides(DroppedKind.HIDDEN)),
        *((webui(role, visible=mark), shows("words")) for role in ("user", "assistant") for mark in (True, None)),
        (webui(metadata={"channel": "final"}), shows("words")),
        *((webui(**{name: "why"}), (["words"], ["why"], [DroppedKind.REASONING])) for name in ("reasoning", "reasoning_content")),
        (webui(reasoning="one", reasoning_content="other"), (["words"], ["other"], [DroppedKind.REASONING])),
        (webui(tool_calls=[{}, {}]), shows("words", DroppedKind.TOOL_CALL, DroppedKind.TOOL_CALL)),
        (
            webui("user", files=[{"type": "image"}, {"type": "file"}, "x"]),
            shows("words", DroppedKind.IMAGE, DroppedKind.FILE, DroppedKind.FILE),
        ),
        (
            webui("user", [{"type": "text", "text": "one"}, {"type": "image_url"}, {"type": "image"}, {"type": "x", "text": "y"}]),
            shows("one", DroppedKind.IMAGE, DroppedKind.IMAGE, DroppedKind.UNKNOWN_PART),
        ),
        (webui("user", None), nothing()),
        (webui("user", 7), nothing(DroppedKind.UNREADABLE)),
        (webui("user", {"text": "words"}), nothing(DroppedKind.UNREADABLE)),
    ]
)
def test_a_message_of_open_webui(message: Any, expected: Expected) -> None:
    assert result(of_open_webui(message)) == expected


def test_instructions_in_the_settings_of_open_webui_are_counted() -> None:
    for chat in ({"params": {"system": "order"}}, {"system": "order"}, {"params": {"system": "order"}, "system": "another"}):
        assert result(of_open_webui(webui(), **chat)) == shows("words", DroppedKind.INSTRUCTIONS)


def test_an_old_export_of_open_webui_has_its_messages_in_a_list() -> None:
    listed: Any = [webui("user", "one"), webui(content="two", done=False), webui("user", "three")]
    found = read({"chat": {"messages": listed, "title": "t"}})
    assert [(node.key, node.parent, node.is_complete) for node in found.nodes] == [("0", None, True), ("1", "0", False), ("2", "1", True)]
    assert found.current == "2" and result(found)[0] == ["one", "two", "three"]
    assert read({"chat": {"messages": []}}).current == ""


def test_the_titles_models_and_times_of_open_webui_have_several_places() -> None:
    first, second = 1_700_000_000, 1_700_000_100
    found = of_open_webui(webui("user", timestamp=first), webui(done=False), title="inner", models=["m", "n"], timestamp=second)
    assert (found.title, found.model, found.current) == ("inner", "m", "1")
    assert (found.created_at, found.active_at) == (datetime.fromtimestamp(second, UTC), None)
    assert [(node.parent, node.is_complete, node.at) for node in found.nodes] == [
        (None, True, datetime.fromtimestamp(first, UTC)),
        ("0", False, None),
    ]
    history: Any = {"messages": {"a": webui("user"), "b": webui(), "c": webui()}, "currentId": "b"}
    whole = read({"created_at": first, "updated_at": second, "chat": {"history": history, "timestamp": second}})
    assert whole.current == "b", "not the last one in the file"
    assert (whole.created_at, whole.active_at) == (datetime.fromtimestamp(first, UTC), datetime.fromtimestamp(second, UTC))
    plain = of_open_webui(webui())
    assert (plain.title, plain.model, plain.created_at) == ("outer", "", None)


def of_deepseek(*messages: Any) -> Any:
    return read({"mapping": {str(number): {"parent": None, "message": message} for number, message in enumerate(messages)}})


def of_librechat(*messages: Any, **more: Any) -> Any:
    return read({"conversationId": "x", "messages": list(messages), **more})


def libre(by_user: Any = False, **more: Any) -> dict[str, Any]:
    return {"messageId": "1", "isCreatedByUser": by_user, "sender": "gpt-oss", "text": "words", **more}


def content(*parts: dict[str, Any]) -> dict[str, Any]:
    return libre(content=list(parts))


@for_each(
    [
        (libre(True), shows("words")),
        (libre(), shows("words")),
        *((libre(by_user), nothing(DroppedKind.UNREADABLE)) for by_user in (None, "true", 1)),
        (libre(error=True), nothing(DroppedKind.UNREADABLE)),
        (libre(error=False), shows("words")),
        *((libre(sender=sender), hides(DroppedKind.INSTRUCTIONS)) for sender in ("system", "System", "DEVELOPER")),
        (
            libre(True, files=[{"type": "image/png"}, {"type": "application/pdf"}, {}]),
            shows("words", DroppedKind.IMAGE, DroppedKind.FILE, DroppedKind.FILE),
        ),
        (
            libre(attachments=[{"type": "image_gen"}, {"type": "web_search"}, {}]),
            shows("words", DroppedKind.IMAGE, DroppedKind.FILE, DroppedKind.FILE),
        ),
        (content({"type": "text", "text": "one"}, {"type": "output_text", "text": {"value": "two"}}), shows("one\n\ntwo")),
        *((content({"type": kind, kind: "why"}), hides(DroppedKind.REASONING, "why")) for kind in ("think", "thinking", "reasoning")),
        (content({"type": "think", "text": {"value": "why"}}), hides(DroppedKind.REASONING, "why")),
        (
            content({"type": "tool_call", "tool_call": {"name": "find", "args": "x", "output": "y"}}),
            ([], ["find\n\nx", "y"], [DroppedKind.TOOL_CALL, DroppedKind.TOOL_RESULT]),
        ),
        (
            content({"type": "image_url"}, {"type": "image_file"}, {"type": "agent_update"}),
            nothing(DroppedKind.IMAGE, DroppedKind.IMAGE, DroppedKind.UNKNOWN_PART),
        ),
        (libre(content=[]), shows("words")),
        (
            libre(text='[{"type": "think", "think": "why"}, {"type": "text", "text": "words"}]'),
            (["words"], ["why"], [DroppedKind.REASONING]),
        ),
        *(
            (libre(text=text), hides(DroppedKind.REASONING, text))
            for text in (
                "[{'type': 'think', 'think': 'why'}, {'type': 'text', 'text': 'words'}]",
                '[{"type":"thinking","thinking":"wh',
                '[{"type": "text", "text": "words"}, {"type": "think", "think": "why"},]',
                '\n[ {"id": 1, "type": "think", "think": "why"}] and words',
            )
        ),
        (libre(True, text='[{"type": "think", "think": "why"}]'), shows('[{"type": "think", "think": "why"}]')),
        (libre(text='A part is `[{"type": "think"}]` there.'), shows('A part is `[{"type": "think"}]` there.')),
    ]
)
def test_a_message_of_librechat(message: Any, expected: Expected) -> None:
    assert result(of_librechat(message)) == expected


@pytest.mark.parametrize("name", ["promptPrefix", "system", "instructions", "additional_instructions"])
def test_instructions_in_the_settings_of_librechat_are_counted(name: str) -> None:
    assert result(of_librechat(libre(), options={name: "order"})) == shows("words", DroppedKind.INSTRUCTIONS)


def test_the_models_and_times_of_librechat_are_those_of_its_messages_if_nothing_else_says_them() -> None:
    rows = [libre(True), libre(model="m", createdAt="2024-01-02T10:00:09Z"), libre(model="n", createdAt="2024-01-02T09:00:00Z")]
    found = of_librechat(*rows, title="t")
    assert (found.title, found.model) == ("t", "m") and of_librechat(*rows, options={"model": "o"}).model == "o"
    assert (found.created_at, found.active_at) == (datetime(2024, 1, 2, 9, tzinfo=UTC), datetime(2024, 1, 2, 10, 0, 9, tzinfo=UTC))
    assert (of_librechat(libre()).model, of_librechat(libre()).created_at, of_librechat(libre()).active_at) == ("", None, None)
    assert [node.is_complete for node in of_librechat(libre(), libre(unfinished=True), libre(unfinished=False)).nodes] == [
        True,
        False,
        True,
    ]


def test_a_message_of_librechat_is_below_the_one_that_contains_or_names_it() -> None:
    leaf = libre(messageId="c", parentMessageId="elsewhere")
    found = read(
        {
            "conversationId": "x",
            "messagesTree": [libre(messageId="a", children=[libre(messageId="b", children=[leaf])]), libre(messageId="d")],
        }
    )
    assert [(node.key, node.parent) for node in found.nodes] == [("a", None), ("b", "a"), ("c", "b"), ("d", None)]
    listed = of_librechat(libre(messageId="a"), libre(messageId="b", parentMessageId="a"), libre(messageId="", parentMessageId=""))
    assert [(node.key, node.parent) for node in listed.nodes] == [("a", None), ("b", "a"), ("", None)], (
        "one without an id is not its own parent"
    )


@for_each([(of_chatgpt, gpt("user"), gpt()), (of_open_webui, webui("user"), webui()), (of_librechat, libre(True), libre())])
def test_words_of_a_person_are_a_question_and_those_of_a_model_an_answer(read: Callable[[Any], Any], asked: Any, answered: Any) -> None:
    [question], [answer] = ([frame.header for node in read(each).nodes for frame in node.frames] for each in (asked, answered))
    assert (question.role, question.channel) == ("user", None) and (answer.role, answer.channel) == ("assistant", "final")


def test_what_is_taken_for_a_conversation_of_which_product() -> None:
    values: list[Any] = [
        {"mapping": {}},
        {"mapping": []},
        {"chat": {"history": {"messages": {}}}},
        {"chat": {"messages": []}},
        {"chat": {"history": {"messages": []}}},
        {"chat": {}},
        {"conversationId": "x", "messages": []},
        {"conversationId": "x", "messagesTree": []},
        {"conversationId": "x", "messages": [], "header": {}},
        {"messages": []},
        {"conversationId": "x"},
    ]
    taken = ["" if isinstance(each := read(value), DroppedKind) else each.source for value in values]
    assert taken == ["chatgpt", "", "open_webui", "open_webui", "", "", "librechat", "librechat", "", "", ""]


LABELS: list[dict[str, Any]] = [{"channel": "analysis"}, {"phase": "commentary"}, {"thought": True}, {"is_thinking": True}]


@for_each(LABELS)
def test_an_answer_that_is_labelled_as_reasoning_is_hidden_as_at_a_model_server(label: dict[str, Any]) -> None:
    assert result(of_open_webui(webui(**label))) == hides(DroppedKind.REASONING)
    assert result(of_open_webui(webui(metadata=label))) == hides(DroppedKind.REASONING)
    assert result(of_librechat(libre(text="words", **label))) == hides(DroppedKind.REASONING)
    assert result(of_librechat(libre(text="words", metadata=label))) == hides(DroppedKind.REASONING)
    assert result(of_chatgpt(gpt(metadata=label))) == hides(DroppedKind.HIDDEN)
    assert result(of_deepseek({"fragments": [{"type": "RESPONSE", "content": "words"}], **label})) == hides(DroppedKind.REASONING)
    drawn = {**artifact(title="T", content="words"), **label}
    assert result(of_claude("assistant", drawn)) == hides(DroppedKind.TOOL_CALL, "artifacts\n\nT\n\nwords")
    part = {"type": "text", "text": "words", **label}
    assert result(of_open_webui(webui(content=[part])))[0] == result(of_librechat(libre(content=[part])))[0] == []


def test_an_answer_whose_author_is_named_for_reasoning_is_hidden_and_a_model_of_that_name_answers() -> None:
    assert result(of_chatgpt(gpt(author={"role": "assistant", "name": "analysis"}))) == hides(DroppedKind.HIDDEN)
    assert result(of_chatgpt(gpt(author={"role": "assistant", "name": "Ada"}))) == shows("words")
    assert result(of_librechat(libre(text="words", sender="Thinking"))) == hides(DroppedKind.REASONING)
    assert result(of_librechat(libre(text="words", sender="our-reasoner", model="our-reasoner"))) == shows("words")


def test_a_thought_of_chatgpt_is_hidden_whatever_its_kind() -> None:
    for status in ("is_reasoning", "thinking", True, 1):
        assert result(of_chatgpt(gpt(metadata={"reasoning_status": status}))) == hides(DroppedKind.HIDDEN)
    assert result(of_chatgpt(gpt(metadata={"reasoning_status": "reasoning_ended"}))) == shows("words")
    assert result(of_chatgpt(gpt(metadata={"model_slug": "gpt-thinking"}))) == shows("words")


CITED = "Blue won. \ue200cite\ue202turn0\ue201"


def cited(**reference: Any) -> dict[str, Any]:
    return gpt_message("assistant", CITED, metadata={"content_references": [{"matched_text": CITED[10:], **reference}]})


@for_each(
    [
        (cited(items=[{"title": "The [final]", "url": "https://o.example/a_(b)"}]), "([The \\[final\\]](<https://o.example/a_(b)>))"),
        (cited(items=[{"url": "https://www.o.example/a", "supporting_websites": [{"url": "https://p.example/>"}]}]),
         "([o.example](<https://www.o.example/a>), [p.example](<https://p.example/%3E>))"),
        (cited(safe_urls=["https://o.example/"], items=[{"title": "x"}]), "([o.example](<https://o.example/>))"),
        (cited(url="https://o.example/", title="One"), "([One](<https://o.example/>))"),
    ]
)  # fmt: skip
def test_a_citation_of_chatgpt_is_a_link(message: Any, links: str) -> None:
    assert result(of_chatgpt(message)) == shows(f"Blue won. {links}")


def test_a_citation_without_a_web_address_is_counted() -> None:
    for items in ([], [{"url": "javascript:alert(1)"}], [{"url": "file:///etc/passwd", "title": "x"}]):
        assert result(of_chatgpt(cited(items=items))) == shows("Blue won.", DroppedKind.CITATION)


def canvas(name: str, call: Any, **more: Any) -> dict[str, Any]:
    return gpt_message("assistant", kind="code", recipient=f"canmore.{name}", content={"text": call, "language": "json"}, **more)


LETTER = '{"name": "A *letter*", "type": "document", "content": "Dear Ada,\\n\\nBob"}'
CODE = '{"name": "x", "type": "code/python", "content": "print(\'```\')"}'
WHOLE = '{"updates": [{"pattern": ".*", "multiple": true, "replacement": "Dear Bela"}]}'
PART = '{"updates": [{"pattern": "Ada", "replacement": "Bela"}]}'


@for_each(
    [
        (canvas("create_textdoc", LETTER), shows("**A \\*letter\\***\n\nDear Ada,\n\nBob")),
        (canvas("create_textdoc", LETTER, channel="commentary"), shows("**A \\*letter\\***\n\nDear Ada,\n\nBob")),
        (canvas("create_textdoc", CODE), shows("**x**\n\n````python\nprint('```')\n````")),
        (canvas("update_textdoc", WHOLE), shows("Dear Bela")),
        (canvas("update_textdoc", PART), hides(DroppedKind.DOCUMENT_CHANGE, PART)),
        (canvas("comment_textdoc", "{}"), hides(DroppedKind.DOCUMENT_CHANGE, "{}")),
        (canvas("create_textdoc", "no JSON"), hides(DroppedKind.DOCUMENT_CHANGE, "no JSON")),
        (canvas("create_textdoc", LETTER, channel="analysis"), hides(DroppedKind.TOOL_CALL, LETTER)),
        (canvas("create_textdoc", LETTER, weight=0), hides(DroppedKind.TOOL_CALL, LETTER)),
        *(
            (canvas("create_textdoc", LETTER, channel=other), hides(DroppedKind.TOOL_CALL, LETTER))
            for other in ("Analysis", "thoughts", "new", ["analysis"], 1, "")
        ),
        (
            gpt_message("assistant", kind="execution_output", recipient="canmore.create_textdoc", content={"text": LETTER}),
            hides(DroppedKind.TOOL_CALL, LETTER),
        ),
        (
            gpt_message("user", kind="code", recipient="canmore.create_textdoc", content={"text": LETTER}),
            hides(DroppedKind.TOOL_CALL, LETTER),
        ),
        (gpt_message("assistant", kind="code", recipient="python", content={"text": LETTER}), hides(DroppedKind.TOOL_CALL, LETTER)),
    ]
)
def test_a_document_in_the_canvas_of_chatgpt_is_shown(message: Any, expected: Expected) -> None:
    assert result(of_chatgpt(message)) == expected


PDF, PNG = {"name": "a.pdf", "mime_type": "application/pdf"}, {"name": "a.png", "mime_type": "image/png"}
POINTER = part("image_asset_pointer")


@for_each(
    [
        (gpt_message("user", "q", metadata={"attachments": [PDF, PDF]}), shows("q", DroppedKind.FILE, DroppedKind.FILE)),
        (gpt_message("user", "q", metadata={"attachments": [PNG]}), shows("q", DroppedKind.IMAGE)),
        (gpt_message("user", POINTER, "q", metadata={"attachments": [PNG, PDF]}), shows("q", DroppedKind.FILE, DroppedKind.IMAGE)),
        (gpt_message("user", "Why?", metadata={"targeted_reply": "It is\nblue."}), shows("> It is\n> blue.\n\nWhy?")),
        (gpt_message("user", "Why?", metadata={"targeted_reply": "<think>hm</think>"}), shows("Why?", DroppedKind.WITHHELD)),
        (gpt_message("assistant", content={"parts": None, "text": "here"}), nothing(DroppedKind.UNKNOWN_PART)),
    ]
)
def test_what_belongs_to_a_message_of_chatgpt_is_kept_or_counted(message: Any, expected: Expected) -> None:
    assert result(of_chatgpt(message)) == expected


def of_claude(sender: str, *content: Any, **more: Any) -> Any:
    return read({"chat_messages": [{"uuid": "1", "sender": sender, "content": list(content), **more}]})


def written(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


def artifact(**given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "name": "artifacts", "input": given}


def drawn(*answers: list[dict[str, Any]], **of_message: Any) -> Any:
    """Answers with calls that draw artifacts, each below the one before it; ``of_message``: more of the first of them."""
    messages: list[Any] = [{"uuid": str(number), "sender": "assistant", "content": calls} for number, calls in enumerate(answers)]
    return read({"chat_messages": [messages[0] | of_message, *messages[1:]]})


def change(old: str, new: str, **given: Any) -> dict[str, Any]:
    return artifact(command="update", id="a", old_str=old, new_str=new, **given)


POEM = artifact(command="create", id="a", type="text/markdown", title="Poem", content="Roses are red")


def texts_of(exported: Any) -> list[str]:
    return [frame.body for node in exported.nodes for frame in node.frames if frame.header == ANSWER]


def test_a_changed_artifact_of_claude_is_shown_after_each_answer_that_changes_it() -> None:
    found = drawn([POEM], [change("red", "blue"), change("Roses", "Violets")], [change("are", "were")])
    assert texts_of(found) == [f"**Poem**\n\n{line}" for line in ("Roses are red", "Violets are blue", "Violets were blue")]
    assert not found.left_out


def test_a_branch_does_not_have_the_changes_of_another() -> None:
    messages = [("1", None, POEM), ("2", "1", change("red", "blue")), ("3", "1", change("Roses", "Tulips"))]
    rows: list[Any] = [
        {"uuid": key, "parent_message_uuid": above, "sender": "assistant", "content": [call]} for key, above, call in messages
    ]
    assert texts_of(read({"chat_messages": rows}))[1:] == ["**Poem**\n\nRoses are blue", "**Poem**\n\nTulips are red"]


@pytest.mark.parametrize(
    "answers",
    [
        [[change("red", "blue")]],  # of an artifact that the file does not have
        [[POEM], [change("green", "blue")]],
        [[POEM], [change("e", "a")]],  # more than once
        [[POEM], [change("", "a")]],
        [[{**POEM, "channel": "analysis"}], [change("red", "blue")]],
        [[artifact(id="a", type="text/markdown", content="<think>\nSECRET\n</think>\nred")], [change("<think>", "")]],
        [[POEM], [change("red", "<think>\nSECRET\n</think>")], [change("<think>", "")]],
        [[artifact(id="a", content="x" * 100_001 + "red")], [change("red", "blue")]],
    ],
)
def test_a_change_that_cannot_be_made_is_counted_and_brings_nothing_hidden_to_light(answers: list[list[dict[str, Any]]]) -> None:
    found = drawn(*answers)
    assert found.left_out[DroppedKind.DOCUMENT_CHANGE] == len(answers[-1]) + (len(answers) > 2)
    assert not any("SECRET" in text or "blue" in text for text in texts_of(found))


def test_an_artifact_of_a_hidden_message_stays_hidden_with_its_changes() -> None:
    found = drawn([POEM], [change("red", "blue")], metadata={"channel": "analysis"})
    assert texts_of(found) == [] and found.left_out[DroppedKind.DOCUMENT_CHANGE] == 1


def test_of_many_long_versions_the_newest_are_shown_and_the_others_counted() -> None:
    long = artifact(id="a", type="text/markdown", content="line 0\n" + "word " * 19_000)
    found = drawn([long], *([change(f"line {number}\n", f"line {number + 1}\n")] for number in range(20)))
    shown = [text.partition("\n")[0] for text in texts_of(found)]
    assert shown == ["line 0", *(f"line {number}" for number in range(11, 21))] and found.left_out == {DroppedKind.DOCUMENT_VERSION: 10}


LAKE = {"url": "https://o.example/lake", "title": "Lake"}


@for_each(
    [
        (of_claude("human", written("q")), shows("q")),
        (of_claude("human", text="q"), shows("q")),
        (of_claude("assistant", {"type": "thinking", "thinking": "hm"}, written("a")), (["a"], ["hm"], [DroppedKind.REASONING])),
        (of_claude("assistant", text="<antThinking>hm</antThinking>a"), (["a"], ["hm"], [DroppedKind.REASONING])),
        (of_claude("assistant", text="a<antthinking x=1>hm"), (["a"], ["hm"], [DroppedKind.REASONING])),
        (of_claude("assistant", text="a<antThinking hm"), (["a"], [" hm"], [DroppedKind.REASONING])),
        (of_claude("assistant", written("a", citations=[LAKE, LAKE])), shows("a\n\n([Lake](<https://o.example/lake>))")),
        (of_claude("assistant", artifact(title="T", type="text/markdown", content="# Hi")), shows("**T**\n\n# Hi")),
        (of_claude("assistant", artifact(title="T", type="application/vnd.ant.code", language="python", content="1")),
         shows("**T**\n\n```python\n1\n```")),
        (of_claude("assistant", artifact(command="update", old_str="a", new_str="b")), nothing(DroppedKind.DOCUMENT_CHANGE)),
        (of_claude("assistant", {"type": "tool_use", "name": "search", "input": {"q": "x"}}), hides(DroppedKind.TOOL_CALL, "search\n\nx")),
        (of_claude("assistant", {"type": "tool_result", "content": "y"}), hides(DroppedKind.TOOL_RESULT, "y")),
        (of_claude("assistant", {"type": "token_budget"}, written("a")), shows("a")),
        (of_claude("assistant", {"type": "image"}, {"type": "new"}), nothing(DroppedKind.IMAGE, DroppedKind.UNKNOWN_PART)),
        (of_claude("human", written("q"), files=[{"file_kind": "image"}], attachments=[{"file_type": "pdf"}]),
         shows("q", DroppedKind.FILE, DroppedKind.IMAGE)),
        (of_claude("tool", written("q")), nothing(DroppedKind.UNREADABLE)),
    ]
)  # fmt: skip
def test_a_message_of_claude(read: Any, expected: Expected) -> None:
    assert result(read) == expected


def test_messages_of_claude_are_in_order_or_below_the_one_that_they_answer() -> None:
    rows: list[Any] = [{"uuid": str(number), "sender": "human", "text": "q"} for number in range(3)]
    assert [node.parent for node in read({"chat_messages": rows}).nodes] == [None, "0", "1"]
    first: Any = {"parent_message_uuid": "00000000-0000-4000-8000-000000000000"}
    tree = [rows[0] | first, rows[1] | {"parent_message_uuid": "0"}, rows[2] | {"parent_message_uuid": "0"}]
    assert [node.parent for node in read({"chat_messages": tree}).nodes] == [None, "0", "0"]


@for_each(
    [
        ([{"type": "REQUEST", "content": "q"}], shows("q")),
        ([{"type": "THINK", "content": "hm"}, {"type": "RESPONSE", "content": "a"}], (["a"], ["hm"], [DroppedKind.REASONING])),
        ([{"type": "SEARCH", "content": None}], hides(DroppedKind.TOOL_RESULT, "SEARCH")),
        ([{"type": "NEW", "content": "x"}], nothing(DroppedKind.UNKNOWN_PART)),
    ]
)
def test_a_message_of_deepseek(fragments: Any, expected: Expected) -> None:
    assert result(of_deepseek({"fragments": fragments})) == expected


def test_of_several_messages_of_deepseek_one_may_be_unreadable() -> None:
    assert result(of_deepseek({"fragments": "x"}, {"fragments": [{"type": "REQUEST", "content": "q"}]})) == shows(
        "q", DroppedKind.UNREADABLE
    )


def test_sources_errors_and_tags_of_open_webui_are_kept_or_counted() -> None:
    source = {"source": {"name": "plan.pdf"}, "metadata": [{"source": "https://o.example/plan"}]}
    sources: list[Any] = [source, {"source": {"name": "own.txt"}}, {"document": ["x"]}]
    found = read(
        {
            "chat": {
                "messages": [{"role": "assistant", "content": "Blue [1].", "sources": sources, "error": {"content": "x"}}],
                "tags": ["a"],
            },
            "meta": {"tags": ["a", "b"]},
            "archived": True,
            "pinned": True,
            "folder_id": "f",
        }
    )
    kinds = [DroppedKind.CITATION, DroppedKind.ERROR, DroppedKind.FOLDER, DroppedKind.TAG, DroppedKind.TAG]
    assert result(found) == shows("Blue [1].\n\n1. [plan.pdf](<https://o.example/plan>)\n2. own.txt", *kinds)
    assert found.is_archived and found.is_pinned
