"""The public names of Python, by package: signatures with types, docstrings, members."""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any, Final, ForwardRef

from tests.reference.text import cell, code, escaped, facts, line, proof, prose, table

PUBLIC: Final = (
    "", "learn", "release", "stream", "local", "federated", "collector", "client", "mechanisms", "accounting", "noise",
    "policy", "audit",
)  # fmt: skip
"""Packages whose names are for users: the first is discreet itself."""
INSIDE: Final = ("answers", "cli", "exit", "ledger")
"""Packages that say which names other packages of ours use."""
MAX_DEFAULT: Final = 60
ADDRESS: Final = re.compile(r"<([\w.]+)( object)? at 0x[0-9a-f]+>")


class Bare(str):
    """An annotation that is shown as it was written."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def file_of(package: str) -> str:
    return f"python-{package}.md" if package else "python.md"


def module_of(package: str) -> ModuleType:
    return import_module(f"discreet.{package}" if package else "discreet")


def names(package: str) -> list[str]:
    return sorted(module_of(package).__all__, key=str.lower)


def page(package: str) -> str:
    module = module_of(package)
    parts = [f"# {module.__name__}\n\n{prose(module.__doc__ or '')}\n"]
    if not package:
        others = ", ".join(f"[{other}]({file_of(other)})" for other in PUBLIC if other)
        parts.append(
            f"Packages with more names: {others}.\n\nMade from signatures and docstrings by `python -m tests.reference`.\n"
        )
    parts += [_entry(name, getattr(module, name)) for name in names(package)]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _entry(name: str, value: Any) -> str:
    if inspect.ismodule(value):
        package = value.__name__.rpartition(".")[2]
        return f"## {name}\n\nA package: [{value.__name__}]({file_of(package)}).\n"
    if inspect.isclass(value):
        return f"## {name}\n\n{_class(name, value)}"
    if callable(value) and hasattr(value, "__name__"):
        return f"## {name}\n\n{_signed(name, value)}\n\n{documented(value.__doc__ or '')}\n"
    return f"## {name}\n\n{_constant(value)}\n"


def _constant(value: Any) -> str:
    shown = ADDRESS.sub(r"\1", repr(value))
    kind = code(type(value).__name__)
    return f"A constant, {kind}: {code(shown)}." if len(shown) <= 80 and "`" not in shown else f"A constant, {kind}."


def _class(name: str, value: type) -> str:
    parts = [] if issubclass(value, enum.Enum | BaseException) else [_signed(name, value)]
    parts.append(documented(own_doc(value)))
    if issubclass(value, enum.Enum):
        parts.append(table(["member", "value"], ([cell(each.name), cell(repr(each.value))] for each in value)))
    rows = [[cell(shown), line(told)] for shown, told in members(value)]
    if rows:
        parts.append(table(["member", "is"], rows))
    return "\n\n".join(part for part in parts if part.strip()) + "\n"


def own_doc(value: type) -> str:
    """The class's own docstring, or its nearest base's of ours; dataclasses without one get theirs from Python."""
    for each in value.__mro__:
        text = each.__dict__.get("__doc__")
        if each.__module__.startswith("discreet") and text and not text.startswith(f"{each.__name__}("):
            return str(text)
    return ""


def documented(text: str) -> str:
    """A docstring, with its proof as a table."""
    rest, named = facts(text)
    return "\n\n".join(part for part in (prose(rest), *proof(named)) if part)


def members(value: type) -> Iterator[tuple[str, str]]:
    """Public methods and properties that are ours, each with the first paragraph of its docstring."""
    seen: set[str] = set()
    for base in value.__mro__:
        if not base.__module__.startswith("discreet") or issubclass(base, enum.Enum):
            continue
        for name, member in vars(base).items():
            if not name.startswith("_") and name not in seen and (shown := _member(name, member)):
                seen.add(name)
                yield shown, _first(member)


def _member(name: str, member: Any) -> str:
    if isinstance(member, property):
        return f".{name}{_returned(member.fget)}"
    if isinstance(member, cached_property):
        return f".{name}{_returned(member.func)}"
    if isinstance(member, classmethod | staticmethod):
        return f".{name}{signature(member.__func__, bound=isinstance(member, classmethod))}"
    return f".{name}{signature(member, bound=True)}" if inspect.isfunction(member) else ""


def _returned(function: Any) -> str:
    annotation = getattr(function, "__annotations__", {}).get("return")
    return f": {annotation}" if isinstance(annotation, str) else ""


def _first(member: Any) -> str:
    target = (
        getattr(member, "__func__", None) or getattr(member, "fget", None) or getattr(member, "func", None) or member
    )
    return re.split(r"\n\s*\n", inspect.cleandoc(target.__doc__ or ""))[0]


def _signed(name: str, value: Any) -> str:
    return code(f"{name}{signature(value)}".replace("`", ""))


def signature(value: Any, *, bound: bool = False) -> str:
    """Parameters with their types as they are written, without the first where that is the object itself."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(…)"
    shown = [
        each.replace(annotation=_bare(each.annotation), default=_default(each.default))
        for each in found.parameters.values()
    ]
    made = found.replace(parameters=shown[1:] if bound else shown, return_annotation=_bare(found.return_annotation))
    return ADDRESS.sub(r"\1", str(made)).removesuffix(" -> None")


def _bare(annotation: Any) -> Any:
    written = annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else annotation
    return Bare(written) if isinstance(written, str) else written


def _default(value: Any) -> Any:
    """A default, unless it is long or has another name in every run."""
    shown = repr(value)
    return (
        value
        if value is inspect.Parameter.empty or (len(shown) <= MAX_DEFAULT and " at 0x" not in shown)
        else Bare("…")
    )


def summary(package: str) -> str:
    return escaped((module_of(package).__doc__ or "").split("\n")[0])
