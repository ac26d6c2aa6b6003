"""The lecture's hospital table, coarsened as an owner might, and what somebody who knows a patient still learns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from discreet.lab.disclosure import Disclosure, disclosure
from discreet.lab.measures import Measures, measures, published
from discreet.lab.rebecca import HOSPITAL, SENSITIVE

REBECCA: Final = {"Age": 55, "Gender": "Female", "Smoker": "N"}
"""What is true of her."""
AGES: Final = {"ten": 10, "twenty": 20, "all": 100}
"""Years in which ages are published."""
ILLNESSES: Final = {
    "Heart disease": ("of the heart",),
    "Arthritis": ("of the joints",),
    "Lung cancer": ("of the lungs",),
    "Crohn's disease": ("of the bowels",),
    "Ulcerative colitis": ("of the bowels",),
    "HIV": ("infection",),
    "Lyme disease": ("infection",),
    "Seasonal allergies": ("allergy",),
}
"""The kind of each diagnosis: what is near each other."""


@dataclass(frozen=True, slots=True)
class Release:
    """The table as it is published: rows of age, gender, smoker and diagnosis; "*" where a column is left out."""

    rows: tuple[tuple[str, str, str, str], ...]
    measured: Measures
    attacks: Disclosure

    def fitting(self, known: frozenset[str]) -> list[int]:
        """The rows that may be Rebecca's for somebody who knows these columns of her."""
        return [
            number
            for number, (ages, gender, smoker, _) in enumerate(self.rows)
            if ("Age" not in known or _holds(ages, REBECCA["Age"]))
            and ("Gender" not in known or gender in ("*", REBECCA["Gender"]))
            and ("Smoker" not in known or smoker in ("*", REBECCA["Smoker"]))
        ]

    def believed(self, known: frozenset[str]) -> dict[str, float]:
        """The share of each diagnosis among those rows: what can be believed of her."""
        left = Counter(self.rows[number][3] for number in self.fitting(known))
        return {illness: many / left.total() for illness, many in sorted(left.items())}


def _holds(ages: str, age: object) -> bool:
    if ages == "*":
        return True
    low, high = map(int, ages.split("-"))
    return low <= int(str(age)) < high


def _coarser(ages: str, years: int) -> str:
    """A span of ten years as a longer one.

    >>> _coarser("50-60", 10), _coarser("50-60", 20), _coarser("50-60", 100)
    ('50-60', '50-70', '*')
    """
    low = int(ages.split("-")[0])
    start = (low - 50) // years * years + 50
    return "*" if years > 20 else f"{start}-{start + years}"


def released(years: int, *, gender: bool, smoker: bool) -> Release:
    """The lecture's nine rows with these columns.

    >>> lecture = released(10, gender=True, smoker=True)
    >>> lecture.measured.k, list(lecture.believed(frozenset({"Age", "Gender"})))
    (2, ['HIV', 'Ulcerative colitis'])
    """
    columns = (
        [_coarser(ages, years) for ages in HOSPITAL["Age"]],
        list(HOSPITAL["Gender"]) if gender else ["*"] * len(HOSPITAL["Gender"]),
        list(HOSPITAL["Smoker"]) if smoker else ["*"] * len(HOSPITAL["Smoker"]),
        list(HOSPITAL[SENSITIVE]),
    )
    named = dict(zip(("Age", "Gender", "Smoker", SENSITIVE), columns, strict=True))
    table = published(named, quasi=("Age", "Gender", "Smoker"), sensitive=SENSITIVE, tree=ILLNESSES)
    return Release(tuple(zip(*columns, strict=True)), measures(table), disclosure(table))
