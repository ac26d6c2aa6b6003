"""A DuckDB source with a collation compares Ann and ANN as one: two people become one, one key matches many rows, and a
declared value catches its other spellings. Units, keys and values are compared bytewise, always."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import discreet
from tests.attacks.worlds import HEAD, held, secret_of

POLICY = (
    HEAD
    + """
[tables.accounts]
source = "bank.duckdb"
table = "accounts"
unit = "customer"
max_rows = 9
[tables.accounts.columns]
kind = { values = ["a", "b"] }
zip = { type = "text" }
[tables.orders]
source = "bank.duckdb"
table = "orders"
unit = "account -> accounts(id).customer"
max_rows = 9
[tables.orders.columns]
amount = { min = 0, max = 10 }
[tables.kinds]
source = "bank.duckdb"
table = "kinds"
public = true
"""
)


@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT", "NOCASE.NOACCENT"])
def test_collations_of_a_source_end_where_it_is_read(tmp_path: Path, collation: str) -> None:
    secret_of(tmp_path)
    text = f"VARCHAR COLLATE {collation}"
    with duckdb.connect(str(tmp_path / "bank.duckdb")) as bank:
        bank.execute(f"CREATE TABLE accounts (id {text}, customer {text}, kind {text}, zip {text})")
        bank.execute("INSERT INTO accounts VALUES ('x', 'é', 'a', 'z'), ('X', 'e', 'A', 'Z'), ('x́', 'É', 'á', 'ź')")
        bank.execute(f"CREATE TABLE orders (account {text}, amount DOUBLE)")
        bank.execute("INSERT INTO orders VALUES ('x', 1), ('X', 2), ('x́', 3)")
        bank.execute(f"CREATE TABLE kinds (kind {text}, what {text})")
        bank.execute("INSERT INTO kinds VALUES ('a', 'one'), ('A', 'two')")
    accounts = held(tmp_path, POLICY, "accounts", but="nobody")
    assert [(row[0], row[1]) for row in accounts] == [("e", 1), ("É", 1), ("é", 1)]
    assert {row[0]: row[-2:] for row in accounts} == {"e": (None, "Z"), "É": (None, "ź"), "é": ("a", "z")}
    orders = held(tmp_path, POLICY, "orders", but="nobody")
    assert [(row[0], row[-1]) for row in orders] == [("e", 2.0), ("É", 3.0), ("é", 1.0)]
    with discreet.open(tmp_path / "world.toml") as curator:
        assert curator.query("SELECT what FROM kinds WHERE kind = 'a'").rows == [("one",)]
