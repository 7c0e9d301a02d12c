"""What could be changed in a module: one comparison, condition, constant, call or statement of a function at a time."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

FLIPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Break: ast.Continue,
    ast.Continue: ast.Break,
}
"""What takes the place of an operator."""

MESSAGES = {"_", "gettext", "gettext_lazy", "ngettext", "pgettext", "debug", "info", "warning", "error", "exception"}
"""Functions whose texts are wording: changing a letter of it is not a mistake in the code."""

FILTERS = {"filter", "exclude", "get", "aget", "update", "aupdate", "Q", "get_or_create", "aget_or_create"}
"""Calls of the database's layer: each keyword is a condition, and leaving one out is a mistake that people make."""

Change = Callable[[ast.AST], ast.AST | None]
"""Changes a node in place, or returns what stands in its place."""


@dataclass(frozen=True)
class Mutant:
    """One change: the ``change``-th of the ``node``-th syntax node of a file."""

    path: str
    line: int
    function: str
    node: int
    change: int
    what: str


def mutants(root: Path, path: str) -> Iterator[Mutant]:
    """Every change that is possible within the functions of ``path``, in order."""
    tree = ast.parse((root / path).read_text("utf-8"))
    names = _functions(tree)
    for number, node in enumerate(ast.walk(tree)):
        if node in names:
            for change, (what, _) in enumerate(changes(node)):
                yield Mutant(path, _line(node), names[node], number, change, what)


def _line(node: ast.AST) -> int:
    """The line on which a node runs. A comprehension has none: its first condition has."""
    place = node.ifs[0] if isinstance(node, ast.comprehension) and node.ifs else node
    return getattr(place, "lineno", 0)


def mutated(root: Path, mutant: Mutant) -> ast.Module:
    """The syntax tree of the mutant's module with its change."""
    tree = ast.parse((root / mutant.path).read_text("utf-8"))
    node = next(node for number, node in enumerate(ast.walk(tree)) if number == mutant.node)
    replacement = changes(node)[mutant.change][1](node)
    if replacement is not None:
        _Replacement(node, replacement).visit(tree)
    return ast.fix_missing_locations(tree)


def changes(node: ast.AST) -> list[tuple[str, Change]]:
    """The changes that are possible at one node, each with its description."""
    found: list[tuple[str, Change]] = []
    for kind, possible in _POSSIBLE:
        if isinstance(node, kind):
            found += possible(node)
    return found


def _functions(tree: ast.Module) -> dict[ast.AST, str]:
    """The nodes that run when a function is called, each with the name of its outermost function. Defaults, decorators, annotations,
    docstrings and the wording of messages do not count."""
    names: dict[ast.AST, str] = {}

    def take(node: ast.AST, name: str) -> None:
        names[node] = name
        for child in _executed(node):
            take(child, name)

    def look(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                for statement in _executed(child):
                    take(statement, prefix + child.name)
            elif isinstance(child, ast.ClassDef):
                look(child, f"{prefix}{child.name}.")

    look(tree, "")
    return names


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """The children of ``node`` that run with it and whose change can be a mistake."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from node.body[1:] if ast.get_docstring(node) is not None else node.body
    elif isinstance(node, ast.AnnAssign):
        yield from [node.value] if node.value else []
    elif isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
        yield from (part for part in ast.iter_child_nodes(node) if isinstance(part, ast.FormattedValue))
    elif isinstance(node, ast.Call) and _name(node.func) in MESSAGES:
        yield from (part for part in node.args[1:] if not isinstance(part, ast.Constant))
    else:
        yield from ast.iter_child_nodes(node)


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


def _operator(node: ast.AST) -> list[tuple[str, Change]]:
    """Another operator, for each operator of a comparison, calculation or condition."""
    found: list[tuple[str, Change]] = []
    operators = node.ops if isinstance(node, ast.Compare) else [node.op]  # type: ignore[attr-defined]
    for place, operator in enumerate(operators):
        other = FLIPPED.get(type(operator))
        if other is not None:

            def flip(node: ast.AST, place: int = place, other: type[ast.AST] = other) -> None:
                if isinstance(node, ast.Compare):
                    node.ops[place] = other()  # type: ignore[call-overload]
                else:
                    node.op = other()  # type: ignore[attr-defined]

            found.append((f"{type(operator).__name__} -> {other.__name__}", flip))
    return found


def _operands(node: ast.AST) -> list[tuple[str, Change]]:
    """One operand of ``and`` or ``or`` left out."""
    assert isinstance(node, ast.BoolOp)

    def without(place: int) -> Change:
        def drop(node: ast.AST) -> ast.AST | None:
            assert isinstance(node, ast.BoolOp)
            del node.values[place]
            return node.values[0] if len(node.values) == 1 else None

        return drop

    return [(f"without `{ast.unparse(value)}`", without(place)) for place, value in enumerate(node.values)]


def _tests(node: ast.AST) -> list[tuple[str, Change]]:
    """A condition that always or never holds."""

    def always(value: bool) -> Change:
        def fix(node: ast.AST) -> None:
            node.test = ast.Constant(value)  # type: ignore[attr-defined]

        return fix

    values = [False] if isinstance(node, ast.While) else [True, False]
    return [(f"`{ast.unparse(node.test)}` -> {value}", always(value)) for value in values]  # type: ignore[attr-defined]


def _comprehension(node: ast.AST) -> list[tuple[str, Change]]:
    """A comprehension without its condition."""
    assert isinstance(node, ast.comprehension)
    return [("without " + ", ".join(map(ast.unparse, node.ifs)), lambda node: setattr(node, "ifs", []))] if node.ifs else []


def _constant(node: ast.AST) -> list[tuple[str, Change]]:
    """Another constant."""
    assert isinstance(node, ast.Constant)
    value = node.value
    others: list[object] = []
    if isinstance(value, bool):
        others = [not value]
    elif isinstance(value, int | float):
        others = [value + 1]
    elif isinstance(value, str) and value and " " not in value.strip():  # a sentence is wording
        others = [value + "~"]
    return [(f"{value!r} -> {other!r}", partial(_set_value, ast.Constant(other))) for other in others]  # type: ignore[arg-type]


def _set_value(value: ast.Constant, node: ast.AST) -> ast.AST:
    return value


def _negation(node: ast.AST) -> list[tuple[str, Change]]:
    assert isinstance(node, ast.UnaryOp)
    return [(f"without not: `{ast.unparse(node)}`", lambda node: node.operand)] if isinstance(node.op, ast.Not) else []  # type: ignore[attr-defined]


def _result(node: ast.AST) -> list[tuple[str, Change]]:
    """A function that returns nothing instead of a value."""
    assert isinstance(node, ast.Return)
    if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
        return []
    return [(f"`{ast.unparse(node)}` -> return None", lambda node: setattr(node, "value", ast.Constant(None)))]


def _statement(node: ast.AST) -> list[tuple[str, Change]]:
    """A statement left out: a call, a raise, or an assignment to something that exists before."""
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await)
    is_set = isinstance(node, ast.Assign) and all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets)
    if is_call or is_set or isinstance(node, ast.Raise | ast.AugAssign | ast.Delete):
        return [(f"without `{ast.unparse(node)}`", lambda node: ast.Pass())]
    return []


def _jump(node: ast.AST) -> list[tuple[str, Change]]:
    other = FLIPPED[type(node)]
    return [(f"{type(node).__name__} -> {other.__name__}", lambda node: other())]


def _conditions(node: ast.AST) -> list[tuple[str, Change]]:
    """A query without one of its conditions."""
    assert isinstance(node, ast.Call)
    if _name(node.func) not in FILTERS:
        return []

    def without(place: int) -> Change:
        def drop(node: ast.AST) -> None:
            assert isinstance(node, ast.Call)
            del node.keywords[place]

        return drop

    return [(f"without `{ast.unparse(one.value)}` as {one.arg}", without(place)) for place, one in enumerate(node.keywords) if one.arg]


_POSSIBLE: list[tuple[type[ast.AST] | tuple[type[ast.AST], ...], Callable[[ast.AST], list[tuple[str, Change]]]]] = [
    ((ast.Compare, ast.BoolOp, ast.BinOp, ast.AugAssign), _operator),
    (ast.BoolOp, _operands),
    ((ast.If, ast.IfExp, ast.While), _tests),
    (ast.comprehension, _comprehension),
    (ast.Constant, _constant),
    (ast.UnaryOp, _negation),
    (ast.Return, _result),
    (ast.stmt, _statement),
    ((ast.Break, ast.Continue), _jump),
    (ast.Call, _conditions),
]


class _Replacement(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, node: ast.AST, replacement: ast.AST) -> None:
        self._node, self._replacement = node, replacement

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self._node:
            return ast.copy_location(self._replacement, node)
        return self.generic_visit(node)
