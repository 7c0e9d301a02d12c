"""The order of imported messages, the branch that is open afterwards, and the sections and titles that are hidden."""

import time

import pytest

from chatui.models.conversation import ImportSource
from chatui.transfer.imports import tree_of
from chatui.transfer.other_products import frames
from chatui.transfer.other_products.conversation_tree import Counts, DroppedKind, ExportedConversation, Node, sentences
from chatui.transfer.other_products.frames import sections
from renderer.gate import Audience, may_see
from tests.support.limits import set_limits


def node(key: str, parent: str | None = None, *, count: int = 1, is_complete: bool = True) -> Node:
    """A node with as many questions as ``count``, which say its key and their number."""
    texts = [key if number == 0 else f"{key}{number}" for number in range(count)]
    return Node(key, parent, tuple(frame for text in texts for frame in frames.question(text)), is_complete)


def built(*nodes: Node, current: str = "") -> tuple[list[tuple[str, str | None]], str]:
    """Each text with the text above it, in order; and the text at which the conversation is open."""
    tree, leaf = tree_of(ExportedConversation(ImportSource.CHATGPT, nodes, current))
    texts = [item.frame.body for item in tree]
    return [(item.frame.body, None if item.parent is None else texts[item.parent]) for item in tree], texts[leaf]


def test_the_messages_of_a_node_follow_one_another_and_its_children_follow_the_last() -> None:
    placed, _ = built(node("a", count=3), node("b", "a"), node("c", "a", count=2))
    assert placed == [("a", None), ("a1", "a"), ("a2", "a1"), ("b", "a2"), ("c", "a2"), ("c1", "c")]


def test_a_node_without_messages_only_connects_others() -> None:
    placed, _ = built(node("root", count=0), node("a", "root"), node("empty", "a", count=0), node("b", "empty"), node("c", "b"))
    assert placed == [("a", None), ("b", "a"), ("c", "b")]


@pytest.mark.parametrize(
    ("nodes", "texts", "unplaced"),
    [
        ([node("a", "gone"), node("b", "a")], ["a", "b"], 0),
        ([node("b", "a"), node("a")], ["a", "b"], 0),
        ([node("a"), node("a"), node("a", "b"), node("c", "a")], ["a", "c"], 2),
        ([node("a", "b"), node("b", "a"), node("c", "c"), node("d")], ["d"], 3),
    ],
)
def test_messages_without_a_place_are_left_out_and_counted(nodes: list[Node], texts: list[str], unplaced: int) -> None:
    exported = ExportedConversation(ImportSource.CHATGPT, nodes)
    assert [item.frame.body for item in tree_of(exported)[0]] == texts and exported.left_out[DroppedKind.UNPLACED] == unplaced


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
def test_the_branch_that_was_open_there_is_open_here_to_its_end(current: str, leaf: str) -> None:
    nodes = (node("a"), node("b1", "a"), node("b2", "a"), node("c1", "b2"), node("c2", "b2"), node("empty", "b1", count=0), node("d"))
    assert built(*nodes, current=current)[1] == leaf


def test_whether_a_message_is_complete_is_kept() -> None:
    tree, _ = tree_of(ExportedConversation(ImportSource.CHATGPT, [node("a"), node("b", "a", is_complete=False)]))
    assert [item.metadata.is_complete for item in tree] == [True, False]


def test_an_answer_is_hidden_only_above_the_longest_that_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, "chatui.transfer.other_products", MAX_ANSWER_CHARS=5)
    for text, kinds in (("12345", []), ("123456", [DroppedKind.TOO_LONG])):
        counts = Counts()
        [frame] = frames.answer(text, counts)
        assert frame.body == text and list(counts) == kinds


def test_an_answer_of_white_space_or_of_hidden_sections_alone_has_no_visible_frame() -> None:
    counts = Counts()
    assert frames.answer(" \n\n", counts) == () and not counts
    [frame] = frames.answer('<details type="tool_calls">x</details>\n', counts)
    assert frame.header.channel == "commentary" and counts == {DroppedKind.FOLDED: 1}


def test_the_sections_around_a_hidden_one_are_separate_paragraphs() -> None:
    counts = Counts()
    thought, answer = frames.answer("~One~\n:::thinking\nwhy\n:::\n\n\nTwo.\n", counts)
    [*_, rest] = frames.answer("One.\n:::thinking\nwhy\n:::\n \n:::thinking\nwhy\n:::\nTwo.", Counts())
    assert rest.body == "One.\n\nTwo."
    assert (thought.header.channel, answer.body, counts) == ("analysis", "~One~\n\nTwo.", {DroppedKind.REASONING: 1})


@pytest.mark.parametrize("text", ["<think>why</think>Fine.", "analysiswhyassistantfinalFine."])
def test_an_answer_that_looks_like_reasoning_has_it_in_a_hidden_frame(text: str) -> None:
    counts = Counts()
    hidden, answer = frames.answer(text, counts)
    assert "why" in hidden.body and not may_see(hidden.header, Audience.END_USER) and counts == {DroppedKind.WITHHELD: 1}
    assert answer.body == "Fine." and may_see(answer.header, Audience.END_USER)


def test_a_harmless_title_is_kept_up_to_its_length_and_another_is_dropped() -> None:
    assert frames.title("Bread: a :: b") == "Bread: a :: b" and frames.title("x" * 600) == "x" * 500
    assert frames.title("Bread <think>why</think>") == frames.title("<details>why") == frames.title("Bread :::thinking why") == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", [(True, "plain", False)]),
        ("", []),
        ("<details>x\n</details>", [(False, "<details>x\n</details>", False)]),
        (
            'a<details type="reasoning">b\n</details>c',
            [(True, "a", False), (False, '<details type="reasoning">b\n</details>', True), (True, "c", False)],
        ),
        (
            "<details>a<details>b\n</details>c\n</details>d",
            [(False, "<details>a<details>b\n</details>c\n</details>", False), (True, "d", False)],
        ),
        ("<details>a</details>b", [(False, "<details>a</details>b", False)]),
        ("<details-x>a", [(True, "<details-x>a", False)]),
        (":::note\na\n:::b", [(False, ":::note\na\n:::b", False)]),
        (":::note\na\n:::\nb", [(False, ":::note\na\n:::", False), (True, "\nb", False)]),
        (":::artifact{x}\na\n:::", [(True, ":::artifact{x}\na\n:::", False)]),
    ],
)
def test_sections_are_found_with_their_ends(text: str, expected: list[tuple[bool, str, bool]]) -> None:
    assert [(section.is_visible, section.text, section.is_reasoning) for section in sections(text)] == expected


def test_what_was_left_out_is_reported_in_one_order_with_its_number() -> None:
    counts = Counts({DroppedKind.FILE: 2, DroppedKind.IMAGE: 1, DroppedKind.REASONING: 0})
    assert sentences(counts) == ["1 image was left out.", "2 attached files were left out."]
    for kind in DroppedKind:
        assert "%" not in kind.sentence(1) + kind.sentence(2) and kind.sentence(1) != kind.sentence(2)


@pytest.mark.parametrize("before", ["Sure.", "ok ", "- ", "| ", "> ", "Sure.\n", "", "a :::artifact{b}\nc\n:::\n"])
def test_reasoning_of_librechat_is_hidden_anywhere_in_a_line(before: str) -> None:
    text = f"{before}:::thinking\nUse a note:\n:::note\nx\n:::\nFalcon must stay quiet.\n:::\nHello"
    shown = "".join(section.text for section in sections(text) if section.is_visible)
    assert "Falcon" not in shown and shown.endswith("Hello")


@pytest.mark.parametrize(
    "hostile", [":::thinking\n" + ":" * 100_000 + "x", ":::t" * 25_000, "::: " * 25_000, ":::a\n:::" + " " * 100_000 + "x"]
)
def test_the_cost_of_colons_is_linear(hostile: str) -> None:
    started = time.process_time()
    assert "".join(section.text for section in sections(hostile)) == hostile
    assert time.process_time() - started < 2
