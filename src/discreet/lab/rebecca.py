"""The hospital table of lecture 003 (after Kearns & Roth, The Ethical Algorithm): 2-anonymous, and of little help."""

from __future__ import annotations

from typing import Final

HOSPITAL: Final = {
    "Age": ("60-70", "60-70", "60-70", "60-70", "60-70", "50-60", "50-60", "50-60", "50-60"),
    "Gender": ("Male", "Female", "Male", "Female", "Male", "Female", "Male", "Male", "Female"),
    "Zip Code": ("191**",) * 9,
    "Smoker": ("Y", "N", "Y", "N", "Y", "N", "Y", "Y", "N"),
    "Diagnosis": (
        "Heart disease",
        "Arthritis",
        "Lung cancer",
        "Crohn's disease",
        "Lung cancer",
        "HIV",
        "Lyme disease",
        "Seasonal allergies",
        "Ulcerative colitis",
    ),
}
QUASI: Final = ("Age", "Gender", "Zip Code", "Smoker")
SENSITIVE: Final = "Diagnosis"


def who_fits(*, age: int, sex: str | None = None) -> tuple[str, ...]:
    """The diagnoses that remain for somebody of that age (and sex) who is known to be in the table.

    >>> who_fits(age=55, sex="Female")
    ('HIV', 'Ulcerative colitis')
    """
    left = []
    for ages, gender, diagnosis in zip(HOSPITAL["Age"], HOSPITAL["Gender"], HOSPITAL["Diagnosis"], strict=True):
        low, high = map(int, ages.split("-"))
        if low <= age < high and sex in (None, gender):
            left.append(diagnosis)
    return tuple(sorted(set(left)))
