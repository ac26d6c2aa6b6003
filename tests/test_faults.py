"""The mutator changes what is executed, once each time, and nothing else."""

from __future__ import annotations

import ast
import random

import pytest

from tests.faults import mutants
from tests.mutants import BASE, ROOT, TESTS, WIDER, noticing, trusted

KINDS = {
    "a < b": {"(a <= b)"},
    "0.5 <= x < y": {"(0.5 < x < y)", "(0.5 <= x <= y)"},
    "a is None": {"(a is not None)"},
    "a * b": {"(a / b)"},
    "'ε' + b": {"('ε' - b)"},
    "a and b": {"(a or b)"},
    "not a": {"(a)"},
    "-a": {"(a)"},
    "7": {"(8)", "(6)"},
    "True": {"False"},
    "math.floor(a)": {"math.ceil(a)"},
    "float_up(a)": {"float_down(a)"},
    "b if a else c": {"b if (not (a)) else c"},
    "f'{1 + 1}'": set(),
    "a | b": set(),
}


@pytest.mark.parametrize("text", KINDS)
def test_each_kind_of_expression_has_its_faults(text: str) -> None:
    assert {mutant.text for mutant in mutants(text)} == KINDS[text]


def test_statements_have_theirs() -> None:
    source = "def f(x: Literal[1]) -> bool:\n    'ε'\n    if x:\n        raise Bad()\n    x += y\n    return x\n"
    assert [mutant.diff.splitlines()[1:] for mutant in mutants(source)] == [
        ["-    if x:", "+    if (not (x)):"],
        ["-        raise Bad()", "+        pass"],
        ["-    x += y", "+    x -= y"],
        ["-    return x", "+    return None"],
    ]


@pytest.mark.parametrize("some", [3, pytest.param(10**6, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", TESTS)
def test_every_file_of_the_table_has_mutants_that_are_python_and_tests_that_exist(name: str, some: int) -> None:
    assert all((ROOT / path).is_file() for path in TESTS[name])
    source = (ROOT / BASE / name).read_text(encoding="utf-8")
    made = mutants(source)
    assert made
    made = random.sample(made, min(some, len(made)))
    assert len({ast.dump(ast.parse(text)) for text in [source, *(mutant.text for mutant in made)]}) == len(made) + 1


def test_tests_belong_to_every_file_of_the_trusted_base() -> None:
    for path in trusted():
        assert noticing(path) or not mutants((ROOT / path).read_text(encoding="utf-8")), path
    assert all((ROOT / path).exists() for tests in WIDER.values() for path in tests)
