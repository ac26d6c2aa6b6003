"""The pictures of the guide, made again by `python -m tests.guide`, each from a fresh copy of the demo's hospital."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import discreet
from discreet.lab.hospital import build

PICTURES: Final = Path(__file__).parents[1] / "docs" / "guide" / "pictures"
WARDS: Final = "SELECT ward, COUNT(*) AS patients FROM patients GROUP BY ward"
PRESSURE: Final = "SELECT ward, AVG(blood_pressure) AS pressure FROM patients GROUP BY ward"
PLACES: Final = "SELECT zip, COUNT(*) AS patients FROM patients GROUP BY zip"


def wards(hospital: discreet.Curator) -> Any:
    return hospital.query(WARDS, epsilon=0.1).plot()


def prices(hospital: discreet.Curator) -> Any:
    """The same question at three prices, over one axis."""
    import altair

    charts = {epsilon: hospital.query(WARDS, epsilon=epsilon, fresh=True).plot() for epsilon in (0.01, 0.03, 0.1)}
    config = charts[0.1].config
    for epsilon, chart in charts.items():
        chart.config = altair.Undefined  # a picture has one, and its parts have none
        chart.title, chart.height = f"epsilon={epsilon}", altair.Step(15)
    together = altair.vconcat(*charts.values()).resolve_scale(x="shared")
    together.config = config
    return together


def pressure(hospital: discreet.Curator) -> Any:
    return hospital.query(PRESSURE, epsilon=0.2).plot()


def places(hospital: discreet.Curator) -> Any:
    return hospital.query(PLACES, epsilon=0.1).plot()


def budget(hospital: discreet.Curator) -> Any:
    """A week of questions: two analysts within their shares, and a partition that pays once for seven wards."""
    for epsilon in (0.03, 0.05, 0.04, 0.06):
        hospital.query(WARDS, epsilon=epsilon, analyst="finance", fresh=True)
    hospital.query(PRESSURE, epsilon=0.15, analyst="epidemiology")
    parts = hospital.table("patients").partition("ward")
    for part in parts.values():
        part.count(epsilon=0.2)
    hospital.query(PLACES, epsilon=0.1, analyst="epidemiology")
    hospital.query("SELECT code, COUNT(*) AS visits FROM visits GROUP BY code", epsilon=0.25)
    return hospital.plot()


DRAWN: Final[dict[str, Callable[[discreet.Curator], Any]]] = {
    "wards.svg": wards,
    "prices.svg": prices,
    "pressure.svg": pressure,
    "places.svg": places,
    "budget.svg": budget,
}


def draw(folder: Path, names: Iterable[str] = DRAWN) -> None:
    """Write these pictures into a folder."""
    for name in names:
        with tempfile.TemporaryDirectory() as fresh, discreet.open(build(Path(fresh))) as hospital:
            DRAWN[name](hospital).save(folder / name)


if __name__ == "__main__":
    draw(PICTURES, sys.argv[1:] or DRAWN)
