"""What callers of the trusted base get who leave an argument out."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from enum import Enum
from fractions import Fraction
from importlib import import_module
from typing import Any

from tests.mutants import BASE, trusted


def defaults() -> Iterator[tuple[str, Any]]:
    """For every public function, class and method the arguments that may be left out, and what they are then."""
    for path in trusted():
        name = f"discreet.{path.removeprefix(BASE).removesuffix('.py').removesuffix('/__init__').replace('/', '.')}"
        module = import_module(name)
        for owner, value in sorted(vars(module).items()):
            if owner.startswith("_") or getattr(value, "__module__", None) != name:
                continue
            members = vars(value).items() if inspect.isclass(value) else ()
            for label, each in [(owner, value), *((f"{owner}.{member}", each) for member, each in sorted(members))]:
                left_out = _left_out(each)
                if left_out and not label.split(".")[-1].startswith("_"):
                    yield f"{name}.{label}", left_out


def _left_out(value: Any) -> dict[str, str]:
    function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    if not inspect.isfunction(function) and (not inspect.isclass(function) or issubclass(function, Enum)):
        return {}
    given = {each.name: each.default for each in inspect.signature(function).parameters.values()}
    return {name: str(value) for name, value in given.items() if isinstance(value, bool | int | float | str | Fraction)}
