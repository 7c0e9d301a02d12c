"""Which item of a Responses stream an event belongs to, and what a text that the server repeats adds to it."""

from typing import Any

from chatui.backends.responses.items import CALL, MESSAGE, REASONING, Flow, Items, OutputItem
from tests.support.cases import for_each


def items_of(*data: dict[str, Any], indexed: bool = False) -> Items:
    items = Items()
    for place, each in enumerate(data):
        items.added(each, place if indexed else None)
    return items


def numbers(items: Items, *outputs: dict[str, Any]) -> list[int]:
    return [item.number for item, _ in items.matched(outputs)]


# Text of one lane


def test_a_part_is_dropped_with_all_its_text_however_it_arrived() -> None:
    flow = Flow()
    assert (flow.add(0, "a"), flow.add(1, "b"), flow.add(0, "c"), flow.drop(0), flow.text, flow.drop(0)) == ("a", "b", "c", "ac", "b", "")
    empty = Flow()
    assert (empty.add(0, ""), empty.drop(0)) == ("", "")
    whole = Flow()
    assert (whole.complete(["a", "", "b"]), whole.drop(1), whole.drop(2), whole.text) == ("ab", "", "b", "a")
    assert (whole.complete(["abc", "", ""]), whole.text) == ("bc", "abc")
    claimed = Flow()
    claimed.claim(0, "a")
    assert (claimed.drop(0), claimed.settle()) == ("", "")


@for_each([
    (["a"], {}, "", False),
    (["a"], {0: "ab"}, "b", False),
    (["a"], {0: "a"}, "", False),
    (["ab"], {0: "a"}, "", True),
    (["ab"], {0: "xy"}, "", True),
    (["a"], {1: "b"}, "\n\nb", False),
    (["a", "b"], {0: "ac"}, "", True),
    (["a", "b"], {0: "a", 1: "bc"}, "c", False),
    ([], {0: "a", 1: "b"}, "a\n\nb", False),
    ([], {0: ""}, "", False),
    (["a"], {0: ""}, "", False),
])  # fmt: skip
def test_a_claim_adds_only_what_is_missing_at_the_end(arrived: list[str], claims: dict[int, str], added: str, differs: bool) -> None:
    flow = Flow("\n\n")
    for part, each in enumerate(arrived):
        flow.add(part, each)
    for part, each in claims.items():
        flow.claim(part, each)
    assert (flow.settle(), flow.differs, flow.settle()) == (added, differs, "")
    assert flow.text == "\n\n".join(arrived) + added


def test_a_claim_is_applied_before_another_part_begins() -> None:
    flow = Flow("\n\n")
    flow.add(0, "a")
    flow.claim(0, "ab")
    assert flow.add(1, "c") == "b\n\nc"
    growing = Flow()
    growing.add(0, "a")
    growing.claim(0, "ab")
    assert (growing.add(0, "b"), growing.settle(), growing.text) == ("b", "", "ab"), "but not before the same part goes on"


@for_each([(["ab"], "b", False), (["a", "b"], "\n\nb", False), (["a"], "", False), (["x"], "", True), ([], "c", False), ([""], "c", False)])
def test_the_whole_text_of_an_item_counts_more_than_claims(parts: list[str], added: str, differs: bool) -> None:
    flow = Flow("\n\n")
    flow.add(0, "a")
    flow.claim(0, "ac")
    assert (flow.complete(parts), flow.differs) == (added, differs)
    assert flow.settle() == ""


def test_text_after_the_whole_text_continues_its_part() -> None:
    flow = Flow("\n\n")
    assert (flow.complete(["a"]), flow.add(0, "b"), flow.add(1, "c"), flow.text) == ("a", "b", "\n\nc", "ab\n\nc")
    assert flow.complete(["ab", "cd"]) == "d"
    flow.claim(1, "cde")
    assert (flow.settle(), flow.differs) == ("e", False)


# Items


def test_the_arguments_of_a_call_are_the_whole_ones_if_there_are_any() -> None:
    item = OutputItem(0)
    assert item.whole_arguments() == "{}"
    item.argument_deltas += ['{"a"', ": 1}"]
    assert item.whole_arguments() == '{"a": 1}'
    item.take_arguments({"b": "é"})
    item.take_arguments("")
    assert item.whole_arguments() == '{"b": "é"}'


@for_each([
    ([], None),
    ([{}], None),
    ([{"id": "r", "summary": []}], None),
    ([{"content": ["a"]}], [{"content": ["a"]}]),
    ([{"encrypted_content": "x"}], [{"encrypted_content": "x"}]),
    ([{"encrypted_content": "x"}, {"summary": ["a"]}], None),
    ([{"type": REASONING, "id": "r", "status": "completed", "content": ["a"]}], [{"type": REASONING, "id": "r", "content": ["a"]}]),
])  # fmt: skip
def test_reasoning_is_sent_back_only_if_each_item_has_its_content(given: list[dict[str, Any]], sent: list[dict[str, Any]] | None) -> None:
    items = items_of(*[{"type": REASONING}] * len(given), {"type": MESSAGE})
    for item, data in zip(items, given, strict=False):
        item.given = data
    found = items.reasoning()
    assert (found and list(found.items)) == sent


def test_text_without_id_and_place_belongs_to_the_newest_item_that_is_no_call() -> None:
    items = items_of({"type": MESSAGE}, {"type": MESSAGE}, {"type": CALL})
    assert items.item_for_text({}).number == 1
    assert items.item_for_text({"item_id": "new"}).number == 3


def test_arguments_belong_to_the_call_at_their_place() -> None:
    items = items_of({"type": CALL, "id": "a"}, {"type": CALL, "id": "b"}, {"type": MESSAGE, "id": "m"}, indexed=True)
    places: list[dict[str, Any]] = [{"output_index": 0}, {"output_index": 1}, {}, {"item_id": "a"}, {"item_id": "x", "output_index": 0}]
    assert [items.item_for_call(event).number for event in places] == [0, 1, 1, 0, 0]
    assert items.item_for_call({"item_id": "m"}).number == 3, "a message takes no arguments"


def test_the_items_of_a_snapshot_are_matched_by_id_and_else_in_order() -> None:
    named = ({"type": MESSAGE, "id": "a"}, {"type": MESSAGE, "id": "b"})
    unnamed = {"type": MESSAGE}
    assert numbers(items_of(*named), {"type": MESSAGE, "id": "b"}, unnamed) == [1, 0]
    assert numbers(items_of(*named), {"type": MESSAGE, "id": "a"}, unnamed) == [0, 1]
    assert numbers(items_of(*named), unnamed, {"type": MESSAGE, "id": "a"}) == [1, 0]
    assert numbers(items_of(*named), unnamed, unnamed, unnamed) == [0, 1, 2]
    assert numbers(items_of(*named), {"type": REASONING}, {"type": MESSAGE, "id": "c"}) == [2, 0]


def test_an_item_that_ends_without_place_is_the_oldest_open_one_of_its_kind() -> None:
    items = items_of({"type": REASONING}, {"type": MESSAGE}, {"type": MESSAGE})
    assert items.done({"type": MESSAGE}, None).number == 1
    list(items)[1].is_done = True
    assert items.done({"type": MESSAGE}, None).number == 2
    assert items.done({"type": MESSAGE, "id": "x"}, None).number == 3, "an unknown id is another item"


def test_a_call_that_ends_without_place_is_found_by_its_call_id() -> None:
    items = items_of({"type": CALL, "call_id": "a"}, {"type": CALL, "call_id": "b"})
    assert [items.done({"type": CALL, "call_id": name}, None).number for name in ("b", "a")] == [1, 0]
    assert items_of({"type": MESSAGE}, {"type": CALL}).done({"type": CALL, "call_id": "c"}, None).number == 1
    output = {"type": "function_call_output", "call_id": "c"}
    assert items_of({"type": CALL, "call_id": "c"}).done(output, None).number == 1
    assert items_of(output, {"type": CALL}).done({"type": CALL, "call_id": "c"}, None).number == 1, "its output is another item"


def test_an_item_that_ends_without_place_is_not_one_whose_kind_is_unknown() -> None:
    items = Items()
    items.item_for_text({"item_id": "t"})
    assert items.done({"type": MESSAGE, "id": "x"}, None).number == 1
    items = Items()
    items.item_for_text({"item_id": "t", "output_index": 0})
    assert items.done({"type": MESSAGE, "id": "x"}, 0).number == 0


# Streams


def test_labels_of_another_type_count_as_missing() -> None:
    item = OutputItem(0)
    item.learn({"type": MESSAGE, "role": "assistant", "id": 5, "name": 7, "call_id": 3, "status": ["completed"]})
    assert (item.ids, item.name, item.call_id, item.status) == (set(), "", "", "")
    assert items_of({"type": MESSAGE}).item_for_text({"item_id": ["x"]}).number == 0


def test_a_message_that_ends_as_something_else_is_the_same_item() -> None:
    message_item = {"type": MESSAGE, "id": "m", "role": "assistant"}
    items = items_of(message_item, indexed=True)
    assert items.done({"type": REASONING, "id": "m"}, 0).number == 0 and next(iter(items)).label is not None
    items = items_of(message_item, indexed=True)
    assert items.done({"type": REASONING, "id": "m"}, 1).number == 1 and next(iter(items)).label is None
    items = items_of(message_item, indexed=True)
    next(iter(items)).is_done = True
    assert items.done({"type": REASONING, "id": "m"}, 0).number == 1 and next(iter(items)).label is None
    items = items_of({"type": REASONING, "id": "m"}, indexed=True)
    assert items.done(message_item, 0).number == 1, "reasoning does not turn into an answer"


def test_a_message_that_a_snapshot_calls_something_else_is_hidden() -> None:
    message_item = {"type": MESSAGE, "id": "a", "role": "assistant"}
    for others, is_hidden in (([], True), ([message_item], False)):
        items = items_of(message_item)
        items.matched([{"type": REASONING, "id": "a"}, *others])
        label = next(iter(items)).label
        assert (label is not None) is is_hidden
        assert label is None or label.is_known


def test_the_place_of_an_item_may_become_known_later() -> None:
    items = items_of({"type": MESSAGE, "id": "m"}, {"type": MESSAGE})
    items.added({"type": MESSAGE, "id": "m"}, 2)
    items.added({"type": MESSAGE, "id": "m"}, None)
    assert items.item_for_text({"output_index": 2}).number == 0
