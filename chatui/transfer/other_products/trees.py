"""Sorts the nodes of a Talk so that each parent comes before its children, even if the file's links are broken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chatui.store.bulk_append import Placed
from chatui.store.transcripts import FrameMetadata
from chatui.transfer.other_products.conversation_tree import Node, Talk
from chatui.transfer.other_products.left_out import Kind


@dataclass(frozen=True, slots=True)
class Tree:
    """All frames of a Talk, and the place of the last one of the branch that was open there."""

    placed: Sequence[Placed]
    leaf: int


def tree_of(talk: Talk) -> Tree:
    """The tree. A node whose parent is not there is a root; those that are each other's parents, or come twice, are left out, counted."""
    nodes: dict[str, Node] = {}
    for node in talk.nodes:
        nodes.setdefault(node.key, node)
    placed, ends = list[Placed](), dict[str, int | None]()
    for node in _in_order(nodes):
        end = ends.get(node.parent) if node.parent is not None else None
        for frame in node.frames:
            placed.append(Placed(frame, end, FrameMetadata(is_complete=node.is_complete), node.at))
            end = len(placed) - 1
        ends[node.key] = end
    talk.left_out[Kind.UNPLACED] += len(talk.nodes) - len(ends)
    current = ends.get(talk.current)
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
    """The end of the branch through a frame: at each fork, the child that comes last."""
    last_child = {item.parent: index for index, item in enumerate(placed)}
    while place in last_child:
        place = last_child[place]
    return place
