"""The desk over a real database: from its address to an owner's page that answers."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import pytest

from tests.postgres.cluster import Cluster
from tests.postgres.worlds import visits
from tests.server.desk import columns, desk, open_it, send, went, write
from tests.server.test_desk import looked


@pytest.mark.long
def test_from_an_address_to_a_policy_that_is_open(postgres: Cluster, tmp_path: Path) -> None:
    visits(postgres, "desk", *((f"p{n % 9}", "AB"[n % 2], float(n)) for n in range(60)))
    source = f"{postgres.address()}#desk.visits"
    (tmp_path / "data").mkdir()
    with desk(tmp_path / "data") as made:
        owner = made.owner()
        draft = went(send(owner, "/desk/new", name="base", database=source)).rpartition("/")[0]
        assert "desk.visits" in owner.get(f"{draft}/units").text
        known = {"unit": "person", "tables": "1", "unit_0": "column:person", "rows_0": "1"}
        went(send(owner, f"{draft}/units", **known))
        decided = {"cost": {"kind": "number", "min": "0", "max": "100"}, "ward": {"kind": "text", "values": "A\nB"}}
        went(columns(owner, f"{draft}/columns/0", decided))
        went(send(owner, f"{draft}/budget", epsilon="2", delta=""))
        page = looked(owner, draft, "review")
        assert "51 of 60 rows (85.0%) are never read" in page
        assert "the role may do more than read" in page
        assert source in unescape(page), "the command names it"
        went(send(owner, f"{draft}/analysts"))
        went(write(owner, draft))
        home = open_it(owner, "base.toml")
        found = owner.send("/data/base/ask", sql="SELECT COUNT(*) AS n FROM visits", epsilon="1")
        assert found.status_code == 303, found.text
        assert home == "/data/base/owner"
