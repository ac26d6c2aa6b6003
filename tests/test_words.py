"""One name for each concept, the textbook's: words that we had before are gone from code, messages, pages and docs.

The words that we say are in docs/glossary.md. Ordinary English stays: what is listed here named concepts of the field.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = ROOT / "src" / "discreet"
PACKAGES: Final = {path.name for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}

NAMES: Final = {
    **dict.fromkeys(("price", "prices", "priced", "pricing"), "cost"),
    **dict.fromkeys(("reach", "reaches"), "sensitivity"),
    **dict.fromkeys(("door", "doors"), "exit, release point"),
    **dict.fromkeys(("foretold", "foretell", "foretellable", "foresee"), "expected error"),
    **dict.fromkeys(("mend", "mended", "mending"), "fix"),
    **dict.fromkeys(("dear", "dearest"), "the maximum"),
    **dict.fromkeys(("bought", "buy", "buys", "paid", "pay", "pays"), "cost, charge"),
    "kept": "cached, or the thing itself",
}
"""Parts of identifiers, and what they are called now."""
VAGUE: Final = {"found", "told", "asked", "place", "LONGEST", "MOST"}
"""Identifiers that say nothing: the thing has a name."""
PHRASES: Final = {
    r"\bpric(e|es|ed|ing)\b": "cost",
    r"\b(its|the|a|declared|of) reach(es)?\b": "sensitivity",
    r"\bdoors?\b": "release point",
    r"\bforet(old|ells?|elling)\b|\bforesee": "expected error",
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\bdear(er|est|ly)?\b": "the maximum counts",
    r"\b(pay|pays|paid|buys?|bought)\b": "cost, charge",
    r"\bmade[- ]up\b": "dummy data",
    r"\beyes only\b": "contains exact values: do not share",
    r"\b(same|one) lie\b": "cached",
    r"\bkept answers?\b|\banswers? (is|are) kept\b": "cached",
    r"\btake it with you\b": "Export",
    r"\bheld between\b": "clamped to [low, high]",
    r"\bbelongs? to nobody\b": "rows with NULL unit id are dropped",
    r"\bnoise decides\b": "partition selection",
    r"\brows away\b": "95 % rank error ≤ k rows",
    r"\btext is not understood\b": "syntax error near",
    r"\bmeans something else now\b": "computed under an earlier policy",
}
"""Phrases in strings of the code, in pages and in docs, and what is said now."""
ANY: Final = re.compile("|".join(PHRASES), re.IGNORECASE)
ON_DISK: Final = frozenset({"price", "portion"})
"""Keys of records in ledgers: the file format does not change."""
RECORDS: Final = frozenset({"mutants.md", "glossary.md"})
"""What tells of code as it was, and what lists the old words."""


def parts(name: str) -> list[str]:
    """
    >>> parts("_reachOf"), parts("MOST_KEYS"), parts("PriceList2")
    (['reach', 'of'], ['most', 'keys'], ['price', 'list'])
    """
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def identifiers(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Every name that the code itself gives: what it defines, binds, takes and stores."""
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.alias(asname=str(name)):
                yield node.lineno, name


def strings(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in ON_DISK:
            yield node.lineno, without_keys(node.value)


def without_keys(text: str) -> str:
    """What is said beside keys of records, which stand in quotes."""
    return re.sub("|".join(rf"[`\"]{key}[`\"]" for key in ON_DISK), "", text)


def wrong_names(path: Path, named: Iterable[tuple[int, str]]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{line}: {name}: say {NAMES[part]}"
        for line, name in [(1, path.stem), *named]
        for part in parts(name)
        if part in NAMES
    ]


def vague(path: Path, named: Iterable[tuple[int, str]]) -> list[str]:
    return [f"{path.relative_to(ROOT)}:{line}: {name}: name the thing" for line, name in named if name in VAGUE]


def wrong_phrases(path: Path, texts: Iterable[tuple[int, str]]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{line}: {match[0]}: say {say}"
        for line, text in texts
        if ANY.search(text)
        for phrase, say in PHRASES.items()
        for match in re.finditer(phrase, text, re.IGNORECASE)
    ]


def wrong(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        nodes = list(ast.walk(ast.parse(text)))
        named = list(identifiers(nodes))
        own = vague(path, named) if path.is_relative_to(SOURCE) else []
        return wrong_names(path, named) + own + wrong_phrases(path, strings(nodes))
    return wrong_phrases(path, enumerate(map(without_keys, text.splitlines()), 1))


def files(package: str) -> list[Path]:
    path = SOURCE / package
    inside = path.rglob("*") if path.is_dir() else [path]
    return sorted(each for each in inside if each.suffix in {".py", ".html", ".js", ".md"})


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_packages_say_the_words_of_the_field(package: str) -> None:
    assert not [line for path in files(package) for line in wrong(path)]


def test_documents_say_the_words_of_the_field() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.py")]
    assert not [line for path in sorted(pages) if path.name not in RECORDS for line in wrong(path)]


@pytest.mark.parametrize("code", ["found = 1", "def f(told): pass", "for place in x: pass", "class A:\n    MOST = 3"])
def test_identifiers_name_the_thing(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the package, which the test above reads."""
    path = tmp_path / "x.py"
    path.write_text(code, encoding="utf-8")
    for name in ("ROOT", "SOURCE"):
        monkeypatch.setattr(f"tests.test_words.{name}", tmp_path)
    assert any("name the thing" in line for line in wrong(path))


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("price = 1", "cost"),
        ("def by_price(x): pass", "cost"),
        ("class Door: pass", "release point"),
        ("self.kept = 1", "cached"),
        ("def f(*, reach): pass", "sensitivity"),
        ("import a as bought", "charge"),
        ("x = 'pay for it'", "charge"),
        ("x = f'{y} rows away'", "rank error"),
        ('"""The dearest part."""', "maximum"),
    ],
)
def test_what_is_listed_is_noticed(code: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.test_words.ROOT", tmp_path)
    path = tmp_path / "x.py"
    path.write_text(code, encoding="utf-8")
    assert any(says in line for line in wrong(path))


@pytest.mark.parametrize(
    "code", ["most = 3", "x = 'within reach of everybody'", "y = record['price']", "reached = 1", "payload = 2"]
)
def test_ordinary_english_is_not(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.test_words.ROOT", tmp_path)
    path = tmp_path / "x.py"
    path.write_text(code, encoding="utf-8")
    assert not wrong(path)
