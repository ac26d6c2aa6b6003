from __future__ import annotations

import ast
import copy
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.accounting.relations import CODE
from discreet.answers.models import TASKS
from discreet.client.pep249 import REFUSALS
from discreet.client.problems import SPENT, Unreachable
from discreet.engines.problems import SourceError
from discreet.errors import BudgetExhausted, Edit, Problem, QueryFailed, Refused
from discreet.errors.codes import CODES, REFUSED, status_of
from discreet.ledger import LedgerDamaged, LedgerError
from tests.codes import PAGE, page


def test_a_refusal_says_code_reason_and_fix() -> None:
    refusal = Refused("undeclared-bounds", "cost has no bounds", "add min and max to the policy")
    assert (refusal.code, refusal.reason) == ("undeclared-bounds", "cost has no bounds")
    assert refusal.fix == "add min and max to the policy"
    assert str(refusal) == "undeclared-bounds: cost has no bounds → add min and max to the policy"


def test_a_refusal_without_a_fix_says_so_much() -> None:
    assert str(Refused("not-supported", "no")) == "not-supported: no"


def test_an_exhausted_budget_is_a_refusal_with_a_code_of_its_own() -> None:
    refusal = BudgetExhausted("nothing is left", "wait")
    assert isinstance(refusal, Refused)
    assert refusal.code == "budget-exhausted"
    assert str(refusal) == "budget-exhausted: nothing is left → wait"


@pytest.mark.parametrize(
    "refusal",
    [Refused("a-code", "a reason", "a fix"), Refused("a-code", "a reason"), BudgetExhausted("a reason", "a fix")],
)
def test_refusals_travel_between_processes(refusal: Refused) -> None:
    for again in (pickle.loads(pickle.dumps(refusal)), copy.copy(refusal), copy.deepcopy(refusal)):
        assert type(again) is type(refusal)
        assert (again.code, again.reason, again.fix) == (refusal.code, refusal.reason, refusal.fix)
        assert str(again) == str(refusal)


def test_edits_travel_with_them() -> None:
    refusal = BudgetExhausted("a reason", "a fix", edit=Edit(arguments={"epsilon": 0.1}))
    for again in (pickle.loads(pickle.dumps(refusal)), copy.copy(refusal), copy.deepcopy(refusal)):
        assert again.edit == refusal.edit


@pytest.mark.parametrize(
    ("problem", "code", "spent"),
    [
        (Refused("syntax", "a reason"), "syntax", 0),
        (QueryFailed(), "failed", None),
        (LedgerError("a reason"), "ledger", None),
        (LedgerDamaged("a reason", "a fix"), "ledger", None),
        (SourceError("visits", "a reason"), "source", 0),
        (Unreachable("a reason"), "unreachable", None),
    ],
)
def test_all_that_goes_wrong_has_one_form(problem: Problem, code: str, spent: int | None) -> None:
    assert (problem.code, problem.spent, problem.edit) == (code, spent, None)
    assert problem.detail in str(problem)
    assert str(pickle.loads(pickle.dumps(problem))) == str(problem)


# the registry

SOURCES = sorted((Path(__file__).parents[1] / "src").rglob("*.py"))
HYPHENS = re.compile(r"[a-z]+(-[a-z]+)+")
PASSED_ON = {"client/problems.py", "audit/sql_mechanism.py", "answers/models.py", "federated/participant.py"}
"""Files that hand on the code of a refusal that was made elsewhere, or of `TASKS`."""


def _codes(tree: ast.AST) -> Iterator[ast.expr]:
    """Where a code is given: first in `Refused(…)`, or named so."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called == "Refused":
                yield from _branches(node.args[0])
            elif called == "demand" and len(node.args) == 4:
                yield node.args[1]
        elif isinstance(node, ast.ClassDef):
            for line in node.body:
                if isinstance(line, ast.Assign) and getattr(line.targets[0], "id", "") == "code":
                    yield line.value


def _branches(code: ast.expr) -> list[ast.expr]:
    return [code.body, code.orelse] if isinstance(code, ast.IfExp) else [code]


def _listed(tree: ast.AST) -> Iterator[str]:
    """The first words of rows of texts, where they look like codes: tables of refusals."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple) and len(node.elts) == 3:
            words = [each.value for each in node.elts if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            if len(words) == 3 and (HYPHENS.fullmatch(words[0]) or words[0] == "syntax"):
                yield words[0]


def test_every_code_in_the_source_is_registered() -> None:
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        if not re.search(r"Refused|demand|\bcode\b", text):
            continue
        tree = ast.parse(text)
        given = list(_codes(tree))
        assert {each.value for each in given if isinstance(each, ast.Constant)} <= CODES.keys(), path
        others = [each for each in given if not isinstance(each, ast.Constant) and getattr(each, "id", "") != "CODE"]
        if others and str(path).rpartition("discreet/")[2] not in PASSED_ON | {"learn/core.py"}:  # `demand` itself
            rows = set(_listed(tree))
            assert rows, (path, [ast.unparse(each) for each in others])
            assert rows <= CODES.keys(), path


def test_every_registered_code_is_used() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES if path.name != "codes.py")
    assert [code for code in CODES if f'"{code}"' not in text] == []
    assert {CODE, *REFUSALS, *SPENT, *(kind.code for kind in TASKS.values())} <= CODES.keys()


@pytest.mark.parametrize("code", CODES)
def test_a_code_has_a_status_a_sentence_and_a_page(code: str) -> None:
    found = CODES[code]
    assert 400 <= found.status < 600
    assert found.says
    assert not found.says.endswith(".")
    assert (Path(__file__).parents[1] / "docs/guide" / f"{found.page}.md").is_file()


def test_codes_of_newer_servers_are_refusals() -> None:
    assert status_of("too-early") == REFUSED
    assert status_of("budget-exhausted") == 402


def test_the_guide_lists_all_codes() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == page(), "python -m tests.codes writes it anew"
