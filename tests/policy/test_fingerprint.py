"""Fingerprints: golden values, what they see, what they do not see."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.policy import (
    Budget,
    Column,
    Format,
    Hop,
    Kind,
    Owner,
    Policy,
    Source,
    Table,
    fingerprint,
    protected,
)
from discreet.policy.model import UNIT_ROWS
from tests.policy.examples import BANK, HOSPITAL, policy_of

GOLDEN = {
    HOSPITAL: (
        "6c194a4b0eefd8dfcb3fb8b27115a9dce0c5217748dbe795c235e60d7208802c",
        "3b9480e8323491d0ed052f5a56f407a06ac47b0ddb6ac808b6d9c08e86aa87ca",
    ),
    BANK: (
        "af3d6e42eef60094e3c6e8a1fe947365794f66460159070bef068e3061478af1",
        "b4d1bd5e4f6eeb2b4321b1689dff4acef438d055540c88f3ae6a20bbdfc3d8ff",
    ),
}


@pytest.mark.parametrize("text", GOLDEN, ids=["hospital", "bank"])
def test_fingerprints_never_change(text: str) -> None:
    """If this fails, ledgers and kept answers out there stop matching: raise the version instead (see the module)."""
    policy = policy_of(text)
    assert (fingerprint(policy), protected(policy)) == GOLDEN[text]


def test_fingerprints_are_the_same_in_another_process() -> None:
    code = (
        "from tests.policy.examples import *; from discreet.policy import *; "
        "print(fingerprint(policy_of(BANK)), protected(policy_of(BANK)))"
    )
    root = Path(__file__).parents[2]
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root).stdout
    assert tuple(shown.split()) == GOLDEN[BANK]


names = st.sampled_from(["a", "b", "ä", "A b"])
sources = st.builds(Source, st.sampled_from(Format), st.sampled_from(["x.csv", "y.csv"]), st.sampled_from([None, "t"]))
owners = st.builds(
    Owner, st.sampled_from([None, "id", "key"]), st.lists(st.builds(Hop, names, names, names), max_size=2).map(tuple)
)
limits = st.integers(1, 2)
fractions = st.sampled_from([Fraction(0), Fraction(1), Fraction(1, 3), Fraction(10**30)])
moments = st.sampled_from([date(2024, 1, 1), datetime(2024, 1, 1), datetime(2024, 1, 1, 0, 0, 0, 1)])
bounds = st.one_of(st.none(), st.tuples(fractions, fractions), st.tuples(moments, moments))
values = st.one_of(
    st.none(),
    st.lists(st.sampled_from(["", "1", "x", "ä"]), min_size=1, unique=True),
    st.lists(st.sampled_from([0, 1, 10, 2]), min_size=1, unique=True),
    st.lists(st.booleans(), min_size=1, unique=True),
)
columns = st.builds(
    Column,
    name=names,
    kind=st.sampled_from(Kind),
    bounds=bounds,
    step=st.one_of(st.none(), fractions),
    values=values.map(lambda found: None if found is None else tuple(found)),
    nullable=st.booleans(),
    unique=st.booleans(),
)


def by_name(found: list[Any]) -> dict[str, Any]:
    return {item.name: item for item in found}


tables = st.builds(
    Table,
    name=names,
    source=sources,
    columns=st.lists(columns, max_size=2).map(by_name),
    owner=st.one_of(st.none(), owners),
    max_rows=limits,
    max_groups=limits,
    max_rows_per_group=limits,
)
policies = st.builds(
    Policy,
    name=names,
    path=st.sampled_from([Path("/a/p.toml"), Path("/b/q.toml")]),
    state=st.just(Path("/s")),
    budget=st.builds(Budget, fractions),
    unit=st.sampled_from(["patient", "customer"]),
    tables=st.lists(tables, max_size=2).map(by_name),
    analysts=st.dictionaries(names, fractions, max_size=2),
    max_cost=st.one_of(st.none(), fractions),
    unit_rows=st.sampled_from([UNIT_ROWS, 20_000]),
)


def meaning(policy: Policy) -> object:
    """What must show in a fingerprint, as a value that knows no order."""

    def of_column(column: Column) -> object:
        listed = None if column.values is None else frozenset((type(value), value) for value in column.values)
        typed = None if column.bounds is None else tuple((type(bound), bound) for bound in column.bounds)
        return column.kind, typed, column.step, listed, column.nullable, column.unique

    def of_table(table: Table) -> object:
        described = frozenset((name, of_column(column)) for name, column in table.columns.items())
        return described, table.source, table.owner, table.max_rows, table.max_groups, table.max_rows_per_group

    return policy.unit, policy.unit_rows, frozenset((name, of_table(table)) for name, table in policy.tables.items())


def protection(policy: Policy) -> object:
    private = ((name, table.source, table.owner) for name, table in policy.tables.items() if table.owner is not None)
    return policy.unit, frozenset(private)


@given(policies, policies)
def test_two_policies_share_a_fingerprint_only_if_they_mean_the_same(one: Policy, other: Policy) -> None:
    assert (fingerprint(one) == fingerprint(other)) == (meaning(one) == meaning(other))
    assert (protected(one) == protected(other)) == (protection(one) == protection(other))


@given(st.data(), policies)
def test_order_and_everything_outside_the_meaning_are_invisible(data: st.DataObject, policy: Policy) -> None:
    def shuffled(found: dict[str, Any]) -> dict[str, Any]:
        return dict(data.draw(st.permutations(list(found.items()))))

    def turned(column: Column) -> Column:
        return column if column.values is None else replace(column, values=tuple(reversed(column.values)))

    changed = {
        name: replace(
            table,
            columns=shuffled({key: turned(column) for key, column in table.columns.items()}),
        )
        for name, table in policy.tables.items()
    }
    same = replace(
        policy,
        name=policy.name + "!",
        path=Path("/elsewhere/z.toml"),
        state=Path("/elsewhere/state"),
        budget=Budget(Fraction(7), Fraction(1, 10)),
        tables=shuffled(changed),
        analysts={"someone": Fraction(1)},
        max_cost=Fraction(3),
    )
    assert fingerprint(same) == fingerprint(policy)
    assert protected(same) == protected(policy)


Change = Callable[[Policy], Policy]


def of_accounts(**fields: Any) -> Change:
    def change(policy: Policy) -> Policy:
        return replace(policy, tables={**policy.tables, "accounts": replace(policy.tables["accounts"], **fields)})

    return change


def of_pieces(**fields: Any) -> Change:
    def change(policy: Policy) -> Policy:
        orders = policy.tables["orders"]
        column = replace(orders.columns["pieces"], **fields)
        orders = replace(orders, columns={**orders.columns, "pieces": column})
        return replace(policy, tables={**policy.tables, "orders": orders})

    return change


def without(name: str) -> Change:
    def change(policy: Policy) -> Policy:
        return replace(policy, tables={key: table for key, table in policy.tables.items() if key != name})

    return change


@pytest.mark.parametrize(
    ("change", "also_protected"),
    [
        (lambda policy: replace(policy, unit="account"), True),
        (lambda policy: replace(policy, unit_rows=500), False),
        (without("logins"), True),
        (without("branches"), False),
        (of_accounts(source=Source(Format.DUCKDB, "bank.duckdb", "main.kept")), True),
        (of_accounts(source=Source(Format.DUCKDB, "other.duckdb", "main.accounts")), True),
        (of_accounts(owner=Owner("account_id")), True),
        (of_accounts(owner=Owner(None)), True),
        (of_accounts(owner=None), True),
        (of_accounts(owner=Owner("customer_id", (Hop("a", "b", "c"),))), True),
        (of_accounts(max_rows=5), False),
        (of_accounts(max_groups=5), False),
        (of_accounts(max_rows_per_group=5), False),
        (of_accounts(columns={}), False),
        (of_pieces(kind=Kind.NUMBER), False),
        (of_pieces(bounds=(Fraction(1), Fraction(100))), False),
        (of_pieces(bounds=None), False),
        (of_pieces(step=Fraction(2)), False),
        (of_pieces(step=None), False),
        (of_pieces(values=(1,)), False),
        (of_pieces(nullable=True), False),
        (of_pieces(unique=True), False),
    ],
)
def test_every_change_of_meaning_shows(change: Change, also_protected: bool) -> None:
    bank = policy_of(BANK)
    assert fingerprint(change(bank)) != fingerprint(bank)
    assert (protected(change(bank)) != protected(bank)) == also_protected
