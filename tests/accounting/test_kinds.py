"""Only accounting asks which kind a loss is: everybody else calls its methods, so that a new kind is one class."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings

import discreet
from discreet.accounting import Approximate, Concentrated, Loss, Pure, compose, epsilon_of
from discreet.accounting.balance import Amount
from discreet.accounting.losses import is_loss
from discreet.accounting.rounding import float_up
from tests.accounting.test_losses import concentrates, losses, pures

SOURCE = Path(discreet.__file__).parent
KINDS = {"Pure", "Concentrated", "Approximate"}
law = settings(deadline=None, max_examples=50)


def asked(text: str) -> Iterator[int]:
    """Lines that ask for the kind of a loss: isinstance, issubclass, a comparison with a kind or with one of its own
    values, a case of a match."""
    for node in ast.walk(ast.parse(text)) if any(kind in text for kind in KINDS) else ():
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, kinds]) if _names(kinds) & KINDS:
                yield node.lineno
            case ast.Compare() if _names(node) & KINDS:
                yield node.lineno
            case ast.MatchClass(cls=cls) if _names(cls) & KINDS:
                yield node.lineno


def _names(node: ast.AST) -> set[str]:
    inner = list(ast.walk(node))
    return {each.id for each in inner if isinstance(each, ast.Name)} | {
        each.attr for each in inner if isinstance(each, ast.Attribute)
    }


def test_nobody_else_asks_which_kind_a_loss_is() -> None:
    files = [path for path in SOURCE.rglob("*.py") if "accounting" not in path.relative_to(SOURCE).parts]
    assert len(files) > 100
    found = [f"{path.relative_to(SOURCE)}:{line}" for path in files for line in asked(path.read_text(encoding="utf-8"))]
    assert not found, "give the loss a method instead"


@pytest.mark.parametrize(
    "text",
    [
        "isinstance(loss, Pure)",
        "isinstance(loss, (str, accounting.Concentrated))",
        "isinstance(loss, Pure | Concentrated)",
        "issubclass(type(loss), Approximate)",
        "type(loss) is Pure",
        "loss in (Pure(0), Concentrated(0))",
        "match loss:\n    case Pure():\n        pass",
    ],
)
def test_the_question_is_noticed_however_it_is_written(text: str) -> None:
    assert list(asked(text))


def test_making_a_loss_is_no_question() -> None:
    assert not list(asked("nothing = Pure(0) if delta is None else Concentrated(0)\nx: Pure | None = None"))


# what the methods say


@law
@given(losses, losses)
def test_a_bound_on_two_releases_bounds_each(one: Loss, other: Loss) -> None:
    both = compose(one, other)
    assert both.bounds(both)
    assert both.bounds(one) or (both.is_pure and not isinstance(one, Pure))


def test_what_is_not_pure_is_within_no_pure_limit() -> None:
    assert not Pure(9).bounds(Concentrated(0))
    assert not Pure(9).bounds(Approximate(0, 1e-9))
    assert Pure(9).bounds(Pure(9))
    assert not Pure(9).bounds(Pure(9 + Fraction(1, 10**30)))
    assert Concentrated(1).bounds(Pure(1))
    assert not Concentrated(1, 1e-9).bounds(Concentrated(1, 2e-9))


@law
@given(losses)
def test_sums_with_nothing_are_in_its_currency(loss: Loss) -> None:
    assert compose(Concentrated(0), loss) == loss.concentrated()
    assert compose(Pure(0), loss) == (loss if isinstance(loss, Pure) else loss.concentrated())


@law
@given(pures)
def test_names_of_a_pure_loss(loss: Pure) -> None:
    assert loss.named == loss.amounts == {"epsilon": loss.epsilon}
    assert loss.is_pure
    assert loss.at(Fraction(1, 100)) == (loss.epsilon, Fraction(0))


@law
@given(concentrates)
def test_names_of_a_concentrated_loss(loss: Concentrated) -> None:
    assert {**loss.named, "delta": loss.delta} == loss.amounts
    assert not loss.is_pure
    epsilon, delta = loss.at(Fraction(1, 10**6))
    assert delta == max(Fraction(1, 10**6), 2 * loss.delta)
    assert float_up(epsilon) == epsilon_of(loss, delta)


def test_what_a_statement_says_is_what_it_claims() -> None:
    assert Concentrated(0.1, 1e-5).at(Fraction(1, 10**6))[1] == Fraction(2, 10**5)
    assert Approximate(1, 1e-6).at(Fraction(1, 2)) == (Fraction(1), Fraction(1, 10**6))


def test_a_remainder_pays_what_it_bounds() -> None:
    assert Amount(0.5).affords(Pure(0.5))
    assert not Amount(0.5).affords(Pure(0.6))
    assert not Amount(0.5).affords(Concentrated(0))
    assert Amount(1.0, rho=0.5, delta=1e-7).affords(Concentrated(0.5, 1e-7))
    assert not Amount(1.0, rho=0.5, delta=None).affords(Concentrated(0.5, 1e-7))
    assert not Amount(1.0, rho=0.5, delta=1e-7).affords(Concentrated(0.51))
    assert Amount(1e36, rho=1e36, delta=1e36).affords(Concentrated(9, 0.5)), "ledgers without end, and servers that lie"
    assert not Amount(-1.0).affords(Pure(0))


def test_only_losses_are_losses() -> None:
    assert all(map(is_loss, (Pure(1), Concentrated(1), Approximate(1, 0.1))))
    assert not any(map(is_loss, (1, (1, 0.1), None, Pure, "Pure(1)")))
