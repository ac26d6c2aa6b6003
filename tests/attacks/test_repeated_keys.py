"""One person's rows repeat the keys of everybody's accounts, so that payments belong to several people. Refusing the
table tells that the person is there; dropping repeated keys lets one person erase all others."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet
from discreet.owner.check import check
from discreet.policy import read
from tests.attacks.worlds import HEAD, Row, held, secret_of

POLICY = (
    HEAD
    + """
[tables.accounts]
source = "accounts.csv"
unit = "customer"
max_rows = 2
[tables.accounts.columns]
kind = { values = ["a", "b"] }
[tables.orders]
source = "orders.csv"
unit = "account -> accounts(id).customer"
max_rows = 5
[tables.orders.columns]
amount = { min = 0, max = 10 }
[tables.items]
source = "items.csv"
unit = "order -> orders.account -> accounts(id).customer"
max_rows = 5
[tables.items.columns]
cost = { min = 0, max = 10 }
"""
)
OTHERS = [(f"acc{i}", f"p{i}", "a") for i in range(8)]
CLAIMS = {
    "everybody's": [(f"acc{i}", "mallory", "b") for i in range(8)],
    "twice": [("acc1", "mallory", "b")] * 2,
    "somebody's own again": [("acc2", "p2", "b"), ("acc2", "p2", "a")],
    "nobody's": [("", "mallory", "b"), ("acc99", "mallory", "a")],
    "for nobody": [("acc3", "", "b")],
}


def write(path: Path, header: str, rows: list[tuple[object, ...]]) -> None:
    lines = [header, *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def world(folder: Path, claims: list[tuple[str, str, str]]) -> dict[str, list[Row]]:
    secret_of(folder)
    write(folder / "accounts.csv", "id,customer,kind", [*OTHERS, *claims])
    write(folder / "orders.csv", "order,account,amount", [(i, f"acc{i % 8}", i % 9) for i in range(30)])
    write(folder / "items.csv", "order,cost", [(i % 30, i % 7) for i in range(90)])
    return {table: held(folder, POLICY, table, but="mallory") for table in ("accounts", "orders", "items")}


@pytest.mark.parametrize("name", CLAIMS)
def test_claims_of_one_unit_change_no_row_of_another(tmp_path: Path, name: str) -> None:
    alone, claimed = world(tmp_path / "alone", []), world(tmp_path / "claimed", CLAIMS[name])
    assert (len(alone["orders"]), len(alone["items"])) == (30, 40)
    for table in ("orders", "items"):
        assert claimed[table] == alone[table]


def test_who_claims_everything_contributes_no_more_than_anybody(tmp_path: Path) -> None:
    world(tmp_path, CLAIMS["everybody's"])
    for table, most in (("orders", 5), ("items", 5)):
        everything = held(tmp_path, POLICY, table, but="nobody")
        assert sum(row[0] == "mallory" for row in everything) == most


def test_questions_are_answered_and_the_owner_is_told(tmp_path: Path) -> None:
    world(tmp_path, CLAIMS["everybody's"])
    with discreet.open(tmp_path / "world.toml") as curator:
        assert abs(curator.query("SELECT COUNT(*) FROM orders", epsilon=5).rows[0][0] - 35) < 30
    told = [str(finding) for finding in check(read(tmp_path / "world.toml"))]
    assert any("8 claims of a key that another unit claims too" in finding for finding in told)
