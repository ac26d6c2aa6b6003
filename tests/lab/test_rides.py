"""The invented rides: alike every time, within what the policy says, and with something to learn that changes."""

from __future__ import annotations

import hashlib
from pathlib import Path

import duckdb
import numpy as np

from discreet.lab import rides


def test_a_day_is_the_same_on_every_machine() -> None:
    first = rides.rides(7)
    assert all((first[name] == again).all() for name, again in rides.rides(7).items())
    digest = hashlib.sha256("".join(f"{fare:.2f}" for fare in first["fare"]).encode()).hexdigest()
    assert digest[:16] == "31e46d21a24f59a7"
    assert not np.array_equal(first["fare"][:100], rides.rides(8)["fare"][:100])


def test_values_lie_within_the_policy() -> None:
    for number in (0, 100, 200, 365):
        made = rides.rides(number)
        for name, high in {"hour": 23, "distance": 30, "minutes": 120, "fare": 100}.items():
            assert made[name].min() >= 0
            assert made[name].max() <= high
        _, often = np.unique(made["rider"], return_counts=True)
        assert (often == 1).mean() > 0.9  # the policy reads one ride of a rider and day


def test_the_tariff_changes() -> None:
    """An old model is wrong by several units after July: there is something to train again for."""
    spring, autumn = rides.rides(100), rides.rides(280)
    shape = [np.column_stack([np.ones(len(day["fare"])), day["distance"], day["minutes"]]) for day in (spring, autumn)]
    weights, *_ = np.linalg.lstsq(shape[0], spring["fare"], rcond=None)
    before, after = (
        float(np.abs(day @ weights - fare).mean())
        for day, fare in zip(shape, (spring["fare"], autumn["fare"]), strict=True)
    )
    assert before < 1.2
    assert after > 2 * before


def test_days_arrive_as_files(tmp_path: Path) -> None:
    policy = rides.build(tmp_path, budget=5.0, capacity=2.0)
    assert "epsilon = 2 " in policy.read_text(encoding="utf-8")
    made = rides.arrive(tmp_path, 3, 2, count=50)
    (path,) = (tmp_path / "rides").iterdir()
    days = duckdb.execute(f"SELECT DISTINCT day FROM '{path}' ORDER BY 1").fetchall()
    assert [str(day) for (day,) in days] == ["2024-01-04", "2024-01-05"]
    assert sum(len(day["fare"]) for day in made) == duckdb.execute(f"SELECT COUNT(*) FROM '{path}'").fetchall()[0][0]
    assert path.stat().st_mode & 0o077 == 0
