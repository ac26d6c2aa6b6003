"""A remote dataset answers like a curator."""

from __future__ import annotations

import discreet
from tests.server.running import Running


def test_it_answers_like_a_curator(server: Running) -> None:
    text = "SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward"
    with (
        discreet.connect(server.url, token=server.tokens["epidemiology"]) as remote,
        discreet.open(server.policy) as here,
    ):
        found = remote.query(text, epsilon=0.1)
        again = here.query(text, epsilon=0.1, analyst="epidemiology")
        assert found.columns == ["ward", "n"]
        assert again.cached
        assert (found.rows, found.intervals, found.receipt, found.price) == (
            again.rows,
            again.intervals,
            again.receipt,
            again.price,
        )
        assert remote.budget() == here.budget()
        assert remote.tables() == here.tables()
