"""The order of imported messages, the branch that is open afterwards, and the sections and titles that are hidden."""

import time
from typing import Any

import pytest

from chatui.models.message import Message
from chatui.models.user import User
from chatui.transfer.export_imports import import_export
from chatui.transfer.other_products.conversation_tree import Counts, DroppedKind, sentences
from renderer.gate import Audience, may_see
from renderer.ocml import document
from tests.chatui.transfer.other_products.samples import as_json, gpt_message, read
from tests.support.limits import set_limits
from tests.support.messages import branch_of

THOUGHT = "hm"


def node(key: str, parent: str | None = None, *, thinks: bool = False, **more: Any) -> dict[str, Any]:
    """A question of LibreChat that says its key; or an answer, which has a hidden frame before it."""
    thought = [{"type": "think", "think": THOUGHT}] if thinks else []
    return {
        "messageId": key,
        "parentMessageId": parent,
        "isCreatedByUser": not thinks,
        "content": [*thought, {"type": "text", "text": key}],
    } | more


def texts(*messages: Message) -> list[str]:
    return [document.parse_frame(message.text).body for message in messages]


def imported(person: User, *nodes: dict[str, Any]) -> tuple[list[tuple[str, str | None]], int]:
    """Each text with the text above it, in order; and how many messages had no place."""
    report = import_export(person, as_json({"conversationId": "x", "messages": nodes}))
    rows = Message.objects.select_related("parent").order_by("position")
    placed = [(*texts(row), texts(row.parent)[0] if row.parent else None) for row in rows]
    return placed, report.left_out[DroppedKind.UNPLACED]  # type: ignore[return-value]


def test_the_messages_of_a_node_follow_one_another_and_its_children_follow_the_last(ada: User) -> None:
    placed, _ = imported(ada, node("a", thinks=True), node("b", "a"), node("c", "a", thinks=True))
    assert placed == [(THOUGHT, None), ("a", THOUGHT), ("b", "a"), (THOUGHT, "a"), ("c", THOUGHT)]


def test_a_node_without_messages_only_connects_others(ada: User) -> None:
    placed, _ = imported(
        ada, node("root", content=[]), node("a", "root"), node("empty", "a", content=[]), node("b", "empty"), node("c", "b")
    )
    assert placed == [("a", None), ("b", "a"), ("c", "b")]


@pytest.mark.parametrize(
    ("nodes", "kept", "unplaced"),
    [
        ([node("a", "gone"), node("b", "a")], ["a", "b"], 0),
        ([node("b", "a"), node("a")], ["a", "b"], 0),
        ([node("a"), node("a"), node("a", "b"), node("c", "a")], ["a", "c"], 2),
        ([node("a", "b"), node("b", "a"), node("c", "c"), node("d")], ["d"], 3),
    ],
)
def test_messages_without_a_place_are_left_out_and_counted(nodes: list[Any], kept: list[str], unplaced: int, ada: User) -> None:
    placed, left_out = imported(ada, *nodes)
    assert [text for text, _ in placed] == kept and left_out == unplaced


@pytest.mark.parametrize(
    ("current", "leaf"),
    [
        ("b1", "b1"),
        ("b2", "c2"),  # what was continued there is continued here
        ("a", "c2"),
        ("d", "d"),
        ("empty", "b1"),
        ("", "d"),
        ("unknown", "d"),
    ],
)
def test_the_branch_that_was_open_there_is_open_here_to_its_end(current: str, leaf: str, ada: User) -> None:
    places = {"a": "", "b1": "a", "b2": "a", "c1": "b2", "c2": "b2", "empty": "b1", "d": ""}
    mapping = {key: {"message": gpt_message("user", *([] if key == "empty" else [key])), "parent": above} for key, above in places.items()}
    [row] = import_export(ada, as_json({"mapping": mapping, "current_node": current})).conversations
    assert texts(branch_of(row, ada)[-1]) == [leaf]


def test_whether_a_message_is_complete_is_kept(ada: User) -> None:
    imported(ada, node("a"), node("b", "a", unfinished=True))
    assert list(Message.objects.order_by("position").values_list("is_complete", flat=True)) == [True, False]


def answer(text: str) -> tuple[list[tuple[str | None, str]], Counts]:
    """The channels and texts of a model's message in an export, and what was counted."""
    found = read({"chat": {"messages": [{"role": "assistant", "content": text}]}})
    return [(frame.header.channel, frame.body) for node in found.nodes for frame in node.frames], +found.left_out


def shown(text: str) -> str:
    """What people see of such a message."""
    found = read({"chat": {"messages": [{"role": "assistant", "content": text}]}})
    return "".join(frame.body for node in found.nodes for frame in node.frames if may_see(frame.header, Audience.END_USER))


def test_an_answer_is_hidden_only_above_the_longest_that_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.transfer.other_products", MAX_ANSWER_CHARS=5)
    for text, visible, kinds in (("12345", "12345", []), ("123456", "", [DroppedKind.TOO_LONG])):
        [(_, body)], counts = answer(text)
        assert (body, shown(text)) == (text, visible) and list(counts) == kinds


def test_an_answer_of_white_space_or_of_hidden_sections_alone_has_no_visible_frame() -> None:
    assert answer(" \n\n") == ([], {})
    folded = '<details type="tool_calls">x</details>\n'
    assert answer(folded) == ([("commentary", folded)], {DroppedKind.FOLDED: 1}) and shown(folded) == ""


def test_the_sections_around_a_hidden_one_are_separate_paragraphs() -> None:
    found, counts = answer("~One~\n:::thinking\nwhy\n:::\n\n\nTwo.\n")
    assert [channel for channel, _ in found] == ["analysis", "final"] and counts == {DroppedKind.REASONING: 1}
    assert found[1][1] == "~One~\n\nTwo."
    assert shown("One.\n:::thinking\nwhy\n:::\n \n:::thinking\nwhy\n:::\nTwo.") == "One.\n\nTwo."


@pytest.mark.parametrize("text", ["<think>why</think>Fine.", "analysiswhyassistantfinalFine."])
def test_an_answer_that_looks_like_reasoning_has_it_in_a_hidden_frame(text: str) -> None:
    [(_, hidden), (_, _)], counts = answer(text)
    assert "why" in hidden and counts == {DroppedKind.WITHHELD: 1} and shown(text) == "Fine."


def test_a_harmless_title_is_kept_up_to_its_length_and_another_is_dropped(ada: User) -> None:
    def titled(title: str) -> str:
        message = {"parent": None, "message": gpt_message("user", f"A question about {title!r}")}
        return import_export(ada, as_json({"title": title, "mapping": {"a": message}})).conversations[0].title

    assert titled("Bread: a :: b") == "Bread: a :: b" and titled("x" * 600).startswith("x" * 90)
    for title in ("Bread <think>why</think>", "<details>why", "Bread :::thinking why"):
        assert titled(title).startswith("A question about")


@pytest.mark.parametrize(
    ("text", "visible", "hidden", "kinds"),
    [
        ("plain", "plain", [], {}),
        ("", "", [], {}),
        ("<details>x\n</details>", "", ["<details>x\n</details>"], {DroppedKind.FOLDED: 1}),
        (
            'a<details type="reasoning">b\n</details>c',
            "a\n\nc",
            ['<details type="reasoning">b\n</details>'],
            {DroppedKind.REASONING: 1},
        ),
        (
            "<details>a<details>b\n</details>c\n</details>d",
            "d",
            ["<details>a<details>b\n</details>c\n</details>"],
            {DroppedKind.FOLDED: 1},
        ),
        ("<details>a</details>b", "", ["<details>a</details>b"], {DroppedKind.FOLDED: 1}),
        ("<details-x>a", "<details-x>a", [], {}),
        (":::note\na\n:::b", "", [":::note\na\n:::b"], {DroppedKind.FOLDED: 1}),
        (":::note\na\n:::\nb", "b", [":::note\na\n:::"], {DroppedKind.FOLDED: 1}),
        (":::artifact{x}\na\n:::", ":::artifact{x}\na\n:::", [], {}),
    ],
)
def test_sections_are_found_with_their_ends(text: str, visible: str, hidden: list[str], kinds: dict[DroppedKind, int]) -> None:
    found, counts = answer(text)
    assert shown(text) == visible and [body for channel, body in found if channel != "final"] == hidden and counts == kinds


def test_what_was_left_out_is_reported_in_one_order_with_its_number() -> None:
    counts = Counts({DroppedKind.FILE: 2, DroppedKind.IMAGE: 1, DroppedKind.REASONING: 0})
    assert sentences(counts) == ["1 image was left out.", "2 attached files were left out."]
    for kind in DroppedKind:
        assert "%" not in kind.sentence(1) + kind.sentence(2) and kind.sentence(1) != kind.sentence(2)


@pytest.mark.parametrize("before", ["Sure.", "ok ", "- ", "| ", "> ", "Sure.\n", "", "a :::artifact{b}\nc\n:::\n"])
def test_reasoning_of_librechat_is_hidden_anywhere_in_a_line(before: str) -> None:
    text = shown(f"{before}:::thinking\nUse a note:\n:::note\nx\n:::\nFalcon must stay quiet.\n:::\nHello")
    assert "Falcon" not in text and text.endswith("Hello")


@pytest.mark.parametrize(
    "hostile", [":::thinking\n" + ":" * 99_000 + "x", ":::t" * 24_000, "::: " * 24_000, ":::a\n:::" + " " * 99_000 + "x"]
)
def test_the_cost_of_colons_is_linear(hostile: str) -> None:
    started = time.process_time()
    assert "".join(body for _, body in answer(hostile)[0]).strip() == hostile.strip()
    assert time.process_time() - started < 2
