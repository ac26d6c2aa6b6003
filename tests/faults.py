"""One small change at a time to a source text, of the kinds that slip into a trusted file unseen."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

SWAPS = "Lt LtE, Gt GtE, Eq NotEq, Is IsNot, In NotIn, Add Sub, Mult Div, And Or"
OPERATORS = {a: b for one, two in map(str.split, SWAPS.split(",")) for a, b in ((one, two), (two, one))}
OPERATORS |= dict.fromkeys(("FloorDiv", "Mod", "Pow"), "Mult")
OPPOSITES = "min max, floor ceil, up down, float_up float_down, charged granted, any all"
NAMES = {a: b for one, two in map(str.split, OPPOSITES.split(",")) for a, b in ((one, two), (two, one))}
"""Functions whose opposite looks as innocent, most of them directions of rounding."""


@dataclass(frozen=True, slots=True)
class Mutant:
    number: int
    source: str
    text: str

    @property
    def diff(self) -> str:
        lines = difflib.unified_diff(self.source.splitlines(), self.text.splitlines(), lineterm="", n=0)
        return "\n".join(line for line in lines if not line.startswith(("---", "+++")))


def mutants(source: str) -> list[Mutant]:
    """All of a source text, in its order."""
    nodes = [node for node in _nodes(ast.parse(source)) if type(node) in CHANGES]
    found = [_spliced(source, old, new) for node in nodes for old, new in CHANGES[type(node)](node)]
    return [Mutant(number, source, text) for number, text in enumerate(dict.fromkeys(found))]


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """What is executed: annotations and decorators are not, and inside f-strings Python 3.11 does not know places."""
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child
                if not isinstance(child, ast.JoinedStr):
                    yield from _nodes(child)


Change = tuple[ast.expr | ast.stmt, str]
"""What is replaced, and by which text."""


def _comparisons(node: ast.Compare) -> Iterator[Change]:
    for place, operator in enumerate(node.ops):
        yield node, f"({_with(node, ops=[*node.ops[:place], _other(operator), *node.ops[place + 1 :]])})"


def _operators(node: ast.BinOp | ast.BoolOp) -> Iterator[Change]:
    if _name(node.op) in OPERATORS:
        yield node, f"({_with(node, op=_other(node.op))})"


def _steps(node: ast.AugAssign) -> Iterator[Change]:
    if _name(node.op) in OPERATORS:
        yield node, _with(node, op=_other(node.op))


def _signs(node: ast.UnaryOp) -> Iterator[Change]:
    if isinstance(node.op, ast.Not | ast.USub):
        yield node, f"({ast.unparse(node.operand)})"


def _constants(node: ast.Constant) -> Iterator[Change]:
    if isinstance(node.value, bool):
        yield node, str(not node.value)
    elif isinstance(node.value, int):
        yield from ((node, f"({node.value + by})") for by in (1, -1))


def _names(node: ast.Name | ast.Attribute) -> Iterator[Change]:
    field = "id" if isinstance(node, ast.Name) else "attr"
    if isinstance(node.ctx, ast.Load) and getattr(node, field) in NAMES:
        yield node, _with(node, **{field: NAMES[getattr(node, field)]})


def _conditions(node: ast.If | ast.IfExp) -> Iterator[Change]:
    yield node.test, f"(not ({ast.unparse(node.test)}))"


def _returns(node: ast.Return) -> Iterator[Change]:
    if node.value is not None and ast.unparse(node.value) != "None":
        yield node.value, "None"


def _raises(node: ast.Raise) -> Iterator[Change]:
    yield node, "pass"


CHANGES: dict[type[ast.AST], Callable[[Any], Iterator[Change]]] = {
    ast.Compare: _comparisons,
    ast.BinOp: _operators,
    ast.BoolOp: _operators,
    ast.AugAssign: _steps,
    ast.UnaryOp: _signs,
    ast.Constant: _constants,
    ast.Name: _names,
    ast.Attribute: _names,
    ast.If: _conditions,
    ast.IfExp: _conditions,
    ast.Return: _returns,
    ast.Raise: _raises,
}


def _name(operator: ast.AST) -> str:
    return type(operator).__name__


def _other(operator: ast.AST) -> object:
    return getattr(ast, OPERATORS[_name(operator)])()


def _with(node: ast.AST, **fields: object) -> str:
    changed = deepcopy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return ast.unparse(changed)


def _spliced(source: str, old: ast.expr | ast.stmt, new: str) -> str:
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    assert old.end_lineno is not None
    assert old.end_col_offset is not None
    start = sum(map(len, lines[: old.lineno - 1])) + old.col_offset
    end = sum(map(len, lines[: old.end_lineno - 1])) + old.end_col_offset
    whole = b"".join(lines)
    return (whole[:start] + new.encode() + whole[end:]).decode()
