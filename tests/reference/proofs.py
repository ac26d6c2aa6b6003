"""How everything is proved: the theorems that stand in docstrings, each beside the code that it is about."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from tests.reference.text import code, escaped, facts, proof

SOURCE: Final = Path(__file__).parents[2] / "src" / "discreet"
ABOUT: Final = {
    "mechanisms": "ways to release, each with its theorem and its error",
    "noise": "exact draws from random bits",
    "accounting": "losses, how they add up, what they mean",
    "exit": "the release point: what is billed, charged and drawn",
    "ledger": "charges on disk",
    "composed": "queries as values",
    "sql": "sensitivities of every query",
    "engines": "the bounded copy, and what is read of it",
    "curator": "tasks of one policy",
    "learn": "estimators",
    "release": "publications",
    "stream": "data that grows",
    "local": "randomised at the source",
    "federated": "rows that stay with their clients",
}
"""What is proved in which package."""
HEAD: Final = """# How it is proved

Every mechanism, every sensitivity and every way to add up losses has its theorem in the docstring of the code that it
is about, with the proof or its source. These pages collect them, by `python -m tests.reference`. Bounds are proved on
paper and attacked in the tests: neighbours replayed with the same noise, exact distributions compared, other people's
figures reproduced ([what could leak](../vulnerabilities.md)). What the promise is about:
[what is guaranteed](../guarantee.md).

"""


def page(package: str) -> str:
    entries = [_entry(name, text) for name, text in theorems(package)]
    parts = [
        f"# Proofs: {package}\n\nTheorems of [{package}](../../src/discreet/{_path(package).name}): {ABOUT[package]}.\n"
    ]
    return "\n".join(part.rstrip("\n") + "\n" for part in [*parts, *entries])


def index() -> str:
    counts = {package: len(theorems(package)) for package in ABOUT}
    lines = (f"- [{package}]({package}.md): {ABOUT[package]} ({count})" for package, count in counts.items())
    return HEAD + "\n".join(lines) + "\n"


def _path(package: str) -> Path:
    folder = SOURCE / package
    return folder if folder.is_dir() else folder.with_suffix(".py")


@cache
def theorems(package: str) -> tuple[tuple[str, str], ...]:
    """Docstrings with a theorem, in the order of modules and lines."""
    return tuple(_theorems(package))


def _theorems(package: str) -> Iterator[tuple[str, str]]:
    path = _path(package)
    for module in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
        tree = ast.parse(module.read_text("utf-8"))
        name = ".".join(module.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        for inside, node in _documented(tree):
            text = ast.get_docstring(node) or ""
            if "Theorem" in facts(text)[1]:
                yield ".".join([name, *inside]), text


Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _documented(node: Documented, inside: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Documented]]:
    yield inside, node
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _documented(child, (*inside, child.name))


def _entry(name: str, text: str) -> str:
    rest, named = facts(text)
    first = escaped(" ".join(rest.split("\n\n")[0].split()))
    return "\n\n".join([f"## {code(name)}", first, *proof(named)])
