"""Each property of a frame is decided in one place in the code: code that decides it again elsewhere is found here. So is an id of a check
that two rules give to different mistakes.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

import pytest

from tests.architecture.sources import Source, python_sources

KINDS = "renderer/frame_kinds.py"
GATE = "renderer/gate.py"
# These read what a server calls its text, before there is a frame.
LABELS = ("chatui/backends/chat/deltas.py", "chatui/backends/responses/items.py")

MAY = {
    "is it the answer": (KINDS, GATE, *LABELS),
    "is it a preamble": (KINDS,),
    "who are people": (KINDS,),
    "a broken frame": (KINDS,),
    "the summary frame": (KINDS,),
}
"""The property, and the files that decide it. The gate's table lists the channels one by one, and so names them."""


@pytest.mark.slow
@pytest.mark.parametrize("question", MAY)
def test_nobody_else_answers_it(question: str) -> None:
    found = [place for source in python_sources() for place in answers(source, question)]
    places = {place.split(":")[0] for place in found}
    assert KINDS in places, "nothing is found in KINDS, so this test would prove nothing: if that file was renamed, write its new name here"
    elsewhere = [place for place in found if place.split(":")[0] not in MAY[question]]
    assert elsewhere == [], f"ask {KINDS}; if a file in MAY was only renamed or merged, write its new name here"


def answers(source: Source, question: str) -> Iterator[str]:
    """Where ``source`` answers the question itself."""
    for node in _nodes(source):
        if _QUESTIONS[question](node):
            yield f"{source.path}:{node.lineno}"  # type: ignore[attr-defined]


@cache
def _nodes(source: Source) -> tuple[ast.AST, ...]:
    """Of the kinds that any of them is about, because traversing everything once for each takes seconds."""
    return tuple(
        node for node in source.nodes() if isinstance(node, ast.Compare | ast.Tuple | ast.Set | ast.List | ast.Call | ast.Constant)
    )


def _asks_for_the_answer(node: ast.AST) -> bool:
    """A test of a channel for final or nothing."""
    return isinstance(node, ast.Compare) and any({"final"} < _words(each) <= {"final", "", None} for each in node.comparators)


def _asks_for_a_preamble(node: ast.AST) -> bool:
    if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot):
        return False
    sides = [node.left, *node.comparators]
    return any(_word(side) == "preamble" for side in sides) and any(_ends_in(side, "intent") for side in sides)


def _lists_people(node: ast.AST) -> bool:
    return isinstance(node, ast.Tuple | ast.Set | ast.List) and {"user", "all"} <= _words(node) <= {"user", "all", None}


def _makes_a_broken_frame(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not _ends_in(node.func, "Header"):
        return False
    words = {_word(argument) for argument in [*node.args, *(keyword.value for keyword in node.keywords)]}
    return words == {"assistant", "analysis", "debug"}


def _names_the_summary(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value == "reasoning_summary"


_QUESTIONS = {
    "is it the answer": _asks_for_the_answer,
    "is it a preamble": _asks_for_a_preamble,
    "who are people": _lists_people,
    "a broken frame": _makes_a_broken_frame,
    "the summary frame": _names_the_summary,
}


def _words(node: ast.expr | ast.AST) -> set[object]:
    return {_word(element) for element in node.elts} if isinstance(node, ast.Tuple | ast.Set | ast.List) else set()


def _word(node: ast.expr) -> object:
    """A constant, or the value of a member such as ``Channel.FINAL``; a unique object for anything else."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Attribute) and _ends_in(node.value, "Channel", "Intent", "Role"):
        return node.attr.lower()
    return node


def _ends_in(node: ast.expr, *names: str) -> bool:
    return (isinstance(node, ast.Name) and node.id in names) or (isinstance(node, ast.Attribute) and node.attr in names)


def test_an_id_of_a_check_belongs_to_one_rule() -> None:
    """Operators look an id up and may silence it: if it had two meanings, they would read about, and silence, the other mistake, too."""
    rules = defaultdict[str, set[str]](set)
    [checks] = [source for source in python_sources() if source.path == "chatui/checks.py"]
    for rule in [each for each in checks.tree().body if isinstance(each, ast.FunctionDef)]:
        for node in ast.walk(rule):
            if isinstance(node, ast.Constant) and (found := re.fullmatch(r"(?:chatui\.)?([EIW]\d{3})", str(node.value))):
                rules[found[1]].add(rule.name)
    assert len(rules) > 50, "hardly any id is found, so this test would prove nothing"
    assert {name: sorted(found) for name, found in rules.items() if len(found) > 1} == {}
