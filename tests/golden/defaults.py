"""What callers of the trusted base get who leave an argument out, and the numbers that stand in its modules."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from importlib import import_module
from types import ModuleType
from typing import Any

from tests.mutants import BASE, trusted


def modules() -> Iterator[tuple[str, ModuleType]]:
    for path in trusted():
        name = f"discreet.{path.removeprefix(BASE).removesuffix('.py').removesuffix('/__init__').replace('/', '.')}"
        yield name, import_module(name)


def constants() -> Iterator[tuple[str, Any]]:
    """Every number that a module of the trusted base has a name for; imported ones stand where they are from."""
    for name, module in modules():
        for label in sorted(set(_assigned(module))):
            value = vars(module).get(label)
            if label.isupper() and isinstance(value, int | float | Fraction | Decimal):
                yield f"{name}.{label}", str(value)


def defaults() -> Iterator[tuple[str, Any]]:
    """For every public function, class and method the arguments that may be left out, and what they are then."""
    for name, module in modules():
        for owner, value in sorted(vars(module).items()):
            if owner.startswith("_") or getattr(value, "__module__", None) != name:
                continue
            members = vars(value).items() if inspect.isclass(value) else ()
            for label, each in [(owner, value), *((f"{owner}.{member}", each) for member, each in sorted(members))]:
                left_out = _left_out(each)
                if left_out and not label.split(".")[-1].startswith("_"):
                    yield f"{name}.{label}", left_out


def _assigned(module: ModuleType) -> Iterator[str]:
    for statement in ast.parse(inspect.getsource(module)).body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        yield from (name.id for target in targets if target for name in ast.walk(target) if isinstance(name, ast.Name))


def _left_out(value: Any) -> dict[str, str]:
    function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    if not inspect.isfunction(function) and (not inspect.isclass(function) or issubclass(function, Enum)):
        return {}
    given = {each.name: each.default for each in inspect.signature(function).parameters.values()}
    return {name: str(value) for name, value in given.items() if isinstance(value, bool | int | float | str | Fraction)}
