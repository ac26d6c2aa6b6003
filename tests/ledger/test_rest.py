"""What is left is told of one moment, and held no longer than the journal is the same."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting import Concentrated, Loss, Pure
from discreet.ledger import stands
from tests.ledger.helpers import BOTH, CENT, PURE, opened, spend


@pytest.mark.parametrize("analyst", [None, "ann", "bob"])
def test_it_is_what_is_told_apart(tmp_path: Path, analyst: str | None) -> None:
    with opened(tmp_path / "ledger") as ledger:
        for _ in range(3):
            for loss in (CENT, Pure(Fraction(1, 3)), CENT):
                rest = ledger.rest(loss, analyst)
                assert (rest.remaining, rest.used) == (ledger.remaining(analyst), ledger.used(analyst))
                assert rest.more == ledger.affordable_count(loss, analyst)
                assert ledger.rest(loss, analyst) is rest
            spend(ledger)


@pytest.mark.parametrize(("loss", "more"), [(Concentrated(0), None), (Pure(1, unit="flat"), 0), (Concentrated(1), 0)])
def test_what_is_free_fits_always_and_what_is_of_another_kind_never(
    tmp_path: Path, loss: Loss, more: int | None
) -> None:
    with opened(tmp_path / "ledger", PURE) as ledger:
        ledger.unit = "patient"
        assert ledger.rest(loss).more == more


def test_losses_about_others_are_not_mixed_up(tmp_path: Path) -> None:
    """They compare as equal."""
    with opened(tmp_path / "ledger") as ledger:
        ledger.unit = "patient"
        own, other = Pure(1, unit="patient"), Pure(1, unit="flat")
        assert own == other
        assert [ledger.rest(each).more for each in (own, other, own)] == [1000, 0, 1000]


def test_ever_new_costs_fill_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stands, "MAX_RESTS", 5)
    with opened(tmp_path / "ledger", BOTH) as ledger:
        for number in range(1, 20):
            ledger.rest(Concentrated(Fraction(number, 1000)))
            assert len(ledger._rests[1]) <= 5
