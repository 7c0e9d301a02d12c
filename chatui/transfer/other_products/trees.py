"""Orders the nodes of a conversation so that each parent comes before its children, even if some parent keys are wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chatui.store.bulk_append import Placed
from chatui.store.transcripts import FrameMetadata
from chatui.transfer.other_products.conversation_tree import ExportedConversation, Node
from chatui.transfer.other_products.left_out import Kind


@dataclass(frozen=True, slots=True)
class Tree:
    """All frames of a conversation, and the index of the last one on the branch that was open there."""

    placed: Sequence[Placed]
    leaf: int


def tree_of(exported: ExportedConversation) -> Tree:
    """Build the tree. A node whose parent does not exist is a root; duplicates and nodes in cycles are left out and counted."""
    nodes: dict[str, Node] = {}
    for node in exported.nodes:
        nodes.setdefault(node.key, node)
    placed, ends = list[Placed](), dict[str, int | None]()
    for node in _in_order(nodes):
        end = ends.get(node.parent) if node.parent is not None else None
        for frame in node.frames:
            placed.append(Placed(frame, end, FrameMetadata(is_complete=node.is_complete), node.at))
            end = len(placed) - 1
        ends[node.key] = end
    exported.left_out[Kind.UNPLACED] += len(exported.nodes) - len(ends)
    current = ends.get(exported.current)
    return Tree(placed, _end_below(placed, len(placed) - 1 if current is None else current))


def _in_order(nodes: dict[str, Node]) -> Iterator[Node]:
    children: dict[str | None, list[Node]] = {}
    for node in nodes.values():
        children.setdefault(node.parent if node.parent in nodes else None, []).append(node)
    waiting = children.get(None, [])[::-1]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(children.get(node.key, []))


def _end_below(placed: Sequence[Placed], place: int) -> int:
    """The index of the last frame of the branch through a frame: at each fork, the last child."""
    last_child = {item.parent: index for index, item in enumerate(placed)}
    while place in last_child:
        place = last_child[place]
    return place
