"""Values that the policy does not declare are said to be such, from text and policy alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from discreet.curator.curator import Curator
from discreet.sql.typos import MAX_REMARKS
from tests.sql import tiny


@pytest.fixture(scope="module")
def curator() -> Iterator[Curator]:
    with tiny.asked("pure") as found:
        yield found


@pytest.mark.parametrize(
    ("condition", "note"),
    [
        ("kind = 'acutee'", "'acutee' is not a declared value of kind; did you mean 'acute'?"),
        ("v.kind IN ('acute', 'Planned')", "'Planned' is not a declared value of kind; did you mean 'planned'?"),
        ("'xyz' <> kind", "'xyz' is not a declared value of kind"),
        ("kind = 'acute'", None),
        ("note = 'acutee'", None),
        ("LOWER(kind) = 'acutee'", None),
        (f"kind = '{'a' * 900}'", f"'{'a' * 60} …' is not a declared value of kind"),
    ],
)
def test_undeclared_values(curator: Curator, condition: str, note: str | None) -> None:
    text = f"SELECT COUNT(*) AS n FROM visits AS v WHERE {condition}"
    for notes in (curator.preview(text, epsilon=1).notes, curator.query(text, epsilon=1).notes):
        assert [said for said in notes if "declared value" in said] == ([] if note is None else [note])


def test_long_lists_get_few_remarks(curator: Curator) -> None:
    """Looking for what was meant is work, and previews are free."""
    values = ", ".join(f"'acute{number}'" for number in range(5000))
    notes = curator.preview(f"SELECT COUNT(*) AS n FROM visits WHERE kind IN ({values})", epsilon=1).notes
    assert sum("declared value" in said for said in notes) == MAX_REMARKS
