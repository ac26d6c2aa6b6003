"""A table that is read in place changes under running questions: its units' type, its columns' order, how often its
keys occur. What holds for a copy was taken for granted there; so no table is read in place any more."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet
from discreet.policy import PolicyError, read
from tests.attacks.worlds import HEAD

VISITS = '[tables.visits]\nsource = "visits.csv"\nunit = "person"\n'
WARDS = '[tables.wards]\nsource = "wards.csv"\npublic = true\n'
SQL = "SELECT SUM(w.beds) AS n FROM visits v JOIN wards w ON v.ward = w.ward"


@pytest.mark.parametrize("tables", [VISITS + "copy = false\n", VISITS + WARDS + "copy = false\n"])
def test_no_table_is_read_in_place(tmp_path: Path, tables: str) -> None:
    (tmp_path / "world.toml").write_text(HEAD + tables, encoding="utf-8")
    with pytest.raises(PolicyError, match="every table is copied now"):
        read(tmp_path / "world.toml")


def test_files_that_change_change_no_answer_before_the_owner_refreshes(tmp_path: Path) -> None:
    columns = '[tables.visits.columns]\nward = { values = ["A", "B"] }\n'
    public = WARDS + '[tables.wards.columns]\nward = { type = "text" }\nbeds = { min = 0, max = 10 }\n'
    policy = HEAD.replace("epsilon = 9", "epsilon = 900") + VISITS + "copy = true\n" + columns + public
    (tmp_path / "world.toml").write_text(policy, encoding="utf-8")
    (tmp_path / "visits.csv").write_text("person,ward\n" + "".join(f"p{i},A\n" for i in range(50)), encoding="utf-8")
    (tmp_path / "wards.csv").write_text("ward,beds\nA,1\nB,2\n", encoding="utf-8")
    with discreet.open(tmp_path / "world.toml") as curator:
        before = curator.query(SQL, epsilon=100, fresh=True).rows[0][0]
        (tmp_path / "wards.csv").write_text("ward,beds\n" + "A,10\n" * 70, encoding="utf-8")
        (tmp_path / "visits.csv").write_text("ward,person\n" + "A,p1\n" * 300, encoding="utf-8")
        after = curator.query(SQL, epsilon=100, fresh=True).rows[0][0]
    assert abs(before - 50) < 20
    assert abs(after - 50) < 20
