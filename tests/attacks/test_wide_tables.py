"""A table of hundreds of key columns: a window for each of them took minutes. The copy ranks a few, and the others are
ranked when they are asked for: the work grows with the columns, and no unit is in more groups for it."""

from __future__ import annotations

import pytest

from discreet.engines.copy import selection
from discreet.engines.memory import Held
from discreet.policy import Policy
from discreet.policy.layout import MOST_RANKED, ranked_keys
from tests.sql.worlds import opened, policy_of

TABLE = '[tables.wide]\nsource = "wide.csv"\nunit = "who"\nmax_rows = 3\nmax_groups = 1\nmax_rows_per_group = 2\n'


def wide(count: int) -> Policy:
    columns = "".join(f'k{place:03d} = {{ values = ["a", "b", "c"] }}\n' for place in range(count))
    return policy_of(f"{TABLE}[tables.wide.columns]\n{columns}")


def copying(count: int) -> str:
    """The query that makes the copy."""
    policy = wide(count)
    columns = dict.fromkeys(["who", *policy.tables["wide"].columns], "VARCHAR")
    return selection(Held(policy, {"wide": columns}), policy.tables["wide"], "secret")


def test_windows_are_few_and_the_query_grows_with_the_columns() -> None:
    hundred, three = copying(100), copying(300)
    assert hundred.count(" OVER (") == three.count(" OVER (") <= 2 * MOST_RANKED + 1
    assert len(three) < 3.1 * len(hundred)


@pytest.mark.parametrize("place", [0, MOST_RANKED - 1, MOST_RANKED, MOST_RANKED + 3])
def test_every_key_is_bounded_whether_its_rank_is_stored_or_not(place: int) -> None:
    """Ten units with three rows in three groups each: one group of each counts, and in it one row."""
    policy = wide(MOST_RANKED + 4)
    column = f"k{place:03d}"
    assert (column in ranked_keys(policy.tables["wide"])) == (place < MOST_RANKED)
    rows = [{"who": unit, **dict.fromkeys(policy.tables["wide"].columns, key)} for unit in range(10) for key in "abc"]
    with opened(policy, {"wide": rows}) as curator:
        answer = curator.query(f"SELECT {column}, COUNT(*) FROM wide GROUP BY {column}", epsilon=1)
    assert sum(count for _, count in answer.rows) == 10
